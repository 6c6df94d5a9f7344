//! Runs the command of a hook: outside of any sandbox, with bounded output, and nothing left of it afterwards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{ExitStatus, Launch, OutputChunk, OutputStream, SpawnError, StreamSetup};
use codex_hooks::{FileProblem, Hook, HookPlace, OUTPUT_LIMIT, RunEnd, RunResult};
use codex_program_files::{LaunchPlace, ProgramRecord, writable_variables};
use codex_protocol::SandboxPolicy;
use codex_sandbox::{EngineFiles, LaunchPlan};
use codex_shell_command::shell_call_without_startup_files;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::occasion::HookOccasion;
use crate::config::{WritableFiles, is_sandboxed};
use crate::ports::{Clock, ProcessInput, Processes, RunningProcess};
use crate::startup_files::STARTUP_VARIABLES;

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
    check: CheckedHook,
}

/// What is looked at before a run: whether the hook runs what it may run.
#[derive(Debug)]
struct CheckedHook {
    hook: Hook,
    sandbox_policy: SandboxPolicy,
    cwd: PathBuf,
    environment: Arc<BTreeMap<OsString, OsString>>,
    engine: Arc<EngineFiles>,
    home: PathBuf,
}

impl CheckedHook {
    /// Reads files. Removes the variables with code that commands may write.
    fn check(&self, launch: &mut Launch) -> Result<(), FileProblem> {
        let (policy, environment) = (&self.sandbox_policy, &self.environment);
        let writable = WritableFiles::for_policy(policy, &self.cwd, environment, &self.engine);
        let record = ProgramRecord::of_home(&self.home);
        let is_sandboxed = is_sandboxed(policy);
        let may_write = |path: &Path| writable.may_write(path);
        let place = HookPlace {
            cwd: &self.cwd,
            environment,
            may_write: &may_write,
            record: is_sandboxed.then_some(&record),
        };
        // A hook may have been trusted since the session began.
        let files = self.hook.files.paths.iter().cloned();
        self.engine.program_files.add(files);
        let variables = self.hook.check_files(&place, &self.home)?;
        if is_sandboxed {
            let place = LaunchPlace {
                cwd: &self.cwd,
                environment,
            };
            let names = writable_variables(place, &may_write).into_iter();
            let removed = names.map(|name| (name, OsString::new()));
            launch
                .environment
                .extend(variables.into_iter().chain(removed));
        }
        Ok(())
    }
}

impl HookCommand {
    /// The command line for the user's shell.
    pub(super) fn new(occasion: &HookOccasion<'_>, hook: &Hook, line: &str, input: String) -> Self {
        let config = &occasion.session.config;
        let shell = config.options.shell.display().to_string();
        // Commands in the sandbox may have written startup files.
        let call = shell_call_without_startup_files(&shell, line);
        let mut environment = vec![("CODEX_HOME".into(), config.services.home.clone().into())];
        environment.extend(STARTUP_VARIABLES.map(|name| (name.into(), "".into())));
        if let Some(plugin) = &hook.plugin {
            let own = plugin.variables();
            environment.extend(own.map(|(name, path)| (name.into(), path.into())));
        }
        Self {
            processes: Arc::clone(&occasion.session.processes),
            clock: Arc::clone(&occasion.session.clock),
            launch: Launch {
                command: call.into_iter().map(OsString::from).collect(),
                cwd: occasion.cwd.to_path_buf(),
                inherited: Arc::clone(&config.services.environment),
                environment,
                streams: StreamSetup::InputAndOutput,
                plan: LaunchPlan::Unconfined,
                network: codex_exec::CommandNetwork::default(),
            },
            timeout: hook.timeout,
            input,
            check: CheckedHook {
                hook: hook.clone(),
                sandbox_policy: occasion.sandbox_policy.clone(),
                cwd: occasion.cwd.to_path_buf(),
                environment: Arc::clone(&config.services.environment),
                engine: Arc::clone(&config.services.engine_files),
                home: config.services.home.clone(),
            },
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
        let (check, mut launch) = (self.check, self.launch);
        let checked =
            tokio::task::spawn_blocking(move || check.check(&mut launch).map(|()| launch));
        let launch = match checked.await {
            Ok(Ok(launch)) => launch,
            Ok(Err(problem)) => return RunEnd::NotRun(format!("the hook does not run: {problem}")),
            Err(error) => return RunEnd::NotRun(error.to_string()),
        };
        let started = tokio::select! {
            biased;
            started = self.processes.start(launch) => started,
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
