//! Requests to end: SIGTERM and SIGINT, or Ctrl-C where there are no signals.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit status of a process that was interrupted.
pub const INTERRUPTED_EXIT_CODE: i32 = 128 + 2;

/// A stream of requests to end. Creating it disables what the system does by default.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    terminate: Option<Signal>,
    #[cfg(unix)]
    interrupt: Signal,
}

impl Signals {
    /// Both signals.
    ///
    /// # Errors
    /// They cannot be handled.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminate: Some(signal(SignalKind::terminate())?),
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Interrupts only: what a person types at a terminal.
    ///
    /// # Errors
    /// They cannot be handled.
    pub fn interrupts() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminate: None,
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one. Returns the exit status of a process that it ends.
    #[cfg(unix)]
    pub async fn next(&mut self) -> i32 {
        let terminate = async {
            match &mut self.terminate {
                Some(terminate) => terminate.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate => 128 + 15,
            _ = self.interrupt.recv() => INTERRUPTED_EXIT_CODE,
        }
    }

    /// Waits for the next one. Returns the exit status of a process that it ends.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> i32 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        INTERRUPTED_EXIT_CODE
    }

    /// Waits for the next one. The one after it ends the process at once.
    pub async fn first(mut self) {
        self.next().await;
        tokio::spawn(async move { std::process::exit(self.next().await) });
    }
}

/// Waits for a request to end; for ever if the system reports none. The one after it ends the process at once.
pub async fn first() {
    match Signals::new() {
        Ok(signals) => signals.first().await,
        Err(_) => std::future::pending().await,
    }
}
