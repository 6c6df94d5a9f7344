//! Accepts programs of the user who started this process, for a protocol that is not the one of the app-server.
//!
//! There is no token in such a protocol, so it is for this machine and this user only: a TCP address has to be a
//! loopback one, other users are refused, and so are programs in a sandbox. Where the system does not tell which user
//! connects to a port, ports are not served.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use super::listening_socket::{ByteStream, Listen, ListeningSocket};
use super::peer::{KNOWS_USERS, Peer, PeerInspector, PeerVerdict};

/// A bound socket for programs of this user.
#[derive(Debug)]
pub struct OwnerListener {
    socket: ListeningSocket,
    peers: Arc<PeerInspector>,
}

/// A client that has connected and is not checked yet.
pub struct UncheckedClient {
    stream: Box<dyn ByteStream>,
    peer: Peer,
    peers: Arc<PeerInspector>,
}

impl OwnerListener {
    /// Binds an address.
    ///
    /// # Errors
    /// It cannot be bound, other machines could reach it, or the system does not tell who connects to it.
    pub async fn bind(listen: &Listen) -> io::Result<Self> {
        if let Listen::Tcp(address) = listen {
            if !address.ip().is_loopback() {
                let message = "it can be reached from other machines";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            if !KNOWS_USERS {
                let message =
                    "this system does not tell which user connects to a port; use `unix://PATH`";
                return Err(io::Error::new(io::ErrorKind::Unsupported, message));
            }
        }
        Ok(Self {
            socket: ListeningSocket::bind(listen).await?,
            peers: Arc::default(),
        })
    }

    /// The TCP address, with the chosen port.
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.socket.tcp_address()
    }

    /// Waits for the next client.
    ///
    /// # Errors
    /// No client can be accepted at the moment.
    pub async fn accept(&self) -> io::Result<UncheckedClient> {
        let (stream, peer) = self.socket.accept().await?;
        Ok(UncheckedClient {
            stream,
            peer,
            peers: Arc::clone(&self.peers),
        })
    }
}

impl UncheckedClient {
    /// The stream, if the client may be served, or why it may not.
    ///
    /// # Errors
    /// Another user or a program in a sandbox connects, or it cannot be found who does.
    pub async fn check(self) -> Result<Box<dyn ByteStream>, &'static str> {
        match self.peers.verdict(self.peer).await {
            PeerVerdict::Free => Ok(self.stream),
            PeerVerdict::OtherUser => Err("another user may not connect"),
            PeerVerdict::Confined => Err("a program in a sandbox may not connect"),
            PeerVerdict::Unknown => Err("the process that connects could not be found"),
        }
    }
}

impl std::fmt::Debug for UncheckedClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("UncheckedClient")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}
