//! Our side of the steward: the process that starts supervisors for us.
//!
//! It is started with the first command and again if it should have died. It ends when the last
//! handle of it is dropped, or with us.

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

use crate::helper;
use crate::order::Order;

/// The steward takes hundreds of orders before it makes anybody wait, and forgets none.
const BETWEEN_TRIES: Duration = Duration::from_millis(1);
const TRIES: u32 = 10_000;

/// The process that starts supervisors.
#[derive(Debug)]
pub(crate) struct Steward {
    program: PathBuf,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    socket: OwnedFd,
    process: Child,
}

impl Steward {
    /// Not started yet.
    pub(crate) fn new(program: PathBuf) -> Self {
        Self {
            program,
            running: Mutex::new(None),
        }
    }

    /// Has it start a supervisor.
    pub(crate) async fn order(&self, order: Order) -> io::Result<()> {
        for _ in 0..TRIES {
            match self.try_order(&order) {
                Err(Errno::AGAIN) => tokio::time::sleep(BETWEEN_TRIES).await,
                sent => return Ok(sent?),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Ends it, and waits until it has cleaned up.
    pub(crate) async fn close(&self) {
        let running = self.running.lock().take();
        if let Some(Running {
            socket,
            mut process,
        }) = running
        {
            drop(socket);
            // An error would mean that it is not our child any more.
            process.wait().await.ok();
        }
    }

    fn try_order(&self, order: &Order) -> Result<(), Errno> {
        let mut running = self.running.lock();
        if let Some(steward) = &*running {
            match order.send(&steward.socket) {
                // It has died.
                Err(Errno::PIPE | Errno::CONNRESET) => {}
                sent => return sent,
            }
        }
        let steward = Running::start(&self.program)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let sent = order.send(&steward.socket);
        *running = Some(steward);
        sent
    }
}

impl Running {
    fn start(program: &PathBuf) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let mut command = std::process::Command::new(program);
        command
            .arg0(helper::NAME)
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
