//! The owner of a process and everything it started.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};

use crate::input::Input;
use crate::message::{LENGTH, REPORT_LIMIT, Report};
use crate::output::Output;
use crate::status::ExitStatus;
use crate::terminal::{Terminal, TerminalSize};

/// A running command: its owner, and the streams, which may be used elsewhere.
#[derive(Debug)]
pub struct Spawned {
    /// The owner. Dropping it kills the tree.
    pub process: Process,
    /// What it prints.
    pub output: Output,
    /// What it reads, if it was to have anything.
    pub input: Option<Input>,
}

/// The owner of a process and everything it started, also of what left its group or session.
///
/// Dropping it kills them all. The process may have ended with others of the tree still running;
/// those live on for as long as the owner does.
#[derive(Debug)]
pub struct Process {
    kill: Option<oneshot::Sender<()>>,
    state: watch::Receiver<State>,
    terminal: Option<Arc<Terminal>>,
    supervisor: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Ended(ExitStatus),
    /// Nothing of the tree is left.
    Gone(ExitStatus),
}

/// What is told if the supervisor died without a word: it was killed, and the tree with it.
const LOST: ExitStatus = ExitStatus::Signal(9);

impl Process {
    pub(crate) fn own(supervisor: u32, reports: Reports, terminal: Option<Terminal>) -> Self {
        let (kill, killed) = oneshot::channel();
        let (sender, state) = watch::channel(State::Running);
        tokio::spawn(follow(reports, killed, sender));
        Self {
            kill: Some(kill),
            state,
            terminal: terminal.map(Arc::new),
            supervisor,
        }
    }

    /// A number of the operating system's that tells this tree from others: the process id of its
    /// supervisor.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.supervisor
    }

    /// How the process ended, if it has.
    #[must_use]
    pub fn status(&self) -> Option<ExitStatus> {
        match *self.state.borrow() {
            State::Running => None,
            State::Ended(status) | State::Gone(status) => Some(status),
        }
    }

    /// Waits until the process has ended. Others that it started may still run.
    pub async fn wait(&self) -> ExitStatus {
        self.until(|state| *state != State::Running).await
    }

    /// Kills the whole tree and waits until nothing of it is left.
    pub async fn kill(&mut self) -> ExitStatus {
        drop(self.kill.take());
        self.until(|state| matches!(state, State::Gone(_))).await
    }

    async fn until(&self, reached: impl FnMut(&State) -> bool) -> ExitStatus {
        let mut state = self.state.clone();
        match state.wait_for(reached).await.as_deref() {
            Ok(State::Ended(status) | State::Gone(status)) => *status,
            // The runtime ends, and with it the task that follows the supervisor.
            Ok(State::Running) | Err(_) => LOST,
        }
    }

    /// Changes the size of the command's terminal.
    ///
    /// # Errors
    /// It has none (`Unsupported`), or the system refuses.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        match &self.terminal {
            Some(terminal) => terminal.resize(size),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The command's terminal, if it has one, for who is not the owner.
    #[must_use]
    pub fn terminal(&self) -> Option<Arc<Terminal>> {
        self.terminal.clone()
    }
}

/// Follows the supervisor to its end. If this is dropped, the socket closes and the tree dies.
async fn follow(
    mut reports: Reports,
    mut killed: oneshot::Receiver<()>,
    state: watch::Sender<State>,
) {
    let mut status = None;
    let mut told = false;
    loop {
        let report = tokio::select! {
            report = reports.next() => report,
            _ = &mut killed, if !told => {
                told = true;
                reports.say_goodbye().await;
                continue;
            }
        };
        match report {
            Ok(Report::Ended(end)) => {
                let first = *status.get_or_insert(end);
                state.send_replace(State::Ended(first));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    state.send_replace(State::Gone(status.unwrap_or(LOST)));
}

/// Our end of the socket to a supervisor.
#[derive(Debug)]
pub(crate) struct Reports {
    socket: UnixStream,
    /// What was read of the next report. Kept here, so that nothing is lost when reading is
    /// given up in the middle.
    partial: Vec<u8>,
}

impl Reports {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            partial: Vec::new(),
        }
    }

    /// The next report. An error if there will be none.
    pub(crate) async fn next(&mut self) -> io::Result<Report> {
        loop {
            if let Some(report) = self.take_whole()? {
                return Ok(report);
            }
            if self.socket.read_buf(&mut self.partial).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn take_whole(&mut self) -> io::Result<Option<Report>> {
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
        let report = Report::decode(message).map_err(|_| invalid())?;
        self.partial.drain(..LENGTH + length);
        Ok(Some(report))
    }

    /// The supervisor takes it as the order to kill the tree, and still tells when it is done.
    async fn say_goodbye(&mut self) {
        self.socket.shutdown().await.ok();
    }
}
