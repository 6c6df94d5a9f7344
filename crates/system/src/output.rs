//! Standard output without waiting for the reader.

use std::fs::File;
use std::io;

/// Standard output without the buffer of [`io::Stdout`], which searches everything for the last line break.
///
/// # Errors
/// No further descriptor can be opened.
pub fn unbuffered() -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle as _;
        Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
    }
}

/// Increases the capacity of the pipe, so that large messages need fewer switches between the processes. Optional.
pub fn make_room() {
    #[cfg(target_os = "linux")]
    {
        /// The limit for unprivileged users.
        const PIPE_BYTES: usize = 1024 * 1024;
        let _ = rustix::pipe::fcntl_setpipe_size(io::stdout(), PIPE_BYTES);
    }
}

/// Writes as much as there is room for; nothing if that is not known.
///
/// # Errors
/// The reader has closed the pipe.
pub fn write_now(bytes: &[u8]) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::{Errno, ReadWriteFlags, pwritev2};
        /// The offset for streams.
        const CURRENT_POSITION: u64 = u64::MAX;
        let bytes = [io::IoSlice::new(bytes)];
        match pwritev2(
            io::stdout(),
            &bytes,
            CURRENT_POSITION,
            ReadWriteFlags::NOWAIT,
        ) {
            Ok(written) => Ok(written),
            // No room, or not supported by the file or the kernel.
            Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                Ok(0)
            }
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = bytes;
        Ok(0)
    }
}
