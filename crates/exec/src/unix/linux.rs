//! What Linux has otherwise than other Unix systems: pipes, terminals, sockets, the sandbox.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::OpenptFlags;

use super::OutputPipe;

/// What a helper confines a command with.
pub(crate) type HelperConfinement = codex_sandbox::Confinement;

/// The increased capacity of a pipe.
const PIPE_BYTES: usize = 1024 * 1024;

/// Increases the capacity of a pipe. Fails for a terminal, or if the user has too many large pipes; then the capacity
/// stays.
pub(crate) fn widen(pipe: &OutputPipe) {
    rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES).ok();
}

/// Both sides of a new terminal, ours first.
pub(crate) fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
    Ok((ours, theirs))
}

/// Sends descriptors without waiting and without a signal if nobody receives them.
pub(crate) const SEND_DESCRIPTORS: rustix::net::SendFlags =
    rustix::net::SendFlags::NOSIGNAL.union(rustix::net::SendFlags::DONTWAIT);

/// Receives descriptors that are closed on `exec`.
pub(crate) const RECEIVE_DESCRIPTORS: rustix::net::RecvFlags = rustix::net::RecvFlags::CMSG_CLOEXEC;
