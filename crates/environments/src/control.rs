//! The owner of a command on another machine.

use tokio::sync::watch;

use crate::machine::RemoteMachine;
use crate::process::{RemoteExit, RemoteOutput};

/// A command that runs.
#[derive(Debug)]
pub struct RemoteProcess {
    pub control: ProcessControl,
    pub output: RemoteOutput,
}

/// The owner of a command. Dropping it ends the command.
#[derive(Debug)]
pub struct ProcessControl {
    pub(crate) machine: RemoteMachine,
    pub(crate) id: String,
    pub(crate) exit: watch::Receiver<Option<RemoteExit>>,
}

impl ProcessControl {
    /// Waits for the end of the command.
    pub async fn exited(&self) -> RemoteExit {
        let mut exit = self.exit.clone();
        let found = exit.wait_for(Option::is_some).await;
        let found = found.ok().and_then(|exit| exit.clone());
        found.unwrap_or_else(|| RemoteExit::Lost("the connection was given up".to_owned()))
    }

    /// How the command has ended, once it has.
    #[must_use]
    pub fn exit_watch(&self) -> watch::Receiver<Option<RemoteExit>> {
        self.exit.clone()
    }

    /// Asks for the end of the command and all that it started.
    pub fn terminate(&self) {
        if self.exit.borrow().is_none() {
            self.machine.terminate(&self.id);
        }
    }

    /// Writes input, after what was written before. Does not wait until it is taken.
    pub fn write(&self, bytes: &[u8]) {
        self.machine.write(&self.id, bytes);
    }

    /// What writes input.
    #[must_use]
    pub fn writer(&self) -> ProcessWriter {
        ProcessWriter {
            machine: self.machine.clone(),
            id: self.id.clone(),
        }
    }
}

/// Writes input of a command.
#[derive(Clone, Debug)]
pub struct ProcessWriter {
    machine: RemoteMachine,
    id: String,
}

impl ProcessWriter {
    /// As [`ProcessControl::write`].
    pub fn write(&self, bytes: &[u8]) {
        self.machine.write(&self.id, bytes);
    }
}

impl Drop for ProcessControl {
    fn drop(&mut self) {
        self.machine.abandon(&self.id);
    }
}
