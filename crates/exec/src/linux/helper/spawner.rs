//! The spawner: starts supervisors, and owns what must outlive them.
//!
//! It lives as long as its owner and notices the owner's end by the end of its socket. Forking a supervisor here costs a
//! tenth of executing one. After the first command one spare supervisor is kept ready, with the namespaces of the last
//! command. The spawner also removes the placeholders of protected paths after the last command that needs them: inside
//! the supervisor's namespace they are mount points, which cannot be removed. It never accesses a command; if it dies,
//! running commands continue under their supervisors.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use codex_project_markers::Placeholders;
use codex_sandbox::{Decoder, Encoder, MalformedMessage, ProcessIdentity};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::{DumpableBehavior, WaitOptions, set_dumpable_behavior, setpgid, wait};

use super::command::{self, CommandStreams};
use super::{COULD_NOT_START, supervise, sys};
use crate::linux::network::control::send_names;
use crate::unix::control::{ControlError, ControlSocket};
use crate::unix::signals;
use crate::unix::start_request::StartRequest;

/// Limits on the length of a note and on the list of placeholders. Beyond them a placeholder is kept until the next
/// command in its folder ends.
const NOTE_LIMIT: usize = 16 * 1024;
const PLACEHOLDERS_LIMIT: usize = 256;

pub(super) fn serve() -> Result<(), ControlError> {
    sys::close_inherited()?;
    let owner = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(rustix::stdio::stdout())?;
    signals::block_signals()?;
    // Commands run as the same user and must not access this process's memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (notes, notebook) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let mut spawner = SpawnerProcess {
        owner,
        child_signals: sys::child_signals()?,
        notes,
        notebook,
        placeholders: Placeholders::default(),
        spare: None,
    };
    let done = spawner.work();
    spawner.spare = None;
    spawner.wait_for_supervisors();
    // Notes that are not read yet are still cleaned up.
    spawner.take_notes();
    done
}

struct SpawnerProcess {
    owner: OwnedFd,
    child_signals: OwnedFd,
    /// The end of the pipe where notes of supervisors are read.
    notes: OwnedFd,
    notebook: OwnedFd,
    placeholders: Placeholders,
    /// A supervisor without a command.
    spare: Option<SpareSupervisor>,
}

/// A supervisor that waits for a request. It ends when this is dropped.
struct SpareSupervisor {
    clone_flags: i32,
    requests: OwnedFd,
}

