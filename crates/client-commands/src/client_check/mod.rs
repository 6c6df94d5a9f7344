//! What does a client do wrong?
//!
//! The client runs once for each ready scenario, in folders of its own. The program `codex` that it finds first in
//! its path is a recorder in front of this program. The records are checked by `codex_client::check_conversation`.

mod recorder;
mod scenarios;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use codex_client::{
    APP_SERVER_SCHEMA, ClientMistake, LineSource, MessageSchema, MistakeKind, RecordedLine,
    check_conversation,
};
use codex_engine_host::console::Console;
use codex_engine_host::runtime;
use codex_system::facts::HAS_BATCH_FILES;
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;
use tokio::process::Command;

pub use recorder::{RecordServerArguments, run as record_server};
use scenarios::{READY_SCENARIOS, ReadyScenario};

/// In the arguments of a client, this stands for the path of the server program.
const SERVER: &str = "{server}";

/// The protocol of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientProtocol {
    AppServer,
    Acp,
}

impl ClientProtocol {
    /// The command that serves it.
    fn command(self) -> &'static str {
        match self {
            Self::AppServer => "app-server",
            Self::Acp => "acp",
        }
    }

    fn schema(self) -> MessageSchema {
        match self {
            Self::AppServer => APP_SERVER_SCHEMA,
            Self::Acp => codex_acp::CLIENT_SCHEMA,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
The client runs once for each scenario and has to exit by itself. It finds the server as `codex` in its PATH, in \
CODEX_PATH, or in place of {server} in its arguments. CODEX_SCENARIO names the scenario.\n\n\
Examples:\n  codex debug app-server check -- python3 client.py\n  \
codex debug app-server check --only chat -- ./client --server {server}\n\n\
Exit status: 0 no mistakes, 1 mistakes or the check failed, 2 wrong usage.")]
pub struct CheckArguments {
    /// Check with this scenario only; can be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Seconds that the client may take for a scenario.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    timeout: u64,
    /// How many clients run at once; 1 for clients that cannot run beside each other.
    #[arg(long, short, default_value_t = 8, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..))]
    jobs: u8,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// The client and its arguments.
    #[arg(last = true, required = true, value_name = "CLIENT")]
    client: Vec<String>,
}

/// The result for one scenario.
#[derive(Debug, Serialize)]
struct ScenarioResult {
    scenario: &'static str,
    /// Messages of the client.
    messages: usize,
    mistakes: Vec<ClientMistake>,
}

/// Checks a client and prints its mistakes. Returns whether it made any.
///
/// # Errors
/// The check failed.
pub fn check_client(
    arguments: &CheckArguments,
    protocol: ClientProtocol,
    console: &mut Console<'_>,
) -> anyhow::Result<bool> {
    let chosen = choose(&arguments.only)?;
    let checks = chosen.into_iter().map(|scenario| async move {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        check(arguments, protocol, scenario, folder.path()).await
    });
    let results = stream::iter(checks)
        .buffered(arguments.jobs.into())
        .try_collect::<Vec<_>>();
    let results = runtime::here()?.block_on(results)?;
    print(console.output(), &results, arguments.json).context("cannot write the result")?;
    Ok(results.iter().any(|result| !result.mistakes.is_empty()))
}

fn choose(names: &[String]) -> anyhow::Result<Vec<ReadyScenario>> {
    let is_ready = |name: &String| READY_SCENARIOS.iter().any(|(ready, _)| ready == name);
    if let Some(unknown) = names.iter().find(|name| !is_ready(name)) {
        let ready = READY_SCENARIOS.map(|(name, _)| name).join(", ");
        bail!("there is no scenario `{unknown}`; there are {ready}");
    }
    let is_chosen =
        |ready: &ReadyScenario| names.is_empty() || names.iter().any(|name| name == ready.0);
    Ok(READY_SCENARIOS.into_iter().filter(is_chosen).collect())
}

async fn check(
    arguments: &CheckArguments,
    protocol: ClientProtocol,
    (scenario, text): ReadyScenario,
    folder: &Path,
) -> anyhow::Result<ScenarioResult> {
    let place = CheckFolder::create(folder, text)?;
    let mut command = place.client(&arguments.client)?;
    command.env("CODEX_SCENARIO", scenario);
    let mut client = command
        .spawn()
        .with_context(|| format!("cannot start the client `{}`", arguments.client[0]))?;
    let timeout = Duration::from_secs(arguments.timeout);
    let ended = tokio::time::timeout(timeout, client.wait()).await;
    if ended.is_err() {
        client.kill().await.context("cannot end the client")?;
    }
    let conversations = place.records()?;
    let schema = protocol.schema();
    let mut mistakes: Vec<_> = conversations
        .iter()
        .flat_map(|lines| check_conversation(lines, &schema))
        .collect();
    if conversations.is_empty() {
        let text = format!("the client did not start `codex {}`", protocol.command());
        mistakes.push(ClientMistake::new(MistakeKind::NoServer, text));
    }
    let lines = conversations.iter().flatten();
    let last = last_method(lines.clone());
    match ended {
        Ok(status) if status.as_ref().is_ok_and(|status| status.success()) => {}
        Ok(status) => {
            let text = format!("{}; the last message to it was {last}", status?);
            mistakes.push(ClientMistake::new(MistakeKind::Failed, text));
        }
        Err(_) => {
            let seconds = arguments.timeout;
            let text = format!("no exit within {seconds} s; the last message to it was {last}");
            mistakes.push(ClientMistake::new(MistakeKind::TimedOut, text));
        }
    }
    let messages = lines.filter(|line| line.from == LineSource::Client).count();
    Ok(ScenarioResult {
        scenario,
        messages,
        mistakes,
    })
}

/// Names the last message of the server, on which the client may have failed.
fn last_method<'a>(lines: impl Iterator<Item = &'a RecordedLine>) -> String {
    let last = lines.filter(|line| line.from == LineSource::Server).last();
    let message: serde_json::Value = last
        .and_then(|line| serde_json::from_str(&line.line).ok())
        .unwrap_or_default();
    match (message["method"].as_str(), message.get("id")) {
        (Some(method), _) => format!("`{method}`"),
        (None, Some(id)) => format!("the reply to request {id}"),
        (None, None) => "none".to_owned(),
    }
}

/// The folders of one run: home folder, working folder, the server program, records.
struct CheckFolder {
    root: PathBuf,
}

impl CheckFolder {
    fn create(root: &Path, scenario: &str) -> anyhow::Result<Self> {
        let folder = Self {
            root: root.to_owned(),
        };
        for made in ["home", "work", "bin", "records"] {
            fs::create_dir(root.join(made))?;
        }
        fs::write(root.join("scenario.toml"), scenario)?;
        folder.write_server()?;
        Ok(folder)
    }

    fn server(&self) -> PathBuf {
        let name = if HAS_BATCH_FILES {
            "codex.cmd"
        } else {
            "codex"
        };
        self.root.join("bin").join(name)
    }

    /// Writes a program that starts the recorder. It names everything itself, because clients may change the
    /// environment of the server.
    fn write_server(&self) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let (program, records) = (program.display(), self.root.join("records"));
        let (records, scenario) = (records.display(), self.root.join("scenario.toml"));
        let (scenario, home) = (scenario.display(), self.root.join("home"));
        let home = home.display();
        let script = if HAS_BATCH_FILES {
            format!(
                "@echo off\r\nset \"CODEX_HOME={home}\"\r\n\"{program}\" debug record-server --records \"{records}\" \
                 --scenario \"{scenario}\" -- %*\r\n"
            )
        } else {
            format!(
                "#!/bin/sh\nCODEX_HOME='{home}'\nexport CODEX_HOME\nexec '{program}' debug record-server \
                 --records '{records}' --scenario '{scenario}' -- \"$@\"\n"
            )
        };
        let path = self.server();
        fs::write(&path, script)?;
        codex_system::file::make_executable(&path)?;
        Ok(())
    }

    fn client(&self, words: &[String]) -> anyhow::Result<Command> {
        let server = self.server();
        let server_text = server.to_string_lossy();
        let words = words.iter().map(|word| word.replace(SERVER, &server_text));
        let mut words = words.collect::<Vec<_>>().into_iter();
        let program = words.next().context("there is no client to run")?;
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.root.join("bin"));
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&inherited)))?;
        // A relative path of a script or program is meant from here.
        let mut command = Command::new(existing(&program));
        command
            .args(words.map(|word| existing(&word)))
            .env("PATH", path)
            .env("CODEX_PATH", server)
            .env("CODEX_HOME", self.root.join("home"))
            .current_dir(self.root.join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::from(io::stderr()))
            .kill_on_drop(true);
        Ok(command)
    }

    /// The conversations with each server that the client started.
    fn records(&self) -> anyhow::Result<Vec<Vec<RecordedLine>>> {
        let mut conversations = Vec::new();
        for entry in fs::read_dir(self.root.join("records"))? {
            let text = fs::read_to_string(entry?.path())?;
            let lines = text.lines().map(serde_json::from_str);
            // A line that is being written when the client is killed is incomplete.
            conversations.push(lines.map_while(Result::ok).collect());
        }
        Ok(conversations)
    }
}

/// The absolute path of a word that names a file here; other words stay.
fn existing(word: &str) -> PathBuf {
    let path = Path::new(word);
    match std::path::absolute(path) {
        Ok(absolute) if path.is_file() => absolute,
        _ => path.to_owned(),
    }
}

fn print(mut out: &mut dyn Write, results: &[ScenarioResult], json: bool) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut out, results)?;
        return writeln!(out);
    }
    for result in results {
        let verdict = match result.mistakes.len() {
            0 => "ok".to_owned(),
            1 => "1 mistake".to_owned(),
            many => format!("{many} mistakes"),
        };
        let (name, messages) = (result.scenario, result.messages);
        writeln!(out, "{name:<20} {messages:>5} messages  {verdict}")?;
        for ClientMistake { kind, message } in &result.mistakes {
            let kind = serde_json::to_value(kind)?;
            let kind = kind.as_str().unwrap_or_default();
            writeln!(out, "    {kind}: {}", codex_client::harmless(message))?;
        }
    }
    Ok(())
}
