//! The standard streams of a command: pipes whose ends of this process do not block it.

#![expect(unsafe_code, reason = "calls of the system")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};
use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};

use super::handles::check;

/// The capacity of a pipe.
const CAPACITY: u32 = 64 * 1024;

/// A pipe from a command to this process. Returns the end of the command second.
pub(super) async fn from_command() -> io::Result<(NamedPipeServer, OwnedHandle)> {
    pipe(true).await
}

/// A pipe from this process to a command. Returns the end of the command second.
pub(super) async fn to_command() -> io::Result<(NamedPipeServer, OwnedHandle)> {
    pipe(false).await
}

/// A stream without content.
pub(super) fn nothing() -> io::Result<OwnedHandle> {
    inheritable(File::open("NUL")?)
}

/// Only named pipes can be waited for without a thread. A name is used once: the first instance is ours or it fails, and
/// there is no second one.
async fn pipe(inbound: bool) -> io::Result<(NamedPipeServer, OwnedHandle)> {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!(r"\\.\pipe\codex-command-{}-{number}", std::process::id());
    let ours = ServerOptions::new()
        .access_inbound(inbound)
        .access_outbound(!inbound)
        .first_pipe_instance(true)
        .max_instances(1)
        .in_buffer_size(CAPACITY)
        .out_buffer_size(CAPACITY)
        .create(&name)?;
    let theirs = OpenOptions::new()
        .read(!inbound)
        .write(inbound)
        .open(&name)?;
    ours.connect().await?;
    Ok((ours, inheritable(theirs)?))
}

/// Lets a child have the handle. Which child gets it is said when it is started.
fn inheritable(file: File) -> io::Result<OwnedHandle> {
    let handle = OwnedHandle::from(file);
    // SAFETY: the handle is open.
    let done = unsafe {
        SetHandleInformation(
            handle.as_raw_handle(),
            HANDLE_FLAG_INHERIT,
            HANDLE_FLAG_INHERIT,
        )
    };
    check(done)?;
    Ok(handle)
}
