//! The process at the other end of a connection, and whether it is sandboxed.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;

use procfs::ProcResult;
use procfs::net::TcpNetEntry;
use procfs::process::{Process, all_processes};

use super::{Peer, PeerVerdict};

/// Whether the user of a TCP connection of this machine is known.
pub(crate) const KNOWS_USERS: bool = true;

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
            Peer::Unix { .. } => PeerVerdict::OtherUser,
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
type SocketPair = (SocketAddr, SocketAddr);

/// Finds the processes at the other ends of TCP connections.
struct ConnectionSearch {
    /// The positions of the verdicts of connections.
    wanted: HashMap<SocketPair, Vec<usize>>,
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
        let is_local = connection.1.ip().is_loopback() || connection.0.ip() == connection.1.ip();
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
                PeerVerdict::OtherUser
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
