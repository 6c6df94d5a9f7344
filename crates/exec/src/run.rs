//! One command from its start to its end: output collected, time limited.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::capture::{Capture, Captured, Keep};
use crate::output::{Chunk, Output, Stream};
use crate::process::{Process, Spawned};
use crate::status::ExitStatus;

/// What is left in the pipes of a tree that is dead needs no waiting for.
const AFTER_KILL: Duration = Duration::from_millis(100);

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// When to kill the tree.
    pub timeout: Option<Duration>,
    /// What to keep of each stream. The rest is read and counted.
    pub keep: Keep,
    /// How long to wait for output of others in the tree after the command itself has ended.
    pub linger: Duration,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The command ended.
    Exited(ExitStatus),
    /// Its time was up; the tree was killed.
    TimedOut,
    /// It was told to stop; the tree was killed.
    Stopped,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Why it ended.
    pub ending: Ending,
    /// What was kept of standard output (or the terminal).
    pub stdout: Captured,
    /// What was kept of standard error.
    pub stderr: Captured,
    /// How long it took.
    pub elapsed: Duration,
}

/// Hears what a command prints.
pub trait Listener: Send {
    /// A piece of output. Until this is done, nothing more is read.
    fn hear(&mut self, chunk: &Chunk) -> impl Future<Output = ()> + Send;
}

/// Nobody listens.
impl Listener for () {
    async fn hear(&mut self, _: &Chunk) {}
}

/// Waits for the end of a command while collecting its output.
///
/// `listener` hears every piece as it comes; while it waits, nothing more is read, so the command
/// waits too. The time limit and `stop` hold meanwhile. Whatever of the tree is left in the end is
/// killed; so is all of it if the future is dropped.
pub async fn run(
    spawned: Spawned,
    limits: Limits,
    stop: impl Future<Output = ()>,
    listener: impl Listener,
) -> Finished {
    let started = Instant::now();
    let Spawned {
        mut process,
        output,
        input,
    } = spawned;
    let mut kept = Kept::new(limits.keep);
    let ending = {
        let mut pump = std::pin::pin!(pump(output, &mut kept, listener));
        let mut pumped = false;
        let ending = tokio::select! {
            biased;
            () = stop => Ending::Stopped,
            () = time_is_up(started, limits.timeout) => Ending::TimedOut,
            status = end(&process, pump.as_mut(), &mut pumped) => Ending::Exited(status),
        };
        let patience = if let Ending::Exited(_) = ending {
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
    Finished {
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

/// Waits for the end of the process, pumping meanwhile.
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

async fn pump(mut output: Output, kept: &mut Kept, mut listener: impl Listener) {
    while let Some(chunk) = output.next().await {
        kept.push(&chunk);
        listener.hear(&chunk).await;
    }
}

struct Kept {
    stdout: Capture,
    stderr: Capture,
}

impl Kept {
    fn new(keep: Keep) -> Self {
        Self {
            stdout: Capture::new(keep),
            stderr: Capture::new(keep),
        }
    }

    fn push(&mut self, chunk: &Chunk) {
        match chunk.stream {
            Stream::Stdout => self.stdout.push(&chunk.bytes),
            Stream::Stderr => self.stderr.push(&chunk.bytes),
        }
    }
}
