//! This process's end of the socket to a supervisor.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

use super::streams::OurEnds;
use crate::launch::SpawnError;
use crate::process::{Process, SpawnedProcess, StateReporter};
use crate::unix::Terminal;
use crate::unix::message::{LENGTH, REPORT_LIMIT, SupervisorReport};

/// The owner of the command that a supervisor was asked to start, once it runs. `after` runs when the supervisor is gone.
pub(crate) async fn started(
    mut reports: ReportReader,
    ends: OurEnds,
    after: impl Future<Output = ()> + Send + 'static,
) -> Result<SpawnedProcess, SpawnError> {
    match reports.next().await.map_err(SpawnError::Supervisor)? {
        SupervisorReport::Started { supervisor } => Ok(SpawnedProcess {
            process: own(supervisor, ends.terminal, reports, after),
            output: ends.output,
            input: ends.input,
        }),
        SupervisorReport::NotStarted { errno } => {
            Err(SpawnError::Command(io::Error::from_raw_os_error(errno)))
        }
        SupervisorReport::NotConfined { reason } => Err(SpawnError::Confinement(reason)),
        SupervisorReport::Ended(_) => {
            Err(SpawnError::Supervisor(io::ErrorKind::InvalidData.into()))
        }
    }
}

fn own(
    supervisor: u32,
    terminal: Option<Terminal>,
    reports: ReportReader,
    after: impl Future<Output = ()> + Send + 'static,
) -> Process {
    let (interrupt, interrupts) = mpsc::unbounded_channel();
    let process = Process::own(supervisor, terminal, |killed, state| {
        follow(reports, killed, interrupts, state, after)
    });
    process.interrupted_through(interrupt)
}

/// Follows the supervisor to its end. Dropping the future closes the socket, which kills the tree.
async fn follow(
    mut reports: ReportReader,
    mut killed: oneshot::Receiver<()>,
    mut interrupts: mpsc::UnboundedReceiver<()>,
    mut state: StateReporter,
    after: impl Future<Output = ()>,
) {
    let mut signalled = false;
    loop {
        let report = tokio::select! {
            report = reports.next() => report,
            _ = &mut killed, if !signalled => {
                signalled = true;
                reports.close_write().await;
                continue;
            }
            Some(()) = interrupts.recv(), if !signalled => {
                reports.ask_for_interrupt().await;
                continue;
            }
        };
        match report {
            Ok(SupervisorReport::Ended(end)) => state.ended(end),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    state.gone();
    after.await;
}

/// Reads reports from the socket to a supervisor.
#[derive(Debug)]
pub(crate) struct ReportReader {
    socket: UnixStream,
    /// The part of the next report that was read. Kept here, so that reading is cancel safe.
    partial: Vec<u8>,
}

impl ReportReader {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            partial: Vec::new(),
        }
    }

    /// The next report. An error if the socket is closed.
    pub(crate) async fn next(&mut self) -> io::Result<SupervisorReport> {
        loop {
            if let Some(report) = self.take_whole()? {
                return Ok(report);
            }
            if self.socket.read_buf(&mut self.partial).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn take_whole(&mut self) -> io::Result<Option<SupervisorReport>> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let Some((header, rest)) = self.partial.split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*header) as usize;
        if length > REPORT_LIMIT {
            return Err(invalid());
        }
        let Some(message) = rest.get(..length) else {
            return Ok(None);
        };
        let report = SupervisorReport::decode(message).map_err(|_| invalid())?;
        self.partial.drain(..LENGTH + length);
        Ok(Some(report))
    }

    /// Asks the supervisor to interrupt the command.
    async fn ask_for_interrupt(&mut self) {
        self.socket.write_all(&[1]).await.ok();
    }

    /// Closes the write side. The supervisor then kills the tree, and still reports when it is done.
    async fn close_write(&mut self) {
        self.socket.shutdown().await.ok();
    }
}
