//! The steward: starts the supervisors, and keeps what has to outlive them.
//!
//! It lives as long as its owner does, and notices the owner's death by the end of its socket. A
//! supervisor forked from here costs a tenth of one that is executed, and with the first command that
//! tenth is paid ahead: one supervisor is always there for a command like the last one, namespaces and
//! all. It also removes the placeholders of protected paths when the last command has ended that
//! needs them: in the supervisor's namespace they are mount points, which cannot be removed. It never
//! touches a command; if it dies, running ones go on under their supervisors.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use codex_sandbox::{Decoder, Encoder, Identity, Malformed, Placeholders};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::{DumpableBehavior, WaitOptions, set_dumpable_behavior, setpgid, wait};

use super::command::CommandStreams;
use super::control::{Control, ControlError};
use super::{COULD_NOT_START, supervise, sys};
use crate::order::Order;

/// A longer note is not sent, a longer list not kept: then a placeholder lives until the next
/// command in its folder ends.
const NOTE_LIMIT: usize = 16 * 1024;
const PLACEHOLDERS_LIMIT: usize = 256;

pub(super) fn serve() -> Result<(), ControlError> {
    sys::close_inherited()?;
    let owner = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(rustix::stdio::stdout())?;
    sys::block_signals()?;
    // Commands run as the same user; they have no business in our memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (notes, notebook) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let mut steward = Steward {
        owner,
        child_signals: sys::child_signals()?,
        notes,
        notebook,
        placeholders: Placeholders::default(),
        spare: None,
    };
    let done = steward.work();
    steward.spare = None;
    steward.wait_for_supervisors();
    // What is noted down is cleaned up, even if there was no time to read it before.
    steward.take_notes();
    done
}

struct Steward {
    owner: OwnedFd,
    child_signals: OwnedFd,
    /// What supervisors wrote into the notebook.
    notes: OwnedFd,
    notebook: OwnedFd,
    placeholders: Placeholders,
    /// A supervisor that has no command yet.
    spare: Option<Spare>,
}

/// A supervisor that waits for its order. It ends when this is dropped.
struct Spare {
    clone_flags: i32,
    orders: OwnedFd,
}

impl Steward {
    fn work(&mut self) -> Result<(), ControlError> {
        loop {
            let [owner, children, notes] = self.wait_for_work()?;
            if owner && !self.take_order()? {
                return Ok(());
            }
            if children {
                sys::drain_signals(&self.child_signals);
                while matches!(wait(WaitOptions::NOHANG), Ok(Some(_)) | Err(Errno::INTR)) {}
                // What a command wrote down is there before it ends.
                self.take_notes();
                self.placeholders.release_unused();
            }
            if notes {
                self.take_notes();
            }
        }
    }

    fn wait_for_work(&self) -> Result<[bool; 3], Errno> {
        let descriptors = [&self.owner, &self.child_signals, &self.notes];
        let mut wanted = descriptors.map(|descriptor| PollFd::new(descriptor, PollFlags::IN));
        match poll(&mut wanted, None) {
            Ok(_) | Err(Errno::INTR) => Ok(wanted.map(|wanted| !wanted.revents().is_empty())),
            Err(errno) => Err(errno),
        }
    }

    /// `false`: there is no owner any more.
    fn take_order(&mut self) -> Result<bool, ControlError> {
        let Some(order) = Order::receive(&self.owner)? else {
            return Ok(false);
        };
        let clone_flags = order.clone_flags;
        let spare = self
            .spare
            .take()
            .filter(|spare| spare.clone_flags == clone_flags);
        // One that somebody has killed takes no orders.
        if spare.is_none_or(|spare| order.send(&spare.orders).is_err()) {
            self.start_supervisor(order);
        }
        // Without one the next command only starts a little later.
        self.spare = self.start_spare(clone_flags).ok();
        Ok(true)
    }

    fn start_supervisor(&self, order: Order) {
        let identity = Identity::current();
        match sys::fork_with(order.clone_flags) {
            Ok(Some(_)) => {}
            Ok(None) => end_after(become_supervisor(order, identity, &self.notebook)),
            // If the owner does not hear it, it has given up on this command.
            Err(errno) => drop(Control::new(order.control).not_started(errno)),
        }
    }

