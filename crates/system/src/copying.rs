//! Contents and folders: copies with holes, and exchanges in one step.

use std::fs::File;
use std::io;
use std::path::Path;

/// Copies a file of this length. Holes stay holes on Linux.
///
/// # Errors
/// It cannot be read or written.
pub fn copy_content(from: &mut File, to: &mut File, length: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return copy_data(from, to, length);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = length;
        io::copy(from, to).map(drop)
    }
}

/// Copies the data and skips the holes.
#[cfg(target_os = "linux")]
fn copy_data(from: &mut File, to: &mut File, length: u64) -> io::Result<()> {
    use std::io::{Read as _, Seek as _, SeekFrom};

    use rustix::fs::{SeekFrom as Place, seek};
    use rustix::io::Errno;

    let mut at = 0;
    loop {
        let data = match seek(&*from, Place::Data(at)) {
            Ok(data) => data,
            // Only holes follow.
            Err(Errno::NXIO) => break,
            // The file system does not report holes.
            Err(_) => {
                from.seek(SeekFrom::Start(0))?;
                to.seek(SeekFrom::Start(0))?;
                io::copy(from, to)?;
                return Ok(());
            }
        };
        let hole = seek(&*from, Place::Hole(data))?;
        from.seek(SeekFrom::Start(data))?;
        to.seek(SeekFrom::Start(data))?;
        io::copy(&mut from.by_ref().take(hole - data), to)?;
        at = hole;
    }
    if at < length {
        to.set_len(length)?;
    }
    Ok(())
}

/// Exchanges two folders, so that nobody sees a moment without one of them.
///
/// # Errors
/// The system or the file system cannot do this.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (one, other);
        Err(io::ErrorKind::Unsupported.into())
    }
}
