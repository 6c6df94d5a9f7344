//! The network of a command that may reach certain hosts only: a namespace that leads nowhere.
//!
//! Every address is one of this namespace, so a connection can end only at a socket inside of it: one of the command, or one that
//! the launcher holds and relays. The namespace is the boundary; what is not relayed is refused by the kernel.
//!
//! Messages to the kernel are made in fixed memory, because [`try_set_up`] also runs in a copy of a process with threads.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrV4, SocketFlags, SocketType, bind, ipproto,
    listen, recv, send, socket_with, sockopt,
};

use super::error::{ConfineError, ConfineStep, WithStep as _};

/// The address of the command itself.
const OWN_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// The loopback device is the first one of every namespace.
const LOOPBACK: u32 = 1;

const NAMES_PORT: u16 = 53;

/// How often a connection that is not answered is tried again: once a second, as long as a person needs. Kernels before 6.5 do
/// not know the first file; there the intervals grow.
const RETRIES: [&std::ffi::CStr; 2] = [
    c"/proc/sys/net/ipv4/tcp_syn_linear_timeouts",
    c"/proc/sys/net/ipv4/tcp_syn_retries",
];

/// Sets up the namespace of this process: a loopback device that all addresses lead to.
pub(super) fn set_up() -> Result<(), ConfineError> {
    try_set_up().with_step(|| ConfineStep::SetUpNetwork)
}

/// Makes system calls only.
pub(super) fn try_set_up() -> Result<(), Errno> {
    let kernel = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // The routing service is protocol 0.
        None,
    )?;
    ask(&kernel, &link_up())?;
    ask(&kernel, &own_address())?;
    ask(&kernel, &local_route())?;
    for path in RETRIES {
        if let Ok(file) = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
            // With fewer retries a program gives up before a person has answered, and nothing else changes.
            rustix::io::write(&file, b"127").ok();
        }
    }
    Ok(())
}

/// A message to the kernel's routing service.
struct RoutingMessage {
    bytes: [u8; 64],
    length: usize,
}

const ACKNOWLEDGED_REQUEST: u16 = 0x1 | 0x4;
const CREATE_OR_REPLACE: u16 = 0x400 | 0x100;
const HEADER: usize = 16;

impl RoutingMessage {
    fn new(kind: u16, flags: u16) -> Self {
        let mut message = Self {
            bytes: [0; 64],
            length: HEADER,
        };
        message.bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        message.bytes[6..8].copy_from_slice(&(flags | ACKNOWLEDGED_REQUEST).to_ne_bytes());
        message
    }

    /// All parts have a multiple of four bytes, as the kernel wants them.
    fn add(&mut self, part: &[u8]) {
        let end = self.length + part.len();
        self.bytes[self.length..end].copy_from_slice(part);
        self.length = end;
    }

    /// An attribute with a value of four bytes.
    fn attribute(&mut self, kind: u16, value: [u8; 4]) {
        self.add(&8_u16.to_ne_bytes());
        self.add(&kind.to_ne_bytes());
        self.add(&value);
    }

    fn finish(mut self) -> Self {
        let length = u32::try_from(self.length).unwrap_or_default();
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self
    }
}

fn link_up() -> RoutingMessage {
    let mut message = RoutingMessage::new(libc::RTM_NEWLINK, 0);
    let up = libc::IFF_UP.cast_unsigned().to_ne_bytes();
    message.add(&[0; 4]);
    message.add(&LOOPBACK.to_ne_bytes());
    message.add(&up);
    message.add(&up);
    message.finish()
}

fn own_address() -> RoutingMessage {
    let mut message = RoutingMessage::new(libc::RTM_NEWADDR, CREATE_OR_REPLACE);
    message.add(&[AF_INET, 32, 0, 0]);
    message.add(&LOOPBACK.to_ne_bytes());
    message.attribute(libc::IFA_LOCAL, OWN_ADDRESS.octets());
    message.attribute(libc::IFA_ADDRESS, OWN_ADDRESS.octets());
    message.finish()
}

/// A route for all addresses that are not of this namespace: they are.
fn local_route() -> RoutingMessage {
    let mut message = RoutingMessage::new(libc::RTM_NEWROUTE, CREATE_OR_REPLACE);
    let (table, scope) = (libc::RT_TABLE_LOCAL, libc::RT_SCOPE_HOST);
    message.add(&[AF_INET, 0, 0, 0]);
    message.add(&[table, libc::RTPROT_STATIC, scope, libc::RTN_LOCAL]);
    message.add(&[0; 4]);
    message.attribute(libc::RTA_PREFSRC, OWN_ADDRESS.octets());
    message.attribute(libc::RTA_OIF, LOOPBACK.to_ne_bytes());
    message.finish()
}

/// The family as these messages have it.
const AF_INET: u8 = 2;

/// Sends a message and waits until the kernel has done what it says.
fn ask(kernel: &OwnedFd, message: &RoutingMessage) -> Result<(), Errno> {
    send(kernel, &message.bytes[..message.length], SendFlags::empty())?;
    let mut answer = [0; 256];
    let (length, _) = recv(kernel, &mut answer, RecvFlags::empty())?;
    let code = answer
        .get(HEADER..HEADER + 4)
        .filter(|_| length >= HEADER + 4);
    let code = code
        .and_then(|code| code.try_into().ok())
        .map(i32::from_ne_bytes);
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(Errno::from_raw_os_error(-code)),
        None => Err(Errno::IO),
    }
}

/// Sockets of a command's own network, for whoever relays its connections.
#[derive(Debug)]
pub struct CommandSockets {
    /// Receives questions about names, on every address.
    pub names: OwnedFd,
    /// Listens for the same over connections.
    pub names_by_connection: OwnedFd,
}

impl CommandSockets {
    pub(super) fn open() -> Result<Self, ConfineError> {
        Self::try_open().with_step(|| ConfineStep::SetUpNetwork)
    }

    fn try_open() -> Result<Self, Errno> {
        let everywhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, NAMES_PORT);
        let names = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            Some(ipproto::UDP),
        )?;
        super::sys::report_destinations(&names)?;
        bind(&names, &everywhere)?;
        let names_by_connection = Self::connection_socket()?;
        sockopt::set_socket_reuseaddr(&names_by_connection, true)?;
        bind(&names_by_connection, &everywhere)?;
        listen(&names_by_connection, 16)?;
        Ok(Self {
            names,
            names_by_connection,
        })
    }

    /// A socket that is not bound yet, to listen on an address of the network.
    ///
    /// # Errors
    /// A system call failed.
    pub fn connection_socket() -> Result<OwnedFd, Errno> {
        socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            Some(ipproto::TCP),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routing_messages_have_their_stated_length() {
        for message in [link_up(), own_address(), local_route()] {
            let length = u32::from_ne_bytes(message.bytes[..4].try_into().unwrap());
            assert_eq!(length as usize, message.length);
            assert_eq!(message.length % 4, 0);
        }
    }
}
