//! The helper process: it touches paths, and says before each file system which one it is about to touch.
//!
//! Its owner waits for it with a limit and goes on without it. It holds nothing of its owner, not even the standard streams,
//! and ends when its owner does, unless it waits for a file system then.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::table::{self, Device};
use super::walk::{self, LastLink};

/// The name that the program is started under as a helper.
pub(super) const NAME: &str = "codex-mount-check";

/// Paths that are longer do not exist.
const PATH_LIMIT: usize = 64 * 1024;

/// What a helper says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// It is about to touch a file system.
    Enters(Device),
    /// The path leads to a file system that the owner calls dead. It was not touched.
    IsDead(Device),
    /// The path was tried.
    Answers,
}

impl Report {
    pub(super) const LENGTH: usize = 9;

    fn encode(self) -> [u8; Self::LENGTH] {
        let (tag, Device(major, minor)) = match self {
            Self::Enters(device) => (0, device),
            Self::IsDead(device) => (1, device),
            Self::Answers => (2, Device(0, 0)),
        };
        let mut bytes = [tag; Self::LENGTH];
        bytes[1..5].copy_from_slice(&major.to_le_bytes());
        bytes[5..].copy_from_slice(&minor.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: [u8; Self::LENGTH]) -> Self {
        let [tag, a, b, c, d, e, f, g, h] = bytes;
        let device = Device(
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
        );
        match tag {
            0 => Self::Enters(device),
            1 => Self::IsDead(device),
            _ => Self::Answers,
        }
    }
}

/// A question of the owner: the path, the file systems that are not to be touched, and those that are not in doubt.
pub(super) fn encode_question(path: &Path, dead: &[Device]) -> Vec<u8> {
    let path = path.as_os_str().as_encoded_bytes();
    let mut bytes = Vec::new();
    for length in [path.len(), dead.len()] {
        bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
    for Device(major, minor) in dead {
        bytes.extend(major.to_le_bytes());
        bytes.extend(minor.to_le_bytes());
    }
    bytes.extend(path);
    bytes
}

fn read_question(from: &mut impl Read) -> io::Result<(PathBuf, Vec<Device>)> {
    let mut number = || {
        let mut bytes = [0; 4];
        from.read_exact(&mut bytes)?;
        Ok::<_, io::Error>(u32::from_le_bytes(bytes))
    };
    let (length, count) = (number()? as usize, number()?);
    let mut dead = Vec::new();
    for _ in 0..count {
        dead.push(Device(number()?, number()?));
    }
    if length > PATH_LIMIT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut path = vec![0; length];
    from.read_exact(&mut path)?;
    Ok((std::ffi::OsString::from_vec(path).into(), dead))
}

/// Runs the helper and never returns, if this process was started as one.
pub(super) fn serve_if_asked() {
    if std::env::args_os().next().is_some_and(|name| name == NAME) {
        // The end of the owner ends it as well.
        std::process::exit(i32::from(serve().is_err()));
    }
}

fn serve() -> io::Result<()> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut socket = UnixStream::from(socket);
    loop {
        let (path, dead) = read_question(&mut socket)?;
        let report = touch(&path, &dead, &mut |report: Report| {
            socket.write_all(&report.encode())
        })?;
        socket.write_all(&report.encode())?;
    }
}

fn touch(
    path: &Path,
    dead: &[Device],
    tell: &mut impl FnMut(Report) -> io::Result<()>,
) -> io::Result<Report> {
    let table = table::current();
    let followed = walk::follow(&table, path, LastLink::Follow, &mut |device| {
        if dead.contains(&device) {
            return ControlFlow::Break(Ok(Report::IsDead(device)));
        }
        match tell(Report::Enters(device)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    });
    match followed {
        ControlFlow::Break(report) => report,
        ControlFlow::Continue(end) => {
            // That there is no content, or no right to read it, is an answer as well.
            let _ = use_content(&end);
            Ok(Report::Answers)
        }
    }
}

/// Reads a little of a folder or a file: one that says what it is may still not answer then.
fn use_content(path: &Path) -> io::Result<()> {
    let found = path.symlink_metadata()?;
    if found.is_dir() {
        std::fs::read_dir(path)?.next();
    } else if found.is_file() {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        read_one(&file)?;
    }
    Ok(())
}

fn read_one(mut file: &File) -> io::Result<()> {
    file.read(&mut [0]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_reports_are_read_as_written() {
        let path = Path::new("/mnt/some path");
        let dead = [Device(0, 39), Device(8, 1)];
        let bytes = encode_question(path, &dead);
        let read = read_question(&mut &*bytes).unwrap();
        assert_eq!(read, (path.to_owned(), dead.to_vec()));
        for report in [
            Report::Enters(dead[0]),
            Report::IsDead(dead[1]),
            Report::Answers,
        ] {
            assert_eq!(Report::decode(report.encode()), report);
        }
    }

    #[test]
    fn existing_and_missing_paths_get_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        for path in [folder.path(), &file, &folder.path().join("none/x")] {
            let report = touch(path, &[], &mut |_| Ok(())).unwrap();
            assert_eq!(report, Report::Answers);
        }
    }
}
