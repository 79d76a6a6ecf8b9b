//! Implements `vouch mcp`, by which an assistant asks about profiles: the Model Context Protocol,
//! on standard input and output.
//!
//! # Invariants
//!
//! An answer must be what the verb prints for a person, so that both see how far it can be trusted.
//! Nothing but the protocol may be written to standard output.

mod tools;

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::sync::Mutex;

use clap::Parser;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::stdio;
use rmcp::{RoleServer, ServerHandler, ServiceExt};

use crate::error::Error;
use crate::{Arguments, answer};

/// The longest answer in bytes. An assistant can ask for fewer rows.
const MAX_ANSWER: usize = 100_000;

const INSTRUCTIONS: &str = "Vouch profiles Java programs (CPU time, waits, allocations, locks, exceptions) and says \
of each stack how it is known: proven by the bytecode, plausible, or refuted. Begin with `top` of a profile, then \
`call_tree` or `top` with callers, lines or include. Name the trust and the uncertainty that an answer has when you \
report it. `vouch run --out app.json.gz java …` and `vouch attach PID` in a shell make profiles.";

/// Answers until standard input ends.
pub fn mcp() -> Result<String, Error> {
    if io::stdin().is_terminal() {
        return Err(Error::McpOnTerminal);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Mcp)?;
    let served = runtime.block_on(async {
        match Assistant.serve(stdio()).await {
            Ok(served) => served.waiting().await.map(|_| ()).map_err(io::Error::other),
            // The input has ended before any question.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(mistake) => Err(io::Error::other(mistake)),
        }
    });
    // A late answer has no reader, and must not keep the process.
    runtime.shutdown_background();
    served.map_err(Error::Mcp)?;
    Ok(String::new())
}

/// The answers to an assistant.
struct Assistant;

impl ServerHandler for Assistant {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("vouch", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::described()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // A large profile takes seconds. Meanwhile the assistant may ask whether this still lives.
        let answered = tokio::task::spawn_blocking(move || {
            let is_cancelled = || context.ct.is_cancelled();
            answered(&request.name, &request.arguments.unwrap_or_default(), is_cancelled)
        });
        let result = match answered
            .await
            .unwrap_or_else(|_| Err("the question could not be answered: a defect of Vouch".to_owned()))
        {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(mistake) => CallToolResult::error(vec![ContentBlock::text(mistake)]),
        };
        Ok(result.into())
    }
}

/// Returns the answer to one call, or what is wrong with it.
fn answered(tool: &str, values: &JsonObject, is_cancelled: impl Fn() -> bool) -> Result<String, String> {
    /// Profiles can be large, so one is read at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let line = tools::command_line(tool, values)?;
    let _one = ONE.lock();
    if is_cancelled() {
        return Err("cancelled".to_owned());
    }
    let arguments = Arguments::try_parse_from(line).map_err(|mistake| without_usage(&mistake.to_string()))?;
    let (text, _) = answer(arguments.verb).map_err(|mistake| mistake.to_string())?;
    Ok(bounded(&text).into_owned())
}

/// Returns the reason of a usage error, without advice on the command line.
fn without_usage(mistake: &str) -> String {
    let reason = mistake.split("\n\n").next().unwrap_or(mistake);
    reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
}

/// Cuts a long text at the end of a line, and says so.
fn bounded(text: &str) -> Cow<'_, str> {
    let Some((first, _)) =
        text.split_at_checked(text.floor_char_boundary(MAX_ANSWER)).filter(|(_, rest)| !rest.is_empty())
    else {
        return text.into();
    };
    let whole = first.rfind('\n').map_or(first, |end| &first[..end]);
    format!(
        "{whole}\n[cut after {} of {} bytes: ask for fewer rows, or for a part]\n",
        whole.len(),
        text.len()
    )
    .into()
}
