//! Runs the user's program after each turn.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use codex_core::{EndedTurn, TurnEnded};
use codex_program_files::{NotAsRecorded, StartedProgram};
use codex_system::process::leave_terminal;
use serde_json::json;

use crate::program_checks::ProgramChecks;

/// The name of the setting.
const NAME: &str = "notify";

/// The program and its first arguments. It is configured by the user, so it runs without a sandbox, and nothing waits for
/// it.
#[derive(Clone, Debug)]
pub(crate) struct NotifyProgram {
    pub(crate) command: Vec<String>,
    pub(crate) checks: Arc<ProgramChecks>,
}

impl NotifyProgram {
    /// Whether the program may start. Reads files. Returns its variables.
    pub(crate) fn check(&self) -> Result<BTreeMap<OsString, OsString>, NotAsRecorded> {
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let mut environment: BTreeMap<_, _> = std::env::vars_os().collect();
        for name in self.checks.writable_variables(&cwd, &environment) {
            environment.remove(&name);
        }
        let program = StartedProgram {
            name: NAME,
            command: &self.command,
            cwd: &cwd,
        };
        let variables = self.checks.check(&program, &environment)?;
        environment.extend(variables);
        Ok(environment)
    }

    fn start(&self, notification: &str) {
        let environment = match self.check() {
            Ok(environment) => environment,
            Err(problem) => {
                tracing::warn!(%problem, "the program of `notify` is not started");
                return;
            }
        };
        let Some((program, arguments)) = self.command.split_first() else {
            return;
        };
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .arg(notification)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Starting a program waits until its file was found.
        let checked = codex_mounts::check(Path::new(program)).map_err(io::Error::from);
        let started = checked.and_then(|()| leave_terminal(&mut command).spawn());
        if let Err(error) = started {
            tracing::warn!(%error, program, "the program of `notify` does not start");
        }
    }
}

impl TurnEnded for NotifyProgram {
    fn ended(&self, turn: EndedTurn) {
        let mut notification = json!({
            "type": "agent-turn-complete",
            "thread-id": turn.thread,
            "turn-id": turn.turn,
            "cwd": turn.cwd,
            "input-messages": turn.input_messages,
            "last-assistant-message": turn.last_agent_message,
        });
        if let Some(client) = turn.client {
            notification["client"] = client.into();
        }
        let program = self.clone();
        let notification = notification.to_string();
        drop(tokio::task::spawn_blocking(move || {
            program.start(&notification)
        }));
    }
}
