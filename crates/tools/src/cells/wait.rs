//! `wait`: what a cell printed since the last report, or its end.

use std::time::Duration;

use codex_model_client::ToolSpec;
use codex_session_base::cells::{CellError, CellReport, CellStatus};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::exec::DEFAULT_WAIT_MS;
use super::output::output;
use crate::arguments::{arguments, function};
use crate::tool::{Tool, ToolContext, ToolResult};

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitTool;

#[derive(Deserialize)]
struct WaitArguments {
    cell_id: String,
    #[serde(default)]
    yield_time_ms: Option<u64>,
    #[serde(default)]
    max_tokens: Option<u64>,
    #[serde(default)]
    terminate: bool,
}

impl Tool for WaitTool {
    fn spec(&self) -> ToolSpec {
        function(
            "wait",
            "Waits for a script that `exec` left running, and answers what it printed since the last answer. Returns when the \
             script ends, calls yield_control(), or the time is over.",
            json!({
                "cell_id": { "type": "string", "description": "The cell ID that `exec` answered." },
                "yield_time_ms": {
                    "type": "number",
                    "description": "How long to wait in milliseconds. Default: 10000.",
                },
                "max_tokens": {
                    "type": "number",
                    "description": "How much output to answer. Default: 10000.",
                },
                "terminate": {
                    "type": "boolean",
                    "description": "Whether to end the script in place of waiting. Default: false.",
                },
            }),
            &["cell_id"],
        )
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn has_hooks(&self) -> bool {
        false
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { wait(&context).await })
    }
}

async fn wait(context: &ToolContext) -> ToolResult {
    let arguments: WaitArguments = arguments(context)?;
    let session = &context.session;
    let started = session.clock.elapsed();
    let (id, report) = match report(context, &arguments).await {
        Ok((id, report)) => (id, report),
        Err(error) => {
            let status = CellStatus::Failed(error.to_string());
            let items = Vec::new();
            (0, CellReport { status, items })
        }
    };
    let took = session.clock.elapsed().saturating_sub(started);
    Ok(output(id, report, took, arguments.max_tokens))
}

async fn report(
    context: &ToolContext,
    arguments: &WaitArguments,
) -> Result<(u64, CellReport), CellError> {
    let session = &context.session;
    let cells = context.services.cells();
    let cell = cells.find(&arguments.cell_id)?;
    if arguments.terminate {
        cells.end(&cell, CellStatus::Terminated);
    }
    let wait = Duration::from_millis(arguments.yield_time_ms.unwrap_or(DEFAULT_WAIT_MS));
    let report = cells.report(&cell, session.clock.as_ref(), wait).await?;
    if report.status != CellStatus::Running
        && let Some(observer) = session.emitter.observer()
    {
        observer.cell_ended(&context.settings.id, &report.answer(cell.id));
    }
    Ok((cell.id, report))
}
