//! Identifies the process at the other end of a connection. A sandboxed program must not use the server to escape.
//!
//! A sandboxed program with network access reaches every port of its machine, and it may be able to read a token
//! file. It is recognised by its process: the system knows which process owns the other end of a connection, and a
//! sandboxed one has its own user namespace, or descends from a process that cannot gain privileges. A local peer
//! that cannot be found is refused.

#[cfg_attr(target_os = "linux", path = "peer/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "peer/elsewhere.rs")]
mod processes;

use std::net::SocketAddr;

use parking_lot::Mutex;
use tokio::sync::oneshot;

pub(super) use processes::KNOWS_USERS;
use processes::verdicts;

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
    /// A process of another user of this machine.
    OtherUser,
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

#[cfg(all(test, target_os = "linux"))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
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
