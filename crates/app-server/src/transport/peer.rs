//! Identifies the process at the other end of a connection. A sandboxed program must not use the server to escape.
//!
//! A sandboxed program with network access reaches every port of its machine, and it may be able to read a token
//! file. It is recognised by its process: the system knows which process owns the other end of a connection, and a
//! sandboxed one has its own user namespace, or descends from a process that cannot gain privileges. A local peer
//! that cannot be found is refused.

use std::net::SocketAddr;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        reason = "other systems do not report the process of a connection"
    )
)]
pub(super) enum Peer {
    /// A TCP port: the addresses of the client and of the server.
    Tcp {
        client: SocketAddr,
        server: SocketAddr,
    },
    /// A unix socket: process and user.
    #[cfg(unix)]
    Unix { process: Option<i32>, user: u32 },
    /// Not identifiable, and not reachable for sandboxed programs.
    #[cfg(test)]
    Trusted,
}

/// Whether a peer may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        reason = "other systems do not report the process of a connection"
    )
)]
pub(super) enum PeerVerdict {
    /// Not sandboxed.
    Free,
    /// Sandboxed.
    Confined,
    /// A local process of this user that was not found.
    Unknown,
}

impl Peer {
    /// Inspects the processes of the machine, which takes time.
    #[cfg(target_os = "linux")]
    pub(super) fn verdict(self) -> PeerVerdict {
        linux::verdict(self)
    }