    fn start_spare(&self, clone_flags: i32) -> Result<Spare, Errno> {
        let flags = SocketFlags::CLOEXEC;
        let (orders, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let identity = Identity::current();
        match sys::fork_with(clone_flags)? {
            Some(_) => Ok(Spare {
                clone_flags,
                orders,
            }),
            None => end_after(wait_for_order(&theirs, identity, &self.notebook)),
        }
    }

    fn take_notes(&mut self) {
        let mut note = [0; NOTE_LIMIT];
        while let Ok((length, _)) = recv(&self.notes, &mut note, RecvFlags::empty()) {
            for path in decode_note(&note[..length]).unwrap_or_default() {
                if self.placeholders.paths().count() < PLACEHOLDERS_LIMIT {
                    // Then it is its supervisor's alone.
                    self.placeholders.hold(&path).ok();
                }
            }
        }
    }

    /// They see the end of their owner themselves, and need their placeholders until they are
    /// done.
    fn wait_for_supervisors(&self) {
        while matches!(wait(WaitOptions::empty()), Ok(_) | Err(Errno::INTR)) {}
    }
}

/// Ends the new process.
fn end_after(done: Result<(), ControlError>) -> ! {
    sys::exit_now(if done.is_ok() { 0 } else { COULD_NOT_START })
}

/// Runs in the new process.
fn wait_for_order(
    orders: &OwnedFd,
    identity: Identity,
    notebook: &OwnedFd,
) -> Result<(), ControlError> {
    sys::close_others(&[orders, notebook]);
    match Order::receive(orders)? {
        Some(order) => become_supervisor(order, identity, notebook),
        None => Ok(()),
    }
}

/// Runs in the new process.
fn become_supervisor(
    order: Order,
    identity: Identity,
    notebook: &OwnedFd,
) -> Result<(), ControlError> {
    let control = &Control::new(order.control);
    let streams = CommandStreams::new(order.streams);
    // The owner must not take us for the steward, nor the steward's locks for ours.
    let [input, output, error] = [&streams.input, &streams.output, &streams.error];
    sys::close_others(&[&control.as_fd(), notebook, input, output, error]);
    // Without an own group it would get the signals of somebody else's.
    setpgid(None, None)?;
    let id = own_id();
    let request = control.receive()?;
    let confinement = request.confinement.as_ref();
    let namespaces = confinement.filter(|confinement| confinement.clone_flags().is_some());
    let Some(confinement) = namespaces else {
        return supervise::supervise(control, id, request, streams);
    };
    // The namespaces' files about us have to be ours.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    match confinement.enter(identity) {
        Ok(placeholders) => {
            write_note(notebook, placeholders.paths());
            let done = supervise::supervise(control, id, request, streams);
            drop(placeholders);
            done
        }
        Err(error) => control.not_confined(&error),
    }
}

/// The process id that others know us by. In a new namespace we only know our own, but `/proc` is
/// still everybody's.
fn own_id() -> u32 {
    let link = std::fs::read_link("/proc/self").ok();
    let seen = link.and_then(|link| link.to_str()?.parse().ok());
    seen.unwrap_or_else(std::process::id)
}

/// Tells the steward what to keep.
fn write_note<'a>(notebook: impl AsFd, paths: impl Iterator<Item = &'a Path>) {
    let paths: Vec<_> = paths.collect();
    if paths.is_empty() {
        return;
    }
    let mut encoder = Encoder::default();
    encoder.list(&paths, |encoder, path| {
        encoder.string(path.as_os_str());
    });
    let note = encoder.finish();
    if note.len() <= NOTE_LIMIT {
        // If the steward is gone or busy, the placeholder lives until the next command ends.
        send(notebook, &note, SendFlags::NOSIGNAL).ok();
    }
}

fn decode_note(note: &[u8]) -> Result<Vec<PathBuf>, Malformed> {
    let mut decoder = Decoder::new(note);
    let paths = decoder.list(|decoder| decoder.string().map(PathBuf::from))?;
    decoder.finish()?;
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_written() {
        let flags = SocketFlags::CLOEXEC;
        let (read, write) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let paths = [Path::new("/a/.git"), Path::new("/b")];
        write_note(&write, paths.into_iter());
        let mut note = [0; NOTE_LIMIT];
        let (length, _) = recv(&read, &mut note, RecvFlags::empty()).unwrap();
        assert_eq!(decode_note(&note[..length]).unwrap(), paths);
        assert!(decode_note(b"nonsense").is_err());
    }
}
