//! Runs one command to its end, with captured output and a time limit.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::capture::{CaptureLimits, CapturedOutput, OutputCapture};
use crate::output::{OutputChunk, OutputStream, ProcessOutput};
use crate::process::{Process, SpawnedProcess};
use crate::status::ExitStatus;

/// How long to read from the pipes of a killed tree.
const AFTER_KILL: Duration = Duration::from_millis(100);

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// After this time the tree is killed.
    pub timeout: Option<Duration>,
    /// How much of each stream is kept. The rest is read and counted.
    pub keep: CaptureLimits,
    /// How long to wait for output of descendants after the command has ended.
    pub linger: Duration,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The command ended by itself.
    Exited(ExitStatus),
    /// The time limit was exceeded and the tree was killed.
    TimedOut,
    /// The run was stopped and the tree was killed.
    Stopped,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    /// Why it ended.
    pub ending: RunEnd,
    /// The captured standard output (or terminal output).
    pub stdout: CapturedOutput,
    /// The captured standard error.
    pub stderr: CapturedOutput,
    /// The duration.
    pub elapsed: Duration,
}

/// Receives the output of a command.
pub trait OutputObserver: Send {
    /// Receives a chunk. Nothing more is read before this is done.
    fn observe(&mut self, chunk: &OutputChunk) -> impl Future<Output = ()> + Send;
}

/// Ignores all output.
impl OutputObserver for () {
    async fn observe(&mut self, _: &OutputChunk) {}
}

/// Runs a command to its end and captures its output.
///
/// `observer` receives every chunk; nothing is read while it is busy, so the command may block. The time limit and `stop`
/// apply meanwhile. Remaining processes of the tree are killed at the end, and all of them if the future is dropped.
pub async fn run(
    spawned: SpawnedProcess,
    limits: RunLimits,
    stop: impl Future<Output = ()>,
    observer: impl OutputObserver,
) -> RunOutcome {
    let started = Instant::now();
    let SpawnedProcess {
        mut process,
        output,
        input,
    } = spawned;
    let mut kept = CapturedStreams::new(limits.keep);
    let ending = {
        let mut pump = std::pin::pin!(pump(output, &mut kept, observer));
        let mut pumped = false;
        let ending = tokio::select! {
            biased;
            () = stop => RunEnd::Stopped,
            () = time_is_up(started, limits.timeout) => RunEnd::TimedOut,
            status = end(&process, pump.as_mut(), &mut pumped) => RunEnd::Exited(status),
        };
        let patience = if let RunEnd::Exited(_) = ending {
            limits.linger
        } else {
            process.kill().await;
            AFTER_KILL
        };
        if !pumped {
            tokio::select! {
                () = pump => {}
                () = sleep(patience) => {}
            }
        }
        ending
    };
    drop(input);
    process.kill().await;
    RunOutcome {
        ending,
        stdout: kept.stdout.take(),
        stderr: kept.stderr.take(),
        elapsed: started.elapsed(),
    }
}

async fn time_is_up(started: Instant, timeout: Option<Duration>) {
    match timeout.and_then(|timeout| started.checked_add(timeout)) {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of the process while reading its output.
async fn end(
    process: &Process,
    mut pump: impl Future<Output = ()> + Unpin,
    pumped: &mut bool,
) -> ExitStatus {
    let mut status = std::pin::pin!(process.wait());
    tokio::select! {
        status = &mut status => return status,
        () = &mut pump => *pumped = true,
    }
    status.await
}

async fn pump(
    mut output: ProcessOutput,
    kept: &mut CapturedStreams,
    mut observer: impl OutputObserver,
) {
    while let Some(chunk) = output.next().await {
        kept.push(&chunk);
        observer.observe(&chunk).await;
    }
}

struct CapturedStreams {
    stdout: OutputCapture,
    stderr: OutputCapture,
}

impl CapturedStreams {
    fn new(keep: CaptureLimits) -> Self {
        Self {
            stdout: OutputCapture::new(keep),
            stderr: OutputCapture::new(keep),
        }
    }

    fn push(&mut self, chunk: &OutputChunk) {
        match chunk.stream {
            OutputStream::Stdout => self.stdout.push(&chunk.bytes),
            OutputStream::Stderr => self.stderr.push(&chunk.bytes),
        }
    }
}
