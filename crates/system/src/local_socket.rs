//! Connections to sockets that are files, which only servers of this user or of the administrator may serve.

use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite};

/// The two directions of a connection.
pub trait LocalStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> LocalStream for S {}

/// A connection, and the process that serves it, where the system says that.
pub struct LocalConnection {
    /// The connection.
    pub stream: Box<dyn LocalStream>,
    /// The process.
    pub process: Option<u32>,
}

impl std::fmt::Debug for LocalConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalConnection")
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}

/// Connects to a socket.
///
/// # Errors
/// There is no server, it belongs to another user (`PermissionDenied`), or the system has no such sockets.
pub async fn connect(path: &Path) -> io::Result<LocalConnection> {
    system::connect(path).await
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::path::Path;

    use tokio::net::UnixStream;

    use super::LocalConnection;

    pub(super) async fn connect(path: &Path) -> io::Result<LocalConnection> {
        let stream = UnixStream::connect(path).await?;
        let server = stream.peer_cred()?;
        let is_own = server.uid() == rustix::process::geteuid().as_raw();
        if !is_own && server.uid() != 0 {
            let message = format!("the server belongs to another user ({})", server.uid());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let process = server.pid().and_then(|pid| u32::try_from(pid).ok());
        Ok(LocalConnection {
            stream: Box::new(stream),
            process,
        })
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use std::path::Path;

    use super::LocalConnection;

    #[expect(clippy::unused_async, reason = "other systems have to wait")]
    pub(super) async fn connect(_: &Path) -> io::Result<LocalConnection> {
        let message = "sockets that are files are not supported on this system";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }
}
