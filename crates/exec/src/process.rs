//! The owner of a process and its descendants.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};

use crate::input::StandardInput;
use crate::message::{LENGTH, REPORT_LIMIT, SupervisorReport};
use crate::output::ProcessOutput;
use crate::status::ExitStatus;
use crate::terminal::{Terminal, TerminalSize};

/// A running command: its owner and its streams, which may be used separately.
#[derive(Debug)]
pub struct SpawnedProcess {
    /// The owner. Dropping it kills the tree.
    pub process: Process,
    /// The output of the command.
    pub output: ProcessOutput,
    /// The input of the command, if it has any.
    pub input: Option<StandardInput>,
}

/// The owner of a process and its descendants, including those that left its group or session.
///
/// Dropping it kills all of them. The process may end before its descendants; they continue to run as long as the owner
/// exists.
#[derive(Debug)]
pub struct Process {
    kill: Option<oneshot::Sender<()>>,
    state: watch::Receiver<ProcessState>,
    terminal: Option<Arc<Terminal>>,
    supervisor: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessState {
    Running,
    Ended(ExitStatus),
    /// No process of the tree is left.
    Gone(ExitStatus),
}

/// The status if the supervisor ended without a report: it was killed, and its tree with it.
const LOST: ExitStatus = ExitStatus::Signal(9);

impl Process {
    pub(crate) fn own(supervisor: u32, reports: ReportReader, terminal: Option<Terminal>) -> Self {
        let (kill, killed) = oneshot::channel();
        let (sender, state) = watch::channel(ProcessState::Running);
        tokio::spawn(follow(reports, killed, sender));
        Self {
            kill: Some(kill),
            state,
            terminal: terminal.map(Arc::new),
            supervisor,
        }
    }

    /// Identifies the tree: the process id of its supervisor.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.supervisor
    }

    /// The exit status, if the process has ended.
    #[must_use]
    pub fn status(&self) -> Option<ExitStatus> {
        match *self.state.borrow() {
            ProcessState::Running => None,
            ProcessState::Ended(status) | ProcessState::Gone(status) => Some(status),
        }
    }

    /// Waits until the process has ended. Its descendants may still run.
    pub async fn wait(&self) -> ExitStatus {
        self.until(|state| *state != ProcessState::Running).await
    }

    /// Kills the whole tree and waits until no process of it is left.
    pub async fn kill(&mut self) -> ExitStatus {
        drop(self.kill.take());
        self.until(|state| matches!(state, ProcessState::Gone(_)))
            .await
    }

    async fn until(&self, reached: impl FnMut(&ProcessState) -> bool) -> ExitStatus {
        let mut state = self.state.clone();
        match state.wait_for(reached).await.as_deref() {
            Ok(ProcessState::Ended(status) | ProcessState::Gone(status)) => *status,
            // The sender is gone because the runtime is shutting down.
            Ok(ProcessState::Running) | Err(_) => LOST,
        }
    }

    /// Changes the size of the terminal.
    ///
    /// # Errors
    /// There is no terminal (`Unsupported`), or a system error.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        match &self.terminal {
            Some(terminal) => terminal.resize(size),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The terminal, if there is one, for use without the owner.
    #[must_use]
    pub fn terminal(&self) -> Option<Arc<Terminal>> {
        self.terminal.clone()
    }
}

/// Follows the supervisor to its end. Dropping the future closes the socket, which kills the tree.
async fn follow(
    mut reports: ReportReader,
    mut killed: oneshot::Receiver<()>,
    state: watch::Sender<ProcessState>,
) {
    let mut status = None;
    let mut signalled = false;
    loop {
        let report = tokio::select! {
            report = reports.next() => report,
            _ = &mut killed, if !signalled => {
                signalled = true;
                reports.close_write().await;
                continue;
            }
        };
        match report {
            Ok(SupervisorReport::Ended(end)) => {
                let first = *status.get_or_insert(end);
                state.send_replace(ProcessState::Ended(first));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    state.send_replace(ProcessState::Gone(status.unwrap_or(LOST)));
}

/// Reads reports from the socket to a supervisor.
#[derive(Debug)]
pub(crate) struct ReportReader {
    socket: UnixStream,
    /// The part of the next report that was read. Kept here, so that reading is cancel safe.
    partial: Vec<u8>,
}

impl ReportReader {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            partial: Vec::new(),
        }
    }

    /// The next report. An error if the socket is closed.
    pub(crate) async fn next(&mut self) -> io::Result<SupervisorReport> {
        loop {
            if let Some(report) = self.take_whole()? {
                return Ok(report);
            }
            if self.socket.read_buf(&mut self.partial).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn take_whole(&mut self) -> io::Result<Option<SupervisorReport>> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let Some((header, rest)) = self.partial.split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*header) as usize;
        if length > REPORT_LIMIT {
            return Err(invalid());
        }
        let Some(message) = rest.get(..length) else {
            return Ok(None);
        };
        let report = SupervisorReport::decode(message).map_err(|_| invalid())?;
        self.partial.drain(..LENGTH + length);
        Ok(Some(report))
    }

    /// Closes the write side. The supervisor then kills the tree, and still reports when it is done.
    async fn close_write(&mut self) {
        self.socket.shutdown().await.ok();
    }
}
