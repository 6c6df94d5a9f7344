//! Layer: foundation. Reads files that others can replace, in bounded time and memory.
//!
//! Opening or reading a named pipe, a socket or a device can block for ever. What a project, a request or a settings
//! file names is therefore opened here, which takes regular files only, and read up to a limit. The null device counts
//! as an empty file, because links to it are a usual way to switch a file off. A file on a dead file system is refused.
//!
//! In a folder that others filled, such as a bundle that was sent, links are not followed: [`LinkFreeFolder`].

mod folder;

pub use folder::{
    FolderEntry, FolderEntryKind, LinkFreeFolder, NewFile, OpenOutput, OutputFile, open_inside,
    read_inside,
};

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use codex_system::file;

/// Opens a regular file for reading. Follows links.
///
/// # Errors
/// It does not exist, is not regular, or cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file with these options, which may create it. Never blocks.
///
/// # Errors
/// It is not regular, or cannot be opened.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    codex_mounts::check(path)?;
    // Checked before opening, because opening some devices has side effects.
    if let Ok(found) = std::fs::metadata(path) {
        check(&found)?;
    }
    let file = file::without_waiting(options).open(path)?;
    // Checked again, because the path may have been replaced.
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file.
///
/// # Errors
/// It cannot be opened or read, or is longer than `limit`.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_file(open(path)?, limit)
}

/// Reads an open file.
fn read_file(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("larger than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads a regular file that is UTF-8.
///
/// # Errors
/// It cannot be opened or read, is longer than `limit`, or is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| {
        // In the words of `std::fs::read_to_string`.
        let message = "stream did not contain valid UTF-8";
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Reads the first `limit` bytes of a regular file.
///
/// # Errors
/// It cannot be opened or read.
pub fn read_start(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check(found: &Metadata) -> io::Result<()> {
    if found.is_dir() {
        return Err(file::is_a_directory());
    }
    if found.is_file() || file::is_null_device(found) {
        return Ok(());
    }
    let message = "not a regular file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_sockets_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&pipe, &socket, Path::new("/dev/zero")] {
            let error = read(path, 10).unwrap_err();
            assert_eq!(
                error.to_string(),
                "not a regular file",
                "{}",
                path.display()
            );
        }
        assert_eq!(
            read(folder.path(), 10).unwrap_err().raw_os_error(),
            file::is_a_directory().raw_os_error()
        );
        assert_eq!(read(Path::new("/dev/null"), 10).unwrap(), b"");
    }

    #[test]
    fn the_limit_is_the_longest_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "four").unwrap();
        assert_eq!(read_text(&file, 4).unwrap(), "four");
        assert_eq!(
            read(&file, 3).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(read_start(&file, 3).unwrap(), b"fou");
    }
}
