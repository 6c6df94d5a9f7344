//! Runs a command: starts it, reports its end, and ends all its descendants.
//!
//! The supervisor ends when no descendant is left or its owner is gone.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group,
    set_child_subreaper, set_dumpable_behavior, wait,
};

use super::command::{self, CommandStreams, StartError};
use super::sys;
use super::tree::ProcessTree;
use crate::linux::network::control::{send_sockets, take_request};
use crate::status::ExitStatus;
use crate::unix::control::{ControlError, ControlSocket};
use crate::unix::message::{CommandRequest, SupervisorReport};

pub(super) fn supervise(
    control: &ControlSocket,
    id: u32,
    request: CommandRequest,
    streams: CommandStreams,
    network: Option<&OwnedFd>,
) -> Result<(), ControlError> {
    set_child_subreaper(Some(getpid()))?;
    // The command runs as the same user and must not access this process's memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let tree = ProcessTree::new(sys::child_signals()?);
    let started = command::start(&request, &streams, network);
    drop((request, streams));
    let main = match started {
        Ok(main) => main,
        Err(StartError::Confinement(error)) => {
            return command::report_not_confined(control, &error);
        }
        Err(StartError::System(error)) => {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::INVAL);
            return control.not_started(errno);
        }
    };
    control.report(&SupervisorReport::Started { supervisor: id })?;
    if follow(control, &tree, main, network)? == TreeState::Running {
        drop(tree);
        // The owner may have closed only its write side, to receive the final report.
        control.report(&SupervisorReport::Ended(ExitStatus::Signal(libc::SIGKILL)))?;
    }
    Ok(())
}

/// Waits until no descendant is left or the owner is gone.
fn follow(
    control: &ControlSocket,
    tree: &ProcessTree,
    main: Pid,
    mut network: Option<&OwnedFd>,
) -> Result<TreeState, ControlError> {
    loop {
        let mut wanted = vec![
            PollFd::new(control, PollFlags::IN),
            PollFd::new(tree.signals(), PollFlags::IN),
        ];
        wanted.extend(network.map(|network| PollFd::new(network, PollFlags::IN)));
        match poll(&mut wanted, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |index| {
            wanted
                .get(index)
                .is_some_and(|it: &PollFd<'_>| !it.revents().is_empty())
        };
        let (owner, relay) = (is_ready(0), is_ready(2));
        if relay {
            // Without the relay the command reaches nothing.
            let served =
                |network: &&OwnedFd| take_request(network) && send_sockets(network).is_ok();
            network = network.filter(served);
        }
        if owner {
            if !control.asks_for_interrupt() {
                return Ok(TreeState::Running);
            }
            // The command leads a group of its own; it may have ended already.
            kill_process_group(main, Signal::INT).ok();
        }
        sys::drain_signals(tree.signals());
        if reap(control, main)? == TreeState::Empty {
            return Ok(TreeState::Empty);
        }
    }
}

#[derive(PartialEq, Eq)]
enum TreeState {
    Running,
    Empty,
}

fn reap(control: &ControlSocket, main: Pid) -> Result<TreeState, ControlError> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((process, status))) => {
                if process == main
                    && let Some(status) = ended(status)
                {
                    control.report(&SupervisorReport::Ended(status))?;
                }
            }
            Ok(None) => return Ok(TreeState::Running),
            Err(Errno::INTR) => {}
            Err(_) => return Ok(TreeState::Empty),
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
