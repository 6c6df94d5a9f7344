//! The handle of the spawner, the helper process that starts supervisors.
//!
//! It is started with the first command, and again if it has died. It ends when its last handle is dropped, or with this
//! process.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::process::{Child, Command};

use crate::unix::HELPER_NAME;
use crate::unix::start_request::StartRequest;

/// The delay and number of retries while the spawner's queue is full, which takes hundreds of requests.
const RETRY_DELAY: Duration = Duration::from_millis(1);
const TRIES: u32 = 10_000;

/// How long the end of the spawner is waited for.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// The spawner, which may not be running.
#[derive(Debug)]
pub(crate) struct SpawnerHandle {
    program: PathBuf,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    socket: OwnedFd,
    process: Child,
}

impl SpawnerHandle {
    /// Starts no process yet.
    pub(crate) fn new(program: PathBuf) -> Self {
        Self {
            program,
            running: Mutex::new(None),
        }
    }

    /// Requests a supervisor.
    pub(crate) async fn start_supervisor(&self, request: StartRequest) -> io::Result<()> {
        for _ in 0..TRIES {
            match self.try_request(&request) {
                Err(Errno::AGAIN) => tokio::time::sleep(RETRY_DELAY).await,
                sent => return Ok(sent?),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Ends the spawner and waits for its cleanup.
    pub(crate) async fn close(&self) {
        let running = self.running.lock().take();
        if let Some(Running {
            socket,
            mut process,
        }) = running
        {
            drop(socket);
            // An error means that it is no longer a child of this process. A supervisor whose command waits for a dead file
            // system does not end; the spawner then cleans up when it does.
            tokio::time::timeout(CLOSE_LIMIT, process.wait()).await.ok();
        }
    }

    fn try_request(&self, request: &StartRequest) -> Result<(), Errno> {
        let mut running = self.running.lock();
        if let Some(spawner) = &*running {
            match request.send(&spawner.socket) {
                // The spawner has died.
                Err(Errno::PIPE | Errno::CONNRESET) => {}
                sent => return sent,
            }
        }
        let spawner = Running::start(&self.program)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let sent = request.send(&spawner.socket);
        *running = Some(spawner);
        sent
    }
}

impl Running {
    fn start(program: &PathBuf) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let mut command = std::process::Command::new(program);
        command
            .arg0(HELPER_NAME)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self {
            process: Command::from(command).spawn()?,
            socket: ours,
        })
    }
}
