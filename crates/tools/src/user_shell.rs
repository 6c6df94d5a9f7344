//! Commands of the user: run in the user's shell, without sandbox and approval.

use std::time::Duration;

use codex_gate::Permit;
use codex_protocol::{ExecCommandSource, ResponseItem};
use codex_session_base::history::truncate::formatted_cut;
use codex_session_base::history::user_message;
use codex_session_base::input::StopSignal;
use codex_shell_command::shell_call;

use super::command::{ApprovalArguments, CommandRequest, attempt, command_item};
use super::command_format::OutputLayout;
use super::places::CallPlace;
use super::tool::ToolContext;

/// The default time limit.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);
const ABORTED_MESSAGE: &str = "command aborted by user";

/// The exit code of a command that did not end by itself.
const NO_EXIT_CODE: i32 = -1;

/// A command of the user.
#[derive(Debug)]
pub struct TypedCommand {
    line: String,
    timeout: Duration,
}

impl TypedCommand {
    pub fn new(line: String, timeout_ms: Option<u64>) -> Self {
        let timeout = timeout_ms.map_or(TIMEOUT, Duration::from_millis);
        Self { line, timeout }
    }
}

/// Runs a command and returns the record for the model.
pub async fn run_user_shell(
    context: &ToolContext,
    command: &TypedCommand,
    stop: &StopSignal,
) -> ResponseItem {
    let shell = context.settings.shell.display().to_string();
    let request = CommandRequest {
        argv: shell_call(&shell, &command.line, true),
        cwd: context.settings.cwd.clone(),
        timeout: Some(command.timeout),
        approval: ApprovalArguments::default(),
        layout: OutputLayout::Plain,
        place: CallPlace::Here,
    };
    let mut item = command_item(
        context,
        &request.argv,
        &request.cwd,
        &request.place,
        ExecCommandSource::UserShell,
        None,
    )
    .begin();
    item.set_running();
    let permit = Permit::for_typed_command();
    let ran = tokio::select! {
        biased;
        () = stop.stopped() => Err(ABORTED_MESSAGE.to_owned()),
        ran = attempt(context, &request, &permit, &mut item) => ran,
    };
    let policy = context.settings.model.truncation();
    match ran {
        Ok(outcome) => {
            let mut end = outcome.end(policy);
            if outcome.timed_out {
                end.exit_code = NO_EXIT_CODE;
                end.aggregated.clone_from(&end.formatted);
            }
            let record = model_record(&command.line, end.exit_code, end.duration, &end.formatted);
            item.end(end);
            record
        }
        Err(problem) => {
            item.fail(&problem);
            let shown = formatted_cut(&problem, policy);
            model_record(&command.line, NO_EXIT_CODE, Duration::ZERO, &shown)
        }
    }
}

/// What the model is told about a command.
fn model_record(command: &str, exit_code: i32, duration: Duration, output: &str) -> ResponseItem {
    let seconds = duration.as_secs_f64();
    user_message([format!(
        "<user_shell_command>\n<command>\n{command}\n</command>\n<result>\nExit code: {exit_code}\n\
         Duration: {seconds:.4} seconds\nOutput:\n{output}\n</result>\n</user_shell_command>"
    )])
}
