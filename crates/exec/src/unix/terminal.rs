//! Pseudo terminals.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe;

use crate::platform::open_terminal;
use crate::terminal_size::TerminalSize;

/// The controlling side of a pseudo terminal.
#[derive(Debug)]
pub struct Terminal {
    descriptor: OwnedFd,
}

impl Terminal {
    /// Opens a terminal. Returns the other side for the command.
    pub(crate) fn open(size: TerminalSize) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = open_terminal()?;
        let mode = rustix::fs::fcntl_getfl(&ours)? | rustix::fs::OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&ours, mode)?;
        let terminal = Self { descriptor: ours };
        terminal.resize(size)?;
        Ok((terminal, theirs))
    }

    /// A reader of the terminal's output. Reading fails when the other side is closed.
    pub(crate) fn output(&self) -> io::Result<pipe::Receiver> {
        pipe::Receiver::from_owned_fd_unchecked(self.descriptor.try_clone()?)
    }

    /// A writer to the terminal's input.
    pub(crate) fn input(&self) -> io::Result<pipe::Sender> {
        pipe::Sender::from_owned_fd_unchecked(self.descriptor.try_clone()?)
    }

    /// Changes the size.
    ///
    /// # Errors
    /// A system error.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let size = rustix::termios::Winsize {
            ws_row: size.rows.get(),
            ws_col: size.columns.get(),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(rustix::termios::tcsetwinsize(&self.descriptor, size)?)
    }
}
