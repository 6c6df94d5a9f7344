//! `codex exec`: one turn without a UI, for scripts. A client of an app-server in the same process.

mod arguments;
mod follow;
mod prompt;
mod thread;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use codex_app_server_protocol::v2::TurnStatus;
use codex_client::{Client, ClientThread, ServerAddress, TurnOutcome};
use codex_regular_file::{NewFile, OpenOutput, OutputFile};
use codex_scenario::Scenario;
use serde_json::{Map, Value, json};

use arguments::ReviewArguments;
pub(crate) use arguments::{ExecArguments, StoredArguments, TrustingReviewArguments};
use arguments::{ExecCommand, ExecOptions, StoredThread, ThreadChoice};
use follow::TurnPrinter;

use crate::print::note;
use crate::settings_flags::SettingsFlags;
use crate::{app_server, connected_server, environment};
use codex_engine_host::environment::named_path;
use codex_engine_host::host::HostPurpose;
use codex_engine_host::wiring::{TraceRecorder, non_blank};

/// The environment variable with an API key for this command only.
const KEY_VARIABLE: &str = "CODEX_API_KEY";

/// The variable that other programs take the key from.
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// The exit status after an interrupt.
const INTERRUPTED: u8 = 130;

/// The task of the turn.
enum ExecTask {
    Prompt(String),
    Review(Value),
    /// Prompts that a person types in, one after the other.
    Typed,
    /// Only the thread is wanted.
    None,
}

pub(crate) fn run(arguments: ExecArguments, settings: SettingsFlags) -> anyhow::Result<ExitCode> {
    app_server::start_log();
    let runtime = codex_engine_host::runtime::beside_output()?;
    let tracing = TraceRecorder::from_environment();
    let done = runtime.block_on(exec(arguments, settings, tracing.clone()));
    runtime.shutdown_background();
    tracing.finish();
    done
}

async fn exec(
    arguments: ExecArguments,
    settings: SettingsFlags,
    tracing: TraceRecorder,
) -> anyhow::Result<ExitCode> {
    let ExecArguments {
        options,
        prompt,
        command,
        stored,
    } = arguments;
    options.other.check()?;
    let address = options.remote.address()?;
    let is_here = address
        .as_ref()
        .is_none_or(ServerAddress::is_on_this_machine);
    check_remote(&options, address.is_some(), is_here)?;
    check_that_files_answer(&options)?;
    check_images(&options)?;
    if let Some(program) = &options.cyber_access_program {
        tracing::warn!("no access program is asked for: `{program}` has no effect");
    }
    let (choice, task) = match stored {
        Some(choice) => {
            let task = task_for_stored(&choice, prompt)?;
            (choice, task)
        }
        None => plan(command, prompt, &options)?,
    };
    // The folders of another machine are not known here.
    let cwd = if is_here {
        Some(working_folder(&options)?)
    } else {
        options.cwd.clone()
    };
    let schema = options
        .output_schema
        .as_deref()
        .map(read_schema)
        .transpose()?;
    let scenario = options
        .scenario
        .as_deref()
        .map(Scenario::load)
        .transpose()?;
    let settings = options.settings(settings, cwd.as_deref().unwrap_or(Path::new("/")))?;
    let config = match &address {
        Some(_) => settings.overrides()?.to_json(),
        None => Map::new(),
    };
    let api_key = non_blank(KEY_VARIABLE);
    let purpose = HostPurpose::Exec { api_key };
    let (mut client, end) = connected_server::connect(
        &options.remote,
        address.as_ref(),
        &settings,
        scenario,
        tracing,
        purpose,
    )
    .await?;
    client
        .initialize("codex_exec", env!("CARGO_PKG_VERSION"))
        .await?;
    if options.scenario.is_none() {
        note_missing_login(&mut client).await?;
    }
    let params = cwd
        .as_ref()
        .map_or_else(|| json!({}), |cwd| json!({ "cwd": cwd }));
    let read = client.call("config/read", &params).await?;
    let hides_reasoning = read["config"]["hide_agent_reasoning"] == true;
    let environments = (options.environment.as_deref())
        .map(|asked| environment::choice(asked, &read["config"]))
        .transpose()?;
    // Before a command of the model can put a link or a pipe in its place, or in that of its folder.
    let last_message = options.output_last_message.clone().map(OutputFile::named);
    let last_message = last_message.map(open_output).transpose()?;
    let mut session = thread::open(
        client,
        &options,
        cwd.as_deref(),
        config,
        environments,
        choice,
    )
    .await?;
    let shown = cwd.unwrap_or_default();
    let mut follower = TurnPrinter::new(&options, session.id(), &shown, hides_reasoning)?;
    let more = schema.map_or_else(|| json!({}), |schema| json!({ "outputSchema": schema }));
    let outcome = work(&mut session, task, &options, more, &mut follower).await?;
    if options.context {
        follower.context(session.context().await)?;
    }
    session.finish().await;
    end.wait().await?;
    if let Some((file, output)) = last_message {
        let message = follower.last_message().unwrap_or_default();
        let written = output.write(NewFile::Usual, |file| file.write_all(message.as_bytes()));
        written.with_context(|| cannot_write(&file))?;
    }
    follower.finish(&outcome)?;
    if outcome.is_unauthorized {
        note_unused_key(&read["config"]);
    }
    Ok(match outcome.status {
        TurnStatus::Completed => ExitCode::SUCCESS,
        TurnStatus::Interrupted => ExitCode::from(INTERRUPTED),
        TurnStatus::Failed | TurnStatus::InProgress => ExitCode::FAILURE,
    })
}

