//! The socket between the relay of a command and its supervisor: descriptors in one direction, requests for more in the other.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use codex_sandbox::CommandSockets;
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, send, sendmsg, socketpair,
};

/// How many sockets for listening are sent at once.
pub(crate) const BATCH: usize = 8;

/// The most descriptors in one message.
const MAX_MESSAGES: usize = 16;

/// What a message brings.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// The sockets for questions about names: datagrams, connections.
    Names(OwnedFd, OwnedFd),
    /// Where reported calls are read.
    Notifications(OwnedFd),
    /// Sockets for listening.
    Sockets(Vec<OwnedFd>),
    /// The supervisor has ended.
    End,
}

const NAMES: u8 = b'n';
const NOTIFICATIONS: u8 = b'c';
const SOCKETS: u8 = b's';

/// The two ends: of the relay, of the supervisor.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::CLOEXEC;
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Sends the sockets of the command's network. Called in its supervisor.
pub(crate) fn send_names(control: &OwnedFd, sockets: &CommandSockets) -> Result<(), Errno> {
    let names = [sockets.names.as_fd(), sockets.names_by_connection.as_fd()];
    send_descriptors(control, NAMES, &names)?;
    send_sockets(control)
}

/// Sends sockets for listening.
pub(crate) fn send_sockets(control: &OwnedFd) -> Result<(), Errno> {
    let mut sockets = Vec::with_capacity(BATCH);
    for _ in 0..BATCH {
        sockets.push(CommandSockets::connection_socket()?);
    }
    let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    send_descriptors(control, SOCKETS, &sockets)
}

/// Sends the descriptor of reported calls. Called in the process that becomes the command.
pub(crate) fn send_notifications(control: &OwnedFd, calls: &OwnedFd) -> Result<(), Errno> {
    send_descriptors(control, NOTIFICATIONS, &[calls.as_fd()])
}

fn send_descriptors(
    control: &OwnedFd,
    kind: u8,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_MESSAGES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::NOMEM);
    }
    let kind = [kind];
    let parts = &[IoSlice::new(&kind)];
    sendmsg(control, parts, &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// Asks the supervisor for more sockets.
pub(crate) fn ask_for_sockets(control: &OwnedFd) -> Result<(), Errno> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    send(control, &[SOCKETS], flags).map(drop)
}

/// Reads what the relay asks for. Returns whether it is there.
pub(crate) fn take_request(control: &OwnedFd) -> bool {
    let mut request = [0];
    matches!(rustix::io::read(control, &mut request), Ok(1))
}

/// Receives a message.
pub(crate) fn receive(control: &OwnedFd) -> Result<Delivery, Errno> {
    let mut kind = [0];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_MESSAGES))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut kind)];
    let received = recvmsg(control, parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let mut descriptors: Vec<_> = descriptors.collect();
    if received.bytes == 0 {
        return Ok(Delivery::End);
    }
    match (kind, descriptors.len()) {
        ([SOCKETS], _) => Ok(Delivery::Sockets(descriptors)),
        ([NOTIFICATIONS], 1) => Ok(Delivery::Notifications(descriptors.remove(0))),
        ([NAMES], 2) => {
            let connections = descriptors.remove(1);
            Ok(Delivery::Names(descriptors.remove(0), connections))
        }
        _ => Err(Errno::BADMSG),
    }
}
