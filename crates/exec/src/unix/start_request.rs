//! Requests to start a supervisor. On Linux they are sent to the spawner and from there to a spare supervisor, on macOS to
//! a new supervisor.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use codex_sandbox::MalformedMessage;
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage, recvmsg,
    sendmsg,
};

use crate::platform::{RECEIVE_DESCRIPTORS, SEND_DESCRIPTORS};

/// A request to start a supervisor.
#[derive(Debug)]
pub(crate) struct StartRequest {
    /// The namespaces of the supervisor, as flags of `clone`. 0 except on Linux.
    pub(crate) clone_flags: i32,
    /// The supervisor's end of the socket to the owner of the command.
    pub(crate) control: OwnedFd,
    /// The standard streams of the command.
    pub(crate) streams: [OwnedFd; 3],
    /// The supervisor's end of the socket to the relay of the command's network, if it has its own.
    pub(crate) network: Option<OwnedFd>,
}

impl StartRequest {
    /// Sends the request without blocking. The receiver gets copies of the descriptors.
    pub(crate) fn send(&self, socket: &OwnedFd) -> Result<(), Errno> {
        let [input, output, error] = self.streams.each_ref();
        let descriptors: Vec<_> = [&self.control, input, output, error]
            .into_iter()
            .chain(&self.network)
            .map(AsFd::as_fd)
            .collect();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(5))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(Errno::NOMEM);
        }
        let message = self.clone_flags.to_le_bytes();
        let parts = &[IoSlice::new(&message)];
        sendmsg(socket, parts, &mut ancillary, SEND_DESCRIPTORS).map(drop)
    }

    /// Waits for a request; none if the other end is closed.
    pub(crate) fn receive(socket: &OwnedFd) -> Result<Option<Self>, StartRequestError> {
        let mut message = [0; size_of::<i32>()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(5))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let parts = &mut [IoSliceMut::new(&mut message)];
        let received = recvmsg(socket, parts, &mut ancillary, RECEIVE_DESCRIPTORS)?;
        if received.bytes == 0 {
            return Ok(None);
        }
        let mut descriptors = ancillary.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        let mut next = || descriptors.next().ok_or(MalformedMessage);
        let order = Self {
            clone_flags: i32::from_le_bytes(message),
            control: next()?,
            streams: [next()?, next()?, next()?],
            network: descriptors.next(),
        };
        if received.bytes == size_of::<i32>() {
            Ok(Some(order))
        } else {
            Err(MalformedMessage.into())
        }
    }
}

/// Why a request could not be received.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartRequestError {
    #[error(transparent)]
    System(#[from] Errno),
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
}

// Elsewhere there are no sockets of this kind.
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::fd::AsRawFd as _;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    fn sockets() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC;
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
    }

    #[test]
    fn orders_are_received_as_sent() {
        let (ours, theirs) = sockets();
        let (control, owner) = sockets();
        let nothing = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let order = StartRequest {
            clone_flags: -7,
            control,
            streams: [nothing(), nothing(), nothing()],
            network: None,
        };
        order.send(&ours).unwrap();
        let received = StartRequest::receive(&theirs).unwrap().unwrap();
        assert_eq!(received.clone_flags, -7);
        assert_ne!(received.control.as_raw_fd(), order.control.as_raw_fd());
        rustix::io::write(&received.control, b"reply").unwrap();
        let mut reply = [0; 5];
        rustix::io::read(&owner, &mut reply).unwrap();
        assert_eq!(&reply, b"reply");
        drop(ours);
        assert!(StartRequest::receive(&theirs).unwrap().is_none());
    }

    #[test]
    fn an_order_without_descriptors_is_none() {
        let (ours, theirs) = sockets();
        rustix::io::write(&ours, &[0; 4]).unwrap();
        let error = StartRequest::receive(&theirs).unwrap_err();
        assert!(matches!(error, StartRequestError::Malformed(_)), "{error}");
    }
}