/// Names a key of the environment that the model provider of these settings does not use.
fn note_unused_key(config: &Value) {
    let provider = config["model_provider"].as_str().unwrap_or_default();
    let is_used = config["model_providers"][provider]["env_key"] == OPENAI_KEY;
    if !is_used && non_blank(OPENAI_KEY).is_some() {
        note(format_args!(
            "note: {OPENAI_KEY} is set, and was not used. A provider of your own uses it with env_key = \"{OPENAI_KEY}\", \
             the hosted service once `codex login --with-api-key` has read it."
        ));
    }
}

/// Does the task in the thread.
async fn work(
    session: &mut ClientThread,
    task: ExecTask,
    options: &ExecOptions,
    more: Value,
    follower: &mut TurnPrinter,
) -> anyhow::Result<TurnOutcome> {
    Ok(match task {
        ExecTask::Prompt(prompt) => {
            follower.prompt(&prompt)?;
            let input = input_of(&prompt, options);
            session.turn(input, more, follower).await?
        }
        ExecTask::Review(target) => session.review(&target, follower).await?,
        ExecTask::Typed => {
            let mut outcome = done();
            while let Some(prompt) = prompt::typed().await? {
                let input = input_of(&prompt, options);
                outcome = session.turn(input, more.clone(), follower).await?;
                follower.finish(&outcome)?;
                if outcome.status == TurnStatus::Interrupted {
                    break;
                }
            }
            outcome
        }
        ExecTask::None => done(),
    })
}

/// The end where nothing had to be done.
fn done() -> TurnOutcome {
    TurnOutcome {
        status: TurnStatus::Completed,
        error: None,
        is_unauthorized: false,
    }
}

/// What a running server cannot do is refused rather than ignored.
fn check_remote(options: &ExecOptions, is_remote: bool, is_here: bool) -> anyhow::Result<()> {
    if is_remote && options.scenario.is_some() {
        bail!("--scenario is for a server in this process; start the other one with it");
    }
    if !is_here && !options.images.is_empty() {
        bail!("--image names files of this machine, which a server on another one cannot read");
    }
    if !is_here && options.has_folders() {
        bail!(
            "--add-dir names folders of this machine, which a server on another one does not have"
        );
    }
    Ok(())
}

/// What `codex resume` and `codex fork` do with the thread.
fn task_for_stored(choice: &ThreadChoice, prompt: Option<String>) -> anyhow::Result<ExecTask> {
    if prompt.is_none() && io::stdin().is_terminal() {
        return Ok(ExecTask::Typed);
    }
    if let ThreadChoice::Resumed(StoredThread::Chosen { .. })
    | ThreadChoice::Forked(StoredThread::Chosen { .. }) = choice
        && !io::stdin().is_terminal()
    {
        bail!(
            "name a thread by its id or its name, or give --last; only on a terminal one can be chosen from a list"
        );
    }
    Ok(ExecTask::Prompt(prompt::read(prompt)?))
}

fn open_output(file: OutputFile) -> anyhow::Result<(OutputFile, OpenOutput)> {
    let output = file.open().with_context(|| cannot_write(&file))?;
    Ok((file, output))
}

fn cannot_write(file: &OutputFile) -> String {
    format!("cannot write {}", file.path().display())
}

