//! A command that runs in the background, and the task that watches it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_checkpoints::RunningCommand;
use codex_exec::{CaptureLimits, CapturedOutput, ExitStatus, NetworkLog, OutputCapture};
use codex_session_base::ports::{Clock, RunningProcess};
use codex_session_base::thread::BackgroundTerminal;
use codex_session_base::turn_rights::TurnRights;
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::typed_line::TypedLine;
use crate::command_item::{CommandEnd, CommandItem, connections};
use crate::turn_checkpoints::WatchedCommand;

/// The bytes that are kept of the output between two calls, and of the whole output.
const OUTPUT: usize = 1024 * 1024;
/// How long output is awaited after the command has ended.
const OUTPUT_DRAIN_TIME: Duration = Duration::from_millis(100);
/// How long output is held back: for a command that ends at once, only the whole output is emitted.
const QUIET_TIME: Duration = Duration::from_millis(150);
/// Unless this many chunks have come.
const MAX_HELD_CHUNKS: usize = 32;
/// The exit code of a command that was stopped.
const STOPPED_EXIT_CODE: i32 = -1;
/// Inputs that may wait to be written.
const MAX_QUEUED_INPUTS: usize = 64;

/// A command that runs in the background. Dropping the last handle does not end it; [`Terminal::stop`] does.
#[derive(Debug)]
pub struct Terminal {
    pub id: i32,
    pub call_id: String,
    pub command: Vec<String>,
    cwd: PathBuf,
    pub tty: bool,
    /// What the call could do that started it.
    pub(crate) rights: TurnRights,
    /// Where it may write, if that is watched.
    pub(crate) roots: Vec<PathBuf>,
    /// What its network has refused.
    pub(crate) network: NetworkLog,
    /// The output since the last call.
    new_output: Mutex<OutputCapture>,
    ended: watch::Receiver<Option<ExitStatus>>,
    input: mpsc::Sender<Vec<u8>>,
    typed_line: Mutex<TypedLine>,
    stop: CancellationToken,
    /// Held by a call that has something to emit before the end of the command.
    end_lock: tokio::sync::Mutex<()>,
    /// Cancelled when the end was emitted, or passed to the call that may run the command again.
    reported: CancellationToken,
}

impl Terminal {
    /// Watches a running command.
    pub fn watch(
        id: i32,
        command: Vec<String>,
        cwd: PathBuf,
        tty: bool,
        call_id: &str,
        started: StartedCommand,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let (exit_sender, ended) = watch::channel(None);
        let (input, inputs) = mpsc::channel(MAX_QUEUED_INPUTS);
        let StartedCommand {
            process,
            item,
            rights,
            denied,
            watched,
            network,
        } = started;
        let (running, roots) = watched.map(WatchedCommand::split).unzip();
        let terminal = Arc::new(Self {
            id,
            call_id: call_id.to_owned(),
            command,
            cwd,
            tty,
            rights,
            roots: roots.unwrap_or_default(),
            network,
            new_output: Mutex::new(OutputCapture::new(CaptureLimits::both_ends(OUTPUT))),
            ended,
            input,
            typed_line: Mutex::default(),
            stop: CancellationToken::new(),
            end_lock: tokio::sync::Mutex::new(()),
            reported: CancellationToken::new(),
        });
        let watcher = TerminalWatcher {
            terminal: Arc::clone(&terminal),
            process,
            item,
            clock,
            denied,
            running,
        };
        tokio::spawn(watcher.run(inputs, exit_sender));
        terminal
    }

    /// The exit status, if the command has ended.
    pub fn status(&self) -> Option<ExitStatus> {
        *self.ended.borrow()
    }

    /// The input as clients see it.
    pub(super) fn in_background(&self) -> BackgroundTerminal {
        BackgroundTerminal {
            id: self.id,
            item_id: self.call_id.clone(),
            script: self.command.last().cloned().unwrap_or_default(),
            cwd: self.cwd.clone(),
        }
    }

    /// Waits until the command has ended. Its end may not be emitted yet.
    pub(crate) async fn until_ended(&self) {
        let mut ended = self.ended.clone();
        let _ = ended.wait_for(Option::is_some).await;
    }

    /// Waits until the command has ended and its end was emitted.
    pub(crate) async fn until_reported(&self) {
        self.reported.cancelled().await;
    }

    /// While this guard is held, the end of the command is not emitted.
    pub(crate) async fn before_end(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.end_lock.lock().await
    }

    /// Takes the output since the last call.
    pub fn take_output(&self) -> CapturedOutput {
        self.new_output.lock().take()
    }

    /// Writes input. Returns false if the command reads no more.
    pub async fn write(&self, text: &str) -> bool {
        self.typed_line.lock().add(text);
        self.input.send(text.into()).await.is_ok()
    }

    /// What was typed since the end of the last line.
    pub fn typed_line(&self) -> String {
        self.typed_line.lock().0.clone()
    }

