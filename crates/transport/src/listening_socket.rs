//! A socket that listens at a TCP port or at a path, and the streams of its clients.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use super::peer::Peer;
use super::unix_socket::SocketFile;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Listen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "ws://{address}"),
            Self::Unix(path) => write!(formatter, "unix://{}", path.display()),
        }
    }
}

/// A TCP or unix connection.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A bound socket.
#[derive(Debug)]
pub(super) enum ListeningSocket {
    Tcp(TcpListener),
    Unix(SocketFile),
}

impl ListeningSocket {
    pub(super) async fn bind(listen: &Listen) -> io::Result<Self> {
        Ok(match listen {
            Listen::Tcp(address) => Self::Tcp(TcpListener::bind(address).await?),
            Listen::Unix(path) => Self::Unix(SocketFile::bind(path).await?),
        })
    }

    /// The TCP address, with the chosen port.
    pub(super) fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    pub(super) async fn accept(&self) -> io::Result<(Box<dyn ByteStream>, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, client) = listener.accept().await?;
                let server = stream.local_addr()?;
                // Messages are written as a whole, so waiting for more data would only delay them.
                stream.set_nodelay(true)?;
                Ok((Box::new(stream), Peer::Tcp { client, server }))
            }
            Self::Unix(socket) => {
                let (stream, peer) = socket.accept().await?;
                Ok((Box::new(stream), peer))
            }
        }
    }
}