/// What the arguments ask for.
fn plan(
    command: Option<ExecCommand>,
    prompt: Option<String>,
    options: &ExecOptions,
) -> anyhow::Result<(ThreadChoice, ExecTask)> {
    Ok(match command {
        Some(ExecCommand::Resume(resume)) => {
            let (stored, prompt) = resume.split();
            let task = ExecTask::Prompt(prompt::read(prompt)?);
            (ThreadChoice::Resumed(stored), task)
        }
        Some(ExecCommand::Fork(fork)) => {
            let task = match fork.prompt {
                Some(prompt) => ExecTask::Prompt(prompt::read(Some(prompt))?),
                None => ExecTask::None,
            };
            (ThreadChoice::Forked(StoredThread::Named(fork.thread)), task)
        }
        Some(ExecCommand::Review(review)) => {
            let task = ExecTask::Review(target_of(review, options)?);
            (ThreadChoice::New, task)
        }
        None => (ThreadChoice::New, ExecTask::Prompt(prompt::read(prompt)?)),
    })
}

/// Warns about a missing login. The request is still sent, because a proxy may add credentials.
async fn note_missing_login(client: &mut Client) -> anyhow::Result<()> {
    let read = client.call("account/read", &json!({})).await?;
    if read["account"].is_null() && read["requiresOpenaiAuth"] == true {
        if non_blank(OPENAI_KEY).is_some() {
            note(format_args!(
                "note: {OPENAI_KEY} is set, and is used once it is stored: printenv {OPENAI_KEY} | codex login --with-api-key"
            ));
        }
        note(
            "note: nobody is logged in to the model service. `codex login` does that; \
             -c model_provider=NAME takes another one; --scenario FILE needs none.",
        );
    }
    Ok(())
}

/// Fails where the command line names a file on a file system that does not answer: nothing could end the wait for it.
fn check_that_files_answer(options: &ExecOptions) -> anyhow::Result<()> {
    let single = [
        &options.output_last_message,
        &options.output_schema,
        &options.scenario,
    ];
    let mut files = (single.into_iter().flatten())
        .chain(&options.images)
        .chain(&options.add_dir);
    Ok(files.try_for_each(|path| codex_mounts::check(path))?)
}

fn check_images(options: &ExecOptions) -> anyhow::Result<()> {
    for image in &options.images {
        codex_regular_file::open(image)
            .with_context(|| format!("cannot read {}", image.display()))?;
        named_path(image)?;
    }
    Ok(())
}

/// The review target for the server.
fn target_of(review: ReviewArguments, options: &ExecOptions) -> anyhow::Result<Value> {
    if options.output_schema.is_some() || !options.images.is_empty() {
        bail!("a review takes no --output-schema and no --image; leave them out");
    }
    Ok(match review.target() {
        Some(target) => target,
        None => json!({ "type": "custom", "instructions": prompt::read(review.prompt)? }),
    })
}

fn input_of(prompt: &str, options: &ExecOptions) -> Value {
    let images = options.images.iter().map(|path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        json!({ "type": "localImage", "path": path })
    });
    images
        .chain([json!({ "type": "text", "text": prompt })])
        .collect()
}

fn read_schema(path: &Path) -> anyhow::Result<Value> {
    let text = codex_mounts::check(path)
        .map_err(io::Error::from)
        .and_then(|()| fs::read_to_string(path))
        .with_context(|| format!("cannot read the output schema {}", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("the output schema {} is not JSON", path.display()))
}

/// The working folder. Outside a git repository changes cannot be undone, so this must be allowed explicitly.
fn working_folder(options: &ExecOptions) -> anyhow::Result<PathBuf> {
    let cwd = match &options.cwd {
        Some(cwd) => codex_mounts::canonicalize(cwd)
            .with_context(|| format!("cannot work in {}", cwd.display()))?,
        None => std::env::current_dir().context("cannot determine the working folder")?,
    };
    named_path(&cwd)?;
    let in_repository = codex_sandbox::marked_folder(&cwd, ".git").is_some();
    // On another machine the folder here is not worked on.
    let allowed = options.skip_git_repo_check
        || options.bypass
        || options.outside_repository
        || options.environment.is_some();
    if !in_repository && !allowed {
        bail!(
            "{} is not inside a Git repository, where changes could be taken back; \
             --skip-git-repo-check goes on all the same",
            cwd.display()
        );
    }
    Ok(cwd)
}
