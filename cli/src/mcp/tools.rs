//! The tools that an assistant can use: each asks one verb of this command.
//!
//! A tool must never write a profile or record. Its parameters are those of the verb that neither
//! write nor change how an answer looks, and they are described once, by the verb itself.

use std::fmt::Write;
use std::fs;
use std::sync::Arc;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// A tool, by the verb that answers it.
struct Asked {
    name: &'static str,
    verb: &'static str,
    about: &'static str,
    /// The verb's arguments that an assistant may not use.
    without: &'static [&'static str],
    /// Arguments that are always there.
    always: &'static [&'static str],
}

/// Options that choose what another tool is for, or how an answer looks.
const TOP_WITHOUT: &[&str] = &["json", "tree"];
const TREE_WITHOUT: &[&str] = &["json", "tree", "by", "sort", "callers", "callees"];

/// The parameter that says how many rows a table may have, and its largest value.
const ROWS: &str = "rows";
const MAX_ROWS: u64 = 2_000;

/// All tools. To add one, add a row.
const TOOLS: &[Asked] = &[
    Asked {
        name: "top",
        verb: "top",
        about: "Lists where a program's time went, or what it allocated, waited for or threw: by method, by source \
                line, by thread or by a value such as the user. Also lists the callers or callees of a method. The \
                first lines say how far the stacks can be trusted, and how uncertain the shares are.",
        without: TOP_WITHOUT,
        always: &[],
    },
    Asked {
        name: "call_tree",
        verb: "top",
        about: "Shows the calls of a profile as a tree in text, as a flame graph does: each method below its caller, \
                the heaviest branches first.",
        without: TREE_WITHOUT,
        always: &["--tree"],
    },
    Asked {
        name: "diff",
        verb: "diff",
        about: "Lists the methods that take more or less in one version of a program than in another, beyond chance, \
                with confidence intervals. Several runs of each version make it more certain.",
        without: &["json", "picture"],
        always: &[],
    },
    Asked {
        name: "explain",
        verb: "explain",
        about: "Explains why stacks of a profile are refuted by the bytecode, or only plausible: the list of them, or \
                one of them with the instructions.",
        without: &[],
        always: &[],
    },
    Asked {
        name: "groups",
        verb: "groups",
        about: "Prints the times of a program's groups of tasks (requests, jobs): on a CPU, blocked, over the limit.",
        without: &["json"],
        always: &[],
    },
    Asked {
        name: "events",
        verb: "events",
        about: "Lists the events of the JVM that a recording can have (allocations, locks, collections), or describes \
                one, with its cost.",
        without: &[],
        always: &[],
    },
    Asked {
        name: "doctor",
        verb: "doctor",
        about: "Says what profiling works on this machine and in its JVM, what does not, and what to change. It starts \
                a JVM for a second.",
        without: &["jvm"],
        always: &[],
    },
];

/// Returns the descriptions of all tools.
pub fn described() -> Vec<Tool> {
    TOOLS.iter().map(Asked::described).collect()
}

/// Returns the command line that answers a tool's call, or an error for the assistant.
pub fn command_line(tool: &str, values: &JsonObject) -> Result<Vec<String>, String> {
    let Some(asked) = TOOLS.iter().find(|asked| asked.name == tool) else {
        let names: Vec<&str> = TOOLS.iter().map(|asked| asked.name).collect();
        return Err(format!("no tool is named {tool}: use one of {}", names.join(", ")));
    };
    asked.command_line(values)
}

impl Asked {
    fn described(&self) -> Tool {
        let parameters = self.parameters();
        let schema = json!({
            "type": "object",
            "properties": parameters.iter().map(|arg| (name(arg).to_owned(), schema(arg))).collect::<JsonObject>(),
            "required": parameters.iter().filter(|arg| arg.is_required_set()).map(name).collect::<Vec<_>>(),
            "additionalProperties": false,
        });
        let Value::Object(schema) = schema else { unreachable!("an object was made") };
        let hints =
            ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        Tool::new(self.name, self.about, Arc::new(schema)).with_annotations(hints)
    }