impl SpawnerProcess {
    fn work(&mut self) -> Result<(), ControlError> {
        loop {
            let [owner, children, notes] = self.wait_for_work()?;
            if owner && !self.take_request()? {
                return Ok(());
            }
            if children {
                sys::drain_signals(&self.child_signals);
                while matches!(wait(WaitOptions::NOHANG), Ok(Some(_)) | Err(Errno::INTR)) {}
                // A supervisor writes its note before it ends, so notes are read first.
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

    /// Returns `false` if the owner is gone.
    fn take_request(&mut self) -> Result<bool, ControlError> {
        let Some(request) = StartRequest::receive(&self.owner)? else {
            return Ok(false);
        };
        let clone_flags = request.clone_flags;
        let spare = self
            .spare
            .take()
            .filter(|spare| spare.clone_flags == clone_flags);
        // A spare supervisor that was killed accepts no request.
        if spare.is_none_or(|spare| request.send(&spare.requests).is_err()) {
            self.start_supervisor(request);
        }
        // Without a spare the next command only starts a little later.
        self.spare = self.start_spare(clone_flags).ok();
        Ok(true)
    }

    fn start_supervisor(&self, request: StartRequest) {
        let identity = ProcessIdentity::current();
        match sys::fork_with(request.clone_flags) {
            Ok(Some(_)) => {}
            Ok(None) => end_after(become_supervisor(request, identity, &self.notebook)),
            // If the owner does not receive this, it has given up on the command.
            Err(errno) => drop(ControlSocket::new(request.control).not_started(errno)),
        }
    }

    fn start_spare(&self, clone_flags: i32) -> Result<SpareSupervisor, Errno> {
        let flags = SocketFlags::CLOEXEC;
        let (requests, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let identity = ProcessIdentity::current();
        match sys::fork_with(clone_flags)? {
            Some(_) => Ok(SpareSupervisor {
                clone_flags,
                requests,
            }),
            None => end_after(wait_for_request(&theirs, identity, &self.notebook)),
        }
    }

    fn take_notes(&mut self) {
        let mut note = [0; NOTE_LIMIT];
        while let Ok((length, _)) = recv(&self.notes, &mut note, RecvFlags::empty()) {
            for path in decode_note(&note[..length]).unwrap_or_default() {
                if self.placeholders.paths().count() < PLACEHOLDERS_LIMIT {
                    // If the note is invalid, only the supervisor removes its placeholders.
                    self.placeholders.hold(&path).ok();
                }
            }
        }
    }

    /// Supervisors notice the end of the owner themselves and need their placeholders until they end.
    fn wait_for_supervisors(&self) {
        while matches!(wait(WaitOptions::empty()), Ok(_) | Err(Errno::INTR)) {}
    }
}

/// Exits the new process.
fn end_after(done: Result<(), ControlError>) -> ! {
    sys::exit_now(if done.is_ok() { 0 } else { COULD_NOT_START })
}

/// Runs in the new process.
fn wait_for_request(
    requests: &OwnedFd,
    identity: ProcessIdentity,
    notebook: &OwnedFd,
) -> Result<(), ControlError> {
    sys::close_others(&[requests, notebook]);
    match StartRequest::receive(requests)? {
        Some(request) => become_supervisor(request, identity, notebook),
        None => Ok(()),
    }
}

/// Runs in the new process.
fn become_supervisor(
    request: StartRequest,
    identity: ProcessIdentity,
    notebook: &OwnedFd,
) -> Result<(), ControlError> {
    let control = &ControlSocket::new(request.control);
    let control_descriptor = control.as_fd();
    let streams = CommandStreams::new(request.streams);
    // The owner must not mistake this process for the spawner, nor the spawner's locks for this process's.
    let [input, output, error] = [&streams.input, &streams.output, &streams.error];
    let network = request.network.as_ref();
    let mut kept: Vec<&dyn AsRawFd> = vec![&control_descriptor, notebook, input, output, error];
    kept.extend(network.map(|network| -> &dyn AsRawFd { network }));
    sys::close_others(&kept);
    // In the spawner's process group it would receive signals meant for others.
    setpgid(None, None)?;
    let id = own_id();
    let network = request.network.as_ref();
    let request = control.receive()?;
    let confinement = request.confinement.as_ref();
    let namespaces = confinement.filter(|confinement| confinement.clone_flags().is_some());
    let Some(confinement) = namespaces else {
        return supervise::supervise(control, id, request, streams, None);
    };
    // The files in `/proc` about this process must belong to it, for the user namespace.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    match confinement.enter(identity) {
        Ok(placeholders) => {
            write_note(notebook, placeholders.paths());
            if let Some(network) = network {
                let sockets = match confinement.open_sockets() {
                    Ok(sockets) => sockets,
                    Err(error) => return command::report_not_confined(control, &error),
                };
                send_names(network, &sockets)?;
            }
            let done = supervise::supervise(control, id, request, streams, network);
            drop(placeholders);
            done
        }
        Err(error) => command::report_not_confined(control, &error),
    }
}

/// The process id outside the namespace. `getpid` returns the one inside, but `/proc` still belongs to the outside.
fn own_id() -> u32 {
    let link = std::fs::read_link("/proc/self").ok();
    let seen = link.and_then(|link| link.to_str()?.parse().ok());
    seen.unwrap_or_else(std::process::id)
}

/// Sends paths to the spawner for cleanup.
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
        // If the spawner is gone or busy, the placeholder is kept until the next command ends.
        send(notebook, &note, SendFlags::NOSIGNAL).ok();
    }
}

fn decode_note(note: &[u8]) -> Result<Vec<PathBuf>, MalformedMessage> {
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
