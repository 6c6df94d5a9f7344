//! Runs a hook that is a tool of an MCP server: the text of its result counts as the output of a command would.

use std::sync::Arc;
use std::time::Duration;

use codex_hooks::{OUTPUT_LIMIT, RunEnd, RunResult, UnknownPlaceholder};
use codex_protocol::CallToolResult;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use super::occasion::HookOccasion;

impl HookOccasion<'_> {
    /// Calls a tool, once its server has started. Servers of a thread are those of its turns.
    pub(super) fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Result<Value, UnknownPlaceholder>,
        timeout: Duration,
    ) -> BoxFuture<'static, RunResult> {
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => return not_run(error.to_string()),
        };
        let Some(tools) = self.session.mcp_tools.get() else {
            return not_run(format!("unknown MCP server '{server}'"));
        };
        let answer = tools.call_for_hook(server, tool, arguments, timeout);
        let clock = Arc::clone(&self.session.clock);
        let result = async move {
            tokio::select! {
                biased;
                answer = answer => answer.map_or_else(|error| failed(error.0), result_of),
                () = clock.sleep(timeout) => RunResult::without_output(RunEnd::TimedOut(timeout.as_secs())),
            }
        };
        result.boxed()
    }
}

fn not_run(problem: String) -> BoxFuture<'static, RunResult> {
    std::future::ready(failed(problem)).boxed()
}

fn failed(problem: String) -> RunResult {
    RunResult::without_output(RunEnd::NotRun(problem))
}

fn result_of(result: CallToolResult) -> RunResult {
    let texts = result
        .content
        .iter()
        .filter_map(|block| block["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.len() > OUTPUT_LIMIT {
        return RunResult::without_output(RunEnd::TooMuchOutput);
    }
    if result.is_error == Some(true) {
        return failed(format!("MCP tool returned an error: {text}"));
    }
    RunResult {
        stdout: text,
        ..RunResult::without_output(RunEnd::Exited(0))
    }
}
