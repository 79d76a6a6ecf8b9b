//! Tests of `vouch mcp` with the real binary, by the lines that an assistant sends and receives.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::common;

/// A profile in which `main` calls `serve` and `rest`, which have 3 and 1 samples.
fn profile() -> PathBuf {
    let text = json!({
        "meta": { "interval": 1.0, "vouch": {}, "categories": [{ "name": "Application" }] },
        "shared": {
            "stringArray": ["main", "serve", "rest"],
            "funcTable": { "name": [0, 1, 2] },
            "frameTable": { "func": [0, 1, 2], "category": [0, 0, 0] },
            "stackTable": { "frame": [0, 1, 2], "prefixOffset": [0, 1, 2] },
        },
        "threads": [{ "name": "t", "samples": { "length": 0, "stack": [1, 2], "weight": [3, 1] } }],
    });
    common::file("mcp", "small.json", text.to_string())
}

struct Assistant {
    vouch: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Assistant {
    fn start() -> Self {
        let mut vouch = Command::new(env!("CARGO_BIN_EXE_vouch"));
        let mut vouch = vouch.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (vouch.stdin.take(), BufReader::new(vouch.stdout.take().unwrap()));
        let mut assistant = Self { vouch, input, output, asked: 0 };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let answer = assistant.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "vouch", "{answer}");
        assert!(answer["result"]["instructions"].as_str().unwrap().contains("top"), "{answer}");
        assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assistant
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": parameters }));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.asked, "{answer}");
        answer
    }

    /// Calls a tool. Returns whether that was an error, and the text.
    fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (result["isError"] == true, text.to_owned())
    }
}

impl Drop for Assistant {
    fn drop(&mut self) {
        // The end of its input is the end of the command.
        self.input = None;
        let status = self.vouch.wait().unwrap();
        assert!(status.success() || std::thread::panicking(), "{status}");
    }
}

#[test]
fn an_answer_is_what_the_verb_prints() {
    let (mut assistant, file) = (Assistant::start(), profile());
    let calls = [
        ("top", json!({ "file": file, "rows": 1 }), vec!["top", "--rows=1"]),
        (
            "top",
            json!({ "file": file, "include": ["serve"], "lines": true }),
            vec!["top", "--include=serve", "--lines"],
        ),
        (
            "top",
            json!({ "file": file, "callers": "rest", "lines": false, "thread": null }),
            vec!["top", "--callers=rest"],
        ),
        ("call_tree", json!({ "file": file }), vec!["top", "--tree"]),
    ];
    for (tool, arguments, line) in calls {
        let output = Command::new(env!("CARGO_BIN_EXE_vouch")).args(&line).arg(&file).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(assistant.call(tool, &arguments), (false, printed), "{line:?}");
        assert!(output.status.success(), "{line:?}");
    }
}

#[test]
fn each_tool_is_described_and_only_reads() {
    let mut assistant = Assistant::start();
    let answer = assistant.ask("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert!(tool["description"].as_str().unwrap().len() > 60, "{tool}");
        for (name, parameter) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(!["out", "picture", "json"].contains(&name.as_str()), "{name} of {tool}");
            assert!(parameter["description"].as_str().unwrap().len() > 10, "{name} of {tool}");
        }
    }
    let top = tools.iter().find(|tool| tool["name"] == "top").unwrap();
    let schema = &top["inputSchema"];
    assert_eq!(schema["required"], json!(["file"]));
    assert_eq!(schema["properties"]["include"]["type"], "array");
    assert_eq!(schema["properties"]["rows"]["type"], "integer");
    assert!(schema["properties"]["measure"]["enum"].as_array().unwrap().contains(&json!("alloc")));
}

#[test]
fn a_mistake_is_an_answer_and_the_next_question_is_answered() {
    let (mut assistant, file) = (Assistant::start(), profile());
    let mistakes = [
        ("top", json!({ "file": "missing.json" }), "missing.json cannot be read"),
        ("top", json!({}), "file is missing: top needs it"),
        ("top", json!({ "file": "/dev/stdin" }), "/dev/stdin is neither a file nor a folder"),
        ("top", json!({ "file": file, "include": [["serve"]] }), "include: [[\"serve\"]] is no text"),
        ("top", json!({ "file": file, "rows": 2001 }), "rows: at most 2000"),
        ("diff", json!({ "first": file }), "second is missing"),
        ("top", json!({ "file": file, "out": "a.svg" }), "no parameter out: it has file, "),
        ("top", json!({ "file": "--out=a.svg" }), "--out=a.svg cannot be read"),
        ("top", json!({ "file": file, "measure": "time" }), "possible values: cpu, alloc"),
        ("top", json!({ "file": file, "lines": "yes" }), "lines: \"yes\" is not true or false"),
        ("top", json!({ "file": { "a": 1 } }), "file: {\"a\":1} is no text"),
        ("run", json!({ "file": file }), "use one of top, call_tree"),
    ];
    for (tool, arguments, text) in mistakes {
        let (is_error, said) = assistant.call(tool, &arguments);
        assert!(is_error && said.contains(text), "{arguments}: {said}");
    }
    assert!(!assistant.call("top", &json!({ "file": file })).0);
}
