//! Starts the server, and what the server itself does at its start.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use codex_system::background::{self, RunningMark};
use tokio::process::{Child, Command};

use crate::folder::{POLL_INTERVAL, failed};
use crate::probe::Probe;
use crate::{DaemonChange, DaemonError, DaemonFolder, DaemonState};

/// How long the server may take to answer.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How much of its log is shown if it does not start.
const SHOWN_BYTES: u64 = 2000;

/// Makes this process the one in the background of a home folder: it leaves the terminal and holds the mark.
///
/// # Errors
/// Another one runs.
pub fn become_daemon(folder: &DaemonFolder) -> Result<RunningMark, DaemonError> {
    folder.make()?;
    // A process that leads its group cannot leave; its starter has seen to the terminal then.
    let _ = background::leave_session();
    let path = folder.mark();
    let mark = background::mark(&path).map_err(|source| failed(&path, source))?;
    mark.ok_or(DaemonError::Twice)
}

impl DaemonFolder {
    /// Starts the server if none answers. `command` serves the socket and calls [`become_daemon`].
    ///
    /// # Errors
    /// It does not start, or something at the socket does not answer.
    pub async fn start(&self, command: Command) -> Result<DaemonState, DaemonError> {
        let _turn = self.turn().await?;
        self.start_in_turn(command).await
    }

    pub(crate) async fn start_in_turn(&self, command: Command) -> Result<DaemonState, DaemonError> {
        let socket = self.socket();
        match self.probe().await {
            Probe::Answers(version) => {
                return Ok(DaemonState {
                    change: DaemonChange::AlreadyRunning,
                    process: self.process()?,
                    server_version: Some(version),
                });
            }
            Probe::Silent(reason) => return Err(DaemonError::Silent { socket, reason }),
            Probe::Absent(reason) => {
                // One that ends, or that lost its socket.
                if self.process()?.is_some() {
                    return Err(DaemonError::Silent { socket, reason });
                }
            }
        }
        self.make_socket_folder()?;
        remove_broken_link(&socket)?;
        let mut child = self.spawn(command)?;
        let process = child.id();
        let waiting = async {
            loop {
                if let Probe::Answers(version) = self.probe().await {
                    return Ok(version);
                }
                if let Ok(Some(status)) = child.try_wait() {
                    return Err(format!("it ended with {status}"));
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let reason = match tokio::time::timeout(START_LIMIT, waiting).await {
            Ok(Ok(version)) => {
                return Ok(DaemonState {
                    change: DaemonChange::Started,
                    process,
                    server_version: Some(version),
                });
            }
            Ok(Err(reason)) => reason,
            Err(_) => {
                let _ = child.kill().await;
                format!("it did not answer within {} seconds", START_LIMIT.as_secs())
            }
        };
        let log = last_words(&self.log());
        let reason = match log.trim() {
            "" => reason,
            log => format!("{reason}; it said:\n{log}"),
        };
        Err(DaemonError::NotStarted { reason })
    }

    fn spawn(&self, mut command: Command) -> Result<Child, DaemonError> {
        let path = self.log();
        let mut options = OpenOptions::new();
        let log = codex_private_files::open(&path, options.write(true).create(true).truncate(true));
        let log = log.map_err(|source| failed(&path, source))?;
        let started = command
            .current_dir(self.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(false)
            .spawn();
        started.map_err(|error| DaemonError::NotStarted {
            reason: error.to_string(),
        })
    }
}

/// Removes a link that another release left at the place of the socket, if its target is gone.
fn remove_broken_link(socket: &Path) -> Result<(), DaemonError> {
    let is_link = std::fs::symlink_metadata(socket).is_ok_and(|found| found.is_symlink());
    if is_link {
        std::fs::remove_file(socket).map_err(|source| failed(socket, source))?;
    }
    Ok(())
}

fn last_words(log: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file: File = codex_regular_file::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SHOWN_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(SHOWN_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}
