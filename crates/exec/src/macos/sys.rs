//! System calls without a safe wrapper.

#![expect(unsafe_code, reason = "calls of the system")]

use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::io::Errno;
use rustix::process::Pid;

use crate::unix::signals;

/// Makes a command the leader of a new session when it starts, with its standard input as terminal if it has one.
pub(super) fn lead_session(command: &mut Command, terminal: bool) {
    let prepare = move || {
        signals::default_signals()?;
        rustix::process::setsid()?;
        if terminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        Ok(())
    };
    // SAFETY: between `fork` and `exec`, the function only makes system calls and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

/// Waits for a socket and for processes.
pub(super) struct EventQueue {
    queue: OwnedFd,
}

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueuedEvent {
    /// The socket is readable, or its other end is closed.
    Readable,
    /// A process has forked or ended.
    ProcessChanged,
}

impl EventQueue {
    /// Waits for this socket, which must outlive the queue.
    pub(super) fn of_socket(socket: impl AsFd) -> Result<Self, Errno> {
        let this = Self { queue: kqueue()? };
        let socket = socket.as_fd().as_raw_fd();
        this.add(EventFilter::Read(socket), EventFlags::ADD)?;
        Ok(this)
    }

    /// Also waits for a process to fork or end.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn add_process(&self, pid: Pid) -> Result<(), Errno> {
        let flags = ProcessEvents::EXIT | ProcessEvents::FORK;
        let filter = EventFilter::Proc { pid, flags };
        self.add(filter, EventFlags::ADD | EventFlags::CLEAR)
    }

    fn add(&self, filter: EventFilter, flags: EventFlags) -> Result<(), Errno> {
        let event = Event::new(filter, flags, std::ptr::null_mut());
        let mut none: [Event; 0] = [];
        // SAFETY: the descriptors in the event are open.
        unsafe { kevent(&self.queue, &[event], &mut none[..], None) }.map(drop)
    }

    /// Waits for events, at most this long.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> Result<Vec<QueuedEvent>, Errno> {
        let mut events = Vec::with_capacity(64);
        let buffer = rustix::buffer::spare_capacity(&mut events);
        // SAFETY: no events are added, and the socket outlives the queue.
        match unsafe { kevent(&self.queue, &[], buffer, timeout) } {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let kind = |event: &Event| match event.filter() {
            EventFilter::Read(_) => QueuedEvent::Readable,
            _ => QueuedEvent::ProcessChanged,
        };
        Ok(events.iter().map(kind).collect())
    }
}
