//! A command on another machine.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::path::RemotePath;
use crate::wire::{OutputOrigin, Sandbox, VariablePolicy};

/// A command to start.
#[derive(Clone, Debug)]
pub struct RemoteCommand {
    /// An id that was never used on this machine.
    pub id: String,
    pub argv: Vec<String>,
    pub cwd: RemotePath,
    pub env: BTreeMap<String, String>,
    pub env_policy: VariablePolicy,
    pub has_terminal: bool,
    pub takes_input: bool,
    /// None for no confinement at all.
    pub sandbox: Option<Sandbox<RemotePath>>,
}

/// How a command has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteExit {
    Code(i32),
    /// Nothing is known about its end, for this reason.
    Lost(String),
}

/// A part of the output.
#[derive(Debug)]
pub struct OutputPiece {
    pub origin: OutputOrigin,
    pub bytes: Bytes,
    /// Its share of the memory for output that is not taken.
    pub(crate) _room: Option<OwnedSemaphorePermit>,
}

/// The output of a command, in order.
#[derive(Debug)]
pub struct RemoteOutput {
    pub(crate) pieces: mpsc::UnboundedReceiver<OutputPiece>,
}

impl RemoteOutput {
    /// The next part; none at the end.
    pub async fn next(&mut self) -> Option<OutputPiece> {
        self.pieces.recv().await
    }
}
