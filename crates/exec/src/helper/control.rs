//! The supervisor's end of the socket to the owner of its command.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use codex_sandbox::{ConfineError, Malformed};
use rustix::io::Errno;

use crate::message::{LENGTH, REQUEST_LIMIT, Report, Request};
use crate::order::OrderError;

/// There is nobody to serve, or it cannot be understood.
#[derive(Debug, thiserror::Error)]
pub(super) enum ControlError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    System(#[from] Errno),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// The supervisor's end of the socket.
pub(super) struct Control {
    socket: UnixStream,
}

impl Control {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            socket: UnixStream::from(socket),
        }
    }

    pub(super) fn receive(&self) -> Result<Request, ControlError> {
        let mut header = [0; LENGTH];
        (&self.socket).read_exact(&mut header)?;
        let length = u32::from_le_bytes(header) as usize;
        if length > REQUEST_LIMIT {
            return Err(Malformed.into());
        }
        let mut message = vec![0; length];
        (&self.socket).read_exact(&mut message)?;
        Ok(Request::decode(&message)?)
    }

    pub(super) fn report(&self, report: &Report) -> Result<(), ControlError> {
        Ok((&self.socket).write_all(&report.encode())?)
    }

    pub(super) fn not_started(&self, errno: Errno) -> Result<(), ControlError> {
        self.report(&Report::NotStarted {
            errno: errno.raw_os_error(),
        })
    }

    pub(super) fn not_confined(&self, error: &ConfineError) -> Result<(), ControlError> {
        self.report(&Report::NotConfined {
            reason: error.to_string(),
        })
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
