//! The supervisor: starts a command, reports its end, and ends all its descendants.
//!
//! It ends when no process of the command is left or its owner is gone.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::process_list::processes;
use super::sys::{EventQueue, QueuedEvent, lead_session};
use crate::descendants::Descendants;
use crate::status::ExitStatus;
use crate::unix::control::{ControlError, ControlSocket};
use crate::unix::message::{CommandRequest, SupervisorReport};
use crate::unix::signals;
use crate::unix::start_request::StartRequest;

/// How long to wait for a process that cannot be killed, because it hangs in the kernel or has more privileges.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The time between two attempts to kill all processes.
const ROUND_DELAY: Duration = Duration::from_millis(5);

/// How often the processes are listed although nothing was reported: a process can leave its parent before the queue
/// waits for it.
const LIST_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn serve() -> Result<(), ControlError> {
    let starts = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(rustix::stdio::stdout())?;
    signals::block_signals()?;
    let Some(start) = StartRequest::receive(&starts)? else {
        return Ok(());
    };
    drop(starts);
    for descriptor in [&start.control].into_iter().chain(&start.streams) {
        fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
    }
    let control = ControlSocket::new(start.control);
    let request = control.receive()?;
    supervise(&control, request, start.streams)
}

fn supervise(
    control: &ControlSocket,
    request: CommandRequest,
    streams: [OwnedFd; 3],
) -> Result<(), ControlError> {
    let command = match start(request, streams) {
        Ok(command) => command,
        Err(error) => {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::INVAL);
            return control.not_started(errno);
        }
    };
    let mut tree = ProcessTree::new(control, command)?;
    control.report(&SupervisorReport::Started {
        supervisor: std::process::id(),
    })?;
    if tree.follow(control)? == TreeState::Running {
        drop(tree);
        // The owner may have closed only its write side, to receive the final report.
        control.report(&SupervisorReport::Ended(ExitStatus::Signal(libc::SIGKILL)))?;
    }
    Ok(())
}

fn start(request: CommandRequest, streams: [OwnedFd; 3]) -> std::io::Result<Child> {
    let [program, arguments @ ..] = request.command.as_slice() else {
        return Err(Errno::INVAL.into());
    };
    let [input, output, error] = streams;
    // Of duplicate names the last one is used.
    let variables: BTreeMap<_, _> = request.environment.into_iter().collect();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&request.cwd)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(error));
    lead_session(&mut command, request.terminal);
    command.spawn()
}

#[derive(PartialEq, Eq)]
enum TreeState {
    Running,
    Empty,
}

/// All processes of the command. Dropping it kills them.
struct ProcessTree {
    queue: EventQueue,
    /// The command itself; none when it is reaped.
    main: Option<Child>,
    leader: Option<Pid>,
    descendants: Descendants,
}

impl ProcessTree {
    fn new(control: &ControlSocket, command: Child) -> Result<Self, Errno> {
        let leader = i32::try_from(command.id()).unwrap_or_default();
        let mut tree = Self {
            queue: EventQueue::of_socket(control)?,
            leader: Pid::from_raw(leader),
            main: Some(command),
            descendants: Descendants::of_session(leader),
        };
        tree.list();
        Ok(tree)
    }

    /// Waits until no process is left or the owner is gone.
    fn follow(&mut self, control: &ControlSocket) -> Result<TreeState, ControlError> {
        loop {
            let events = self.queue.wait(Some(LIST_INTERVAL))?;
            if events.contains(&QueuedEvent::Readable) {
                if !control.asks_for_interrupt() {
                    return Ok(TreeState::Running);
                }
                if let Some(leader) = self.leader.filter(|_| self.main.is_some()) {
                    kill_process_group(leader, Signal::INT).ok();
                }
            }
            self.list();
            if let Some(status) = self.reap() {
                control.report(&SupervisorReport::Ended(status))?;
                self.list();
            }
            if self.is_empty() {
                return Ok(TreeState::Empty);
            }
        }
    }

    /// Reads the list of processes until it contains no new ones of the command.
    fn list(&mut self) {
        loop {
            let new = self.descendants.update(&processes());
            let added = new.into_iter().filter_map(Pid::from_raw);
            // It may have ended already. Its children, if any, are in the next list.
            let waits = added.filter(|pid| self.queue.add_process(*pid).is_ok());
            if waits.count() == 0 {
                return;
            }
        }
    }

    /// The status of the command when it has ended.
    fn reap(&mut self) -> Option<ExitStatus> {
        let status = self.main.as_mut()?.try_wait().ok()??;
        self.main = None;
        let code = status.code().map(ExitStatus::Code);
        code.or(status.signal().map(ExitStatus::Signal))
    }

    fn is_empty(&self) -> bool {
        self.main.is_none() && self.descendants.processes().next().is_none()
    }
}

impl Drop for ProcessTree {
    /// Kills in rounds until no process is left: one that was started meanwhile is killed in the next round.
    fn drop(&mut self) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        loop {
            self.list();
            self.reap();
            if self.is_empty() || Instant::now() >= deadline {
                return;
            }
            if let Some(leader) = self.leader.filter(|_| self.main.is_some()) {
                // Catches processes that the list does not contain yet. The number is not used again before it is reaped.
                kill_process_group(leader, Signal::KILL).ok();
            }
            for process in self.descendants.processes().filter_map(Pid::from_raw) {
                // The process may have ended by itself.
                kill_process(process, Signal::KILL).ok();
            }
            // An event of the socket, which has one all the time, would make the wait end at once.
            std::thread::sleep(ROUND_DELAY);
        }
    }
}
