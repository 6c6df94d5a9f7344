//! A demonstration: a complete session with a scripted model in a temporary folder.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, bail};
use codex_app_server_protocol::v2::TurnStatus;
use codex_client::{Client, ClientThread, Transcript, UserDecision};
use codex_engine_host::console::Console;
use codex_engine_host::runtime;
use codex_regular_file::{NewFile, OutputFile};
use codex_rollout_trace::replay_bundle;
use codex_scenario::{Scenario, ScriptedApproval};
use codex_trace_view::{ViewOptions, write_view};
use serde_json::json;

use crate::interactive_user::{AnswerSource, InteractiveUser, Screen, usage_line};
use crate::server_process::{ServerProcess, own_server};

/// The built-in scenario.
const TOUR: &str = include_str!("../../../scenarios/tour.toml");

/// What is played, and how.
#[derive(Debug)]
pub struct Demo {
    /// The file of a scenario in place of the built-in tour.
    pub script: Option<PathBuf>,
    /// Whether all questions are answered: as the scenario says, otherwise with yes.
    pub is_automatic: bool,
    /// The folder for all files, which must be new or empty, in place of a temporary one.
    pub folder: Option<PathBuf>,
    pub screen: Screen,
}

/// Plays a session, and returns how its last turn ended.
///
/// # Errors
/// The scenario or the folder cannot be used, or the server does not start.
pub fn play_demo(demo: &Demo, console: &mut Console<'_>) -> anyhow::Result<TurnStatus> {
    let runtime = runtime::beside_output()?;
    let played = runtime.block_on(show(demo, console.output()));
    // A pending read of standard input must not keep the process alive.
    runtime.shutdown_background();
    played
}

async fn show(demo: &Demo, output: &mut dyn Write) -> anyhow::Result<TurnStatus> {
    let (scenario, path) = match &demo.script {
        Some(path) => (Scenario::load(path)?, Some(std::path::absolute(path)?)),
        None => (Scenario::from_toml("the built-in tour", TOUR)?, None),
    };
    let folder = DemoFolder::make(demo.folder.as_deref(), &scenario, path)?;
    let Screen { style, width } = demo.screen;
    let transcript = Transcript::new(output, style, width).seen_from(&folder.work());
    let answers = if demo.is_automatic {
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
    Ok(played.status)
}

/// The result of a session.
struct DemoOutcome {
    status: TurnStatus,
    rollout: Option<String>,
}

async fn play(
    scenario: &Scenario,
    folder: &DemoFolder,
    person: &mut InteractiveUser<&mut dyn Write>,
) -> anyhow::Result<DemoOutcome> {
    let begun = Instant::now();
    let (server, mut client) = folder.start_server()?;
    let started = async {
        initialize(&mut client).await?;
        anyhow::Ok(ClientThread::start(client, &json!({ "cwd": folder.work() })).await?)
    };
    let mut session = started.await.with_context(|| {
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
        transcript: &mut Transcript<&mut dyn Write>,
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
        out.flush()
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
