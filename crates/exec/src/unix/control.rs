//! The supervisor's end of the socket to the owner of its command.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use codex_sandbox::MalformedMessage;
use rustix::io::Errno;

use super::message::{CommandRequest, LENGTH, REQUEST_LIMIT, SupervisorReport};
use super::start_request::StartRequestError;

/// The owner is gone, or its message is invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    System(#[from] Errno),
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
    #[error(transparent)]
    StartRequest(#[from] StartRequestError),
}

/// The supervisor's end of the socket.
pub(crate) struct ControlSocket {
    socket: UnixStream,
}

impl ControlSocket {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            socket: UnixStream::from(socket),
        }
    }

    pub(crate) fn receive(&self) -> Result<CommandRequest, ControlError> {
        let mut header = [0; LENGTH];
        (&self.socket).read_exact(&mut header)?;
        let length = u32::from_le_bytes(header) as usize;
        if length > REQUEST_LIMIT {
            return Err(MalformedMessage.into());
        }
        let mut message = vec![0; length];
        (&self.socket).read_exact(&mut message)?;
        Ok(CommandRequest::decode(&message)?)
    }

    /// Whether the owner asks for an interrupt. If not, it is gone, or wants the end of the command.
    pub(crate) fn asks_for_interrupt(&self) -> bool {
        let mut request = [0];
        matches!((&self.socket).read(&mut request), Ok(1))
    }

    pub(crate) fn report(&self, report: &SupervisorReport) -> Result<(), ControlError> {
        Ok((&self.socket).write_all(&report.encode())?)
    }

    pub(crate) fn not_started(&self, errno: Errno) -> Result<(), ControlError> {
        self.report(&SupervisorReport::NotStarted {
            errno: errno.raw_os_error(),
        })
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
