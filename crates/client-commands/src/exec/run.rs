//! Opens the thread, does the task in it, and prints what came of it.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use codex_app_server_protocol::v2::TurnStatus;
use codex_client::{Client, ClientThread, TurnOutcome};
use codex_config::Overrides;
use codex_engine_host::console::Console;
use codex_engine_host::host::HostPurpose;
use codex_engine_host::wiring::{TraceRecorder, non_blank};
use codex_engine_host::{log, runtime};
use codex_regular_file::{NewFile, OpenOutput, OutputFile};
use serde_json::{Map, Value, json};

use super::options::ExecOptions;
use super::thread::ThreadChoice;
use super::turn_printer::TurnPrinter;
use super::{environment_choice, prompt, thread};
use crate::server::ServerChoice;

/// The environment variable with an API key for this command only.
const KEY_VARIABLE: &str = "CODEX_API_KEY";

/// The variable that other programs take the key from.
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// The task of the turn.
#[derive(Debug)]
pub enum ExecTask {
    Prompt(String),
    /// The target for the server.
    Review(Value),
    /// Prompts that a person types in, one after the other.
    Typed,
    /// Only the thread is wanted.
    None,
}

/// Does a task in a thread, and returns how its last turn ended. The last message is the answer on the console, progress goes
/// beside it.
///
/// # Errors
/// The turn could not be run, or its output not be written.
pub fn exec(
    options: &ExecOptions,
    cwd: Option<&Path>,
    settings: Overrides,
    choice: ThreadChoice,
    task: ExecTask,
    console: &mut Console<'_>,
) -> anyhow::Result<TurnStatus> {
    log::start();
    let runtime = runtime::beside_output()?;
    let tracing = TraceRecorder::from_environment();
    let running = run(
        options,
        cwd,
        settings,
        choice,
        task,
        tracing.clone(),
        console,
    );
    let done = runtime.block_on(running);
    runtime.shutdown_background();
    tracing.finish();
    done
}

async fn run(
    options: &ExecOptions,
    cwd: Option<&Path>,
    settings: Overrides,
    choice: ThreadChoice,
    task: ExecTask,
    tracing: TraceRecorder,
    console: &mut Console<'_>,
) -> anyhow::Result<TurnStatus> {
    let turn_params = options.turn_params()?;
    let config = match &options.running {
        Some(_) => settings.to_json(),
        None => Map::new(),
    };
    let server = ServerChoice {
        running: options.running.clone(),
        settings,
        scenario: options.scenario.clone(),
        purpose: HostPurpose::Exec {
            api_key: non_blank(KEY_VARIABLE),
        },
    };
    let (mut client, end) = server.connect(tracing).await?;
    client
        .initialize("codex_exec", env!("CARGO_PKG_VERSION"))
        .await?;
    if options.scenario.is_none() {
        note_missing_login(&mut client, console).await?;
    }
    let params = cwd.map_or_else(|| json!({}), |cwd| json!({ "cwd": cwd }));
    let read = client.call("config/read", &params).await?;
    let hides_reasoning = read["config"]["hide_agent_reasoning"] == true;
    let environments = (options.environment.as_deref())
        .map(|asked| environment_choice::environments(asked, &read["config"]))
        .transpose()?;
    // Before a command of the model can put a link or a pipe in its place, or in that of its folder.
    let last_message = options.last_message_file().map(open_output).transpose()?;
    let mut session = thread::open(client, options, cwd, config, environments, choice).await?;
    let shown = cwd.unwrap_or(Path::new(""));
    let mut printer = TurnPrinter::new(
        options,
        session.id(),
        shown,
        hides_reasoning,
        console.outputs(),
    )?;
    let outcome = do_task(&mut session, task, options, turn_params, &mut printer).await?;
    if options.prints_context {
        printer.context(session.context().await)?;
    }
    session.finish().await;
    end.wait().await?;
    if let Some((file, output)) = last_message {
        let message = printer.last_message().unwrap_or_default();
        let written = output.write(NewFile::Usual, |file| file.write_all(message.as_bytes()));
        written.with_context(|| cannot_write(&file))?;
    }
    printer.finish(&outcome)?;
    if outcome.is_unauthorized {
        note_unused_key(&read["config"], console);
    }
    Ok(outcome.status)
}

/// Names a key of the environment that the model provider of these settings does not use.
fn note_unused_key(config: &Value, console: &mut Console<'_>) {
    let provider = config["model_provider"].as_str().unwrap_or_default();
    let is_used = config["model_providers"][provider]["env_key"] == OPENAI_KEY;
    if !is_used && non_blank(OPENAI_KEY).is_some() {
        console.note(format_args!(
            "note: {OPENAI_KEY} is set, and was not used. A provider of your own uses it with env_key = \"{OPENAI_KEY}\", \
             the hosted service once `codex login --with-api-key` has read it."
        ));
    }
}

/// Does the task in the thread.
async fn do_task(
    session: &mut ClientThread,
    task: ExecTask,
    options: &ExecOptions,
    params: Value,
    printer: &mut TurnPrinter<'_>,
) -> anyhow::Result<TurnOutcome> {
    Ok(match task {
        ExecTask::Prompt(prompt) => {
            printer.prompt(&prompt)?;
            let input = options.input(&prompt);
            session.turn(input, params, printer).await?
        }
        ExecTask::Review(target) => session.review(&target, printer).await?,
        ExecTask::Typed => {
            let mut outcome = completed_outcome();
            while let Some(prompt) = prompt::typed().await? {
                let input = options.input(&prompt);
                outcome = session.turn(input, params.clone(), printer).await?;
                printer.finish(&outcome)?;
                if outcome.status == TurnStatus::Interrupted {
                    break;
                }
            }
            outcome
        }
        ExecTask::None => completed_outcome(),
    })
}

/// The end where nothing had to be done.
fn completed_outcome() -> TurnOutcome {
    TurnOutcome {
        status: TurnStatus::Completed,
        error: None,
        is_unauthorized: false,
    }
}

fn open_output(file: OutputFile) -> anyhow::Result<(OutputFile, OpenOutput)> {
    let output = file.open().with_context(|| cannot_write(&file))?;
    Ok((file, output))
}

fn cannot_write(file: &OutputFile) -> String {
    format!("cannot write {}", file.path().display())
}

/// Warns about a missing login. The request is still sent, because a proxy may add credentials.
async fn note_missing_login(client: &mut Client, console: &mut Console<'_>) -> anyhow::Result<()> {
    let read = client.call("account/read", &json!({})).await?;
    if read["account"].is_null() && read["requiresOpenaiAuth"] == true {
        if non_blank(OPENAI_KEY).is_some() {
            console.note(format_args!(
                "note: {OPENAI_KEY} is set, and is used once it is stored: printenv {OPENAI_KEY} | codex login --with-api-key"
            ));
        }
        console.note(
            "note: nobody is logged in to the model service. `codex login` does that; \
             -c model_provider=NAME takes another one; --scenario FILE needs none.",
        );
    }
    Ok(())
}
