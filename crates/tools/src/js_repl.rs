//! `js_repl` and `js_repl_reset`: a console of JavaScript that keeps what scripts declare.

use std::ffi::OsStr;
use std::time::Duration;

use codex_code_mode::{ConsoleFolders, ConsoleSource};
use codex_model_client::{CustomToolFormat, ToolSpec};
use codex_protocol::{ExecCommandSource, FunctionCallOutputBody, FunctionCallOutputContentItem};
use codex_session_base::cells::{CellReport, CellStatus, ConsoleRun, ScriptOrigin};
use futures::future::BoxFuture;
use serde_json::json;

use super::arguments::{function, incompatible};
use super::call::ToolPayload;
use super::command::command_item;
use super::command_item::CommandEnd;
use super::offer::{ToolSetBuilder, ToolSituation};
use super::places::CallPlace;
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// How long a script may run.
const DEFAULT_TIMEOUT_MS: u64 = 30_000;
const TIMED_OUT: &str = "js_repl execution timed out; kernel reset, rerun your request";

/// A first line with options and a script, or a script alone, which is no JSON and no code fence.
const GRAMMAR: &str = r#"start: options_line script | script
options_line: OPTIONS NEWLINE
script: TEXT
OPTIONS: /[ \t]*\/\/ codex-js-repl:[^\r\n]*/
NEWLINE: /\r?\n/
TEXT: /\s*([^\s{"`]|`[^`]|``[^`])(.|\n)*/
"#;

/// Whether a tool belongs to the console.
pub fn is_console(name: &str) -> bool {
    matches!(name, "js_repl" | "js_repl_reset")
}

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    if situation.options().js_repl.is_some() && situation.is_local() {
        builder.offer(JsReplTool);
        builder.offer(JsReplResetTool);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct JsReplTool;

impl Tool for JsReplTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Custom {
            name: "js_repl".to_owned(),
            description: "Runs JavaScript in a console that keeps what scripts declare; `await` works at the top level. Write \
                          the script itself as input, without quotes, JSON or a code fence; its first line may be \
                          `// codex-js-repl: timeout_ms=15000`. It has no Node, no files and no network of its own: \
                          `await codex.tool(name, arguments)` calls any other tool and resolves to its output item, \
                          `await codex.emitImage(image)` shows you an image (a data URL, { bytes, mimeType }, or an output \
                          item with one image), console.log prints. codex.cwd, codex.homeDir and codex.tmpDir are paths."
                .to_owned(),
            format: CustomToolFormat {
                kind: "grammar".to_owned(),
                syntax: "lark".to_owned(),
                definition: GRAMMAR.to_owned(),
            },
        }
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { run(&context).await })
    }
}

async fn run(context: &ToolContext) -> ToolResult {
    let (ToolPayload::Custom(input), Some(_)) = (
        &context.call.payload,
        &context.session.config.options.js_repl,
    ) else {
        return Err(incompatible(context));
    };
    let source = ConsoleSource::parse(input);
    let source = source.map_err(|problem| ToolFailure::Model(problem.to_string()))?;
    let session = &context.session;
    let cwd = context.settings.cwd.display().to_string();
    let mut item = command_item(
        context,
        &["js_repl".to_owned()],
        &context.settings.cwd,
        &CallPlace::Here,
        ExecCommandSource::Agent,
        None,
    )
    .begin();
    item.set_running();
    let started = session.clock.elapsed();
    let timeout = Duration::from_millis(source.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS));
    let ran = context.services.cells().run_in_console(
        session.processes.as_ref(),
        &session.config.services.kernel_program,
        session.clock.as_ref(),
        folders(context, cwd),
        ConsoleRun {
            call_id: &context.call.id,
            origin: ScriptOrigin::for_turn(&context.settings),
            code: source.code,
            timeout,
        },
    );
    let outcome = match ran.await {
        Ok(CellReport { status, items }) => match status {
            CellStatus::Completed => Ok(items),
            CellStatus::Failed(error) => Err(error),
            CellStatus::Running => Err(TIMED_OUT.to_owned()),
            CellStatus::Terminated => Err("js_repl kernel was reset".to_owned()),
        },
        Err(error) => Err(error.to_string()),
    };
    let duration = session.clock.elapsed().saturating_sub(started);
    match outcome {
        Ok(items) => {
            let (printed, images) = parts(items);
            item.end(CommandEnd {
                stdout: printed.clone(),
                aggregated: printed.clone(),
                formatted: printed.clone(),
                duration,
                ..CommandEnd::default()
            });
            Ok(output(printed, images))
        }
        Err(error) => {
            item.end(CommandEnd {
                exit_code: 1,
                duration,
                ..CommandEnd::failed(&error)
            });
            Err(ToolFailure::Model(error))
        }
    }
}

fn folders(context: &ToolContext, cwd: String) -> ConsoleFolders {
    let config = &context.session.config;
    let home = config.services.environment.get(OsStr::new("HOME"));
    let tmp = config.tmpdir().unwrap_or_else(std::env::temp_dir);
    ConsoleFolders {
        cwd,
        home_dir: home.map(|home| home.to_string_lossy().into_owned()),
        tmp_dir: tmp.display().to_string(),
    }
}

/// What was printed, and the images.
fn parts(
    items: Vec<FunctionCallOutputContentItem>,
) -> (String, Vec<FunctionCallOutputContentItem>) {
    let mut lines = Vec::new();
    let mut images = Vec::new();
    for item in items {
        match item {
            FunctionCallOutputContentItem::InputText { text } => lines.push(text),
            image @ FunctionCallOutputContentItem::InputImage { .. } => images.push(image),
        }
    }
    (lines.join("\n"), images)
}

fn output(printed: String, images: Vec<FunctionCallOutputContentItem>) -> FunctionCallOutputBody {
    if images.is_empty() {
        return FunctionCallOutputBody::Text(printed.into());
    }
    let text = FunctionCallOutputContentItem::InputText { text: printed };
    let has_text =
        matches!(&text, FunctionCallOutputContentItem::InputText { text } if !text.is_empty());
    let text = has_text.then_some(text);
    FunctionCallOutputBody::Content(text.into_iter().chain(images).collect())
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct JsReplResetTool;

impl Tool for JsReplResetTool {
    fn spec(&self) -> ToolSpec {
        function(
            "js_repl_reset",
            "Starts the console of js_repl anew, without what scripts declared.",
            json!({}),
            &[],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            context.services.cells().reset_console();
            text("js_repl kernel reset")
        })
    }
}
