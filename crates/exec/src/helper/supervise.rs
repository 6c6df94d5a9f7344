//! Starts the command, tells how it ended, and sees to the end of everything it started.
//!
//! The supervisor stays until no descendant is left or its owner is gone, whichever comes first.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use codex_sandbox::Confinement;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, wait,
};

use super::control::{Control, ControlError};
use super::sys;
use super::tree::Tree;
use crate::message::{Report, Request};
use crate::status::ExitStatus;

/// The standard streams of the command.
pub(super) struct CommandStreams {
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) error: OwnedFd,
}

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
    let main = match start(control, request, streams)? {
        Ok(main) => main,
        Err(error) => {
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

/// The outer error is one of the socket, the inner one the command's.
fn start(
    control: &Control,
    request: Request,
    streams: CommandStreams,
) -> Result<io::Result<Pid>, ControlError> {
    let Some((program, arguments)) = request.command.split_first() else {
        return Ok(Err(Errno::INVAL.into()));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(request.environment)
        .current_dir(&request.cwd)
        .stdin(Stdio::from(streams.input))
        .stdout(Stdio::from(streams.output))
        .stderr(Stdio::from(streams.error));
    let reasons = Control::from_other(control)?;
    let (terminal, confinement) = (request.terminal, request.confinement);
    sys::before_exec(&mut command, move || {
        own_session(terminal)?;
        confine(confinement.as_deref(), &reasons)
    });
    let child = command.spawn();
    Ok(child.and_then(|child| {
        let number = i32::try_from(child.id()).ok();
        number
            .and_then(Pid::from_raw)
            .ok_or_else(|| Errno::CHILD.into())
    }))
}

fn own_session(terminal: bool) -> io::Result<()> {
    sys::unblock_signals()?;
    // Should the supervisor be killed, at least the command itself dies too.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::process::setsid()?;
    if terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    Ok(())
}

/// Tells the reason itself: only an error number gets from here to the supervisor.
fn confine(confinement: Option<&Confinement>, reasons: &Control) -> io::Result<()> {
    let Some(confinement) = confinement else {
        return Ok(());
    };
    confinement.restrict().map_err(|error| {
        let told = reasons.not_confined(&error);
        match told {
            Ok(()) => io::Error::from_raw_os_error(error.raw_os_error()),
            Err(_) => io::ErrorKind::BrokenPipe.into(),
        }
    })
}
