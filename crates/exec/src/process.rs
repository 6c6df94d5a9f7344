//! The owner of a process and its descendants.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::input::StandardInput;
use crate::output::ProcessOutput;
use crate::platform::Terminal;
use crate::status::ExitStatus;
use crate::terminal_size::TerminalSize;

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
    /// None where the system cannot interrupt a command.
    interrupt: Option<mpsc::UnboundedSender<()>>,
    id: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessState {
    Running,
    Ended(ExitStatus),
    /// No process of the tree is left.
    Gone(ExitStatus),
}

/// How long a killed tree is waited for.
const KILL_LIMIT: Duration = Duration::from_secs(3);

/// The status if the supervisor ended without a report: it was killed, and its tree with it.
const LOST_STATUS: ExitStatus = ExitStatus::Signal(9);

/// Receives what happens to a process from the task that follows it.
pub(crate) struct StateReporter {
    state: watch::Sender<ProcessState>,
    status: Option<ExitStatus>,
}

impl StateReporter {
    /// The process has ended. Only the first status counts.
    pub(crate) fn ended(&mut self, status: ExitStatus) {
        let first = *self.status.get_or_insert(status);
        self.state.send_replace(ProcessState::Ended(first));
    }

    /// No process of the tree is left.
    pub(crate) fn gone(self) {
        let status = self.status.unwrap_or(LOST_STATUS);
        self.state.send_replace(ProcessState::Gone(status));
    }
}

impl Process {
    /// The owner of a started process. `follow` reports its states and kills the tree when the channel that it gets is
    /// used or closed, or when it is dropped.
    pub(crate) fn own<F>(
        id: u32,
        terminal: Option<Terminal>,
        follow: impl FnOnce(oneshot::Receiver<()>, StateReporter) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (kill, killed) = oneshot::channel();
        let (sender, state) = watch::channel(ProcessState::Running);
        let reporter = StateReporter {
            state: sender,
            status: None,
        };
        tokio::spawn(follow(killed, reporter));
        Self {
            kill: Some(kill),
            state,
            terminal: terminal.map(Arc::new),
            interrupt: None,
            id,
        }
    }

    /// The same, with a way to interrupt the command.
    #[cfg_attr(windows, expect(dead_code, reason = "there is no way on this system"))]
    pub(crate) fn interrupted_through(self, interrupt: mpsc::UnboundedSender<()>) -> Self {
        Self {
            interrupt: Some(interrupt),
            ..self
        }
    }

    /// Interrupts the command and its process group, as Ctrl-C does. It may go on.
    ///
    /// # Errors
    /// The system cannot do it (`Unsupported`).
    pub fn interrupt(&self) -> io::Result<()> {
        let interrupt = self.interrupt.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        // Without a receiver the command has ended.
        interrupt.send(()).ok();
        Ok(())
    }

    /// Identifies the tree: the process id of its supervisor, or of the command where there is none.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
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

    /// Kills the whole tree and waits until no process of it is left. A process that waits for a file system that does not
    /// answer cannot be killed; it is waited for once, for [`KILL_LIMIT`].
    pub async fn kill(&mut self) -> ExitStatus {
        let is_first = self.kill.take().is_some();
        let gone = self.until(|state| matches!(state, ProcessState::Gone(_)));
        let limit = if is_first { KILL_LIMIT } else { Duration::ZERO };
        let gone = tokio::time::timeout(limit, gone).await;
        gone.unwrap_or_else(|_| self.status().unwrap_or(LOST_STATUS))
    }

    async fn until(&self, reached: impl FnMut(&ProcessState) -> bool) -> ExitStatus {
        let mut state = self.state.clone();
        match state.wait_for(reached).await.as_deref() {
            Ok(ProcessState::Ended(status) | ProcessState::Gone(status)) => *status,
            // The sender is gone because the runtime is shutting down.
            Ok(ProcessState::Running) | Err(_) => LOST_STATUS,
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
