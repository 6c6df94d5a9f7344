//! One process in the background, which others find without trusting a number in a file.
//!
//! The process holds a record lock on a file. The system releases it when the process ends for any reason, and says which
//! process holds it, so there is no stale mark and no mark that names another process.

use std::fs::File;
use std::io;
use std::path::Path;

/// The lock of the process in the background. It is held until this is dropped, or the process ends. The process must not
/// open the file again, because closing it would release the lock.
#[derive(Debug)]
pub struct RunningMark(#[expect(dead_code, reason = "it is kept open")] File);

/// How to end a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndRequest {
    /// It may finish its work.
    Terminate,
    /// At once.
    Kill,
}

/// Marks this process as the one of the file; none if another process is. The file must be there.
///
/// # Errors
/// The file cannot be opened, or the system has no such locks.
pub fn mark(path: &Path) -> io::Result<Option<RunningMark>> {
    let file = File::options().write(true).open(path)?;
    Ok(system::lock(&file)?.then_some(RunningMark(file)))
}

/// The process that is marked in the file.
///
/// # Errors
/// The file cannot be opened, or the process cannot be seen from here, for example because it is in another container.
pub fn marked(path: &Path) -> io::Result<Option<u32>> {
    match File::open(path) {
        Ok(file) => system::holder(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Ends the process that is marked in the file, if it is still this one.
///
/// # Errors
/// It belongs to another user.
pub fn end_marked(path: &Path, process: u32, request: EndRequest) -> io::Result<()> {
    system::end(process, request, || Ok(marked(path)? == Some(process)))
}

/// Leaves the terminal, so that its end does not end this process. It must not be the first of a group of processes.
///
/// # Errors
/// The system does not allow it.
pub fn leave_session() -> io::Result<()> {
    system::leave_session()
}

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io;

    use rustix::fs::FlockOperation;
    use rustix::process::{Flock, FlockType, Pid, Signal};

    use super::EndRequest;

    pub(super) fn lock(file: &File) -> io::Result<bool> {
        match rustix::fs::fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn holder(file: &File) -> io::Result<Option<u32>> {
        let wanted = Flock::from(FlockType::WriteLock);
        let Some(held) = rustix::process::fcntl_getlk(file, &wanted)? else {
            return Ok(None);
        };
        let pid = held
            .pid
            .and_then(|pid| pid.as_raw_nonzero().get().try_into().ok());
        let unseen = || io::Error::other("the process cannot be seen from here");
        pid.map(Some).ok_or_else(unseen)
    }

    fn signal(request: EndRequest) -> Signal {
        match request {
            EndRequest::Terminate => Signal::TERM,
            EndRequest::Kill => Signal::KILL,
        }
    }

    /// The process is taken hold of before it is checked, so that the signal reaches no other one.
    #[cfg(target_os = "linux")]
    pub(super) fn end(
        process: u32,
        request: EndRequest,
        is_still_it: impl Fn() -> io::Result<bool>,
    ) -> io::Result<()> {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
            return Ok(());
        };
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if !is_still_it()? {
            return Ok(());
        }
        ended(pidfd_send_signal(process, signal(request)))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn end(
        process: u32,
        request: EndRequest,
        is_still_it: impl Fn() -> io::Result<bool>,
    ) -> io::Result<()> {
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
        match pid {
            Some(pid) if is_still_it()? => {
                ended(rustix::process::kill_process(pid, signal(request)))
            }
            _ => Ok(()),
        }
    }

    fn ended(sent: rustix::io::Result<()>) -> io::Result<()> {
        match sent {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }

    pub(super) fn leave_session() -> io::Result<()> {
        rustix::process::setsid()?;
        Ok(())
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;

    use super::EndRequest;

    fn unsupported<T>() -> io::Result<T> {
        let message = "servers in the background are not supported on this system";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    pub(super) fn lock(_: &File) -> io::Result<bool> {
        unsupported()
    }

    pub(super) fn holder(_: &File) -> io::Result<Option<u32>> {
        unsupported()
    }

    pub(super) fn end(_: u32, _: EndRequest, _: impl Fn() -> io::Result<bool>) -> io::Result<()> {
        unsupported()
    }

    pub(super) fn leave_session() -> io::Result<()> {
        unsupported()
    }
}
