//! What the first line of a rollout tells of the repository that the thread works in.
//!
//! Asked of the `git` program when the file is made, beside the turn and not in its way. Nothing that
//! the repository configures is run, and a program that hangs is given up.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{ExitStatus, Launch, Stream, Streams};
use codex_protocol::GitInfo;
use codex_sandbox::LaunchPlan;
use futures::StreamExt;

use crate::ports::Processes;
use crate::session::Services;

/// How long the program may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most that an answer may have.
const ANSWER: usize = 8 * 1024;

/// From now on the thread has a file.
pub(crate) fn materialise(services: &Services) {
    let emitter = services.emitter.clone();
    if !emitter.begin_file() {
        return;
    }
    let cwd = services.config.cwd.clone();
    if !is_repository(&cwd) {
        return emitter.materialise(None);
    }
    let processes = Arc::clone(&services.processes);
    let environment = environment(services);
    tokio::spawn(async move {
        let asked = ask_all(&*processes, &cwd, &environment);
        let git = tokio::time::timeout(PATIENCE, asked).await;
        emitter.materialise(git.unwrap_or_default().as_ref());
    });
}

/// Whether the program is worth asking.
fn is_repository(cwd: &Path) -> bool {
    cwd.ancestors().any(|folder| folder.join(".git").exists())
}

fn environment(services: &Services) -> Vec<(OsString, OsString)> {
    let own = services.config.environment.iter();
    own.filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .chain([
            ("GIT_OPTIONAL_LOCKS".into(), "0".into()),
            ("GIT_TERMINAL_PROMPT".into(), "0".into()),
        ])
        .collect()
}

async fn ask_all(
    processes: &dyn Processes,
    cwd: &Path,
    environment: &[(OsString, OsString)],
) -> Option<GitInfo> {
    let ask = |arguments: &'static [&'static str]| ask(processes, cwd, environment, arguments);
    let (commit_hash, branch, repository_url) = tokio::join!(
        ask(&["rev-parse", "--verify", "--quiet", "HEAD"]),
        ask(&["symbolic-ref", "--short", "--quiet", "HEAD"]),
        ask(&["remote", "get-url", "origin"]),
    );
    let git = GitInfo {
        commit_hash,
        branch,
        repository_url,
    };
    (git != GitInfo::default()).then_some(git)
}

/// The line that the program answers; none if it fails.
async fn ask(
    processes: &dyn Processes,
    cwd: &Path,
    environment: &[(OsString, OsString)],
    arguments: &[&str],
) -> Option<String> {
    let hardened = [
        "git",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "protocol.allow=never",
    ];
    let command = hardened.iter().chain(arguments).map(OsString::from);
    let launch = Launch {
        command: command.collect(),
        cwd: cwd.to_owned(),
        environment: environment.to_vec(),
        streams: Streams::Output,
        plan: LaunchPlan::Unconfined,
    };
    let mut running = processes.start(launch).await.ok()?;
    let mut answer = Vec::new();
    while let Some(chunk) = running.output.next().await {
        if chunk.stream == Stream::Stdout && answer.len() < ANSWER {
            answer.extend_from_slice(&chunk.bytes);
        }
    }
    let status = running.owner.ended().await;
    let text = String::from_utf8(answer).ok()?;
    let line = text.trim();
    (status == ExitStatus::Code(0) && !line.is_empty()).then(|| line.to_owned())
}
