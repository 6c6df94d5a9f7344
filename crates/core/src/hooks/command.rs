//! Runs the command of a hook: outside of any sandbox, with bounded output, and nothing left of it afterwards.

use std::sync::Arc;
use std::time::Duration;

use codex_exec::{ExitStatus, Launch, OutputChunk, OutputStream, SpawnError, StreamSetup};
use codex_hooks::{Hook, OUTPUT_LIMIT, RunEnd, RunResult};
use codex_sandbox::LaunchPlan;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::occasion::HookOccasion;
use crate::ports::{Clock, ProcessInput, Processes, RunningProcess};

/// How long output is awaited after the command has ended. Its descendants may hold the pipes open.
const DRAIN_TIME: Duration = Duration::from_millis(100);

/// The command of a hook with everything that a run needs.
#[derive(Debug)]
pub(super) struct HookCommand {
    processes: Arc<dyn Processes>,
    clock: Arc<dyn Clock>,
    launch: Launch,
    timeout: Duration,
    input: String,
}

impl HookCommand {
    /// The command line for the user's shell.
    pub(super) fn new(occasion: &HookOccasion<'_>, hook: &Hook, line: &str, input: String) -> Self {
        let config = &occasion.session.config;
        let shell = config.shell.as_os_str();
        let mut environment = vec![("CODEX_HOME".into(), config.home.clone().into())];
        if let Some(plugin) = &hook.plugin {
            let own = plugin.variables();
            environment.extend(own.map(|(name, path)| (name.into(), path.into())));
        }
        Self {
            processes: Arc::clone(&occasion.session.processes),
            clock: Arc::clone(&occasion.session.clock),
            launch: Launch {
                command: vec![shell.to_owned(), "-lc".into(), line.into()],
                cwd: occasion.cwd.to_path_buf(),
                inherited: Arc::clone(&config.environment),
                environment,
                streams: StreamSetup::InputAndOutput,
                plan: LaunchPlan::Unconfined,
            },
            timeout: hook.timeout,
            input,
        }
    }

    /// Runs the command to its end. Its whole process tree is killed then, at the timeout, and when it writes too much.
    pub(super) async fn run(self) -> RunResult {
        let mut kept = KeptOutput::default();
        let end = self.run_into(&mut kept).await;
        RunResult {
            end,
            stdout: lossy(kept.stdout),
            stderr: lossy(kept.stderr),
        }
    }

    async fn run_into(self, kept: &mut KeptOutput) -> RunEnd {
        let mut time_is_up = self.clock.sleep(self.timeout);
        let timed_out = RunEnd::TimedOut(self.timeout.as_secs());
        let started = tokio::select! {
            biased;
            started = self.processes.start(self.launch) => started,
            () = &mut time_is_up => return timed_out,
        };
        let RunningProcess {
            mut owner,
            mut output,
            input,
        } = match started {
            Ok(running) => running,
            Err(error) => return RunEnd::NotRun(not_started(&error)),
        };
        let mut read = Box::pin(kept.read(&mut output));
        let mut write = Box::pin(write(input, self.input));
        let (mut is_read, mut is_written) = (false, false);
        let end = {
            let mut ended = owner.ended();
            loop {
                tokio::select! {
                    biased;
                    size = &mut read, if !is_read => match size {
                        OutputSize::Fits => is_read = true,
                        OutputSize::Exceeds => break RunEnd::TooMuchOutput,
                    },
                    status = &mut ended => break end_of(status),
                    () = &mut write, if !is_written => is_written = true,
                    () = &mut time_is_up => break timed_out,
                }
            }
        };
        let mut size = OutputSize::Fits;
        if matches!(end, RunEnd::Exited(_)) && !is_read {
            tokio::select! {
                biased;
                read = &mut read => size = read,
                () = self.clock.sleep(DRAIN_TIME) => {}
            }
        }
        owner.kill().await;
        match size {
            OutputSize::Fits => end,
            OutputSize::Exceeds => RunEnd::TooMuchOutput,
        }
    }
}

fn end_of(status: ExitStatus) -> RunEnd {
    match status {
        ExitStatus::Signal(_) => RunEnd::Signalled,
        status => RunEnd::Exited(status.code()),
    }
}

/// Writes the input. A command that does not read it has not failed.
async fn write(input: Option<Box<dyn ProcessInput>>, text: String) {
    let Some(mut input) = input else { return };
    if let Err(error) = input.write(text.as_bytes()).await {
        tracing::debug!(%error, "a hook has not read its input");
    }
}

fn not_started(error: &SpawnError) -> String {
    format!("failed to start hook: {error}")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputSize {
    Fits,
    Exceeds,
}

#[derive(Debug, Default)]
struct KeptOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl KeptOutput {
    /// Reads until all writers have closed the output, or it is too much.
    async fn read(&mut self, output: &mut BoxStream<'static, OutputChunk>) -> OutputSize {
        while let Some(chunk) = output.next().await {
            let kept = match chunk.stream {
                OutputStream::Stdout => &mut self.stdout,
                OutputStream::Stderr => &mut self.stderr,
            };
            if kept.len() + chunk.bytes.len() > OUTPUT_LIMIT {
                return OutputSize::Exceeds;
            }
            kept.extend_from_slice(&chunk.bytes);
        }
        OutputSize::Fits
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
