//! Systems where no unix sockets can be served.

use std::io;
use std::path::Path;

use tokio::net::TcpStream;

use super::peer::Peer;

/// There is none.
#[derive(Debug)]
pub(super) enum SocketFile {}

impl SocketFile {
    /// Explains that this is not possible.
    ///
    /// # Errors
    /// Always.
    #[expect(clippy::unused_async, reason = "other systems have to wait")]
    pub(super) async fn bind(_: &Path) -> io::Result<Self> {
        let message = "unix sockets are not supported on this system; use `--listen ws://IP:PORT`";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    #[expect(clippy::unused_async, reason = "other systems have to wait")]
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, Peer)> {
        match *self {}
    }
}
