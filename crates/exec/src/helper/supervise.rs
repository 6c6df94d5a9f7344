//! Starts the command, tells how it ended, and sees to the end of everything it started.
//!
//! The supervisor stays until no descendant is left or its owner is gone, whichever comes first.

use std::os::unix::process::ExitStatusExt as _;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper,
    set_dumpable_behavior, wait,
};

use super::command::{self, CommandStreams, NotStarted};
use super::control::{Control, ControlError};
use super::sys;
use super::tree::Tree;
use crate::message::{Report, Request};
use crate::status::ExitStatus;

pub(super) fn supervise(
    control: &Control,
    id: u32,
    request: Request,
    streams: CommandStreams,
) -> Result<(), ControlError> {
    set_child_subreaper(Some(getpid()))?;
    // The command runs as the same user; it has no business in our memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let tree = Tree::new(sys::child_signals()?);
    let started = command::start(&request, &streams);
    drop((request, streams));
    let main = match started {
        Ok(main) => main,
        Err(NotStarted::Confinement(error)) => return control.not_confined(&error),
        Err(NotStarted::System(error)) => {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::INVAL);
            return control.not_started(errno);
        }
    };
    control.report(&Report::Started { supervisor: id })?;
    if follow(control, &tree, main)? == Left::Somebody {
        drop(tree);
        // The owner may have closed only its own direction, to hear when it is done.
        control.report(&Report::Ended(ExitStatus::Signal(libc::SIGKILL)))?;
    }
    Ok(())
}

/// Follows the tree until nobody is left or the owner is gone.
fn follow(control: &Control, tree: &Tree, main: Pid) -> Result<Left, ControlError> {
    loop {
        let mut wanted = [
            PollFd::new(control, PollFlags::IN),
            PollFd::new(tree.signals(), PollFlags::IN),
        ];
        match poll(&mut wanted, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [owner, _] = wanted.map(|wanted| !wanted.revents().is_empty());
        if owner {
            return Ok(Left::Somebody);
        }
        sys::drain_signals(tree.signals());
        if reap(control, main)? == Left::Nobody {
            return Ok(Left::Nobody);
        }
    }
}

#[derive(PartialEq, Eq)]
enum Left {
    Somebody,
    Nobody,
}

fn reap(control: &Control, main: Pid) -> Result<Left, ControlError> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((process, status))) => {
                if process == main
                    && let Some(status) = ended(status)
                {
                    control.report(&Report::Ended(status))?;
                }
            }
            Ok(None) => return Ok(Left::Somebody),
            Err(Errno::INTR) => {}
            Err(_) => return Ok(Left::Nobody),
        }
    }
}

fn ended(status: WaitStatus) -> Option<ExitStatus> {
    let status = std::process::ExitStatus::from_raw(status.as_raw());
    status
        .code()
        .map(ExitStatus::Code)
        .or(status.signal().map(ExitStatus::Signal))
}
