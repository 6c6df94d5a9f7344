//! `codex demo`: a complete session with a scripted model in a temporary folder.

use std::fs;
use std::io::{self, Stdout};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use codex_app_server_protocol::v2::TurnStatus;
use codex_client::{Client, ClientThread, Transcript, UserDecision};
use codex_regular_file::{NewFile, OutputFile};
use codex_rollout_trace::replay_bundle;
use codex_scenario::{Scenario, ScriptedApproval};
use codex_trace_view::{ViewOptions, write_view};
use serde_json::json;

use crate::server_process::{ServerProcess, own_server};
use crate::terminal::{self, AnswerSource, Colours, InteractiveUser, usage_line};

/// The built-in scenario.
const TOUR: &str = include_str!("../../../scenarios/tour.toml");

#[derive(Debug, Args)]
#[command(after_help = "\
Starts `codex app-server` with a model that follows a script, and is its client: you see \
what an IDE shows, and answer what it would ask you. Commands and patches are real and happen in a \
new folder, under the sandbox. Nothing leaves this machine and your own settings are not read.\n\n\
Exit status: 0 the session was completed, 1 it was not.")]
pub(crate) struct DemoArguments {
    /// Play this scenario (see docs/scenarios.md) instead of the built-in tour.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Answer all questions automatically: as the scenario says, otherwise with yes.
    #[arg(long)]
    auto: bool,
    /// Keep all files in this folder, which must be new or empty, instead of a temporary one.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// When to use colours.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    color: Colours,
}

pub(crate) fn run(arguments: DemoArguments) -> anyhow::Result<ExitCode> {
    let runtime = codex_engine_host::runtime::beside_output()?;
    let shown = runtime.block_on(show(arguments));
    // A pending read of standard input must not keep the process alive.
    runtime.shutdown_background();
    shown
}