    /// Returns the arguments of the verb that this tool has.
    fn parameters(&self) -> Vec<Arg> {
        let command = crate::command();
        let verb = command.find_subcommand(self.verb).expect("each tool names a verb");
        let wanted = |arg: &&Arg| !self.without.contains(&arg.get_id().as_str());
        verb.get_arguments().filter(wanted).cloned().collect()
    }

    fn command_line(&self, values: &JsonObject) -> Result<Vec<String>, String> {
        let parameters = self.parameters();
        if let Some(unknown) = values.keys().find(|key| !parameters.iter().any(|arg| name(arg) == *key)) {
            let names: Vec<&str> = parameters.iter().map(name).collect();
            return Err(format!("{} has no parameter {unknown}: it has {}", self.name, names.join(", ")));
        }
        let value = |arg: &Arg| values.get(name(arg)).filter(|value| !value.is_null());
        if let Some(missing) = parameters.iter().find(|arg| arg.is_required_set() && value(arg).is_none()) {
            return Err(format!("{} is missing: {} needs it", name(missing), self.name));
        }
        let mut line = vec!["vouch".to_owned(), self.verb.to_owned()];
        line.extend(self.always.iter().map(|&word| word.to_owned()));
        let mut files = Vec::new();
        for arg in &parameters {
            let Some(value) = value(arg) else { continue };
            let texts = texts(value)
                .ok_or_else(|| format!("{}: {value} is no text, number or list of them", name(arg)))?;
            if let Some(text) = texts.iter().find(|text| would_block(text)) {
                return Err(format!("{text} is neither a file nor a folder"));
            }
            if name(arg) == ROWS
                && texts.iter().any(|text| text.parse().is_ok_and(|rows: u64| rows > MAX_ROWS))
            {
                return Err(format!("{ROWS}: at most {MAX_ROWS}"));
            }
            match arg.get_long() {
                None => files.extend(texts),
                Some(long) if arg.get_action().takes_values() => {
                    // One word each, or a value that begins with a dash would be an option.
                    line.extend(texts.iter().map(|text| format!("--{long}={text}")));
                }
                Some(long) => match value {
                    Value::Bool(true) => line.push(format!("--{long}")),
                    Value::Bool(false) => {}
                    _ => return Err(format!("{}: {value} is not true or false", name(arg))),
                },
            }
        }
        line.push("--".to_owned());
        line.extend(files);
        Ok(line)
    }
}

/// Returns the name of a parameter: that of the option, without its dashes.
fn name(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_else(|| arg.get_id().as_str())
}

/// True for a pipe, a terminal or another device. To read it could take forever.
fn would_block(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// Returns a value as the words of a command line.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Number(_) | Value::Bool(_) => Some(vec![value.to_string()]),
        Value::Array(values) => {
            let texts: Option<Vec<_>> =
                values.iter().map(|one| if one.is_array() { None } else { texts(one) }).collect();
            Some(texts?.concat())
        }
        Value::Null | Value::Object(_) => None,
    }
}

/// Describes a parameter for an assistant.
fn schema(arg: &Arg) -> Value {
    let about = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string);
    let mut one = match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => json!({ "type": "boolean" }),
        _ => json!({ "type": if name(arg) == ROWS { "integer" } else { "string" } }),
    };
    let mut about = about.unwrap_or_default();
    let choices = if arg.get_action().takes_values() { arg.get_possible_values() } else { Vec::new() };
    if !choices.is_empty() {
        one["enum"] = choices.iter().map(PossibleValue::get_name).collect();
    }
    for choice in choices {
        if let Some(help) = choice.get_help() {
            let _ = write!(about, "\n{}: {help}", choice.get_name());
        }
    }
    let takes_several = matches!(arg.get_action(), ArgAction::Append)
        || arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    if takes_several {
        one = json!({ "type": "array", "items": one });
    }
    one["description"] = about.into();
    one
}
