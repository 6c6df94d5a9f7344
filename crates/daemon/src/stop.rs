//! Ends the server.

use std::time::Duration;

use codex_system::background::{self, EndRequest};
use tokio::process::Command;
use tokio::time::Instant;

use crate::folder::{POLL_INTERVAL, failed};
use crate::probe::Probe;
use crate::{DaemonChange, DaemonError, DaemonFolder, DaemonState};

/// How long the server may finish its turns.
const WORK_LIMIT: Duration = Duration::from_secs(10);
/// How long it may take after the second request, with which it drops its work.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long the system may take to end a killed process.
const KILL_LIMIT: Duration = Duration::from_secs(5);

impl DaemonFolder {
    /// Ends the server: it may finish its turns for ten seconds, and is killed if it does not end after that.
    ///
    /// # Errors
    /// It does not end, or it was not started as one in the background.
    pub async fn stop(&self) -> Result<DaemonState, DaemonError> {
        let _turn = self.turn().await?;
        self.stop_in_turn().await
    }

    /// Ends the server if there is one, and starts it.
    ///
    /// # Errors
    /// It does not end or does not start, or it was not started as one in the background.
    pub async fn restart(&self, command: Command) -> Result<DaemonState, DaemonError> {
        let _turn = self.turn().await?;
        self.stop_in_turn().await?;
        let state = self.start_in_turn(command).await?;
        Ok(DaemonState {
            change: DaemonChange::Restarted,
            ..state
        })
    }

    async fn stop_in_turn(&self) -> Result<DaemonState, DaemonError> {
        let state = |change| DaemonState {
            change,
            process: None,
            server_version: None,
        };
        let Some(process) = self.process()? else {
            return match self.probe().await {
                Probe::Absent(_) => Ok(state(DaemonChange::NotRunning)),
                Probe::Answers(_) | Probe::Silent(_) => Err(self.not_ours().await),
            };
        };
        let requests = [
            (EndRequest::Terminate, WORK_LIMIT),
            (EndRequest::Terminate, END_LIMIT),
            (EndRequest::Kill, KILL_LIMIT),
        ];
        let mark = self.mark();
        for (request, limit) in requests {
            let asked = background::end_marked(&mark, process, request);
            asked.map_err(|source| failed(&mark, source))?;
            if self.has_ended(process, limit).await? {
                return Ok(state(DaemonChange::Stopped));
            }
        }
        Err(DaemonError::NotStopped(process))
    }

    async fn has_ended(&self, process: u32, limit: Duration) -> Result<bool, DaemonError> {
        let end = Instant::now() + limit;
        loop {
            if self.process()? != Some(process) {
                return Ok(true);
            }
            if Instant::now() >= end {
                return Ok(false);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn not_ours(&self) -> DaemonError {
        let socket = self.socket();
        let connected = codex_system::local_socket::connect(&socket).await;
        let process = connected.ok().and_then(|connection| connection.process);
        DaemonError::NotOurs { socket, process }
    }
}