async fn show(arguments: DemoArguments) -> anyhow::Result<ExitCode> {
    let (scenario, path) = match &arguments.script {
        Some(path) => (Scenario::load(path)?, Some(std::path::absolute(path)?)),
        None => (Scenario::from_toml("the built-in tour", TOUR)?, None),
    };
    let folder = DemoFolder::make(arguments.folder.as_deref(), &scenario, path)?;
    let style = terminal::style(&io::stdout(), arguments.color);
    let transcript = Transcript::new(io::stdout(), style, terminal::width());
    let transcript = transcript.seen_from(&folder.work());
    let answers = if arguments.auto {
        let answers: Vec<_> = scenario
            .session
            .answers
            .iter()
            .copied()
            .map(decision)
            .collect();
        AnswerSource::Given(answers.into_iter(), UserDecision::Accept)
    } else {
        AnswerSource::of_person()
    };
    let mut person = InteractiveUser::new(transcript, answers);
    let about = format!(
        "{}\n\nThe model is a script; the engine is real. Nothing leaves this machine. The folder \
         to work in is {}.",
        scenario.description,
        folder.work().display()
    );
    person.transcript.block("codex demo", "", &about)?;
    let played = play(&scenario, &folder, &mut person).await?;
    folder.leave_behind(&mut person.transcript, played.rollout)?;
    Ok(match played.status {
        TurnStatus::Completed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The result of a session.
struct DemoOutcome {
    status: TurnStatus,
    rollout: Option<String>,
}

async fn play(
    scenario: &Scenario,
    folder: &DemoFolder,
    person: &mut InteractiveUser<Stdout>,
) -> anyhow::Result<DemoOutcome> {
    let begun = Instant::now();
    let (server, mut client) = folder.start_server()?;
    let session = async {
        initialize(&mut client).await?;
        anyhow::Ok(ClientThread::start(client, &json!({ "cwd": folder.work() })).await?)
    };
    let session = session.await;
    let mut session = session.with_context(|| {
        let log = folder.log();
        format!(
            "the server did not start a session; its log is {}",
            log.display()
        )
    })?;
    let rollout = session.path().map(str::to_owned);
    let mut status = TurnStatus::Completed;
    let greeting = ["Hello!".to_owned()];
    let prompts = match scenario.session.prompts.as_slice() {
        [] => &greeting,
        prompts => prompts,
    };
    for prompt in prompts {
        person.transcript.prompt(prompt)?;
        let input = json!([{ "type": "text", "text": prompt }]);
        status = session.turn(input, json!({}), person).await?.status;
    }
    session.finish().await;
    server.finish().await?;
    let took = begun.elapsed().as_secs_f32();
    let verb = match status {
        TurnStatus::Completed => "Completed",
        TurnStatus::Interrupted => "Interrupted",
        _ => "Failed",
    };
    let usage = person.usage.as_ref().map(usage_line);
    let summary = format!(
        "{took:.1} s; {}",
        usage.as_deref().unwrap_or("no token count")
    );
    person.transcript.block(verb, "", &summary)?;
    Ok(DemoOutcome { status, rollout })
}

async fn initialize(client: &mut Client) -> anyhow::Result<()> {
    client
        .initialize("codex_demo", env!("CARGO_PKG_VERSION"))
        .await?;
    Ok(())
}

fn decision(answer: ScriptedApproval) -> UserDecision {
    match answer {
        ScriptedApproval::Accept => UserDecision::Accept,
        ScriptedApproval::AcceptForSession => UserDecision::AcceptForSession,
        ScriptedApproval::Decline => UserDecision::Decline,
        ScriptedApproval::Cancel => UserDecision::Cancel,
    }
}

/// The folder of the session: home folder, working folder, log and traces.
#[derive(Debug)]
struct DemoFolder {
    root: PathBuf,
    scenario: PathBuf,
}

impl DemoFolder {
    fn make(
        asked: Option<&Path>,
        scenario: &Scenario,
        path: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        let root = match asked {
            Some(asked) => empty_folder(asked)?,
            None => tempfile::Builder::new()
                .prefix("codex-demo-")
                .tempdir()
                .context("cannot make a temporary folder; --folder DIR names another place")?
                .keep(),
        };
        let scenario_path = match path {
            Some(path) => path,
            None => {
                let path = root.join("tour.toml");
                write(&path, TOUR)?;
                path
            }
        };
        let folder = Self {
            root,
            scenario: scenario_path,
        };
        for made in [folder.home(), folder.work(), folder.traces()] {
            fs::create_dir_all(&made)
                .with_context(|| format!("cannot make the folder {}", made.display()))?;
        }
        for (name, text) in &scenario.session.files {
            write(&folder.work().join(name), text)?;
        }
        Ok(folder)
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    fn traces(&self) -> PathBuf {
        self.root.join("traces")
    }

    fn log(&self) -> PathBuf {
        self.root.join("server.log")
    }

    /// Starts the server with its own home folder.
    fn start_server(&self) -> anyhow::Result<(ServerProcess, Client)> {
        let log = fs::File::create(self.log()).context("cannot write the server's log")?;
        let mut command = own_server()?;
        command
            .arg("--scenario")
            .arg(&self.scenario)
            .env("CODEX_HOME", self.home())
            .env("HOME", self.home())
            .env("CODEX_ROLLOUT_TRACE_ROOT", self.traces())
            .current_dir(self.work())
            .stderr(Stdio::from(log));
        ServerProcess::start(command)
    }

    /// Writes the pages of the traces and prints where everything is.
    fn leave_behind(
        &self,
        transcript: &mut Transcript<Stdout>,
        rollout: Option<String>,
    ) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        if let Some(rollout) = rollout {
            lines.push(("rollout", rollout));
        }
        for (index, entry) in fs::read_dir(self.traces())?.enumerate() {
            let bundle = entry?.path();
            // Placed beside the bundle, whose long name would make the path hard to type.
            let name = match index {
                0 => "view.html".to_owned(),
                more => format!("view-{}.html", more + 1),
            };
            let page = self.root.join(name);
            write_page(&bundle, &page)?;
            lines.push(("trace", bundle.display().to_string()));
            lines.push(("page", format!("file://{}", page.display())));
        }
        lines.push(("files", self.work().display().to_string()));
        transcript.list("Left behind", &lines)?;
        Ok(())
    }
}

fn write_page(bundle: &Path, page: &Path) -> anyhow::Result<()> {
    let reduction = replay_bundle(bundle)?;
    OutputFile::derived(page).write(NewFile::Private, |file| {
        let mut out = io::BufWriter::new(file);
        write_view(&reduction, bundle, &ViewOptions::default(), &mut out)?;
        io::Write::flush(&mut out)
    })?;
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot make the folder {}", parent.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Creates the folder, or checks that it is empty.
fn empty_folder(asked: &Path) -> anyhow::Result<PathBuf> {
    let unusable = || format!("cannot use the folder {}", asked.display());
    fs::create_dir_all(asked).with_context(unusable)?;
    if fs::read_dir(asked).with_context(unusable)?.next().is_some() {
        bail!("{} is not empty; name a new folder", asked.display());
    }
    std::path::absolute(asked).with_context(unusable)
}
