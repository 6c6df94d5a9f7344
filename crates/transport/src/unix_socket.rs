//! The file of a unix socket: accessible for its owner only, removed at the end. A file of a dead server is replaced,
//! that of a live one is not.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixSocket, UnixStream};

use super::peer::Peer;

/// The length of the accept queue.
const BACKLOG: u32 = 128;

/// A listening socket and its file.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    listener: UnixListener,
    /// Identifies the file, because another server may replace it.
    inode: u64,
}

impl SocketFile {
    /// Listens at a path.
    ///
    /// # Errors
    /// The path has another file, or a live server.
    pub(super) async fn bind(path: &Path) -> io::Result<Self> {
        let _lock = lock_path(path)?;
        remove_dead_socket(path).await?;
        let socket = UnixSocket::new_stream()?;
        // The file is created with these permissions, so it is never more accessible.
        #[cfg(target_os = "linux")]
        rustix::fs::fchmod(&socket, rustix::fs::Mode::from_raw_mode(0o600))?;
        socket.bind(path)?;
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600))?;
        Ok(Self {
            path: path.to_owned(),
            inode: std::fs::symlink_metadata(path)?.ino(),
            listener: socket.listen(BACKLOG)?,
        })
    }

    pub(super) async fn accept(&self) -> io::Result<(UnixStream, Peer)> {
        let (stream, _) = self.listener.accept().await?;
        let credentials = stream.peer_cred()?;
        let (process, user) = (credentials.pid(), credentials.uid());
        Ok((stream, Peer::Unix { process, user }))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_own =
            std::fs::symlink_metadata(&self.path).is_ok_and(|file| file.ino() == self.inode);
        if is_own {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Two servers must not replace the same dead socket at once.
fn lock_path(path: &Path) -> io::Result<File> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path.with_file_name(name))?;
    lock.lock()?;
    Ok(lock)
}

/// Removes the socket of a server that is gone. Anything else there is an error.
async fn remove_dead_socket(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        let message = "something that is no socket is there";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another server listens there",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_abandoned_sockets_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let first = SocketFile::bind(&path).await.unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = SocketFile::bind(&path).await.unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(first);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn binding_keeps_a_file_that_is_no_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "precious").unwrap();
        SocketFile::bind(&path).await.unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
}
