//! A carrier that is a command: its standard streams are an exec server.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{
    Launch, Launcher, OutputStream, Process, ProcessOutput, SpawnedProcess, StandardInput,
    StreamSetup,
};
use codex_sandbox::LaunchPlan;

use crate::carrier::{CarrierCommand, MAX_MESSAGE_BYTES};

/// How much of the end of its standard error is kept, to say why it ended.
const KEPT_ERRORS: usize = 2048;

/// How long a command that takes no messages may say why.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A running carrier. Dropping it ends it with all that it started.
#[derive(Debug)]
pub(crate) struct ChildLink {
    // The owner comes first: it is dropped before the streams.
    process: Process,
    output: ProcessOutput,
    input: StandardInput,
    /// What came of the next lines.
    read: Vec<u8>,
    /// How much of it has no end of a line.
    searched: usize,
    errors: Vec<u8>,
}

impl ChildLink {
    pub(crate) async fn start(
        launcher: &Launcher,
        command: &CarrierCommand,
    ) -> Result<Self, String> {
        let spawned = launcher.spawn(Launch {
            command: command.argv.iter().map(OsString::from).collect(),
            cwd: command.cwd.clone(),
            inherited: Arc::clone(&command.environment),
            environment: Vec::new(),
            streams: StreamSetup::InputAndOutput,
            plan: LaunchPlan::Unconfined,
            network: codex_exec::CommandNetwork::default(),
        });
        let program = command.argv.first().map_or("", String::as_str);
        let SpawnedProcess {
            process,
            output,
            input,
        } = spawned
            .await
            .map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let input = input.ok_or_else(|| format!("`{program}` has no standard input"))?;
        Ok(Self {
            process,
            output,
            input,
            read: Vec::new(),
            searched: 0,
            errors: Vec::new(),
        })
    }

    pub(crate) async fn send(&mut self, mut message: String) -> Result<(), String> {
        message.push('\n');
        let Err(error) = self.input.write(message.as_bytes()).await else {
            return Ok(());
        };
        // What it said last is the reason.
        let rest = async {
            while let Some(chunk) = self.output.next().await {
                if chunk.stream == OutputStream::Stderr {
                    self.keep_errors(&chunk.bytes);
                }
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, rest).await;
        Err(self.explain(&error.to_string()))
    }

    /// The next line. Nothing is lost if this is dropped.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, String> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(line);
            }
            if self.read.len() > MAX_MESSAGE_BYTES {
                return Err(format!(
                    "a message is longer than {MAX_MESSAGE_BYTES} bytes"
                ));
            }
            let Some(chunk) = self.output.next().await else {
                let status = self.process.wait().await;
                return Err(self.explain(&format!("the command ended with {}", status.code())));
            };
            match chunk.stream {
                OutputStream::Stdout => self.read.extend_from_slice(&chunk.bytes),
                OutputStream::Stderr => self.keep_errors(&chunk.bytes),
            }
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let rest = &self.read[self.searched..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.read.len();
            return None;
        };
        let after = self.read.split_off(self.searched + end + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.read, after))
    }

    fn keep_errors(&mut self, bytes: &[u8]) {
        self.errors.extend_from_slice(bytes);
        let over = self.errors.len().saturating_sub(KEPT_ERRORS);
        self.errors.drain(..over);
    }

    /// The reason, with what the command said last.
    fn explain(&self, reason: &str) -> String {
        let said = String::from_utf8_lossy(&self.errors);
        let said: String = (said.trim().chars())
            .map(|char| if char.is_control() { ' ' } else { char })
            .collect();
        if said.is_empty() {
            reason.to_owned()
        } else {
            format!("{reason}: {said}")
        }
    }
}
