//! A server in front of the real one: it passes every line on and records it.
//!
//! The record ends when the client closes its side. What the server withdraws after that was left unanswered.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use anyhow::Context;
use clap::Args;
use codex_client::{LineSource, RecordedLine};
use parking_lot::Mutex;

use super::ClientProtocol;

/// What the program in the client's path runs.
#[derive(Debug, Args)]
pub struct RecordServerArguments {
    /// The folder for the records.
    #[arg(long)]
    records: PathBuf,
    /// The scenario for the server.
    #[arg(long)]
    scenario: PathBuf,
    /// The arguments of the client.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs this program with the client's arguments. A server gets the scenario and is recorded.
///
/// # Errors
/// The program cannot be started, or the record not be written.
pub fn run(arguments: &RecordServerArguments) -> anyhow::Result<ExitStatus> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    let names = [ClientProtocol::AppServer, ClientProtocol::Acp].map(ClientProtocol::command);
    let server = |argument: &String| names.contains(&argument.as_str());
    let Some(at) = arguments.arguments.iter().position(server) else {
        return Ok(command.args(&arguments.arguments).status()?);
    };
    let (before, after) = arguments.arguments.split_at(at + 1);
    command
        .args(before)
        .arg("--scenario")
        .arg(&arguments.scenario)
        .args(after);
    record(command, &arguments.records)
}

fn record(mut command: Command, folder: &Path) -> anyhow::Result<ExitStatus> {
    let path = folder.join(format!("{}.jsonl", std::process::id()));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let record = Arc::new(Mutex::new(Some(file)));
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the server")?;
    let streams = server.stdin.take().zip(server.stdout.take());
    let (mut to_server, from_server) = streams.context("the server has no standard streams")?;
    let requests = Arc::clone(&record);
    // Not joined: a client may keep its end open after the server has ended.
    thread::spawn(move || {
        let copied = copy(
            io::stdin().lock(),
            &mut to_server,
            LineSource::Client,
            &requests,
        );
        drop(requests.lock().take());
        copied
    });
    copy(
        BufReader::new(from_server),
        &mut io::stdout(),
        LineSource::Server,
        &record,
    )?;
    Ok(server.wait()?)
}

/// Copies lines until the input ends or nobody reads the output, and records them before they are written.
fn copy(
    mut input: impl BufRead,
    output: &mut impl Write,
    from: LineSource,
    record: &Mutex<Option<File>>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if input.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
        }
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        let mut entry = serde_json::to_string(&RecordedLine { from, line })?;
        entry.push('\n');
        if let Some(record) = record.lock().as_mut() {
            record.write_all(entry.as_bytes())?;
        }
        if output.write_all(&bytes).is_err() || output.flush().is_err() {
            return Ok(());
        }
    }
}
