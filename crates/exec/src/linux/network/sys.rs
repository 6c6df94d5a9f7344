//! System calls without a safe wrapper: reported calls, memory of a command, datagrams with their destination.

#![expect(unsafe_code, reason = "calls of the system")]

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

use crate::unix::signals::last_errno;

// The numbers of these requests are made of their sizes, which are those of the structures.
const RECEIVE: libc::Ioctl = 0xc050_2100;
const ANSWER: libc::Ioctl = 0xc018_2101;
const IS_WAITING: libc::Ioctl = 0x4008_2102;

const CONTINUE: u32 = 1;

fn result(value: libc::c_long) -> Result<usize, Errno> {
    usize::try_from(value).map_err(|_| last_errno())
}

/// Watches a descriptor.
pub(super) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor stays the same until it is dropped, which the returned value does after it has stopped watching.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}

/// A reported call.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReportedCall {
    pub(super) id: u64,
    /// The thread, as this process sees it.
    pub(super) thread: u32,
    pub(super) arguments: [u64; 6],
}

/// Receives a call that waits. An error if it does not wait any more.
pub(super) fn receive_call(calls: &OwnedFd) -> Result<ReportedCall, Errno> {
    let mut call = MaybeUninit::<libc::seccomp_notif>::zeroed();
    // SAFETY: the structure is zeroed, as the kernel demands, and has the size that the request names.
    let value = unsafe { libc::ioctl(calls.as_raw_fd(), RECEIVE, call.as_mut_ptr()) };
    result(value.into())?;
    // SAFETY: every bit pattern is valid for it.
    let call = unsafe { call.assume_init() };
    Ok(ReportedCall {
        id: call.id,
        thread: call.pid,
        arguments: call.data.args,
    })
}

/// Whether a call still waits, so that its thread is the one that was read.
pub(super) fn is_waiting(calls: &OwnedFd, id: u64) -> bool {
    // SAFETY: the kernel only reads the number.
    unsafe { libc::ioctl(calls.as_raw_fd(), IS_WAITING, &raw const id) == 0 }
}

/// Lets a call continue, or fail. It is no error if it does not wait any more.
pub(super) fn answer_call(calls: &OwnedFd, id: u64, failure: Option<Errno>) {
    let answer = libc::seccomp_notif_resp {
        id,
        val: 0,
        error: failure.map_or(0, |errno| -errno.raw_os_error()),
        flags: if failure.is_none() { CONTINUE } else { 0 },
    };
    // SAFETY: the kernel only reads the structure, which has the size that the request names.
    unsafe { libc::ioctl(calls.as_raw_fd(), ANSWER, &raw const answer) };
}

/// Reads memory of another process.
pub(super) fn read_memory(thread: u32, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(
            usize::try_from(address).map_err(|_| Errno::FAULT)?,
        ),
        iov_len: into.len(),
    };
    let thread = libc::pid_t::try_from(thread).map_err(|_| Errno::SRCH)?;
    // SAFETY: the kernel writes at most the length of `into` to it; the other address is one of the other process.
    let value =
        unsafe { libc::process_vm_readv(thread, &raw const local, 1, &raw const remote, 1, 0) };
    result(value as libc::c_long)
}

/// A datagram.
pub(super) struct Datagram {
    pub(super) length: usize,
    pub(super) from: SocketAddrV4,
    /// The address that it was sent to.
    pub(super) to: Ipv4Addr,
}

/// Room for the destination of a datagram, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Destination([u8; 64]);

/// Receives a datagram of a socket that reports destinations, without waiting.
pub(super) fn receive_datagram(socket: &OwnedFd, into: &mut [u8]) -> Result<Datagram, Errno> {
    let mut destination = Destination([0; 64]);
    let mut from = MaybeUninit::<libc::sockaddr_in>::zeroed();
    let mut part = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    // SAFETY: all pointers are to live values of the sizes that are given. The control messages are walked with the macros of
    // the system over what the kernel has written.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_name = from.as_mut_ptr().cast();
        message.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = destination.0.as_mut_ptr().cast();
        message.msg_controllen = destination.0.len() as _;
        let value = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT);
        let length = result(value as libc::c_long)?;
        let mut to = Ipv4Addr::UNSPECIFIED;
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(found) = header.as_ref() {
            if found.cmsg_level == libc::IPPROTO_IP && found.cmsg_type == libc::IP_PKTINFO {
                let info = libc::CMSG_DATA(header)
                    .cast::<libc::in_pktinfo>()
                    .read_unaligned();
                to = Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr));
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        let from = from.assume_init();
        let address = Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr));
        Ok(Datagram {
            length,
            from: SocketAddrV4::new(address, u16::from_be(from.sin_port)),
            to,
        })
    }
}

/// Sends a datagram from an address, without waiting.
pub(super) fn send_datagram(
    socket: &OwnedFd,
    bytes: &[u8],
    from: Ipv4Addr,
    to: SocketAddrV4,
) -> Result<(), Errno> {
    let mut source = Destination([0; 64]);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all pointers are to live values of the sizes that are given; the one control message fits into its room.
    unsafe {
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = to.port().to_be();
        address.sin_addr.s_addr = u32::from(*to.ip()).to_be();
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_name = (&raw mut address).cast();
        message.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        let size = size_of::<libc::in_pktinfo>() as libc::c_uint;
        message.msg_control = source.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        if let Some(header) = libc::CMSG_FIRSTHDR(&raw const message).as_mut() {
            header.cmsg_level = libc::IPPROTO_IP;
            header.cmsg_type = libc::IP_PKTINFO;
            header.cmsg_len = libc::CMSG_LEN(size) as _;
            let mut info: libc::in_pktinfo = std::mem::zeroed();
            info.ipi_spec_dst.s_addr = u32::from(from).to_be();
            libc::CMSG_DATA(header)
                .cast::<libc::in_pktinfo>()
                .write_unaligned(info);
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let value = libc::sendmsg(socket.as_raw_fd(), &raw const message, flags);
        result(value as libc::c_long).map(drop)
    }
}
