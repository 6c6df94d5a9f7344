//! Identifies the process at the other end of a connection. A sandboxed program must not use the server to escape.
//!
//! A sandboxed program with network access reaches every port of its machine, and it may be able to read a token
//! file. It is recognised by its process: the system knows which process owns the other end of a connection, and a
//! sandboxed one has its own user namespace, or descends from a process that cannot gain privileges. A local peer
//! that cannot be found is refused.

use std::net::SocketAddr;

use parking_lot::Mutex;
use tokio::sync::oneshot;

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
    /// Whether the peer uses a host name, which may be forged.
    pub(super) fn has_names(self) -> bool {
        matches!(self, Self::Tcp { .. })
    }
}

/// Inspects peers. The processes of the machine are searched once for all peers that wait at that time, because many
/// clients may connect at once and a search takes milliseconds.
#[derive(Debug, Default)]
pub(super) struct PeerInspector {
    waiting: Mutex<Vec<WaitingPeer>>,
    search: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct WaitingPeer {
    peer: Peer,
    reply: oneshot::Sender<PeerVerdict>,
}

impl PeerInspector {
    pub(super) async fn verdict(&self, peer: Peer) -> PeerVerdict {
        let (reply, mut verdict) = oneshot::channel();
        self.waiting.lock().push(WaitingPeer { peer, reply });
        let search = self.search.lock().await;
        if let Ok(verdict) = verdict.try_recv() {
            return verdict;
        }
        let waiting = std::mem::take(&mut *self.waiting.lock());
        // Goes on if this client leaves, because others wait for it.
        let searched = tokio::task::spawn_blocking(move || {
            let peers: Vec<Peer> = waiting.iter().map(|waiting| waiting.peer).collect();
            for (waiting, verdict) in waiting.into_iter().zip(verdicts(&peers)) {
                // The client may have left.
                let _ = waiting.reply.send(verdict);
            }
        });
        let _ = searched.await;
        drop(search);
        verdict.await.unwrap_or(PeerVerdict::Unknown)
    }
}

/// Inspects the processes of the machine, which takes time.
#[cfg(target_os = "linux")]
fn verdicts(peers: &[Peer]) -> Vec<PeerVerdict> {
    linux::verdicts(peers)
}

/// Other systems do not report the process of a connection.
#[cfg(not(target_os = "linux"))]
fn verdicts(peers: &[Peer]) -> Vec<PeerVerdict> {
    vec![PeerVerdict::Free; peers.len()]
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::fs;
    use std::net::SocketAddr;

    use procfs::ProcResult;
    use procfs::net::TcpNetEntry;
    use procfs::process::{Process, all_processes};

    use super::{Peer, PeerVerdict};

    /// The limit of ancestors of a process.
    const ANCESTORS: usize = 4096;

    /// The verdicts for these peers, in their order.
    pub(super) fn verdicts(peers: &[Peer]) -> Vec<PeerVerdict> {
        let mut search = ConnectionSearch::new();
        let mut verdicts: Vec<PeerVerdict> = peers
            .iter()
            .enumerate()
            .map(|(position, peer)| match *peer {
                Peer::Tcp { client, server } => search.add(position, client, server),
                Peer::Unix { process, user } if user == own_user() => of_process(process),
                Peer::Unix { .. } => PeerVerdict::Free,
                #[cfg(test)]
                Peer::Trusted => PeerVerdict::Free,
            })
            .collect();
        if let Err(error) = search.run(&mut verdicts) {
            tracing::warn!(%error, "it cannot be found out who connects");
        }
        verdicts
    }

    fn own_user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn of_process(process: Option<i32>) -> PeerVerdict {
        match process.map(Process::new) {
            Some(Ok(process)) if process.pid > 0 => verdict_of(&process),
            _ => PeerVerdict::Unknown,
        }
    }

    /// The client and the server end of a connection.
    type Connection = (SocketAddr, SocketAddr);

    /// Finds the processes at the other ends of TCP connections.
    struct ConnectionSearch {
        /// The positions of the verdicts of connections.
        wanted: HashMap<Connection, Vec<usize>>,
        /// The same of sockets of this user.
        sockets: HashMap<u64, Vec<usize>>,
    }

    impl ConnectionSearch {
        fn new() -> Self {
            Self {
                wanted: HashMap::new(),
                sockets: HashMap::new(),
            }
        }

        /// Adds a connection. Returns its verdict if it is not found.
        fn add(&mut self, position: usize, client: SocketAddr, server: SocketAddr) -> PeerVerdict {
            let connection = (canonical(client), canonical(server));
            let is_local =
                connection.1.ip().is_loopback() || connection.0.ip() == connection.1.ip();
            self.wanted.entry(connection).or_default().push(position);
            if is_local {
                PeerVerdict::Unknown
            } else {
                PeerVerdict::Free
            }
        }

        fn run(mut self, verdicts: &mut [PeerVerdict]) -> ProcResult<()> {
            if self.wanted.is_empty() {
                return Ok(());
            }
            self.find_sockets(procfs::net::tcp()?, verdicts);
            if !self.wanted.is_empty() {
                // IPv6 may be unavailable.
                self.find_sockets(procfs::net::tcp6().unwrap_or_default(), verdicts);
            }
            if self.sockets.is_empty() {
                return Ok(());
            }
            // The process of the server is free, and has many descriptors. It is searched only if it must be.
            let own = Process::myself()?;
            for process in all_processes()?
                .flatten()
                .filter(|other| other.pid != own.pid)
            {
                self.find_holders(&process, verdicts);
            }
            if verdicts.contains(&PeerVerdict::Unknown) {
                self.find_holders(&own, verdicts);
            }
            Ok(())
        }

        /// Closed sockets have no inode.
        fn find_sockets(&mut self, entries: Vec<TcpNetEntry>, verdicts: &mut [PeerVerdict]) {
            for entry in entries {
                let connection = (
                    canonical(entry.local_address),
                    canonical(entry.remote_address),
                );
                let Some(positions) = self.wanted.remove(&connection) else {
                    continue;
                };
                // Sandboxes do not change the user.
                let verdict = if entry.uid == own_user() {
                    PeerVerdict::Unknown
                } else {
                    PeerVerdict::Free
                };
                positions
                    .iter()
                    .for_each(|position| verdicts[*position] = verdict);
                if verdict == PeerVerdict::Unknown && entry.inode != 0 {
                    self.sockets.insert(entry.inode, positions);
                }
            }
        }

        /// Every process that holds a socket has to be free.
        fn find_holders(&self, process: &Process, verdicts: &mut [PeerVerdict]) {
            // The descriptors of other users cannot be read.
            let descriptors = fs::read_dir(format!("/proc/{}/fd", process.pid));
            let targets = descriptors.into_iter().flatten().flatten();
            let mut verdict = None;
            for target in targets.filter_map(|descriptor| fs::read_link(descriptor.path()).ok()) {
                let inode = target.to_str().and_then(socket_inode);
                let Some(positions) = inode.and_then(|inode| self.sockets.get(&inode)) else {
                    continue;
                };
                let verdict = *verdict.get_or_insert_with(|| verdict_of(process));
                for position in positions {
                    if verdicts[*position] != PeerVerdict::Confined {
                        verdicts[*position] = verdict;
                    }
                }
            }
        }
    }

    fn socket_inode(target: &str) -> Option<u64> {
        let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    }

    fn canonical(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    /// A process that cannot be inspected is confined: it may share a socket with a free one.
    fn verdict_of(process: &Process) -> PeerVerdict {
        of_holder(process).unwrap_or_else(|error| {
            tracing::warn!(%error, "a process that connects cannot be inspected");
            PeerVerdict::Confined
        })
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

    fn verdict(peer: Peer) -> PeerVerdict {
        verdicts(&[peer])[0]
    }

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
            assert_eq!(verdict(peer), PeerVerdict::Free);
            // The socket has no owner any more.
            drop(client);
            assert_eq!(verdict(peer), PeerVerdict::Unknown);
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
            assert_eq!(verdict(peer), expected, "{program:?}");
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
            assert_eq!(verdict(Peer::Unix { process, user }), PeerVerdict::Unknown);
        }
        let process = i32::try_from(std::process::id()).ok();
        assert_eq!(verdict(Peer::Unix { process, user }), PeerVerdict::Free);
    }
}