    /// Other systems do not report the process of a connection.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn verdict(self) -> PeerVerdict {
        PeerVerdict::Free
    }

    /// Whether the peer uses a host name, which may be forged.
    pub(super) fn has_names(self) -> bool {
        matches!(self, Self::Tcp { .. })
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::net::SocketAddr;

    use procfs::ProcResult;
    use procfs::net::TcpNetEntry;
    use procfs::process::{FDTarget, Process, all_processes};

    use super::{Peer, PeerVerdict};

    /// The limit of ancestors of a process.
    const ANCESTORS: usize = 4096;

    pub(super) fn verdict(peer: Peer) -> PeerVerdict {
        let judged = match peer {
            Peer::Tcp { client, server } => of_port(client, server),
            Peer::Unix { process, user } if user == own_user() => of_process(process),
            Peer::Unix { .. } => Ok(PeerVerdict::Free),
            #[cfg(test)]
            Peer::Trusted => Ok(PeerVerdict::Free),
        };
        judged.unwrap_or_else(|error| {
            tracing::warn!(%error, "it cannot be found out who connects");
            PeerVerdict::Unknown
        })
    }

    fn own_user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn of_process(process: Option<i32>) -> ProcResult<PeerVerdict> {
        match process {
            Some(process) if process > 0 => of_holder(&Process::new(process)?),
            _ => Ok(PeerVerdict::Unknown),
        }
    }

    fn of_port(client: SocketAddr, server: SocketAddr) -> ProcResult<PeerVerdict> {
        let Some(socket) = find_socket(client, server)? else {
            let is_local = server.ip().to_canonical().is_loopback() || same_ip(client, server);
            return Ok(if is_local {
                PeerVerdict::Unknown
            } else {
                PeerVerdict::Free
            });
        };
        // Sandboxes do not change the user.
        if socket.uid != own_user() {
            return Ok(PeerVerdict::Free);
        }
        let mut verdict = PeerVerdict::Unknown;
        for process in all_processes()?
            .flatten()
            .filter(|process| has_socket(process, socket.inode))
        {
            match of_holder(&process)? {
                PeerVerdict::Free => verdict = PeerVerdict::Free,
                other => return Ok(other),
            }
        }
        Ok(verdict)
    }

    /// The socket of the client. Closed sockets have no inode.
    fn find_socket(client: SocketAddr, server: SocketAddr) -> ProcResult<Option<TcpNetEntry>> {
        let is_it = |entry: &TcpNetEntry| {
            same(entry.local_address, client) && same(entry.remote_address, server)
        };
        if let Some(found) = procfs::net::tcp()?.into_iter().find(is_it) {
            return Ok(Some(found));
        }
        // IPv6 may be unavailable.
        let newer = procfs::net::tcp6().unwrap_or_default();
        Ok(newer.into_iter().find(is_it))
    }

    fn same(left: SocketAddr, right: SocketAddr) -> bool {
        left.port() == right.port() && same_ip(left, right)
    }

    fn same_ip(left: SocketAddr, right: SocketAddr) -> bool {
        left.ip().to_canonical() == right.ip().to_canonical()
    }

    fn has_socket(process: &Process, inode: u64) -> bool {
        let is_it =
            |target: &FDTarget| matches!(target, FDTarget::Socket(found) if *found == inode);
        let descriptors = process.fd().into_iter().flatten().flatten();
        inode != 0
            && descriptors
                .map(|descriptor| descriptor.target)
                .any(|target| is_it(&target))
    }

    fn of_holder(process: &Process) -> ProcResult<PeerVerdict> {
        let own = Process::myself()?;
        if process.pid == own.pid {
            return Ok(PeerVerdict::Free);
        }
        let user_namespace = |process: &Process| -> ProcResult<Option<u64>> {
            let namespaces = process.namespaces()?.0;
            Ok(namespaces
                .get(std::ffi::OsStr::new("user"))
                .map(|namespace| namespace.identifier))
        };
        if user_namespace(process)? != user_namespace(&own)? {
            return Ok(PeerVerdict::Confined);
        }
        // Without namespaces, a sandboxed process at least cannot gain privileges.
        let is_bound = process.status()?.nonewprivs == Some(1);
        if is_bound && is_descendant(process, own.pid)? {
            Ok(PeerVerdict::Confined)
        } else {
            Ok(PeerVerdict::Free)
        }
    }

    fn is_descendant(process: &Process, ancestor: i32) -> ProcResult<bool> {
        let mut parent = process.stat()?.ppid;
        for _ in 0..ANCESTORS {
            match parent {
                0 | 1 => return Ok(false),
                parent if parent == ancestor => return Ok(true),
                other => parent = Process::new(other)?.stat()?.ppid,
            }
        }
        Ok(true)
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    fn peer(listener: &TcpListener) -> (Peer, TcpStream) {
        let (accepted, client) = listener.accept().unwrap();
        let server = accepted.local_addr().unwrap();
        (Peer::Tcp { client, server }, accepted)
    }

    #[test]
    fn a_client_is_found_by_its_connection() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (peer, _accepted) = peer(&listener);
            assert_eq!(peer.verdict(), PeerVerdict::Free);
            // The socket has no owner any more.
            drop(client);
            assert_eq!(peer.verdict(), PeerVerdict::Unknown);
        }
    }

    #[test]
    fn a_child_that_gave_up_privileges_is_confined() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; read");
        let connects = |program: &[&str], expected: PeerVerdict| {
            let mut command = Command::new(program[0]);
            command.args(&program[1..]).args(["bash", "-c", &script]);
            let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else {
                return;
            };
            let (peer, _accepted) = peer(&listener);
            assert_eq!(peer.verdict(), expected, "{program:?}");
            drop(child.stdin.take());
            child.wait().unwrap();
        };
        connects(&["env"], PeerVerdict::Free);
        connects(&["setpriv", "--no-new-privs"], PeerVerdict::Confined);
    }

    #[test]
    fn a_process_that_is_gone_is_unknown() {
        let user = rustix::process::geteuid().as_raw();
        for process in [None, Some(0), Some(i32::MAX)] {
            assert_eq!(Peer::Unix { process, user }.verdict(), PeerVerdict::Unknown);
        }
        let process = i32::try_from(std::process::id()).ok();
        assert_eq!(Peer::Unix { process, user }.verdict(), PeerVerdict::Free);
    }
}
