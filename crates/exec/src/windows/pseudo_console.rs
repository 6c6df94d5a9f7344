//! Terminals: pseudo consoles of the system.

#![expect(unsafe_code, reason = "calls of the system")]

use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::sync::Arc;

use parking_lot::Mutex;
use windows_sys::Win32::Foundation::E_NOTIMPL;
use windows_sys::Win32::System::Console::{
    COORD, ClosePseudoConsole, CreatePseudoConsole, HPCON, ResizePseudoConsole,
};

use crate::terminal_size::TerminalSize;

/// The upper half of a result that was made from an error code.
const OF_ERROR_CODE: i32 = 0x8007_u16.cast_signed() as i32;

/// The controlling side of a terminal.
#[derive(Debug, Clone)]
pub struct PseudoConsole(Arc<Mutex<Option<ConsoleHandle>>>);

#[derive(Debug)]
struct ConsoleHandle(HPCON);

impl PseudoConsole {
    /// Opens a terminal that reads and writes these pipes.
    pub(super) fn open(
        size: TerminalSize,
        input: &OwnedHandle,
        output: &OwnedHandle,
    ) -> io::Result<Self> {
        let mut console = 0;
        // SAFETY: both handles are open, and the console gets its own copies. The result is written to a local variable.
        let result = unsafe {
            CreatePseudoConsole(
                coordinates(size),
                input.as_raw_handle(),
                output.as_raw_handle(),
                0,
                &raw mut console,
            )
        };
        checked(result)?;
        Ok(Self(Arc::new(Mutex::new(Some(ConsoleHandle(console))))))
    }

    /// The handle for a process that is started in it. None if it is closed.
    pub(super) fn handle(&self) -> Option<HPCON> {
        self.0.lock().as_ref().map(|console| console.0)
    }

    /// Changes the size.
    ///
    /// # Errors
    /// The command has ended, or a system error.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        match &*self.0.lock() {
            // SAFETY: the console is open as long as the lock is held.
            Some(console) => checked(unsafe { ResizePseudoConsole(console.0, coordinates(size)) }),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the output after what was written. Waits until it is read on some versions of Windows, so it must not run where
    /// it is read.
    pub(super) fn close(&self) {
        let console = self.0.lock().take();
        drop(console);
    }
}

impl Drop for ConsoleHandle {
    fn drop(&mut self) {
        // SAFETY: the console is open, and nobody uses it afterwards.
        unsafe { ClosePseudoConsole(self.0) };
    }
}

fn coordinates(size: TerminalSize) -> COORD {
    let limited = |length: u16| i16::try_from(length).unwrap_or(i16::MAX);
    COORD {
        X: limited(size.columns.get()),
        Y: limited(size.rows.get()),
    }
}

/// The error of a result: that of the code in it, if it was made from one.
fn checked(result: i32) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        E_NOTIMPL => Err(io::ErrorKind::Unsupported.into()),
        _ if result >> 16 == OF_ERROR_CODE => Err(io::Error::from_raw_os_error(result & 0xFFFF)),
        _ => Err(io::Error::from_raw_os_error(result)),
    }
}
