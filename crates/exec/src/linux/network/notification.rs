//! Reads what a command connects to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::sys::{self, ReportedCall};

/// The most bytes of an address that matter.
const LONGEST_ADDRESS: usize = 28;

/// What a call connects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A connection to an address of the internet, IPv4 in its own form.
    Connection(SocketAddr),
    /// Nothing that leads anywhere: datagrams, the end of an association, sockets without addresses of the internet.
    Nothing,
}

/// What a reported call connects to. An error if the memory of the command cannot be read.
pub(super) fn target(call: &ReportedCall) -> Result<Target, Errno> {
    let [socket, address, length, ..] = call.arguments;
    let mut bytes = [0; LONGEST_ADDRESS];
    let length = usize::try_from(length).unwrap_or(0).min(LONGEST_ADDRESS);
    let read = sys::read_memory(call.thread, address, &mut bytes[..length])?;
    let Some(address) = parse(&bytes[..read]) else {
        return Ok(Target::Nothing);
    };
    let target = if is_datagram(call.thread, socket) {
        Target::Nothing
    } else {
        Target::Connection(address)
    };
    Ok(target)
}

/// An address with its port, if it is one of the internet.
fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(*bytes.first_chunk()?);
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let ip = match i32::from(family) {
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            IpAddr::from(Ipv4Addr::from(address))
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            IpAddr::from(Ipv6Addr::from(address)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Whether the socket of a command sends datagrams. Those lead nowhere in its network. Only used to ask nobody about them: if it
/// cannot be known, the answer is no.
fn is_datagram(thread: u32, socket: u64) -> bool {
    socket_of(thread, socket)
        .and_then(|socket| rustix::net::sockopt::socket_type(&socket))
        .is_ok_and(|kind| kind == SocketType::DGRAM)
}

fn socket_of(thread: u32, socket: u64) -> Result<OwnedFd, Errno> {
    // The kernel ignores the upper half.
    let socket = (socket as u32).cast_signed();
    let thread = thread.cast_signed();
    let process = Pid::from_raw(thread).ok_or(Errno::SRCH)?;
    // Kernels before 6.9 open the leader of a process only.
    let of_thread = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());
    let process = pidfd_open(process, of_thread)
        .or_else(|_| pidfd_open(leader(thread).unwrap_or(process), PidfdFlags::empty()))?;
    pidfd_getfd(&process, socket, PidfdGetfdFlags::empty())
}

fn leader(thread: i32) -> Option<Pid> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let leader = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    Pid::from_raw(leader.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_forms_of_ipv4_are_ipv4() {
        let v4 = [2, 0, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(parse(&v4), Some("1.2.3.4:80".parse().unwrap()));
        assert_eq!(parse(&v4[..8]), Some("1.2.3.4:80".parse().unwrap()));
        let mut v6 = vec![10, 0, 0, 80, 0, 0, 0, 0];
        v6.extend("::ffff:1.2.3.4".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!(parse(&v6), Some("1.2.3.4:80".parse().unwrap()));
        for cut in 0..8 {
            assert_eq!(parse(&v4[..cut]), None);
        }
        assert_eq!(parse(&v6[..23]), None);
        assert_eq!(parse(&[1, 0, b'/', b'x', 0, 0, 0, 0]), None);
        assert_eq!(parse(&[0; 16]), None);
    }
}