    /// Kills the process tree of the command.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// A command that was just started.
#[derive(Debug)]
pub struct StartedCommand {
    pub process: RunningProcess,
    pub item: CommandItem,
    pub rights: TurnRights,
    /// Receives the command if the sandbox seems to have stopped it.
    pub denied: Option<oneshot::Sender<DeniedCommand>>,
    /// If what it changes is recorded.
    pub watched: Option<WatchedCommand>,
    /// What its network has refused.
    pub network: NetworkLog,
}

/// A command that its sandbox seems to have stopped, for the call that may run it again. Its item is still
/// open.
#[derive(Debug)]
pub struct DeniedCommand {
    pub item: CommandItem,
    pub end: CommandEnd,
}

struct TerminalWatcher {
    terminal: Arc<Terminal>,
    process: RunningProcess,
    item: CommandItem,
    clock: Arc<dyn Clock>,
    /// Receives the command if the sandbox seems to have stopped it.
    denied: Option<oneshot::Sender<DeniedCommand>>,
    /// Until the process has ended, for the recorder of checkpoints.
    running: Option<RunningCommand>,
}

impl TerminalWatcher {
    async fn run(
        mut self,
        mut inputs: mpsc::Receiver<Vec<u8>>,
        exit_sender: watch::Sender<Option<ExitStatus>>,
    ) {
        // Cancelled however the task ends, so that nobody waits for ever.
        let reported = self.terminal.reported.clone().drop_guard();
        let started = self.clock.elapsed();
        let mut all = OutputCapture::new(CaptureLimits::both_ends(OUTPUT));
        let mut open = true;
        let mut quiet = Some(self.clock.sleep(QUIET_TIME));
        let mut held = Vec::new();
        let status = loop {
            tokio::select! {
                biased;
                () = self.terminal.stop.cancelled() => break None,
                status = self.process.owner.ended() => break Some(status),
                bytes = inputs.recv() => {
                    if let (Some(bytes), Some(input)) = (bytes, &mut self.process.input) {
                        let _ = input.write(&bytes).await;
                    }
                }
                () = until(&mut quiet) => quiet = None,
                chunk = self.process.output.next(), if open => match chunk {
                    Some(chunk) => {
                        all.push(&chunk.bytes);
                        self.terminal.new_output.lock().push(&chunk.bytes);
                        held.push(chunk);
                    }
                    None => open = false,
                },
            }
            if quiet.is_none() || held.len() >= MAX_HELD_CHUNKS {
                quiet = None;
                for chunk in held.drain(..) {
                    // The subscriber may be slow, which must not delay the stop.
                    tokio::select! {
                        biased;
                        () = self.item.output(chunk) => {}
                        () = self.terminal.stop.cancelled() => break,
                    }
                }
            }
        };
        if status.is_none() {
            self.process.owner.kill().await;
        }
        let mut wait_limit = self.clock.sleep(OUTPUT_DRAIN_TIME);
        while open {
            tokio::select! {
                biased;
                chunk = self.process.output.next() => match chunk {
                    Some(chunk) => {
                        all.push(&chunk.bytes);
                        self.terminal.new_output.lock().push(&chunk.bytes);
                        if quiet.is_none() {
                            tokio::select! {
                                biased;
                                () = self.item.output(chunk) => {}
                                () = &mut wait_limit => open = false,
                            }
                        }
                    }
                    None => open = false,
                },
                () = &mut wait_limit => open = false,
            }
        }
        self.process.owner.kill().await;
        self.running = None;
        let text = String::from_utf8_lossy(&all.take().into_bytes()).into_owned();
        let duration = self.clock.elapsed().saturating_sub(started);
        self.report(text, status, duration, exit_sender).await;
        drop(reported);
    }

    /// Passes the end to the call that waits for it, or emits it.
    async fn report(
        self,
        text: String,
        status: Option<ExitStatus>,
        duration: Duration,
        exit_sender: watch::Sender<Option<ExitStatus>>,
    ) {
        let exit_code = status.map_or(STOPPED_EXIT_CODE, ExitStatus::code);
        let looks_denied = matches!(status, Some(ExitStatus::Code(_)))
            && codex_sandbox::looks_denied(exit_code, text.as_bytes());
        let end = CommandEnd {
            stdout: text.clone(),
            stderr: String::new(),
            formatted: text.clone(),
            aggregated: text,
            exit_code,
            duration,
            network: connections(&self.terminal.network),
        };
        let denied_command = DeniedCommand {
            item: self.item,
            end,
        };
        let unclaimed = match self.denied.filter(|_| looks_denied) {
            Some(denied) => denied.send(denied_command).err(),
            None => Some(denied_command),
        };
        let _ = exit_sender.send(Some(status.unwrap_or(ExitStatus::Signal(9))));
        if let Some(DeniedCommand { item, end }) = unclaimed {
            let _others_first = self.terminal.before_end().await;
            item.end(end);
        }
    }
}

/// Waits for the future; for ever if there is none.
async fn until(wait: &mut Option<BoxFuture<'static, ()>>) {
    match wait {
        Some(wait) => wait.await,
        None => std::future::pending().await,
    }
}
