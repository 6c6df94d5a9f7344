//! `exec`: runs a script that calls tools.

use std::sync::Arc;
use std::time::Duration;

use codex_code_mode::CellSource;
use codex_model_client::{CustomToolFormat, ToolSpec};
use codex_session_base::cells::{Cell, CellBegin, CellStatus, Cells, ScriptOrigin};
use futures::future::BoxFuture;

use super::output::output;
use crate::arguments::incompatible;
use crate::call::ToolPayload;
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult};

/// How long a script runs before the model goes on.
pub(super) const DEFAULT_WAIT_MS: u64 = 10_000;

/// A first line with options and a script, or a script alone.
const GRAMMAR: &str = r#"start: options_line script | script
options_line: OPTIONS NEWLINE
script: TEXT
OPTIONS: /[ \t]*\/\/ @exec:[^\r\n]*/
NEWLINE: /\r?\n/
TEXT: /(.|\n)+/
"#;

#[derive(Clone, Debug)]
pub(crate) struct ExecTool {
    pub description: Arc<str>,
}

impl Tool for ExecTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Custom {
            name: "exec".to_owned(),
            description: self.description.to_string(),
            format: CustomToolFormat {
                kind: "grammar".to_owned(),
                syntax: "lark".to_owned(),
                definition: GRAMMAR.to_owned(),
            },
        }
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { exec(&context).await })
    }
}

async fn exec(context: &ToolContext) -> ToolResult {
    let ToolPayload::Custom(input) = &context.call.payload else {
        return Err(incompatible(context));
    };
    let failed = |error: String| ToolFailure::Model(error);
    let source = CellSource::parse(input).map_err(|problem| failed(problem.to_string()))?;
    let session = &context.session;
    if session.config.options.code_mode.is_none() {
        return Err(failed("code mode is not enabled".to_owned()));
    }
    let cells = context.services.cells();
    let (observer, turn) = (session.emitter.observer(), &context.settings.id);
    let started = session.clock.elapsed();
    let code = source.code.clone();
    let cell = cells.start(
        session.processes.as_ref(),
        &session.config.services.kernel_program,
        CellBegin {
            call_id: &context.call.id,
            origin: ScriptOrigin::for_turn(&context.settings),
        },
        source.code,
        |cell| {
            if let Some(observer) = observer {
                observer.cell_started(turn, cell, &context.call.id, &code);
            }
        },
    );
    let cell = cell.await.map_err(|error| failed(error.to_string()))?;
    let mut running = RunningCell(Some((Arc::clone(cells), Arc::clone(&cell))));
    let wait = Duration::from_millis(source.yield_time_ms.unwrap_or(DEFAULT_WAIT_MS));
    let report = cells.report(&cell, session.clock.as_ref(), wait).await;
    let report = report.map_err(|error| failed(error.to_string()))?;
    running.0 = None;
    if let Some(observer) = observer {
        observer.cell_answered(turn, &report.answer(cell.id));
        if report.status != CellStatus::Running {
            observer.cell_ended(turn, &report.answer(cell.id));
        }
    }
    let took = session.clock.elapsed().saturating_sub(started);
    Ok(output(cell.id, report, took, source.max_output_tokens))
}

/// A cell that the model does not know of yet. It ends with the call, for example when the turn is interrupted.
struct RunningCell(Option<(Arc<Cells>, Arc<Cell>)>);

impl Drop for RunningCell {
    fn drop(&mut self) {
        if let Some((cells, cell)) = self.0.take() {
            cells.discard(&cell);
        }
    }
}
