//! The process that runs cells, from outside.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use codex_code_mode::{KERNEL_COMMAND, KernelLine, MAX_LINE, read_line};
use codex_exec::{Launch, OutputStream, StreamSetup};
use codex_sandbox::{ConfinementPolicy, LaunchPlan, NetworkMode, PolicyContext, ReadAccess};
use codex_system::facts::FILTERS_SYSTEM_CALLS;
use futures::StreamExt;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::ports::{ProcessInput, Processes, RunningProcess};

/// How many lines may wait to be written.
const MOST_WAITING: usize = 64;

/// A kernel that runs. Dropping it ends the process with all cells.
#[derive(Debug)]
pub(super) struct Kernel {
    lines: mpsc::Sender<Vec<u8>>,
    /// Lines that do not wait: they are short, and there is at most one for each cell.
    urgent: mpsc::UnboundedSender<Vec<u8>>,
    reader: AbortHandle,
    writer: AbortHandle,
}

impl Kernel {
    /// Starts a kernel. `take` gets its lines in order, and none after the last.
    pub(super) async fn start(
        processes: &dyn Processes,
        program: &Path,
        take: impl FnMut(Option<KernelLine>) + Send + 'static,
    ) -> Result<Self, String> {
        let launch = Launch {
            command: vec![program.into(), KERNEL_COMMAND.into()],
            cwd: "/".into(),
            inherited: Arc::new(BTreeMap::new()),
            environment: Vec::new(),
            streams: StreamSetup::InputAndOutput,
            plan: plan(processes)?,
            network: codex_exec::CommandNetwork::default(),
        };
        let process = processes.start(launch).await;
        let mut process = process.map_err(|error| error.to_string())?;
        let input = process.input.take().ok_or("it has no input")?;
        let (lines, waiting) = mpsc::channel(MOST_WAITING);
        let (urgent, urgent_waiting) = mpsc::unbounded_channel();
        let reader = tokio::spawn(read(process, take)).abort_handle();
        let writer = tokio::spawn(write(input, waiting, urgent_waiting)).abort_handle();
        Ok(Self {
            lines,
            urgent,
            reader,
            writer,
        })
    }

    /// Sends lines. Dropped lines are those of a kernel that has ended.
    pub(super) fn sender(&self) -> mpsc::Sender<Vec<u8>> {
        self.lines.clone()
    }

    pub(super) fn send_at_once(&self, line: Vec<u8>) {
        let _ = self.urgent.send(line);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.reader.is_finished()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

/// The kernel itself needs no files and no network. Where the system has no sandbox for that, the filter of cells
/// remains on Linux.
fn plan(processes: &dyn Processes) -> Result<LaunchPlan, String> {
    let policy = ConfinementPolicy::ReadOnly {
        read: ReadAccess::Full,
        network: NetworkMode::Restricted,
    };
    match codex_sandbox::plan(&policy, &PolicyContext::in_folder("/"), processes.levels()) {
        Ok(plan) => Ok(plan),
        Err(_) if FILTERS_SYSTEM_CALLS => Ok(LaunchPlan::Unconfined),
        Err(refusal) => Err(refusal.to_string()),
    }
}

async fn read(process: RunningProcess, mut take: impl FnMut(Option<KernelLine>)) {
    let RunningProcess {
        mut owner,
        mut output,
        ..
    } = process;
    let mut received = Vec::new();
    'chunks: while let Some(chunk) = output.next().await {
        if chunk.stream == OutputStream::Stderr {
            tracing::debug!(text = %String::from_utf8_lossy(&chunk.bytes), "the kernel of cells says");
            continue;
        }
        let searched = received.len();
        received.extend_from_slice(&chunk.bytes);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &received[searched..]) {
            let end = searched + end;
            let Some(line) = read_line(&received[start..end]) else {
                break 'chunks;
            };
            take(Some(line));
            start = end + 1;
        }
        received.drain(..start);
        if received.len() > 2 * MAX_LINE {
            break;
        }
    }
    owner.kill().await;
    take(None);
}

async fn write(
    mut input: Box<dyn ProcessInput>,
    mut lines: mpsc::Receiver<Vec<u8>>,
    mut urgent: mpsc::UnboundedReceiver<Vec<u8>>,
) {
    loop {
        let line = tokio::select! {
            biased;
            Some(line) = urgent.recv() => line,
            Some(line) = lines.recv() => line,
            else => return,
        };
        if input.write(&line).await.is_err() {
            return;
        }
    }
}
