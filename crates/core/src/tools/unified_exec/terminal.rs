//! One command that goes on by itself, and the task that watches it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{CaptureLimits, CapturedOutput, ExitStatus, OutputCapture};
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::ports::{Clock, RunningProcess};
use crate::thread::BackgroundTerminal;
use crate::tools::command::{CommandEnd, CommandItem};

/// What is kept of the output between two calls, and of all of it for people.
const OUTPUT: usize = 1024 * 1024;
/// How long streams may stay open after the command has ended.
const OUTPUT_DRAIN_TIME: Duration = Duration::from_millis(100);
/// How long output is not shown: of a command that ends at once people get the whole only.
const QUIET_TIME: Duration = Duration::from_millis(150);
/// Unless so many pieces of it have come.
const MAX_HELD_CHUNKS: usize = 32;
/// What a command that was stopped is said to have ended with.
const STOPPED: i32 = -1;
/// Inputs that may wait to be typed.
const MAX_QUEUED_INPUTS: usize = 64;

/// A command that goes on by itself. Dropping the last handle does not end it; [`Terminal::stop`] does.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) id: i32,
    pub(crate) call_id: String,
    pub(crate) command: Vec<String>,
    cwd: PathBuf,
    pub(crate) tty: bool,
    /// What was printed since the last call.
    new_output: Mutex<OutputCapture>,
    ended: watch::Receiver<Option<ExitStatus>>,
    input: mpsc::Sender<Vec<u8>>,
    stop: CancellationToken,
    /// Held by whoever has something to tell of the terminal before its end is told.
    end_lock: tokio::sync::Mutex<()>,
    /// Set when its end was told, or handed to whoever wanted to know of a denial.
    reported: CancellationToken,
}

impl Terminal {
    /// Takes a running command over.
    pub(crate) fn watch(
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
        let terminal = Arc::new(Self {
            id,
            call_id: call_id.to_owned(),
            command,
            cwd,
            tty,
            new_output: Mutex::new(OutputCapture::new(CaptureLimits::both_ends(OUTPUT))),
            ended,
            input,
            stop: CancellationToken::new(),
            end_lock: tokio::sync::Mutex::new(()),
            reported: CancellationToken::new(),
        });
        let StartedCommand {
            process,
            item,
            denied,
        } = started;
        let watcher = TerminalWatcher {
            terminal: Arc::clone(&terminal),
            process,
            item,
            clock,
            denied,
        };
        tokio::spawn(watcher.run(inputs, exit_sender));
        terminal
    }

    /// How the command ended, if it has.
    pub(crate) fn status(&self) -> Option<ExitStatus> {
        *self.ended.borrow()
    }

    /// What people are shown of it.
    pub(super) fn in_background(&self) -> BackgroundTerminal {
        BackgroundTerminal {
            id: self.id,
            item_id: self.call_id.clone(),
            script: self.command.last().cloned().unwrap_or_default(),
            cwd: self.cwd.clone(),
        }
    }

    /// Waits until the command has ended. People may not know yet.
    pub(super) async fn until_ended(&self) {
        let mut ended = self.ended.clone();
        let _ = ended.wait_for(Option::is_some).await;
    }

    /// Waits until the command has ended and people were told.
    pub(super) async fn until_reported(&self) {
        self.reported.cancelled().await;
    }

    /// While this is held, the end of the command is not told.
    pub(super) async fn before_end(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.end_lock.lock().await
    }

    /// What was printed since this was last asked.
    pub(crate) fn take_output(&self) -> CapturedOutput {
        self.new_output.lock().take()
    }

    /// Types something. False if nothing is read any more.
    pub(crate) async fn write(&self, bytes: Vec<u8>) -> bool {
        self.input.send(bytes).await.is_ok()
    }

    /// Kills the command and everything that it started.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }
}

/// A command that was just started.
#[derive(Debug)]
pub(crate) struct StartedCommand {
    pub(crate) process: RunningProcess,
    pub(crate) item: CommandItem,
    /// Who wants to know if the sandbox seems to have stopped it.
    pub(crate) denied: Option<oneshot::Sender<DeniedCommand>>,
}

/// A command that its sandbox seems to have stopped, for whoever may run it again. Its item is still
/// open.
#[derive(Debug)]
pub(crate) struct DeniedCommand {
    pub(crate) item: CommandItem,
    pub(crate) end: CommandEnd,
}

struct TerminalWatcher {
    terminal: Arc<Terminal>,
    process: RunningProcess,
    item: CommandItem,
    clock: Arc<dyn Clock>,
    /// Who wants to know of a denial, as long as they do.
    denied: Option<oneshot::Sender<DeniedCommand>>,
}

impl TerminalWatcher {
    async fn run(
        mut self,
        mut inputs: mpsc::Receiver<Vec<u8>>,
        exit_sender: watch::Sender<Option<ExitStatus>>,
    ) {
        // However this ends, nobody waits for it any longer.
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
                    // Whoever hears of it may be slow, which must not keep it from being stopped.
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
        let text = String::from_utf8_lossy(&all.take().into_bytes()).into_owned();
        let duration = self.clock.elapsed().saturating_sub(started);
        self.report(text, status, duration, exit_sender).await;
        drop(reported);
    }

    /// Tells how it ended, whoever waits for that first.
    async fn report(
        self,
        text: String,
        status: Option<ExitStatus>,
        duration: Duration,
        exit_sender: watch::Sender<Option<ExitStatus>>,
    ) {
        let exit_code = status.map_or(STOPPED, ExitStatus::code);
        let looks_denied = matches!(status, Some(ExitStatus::Code(_)))
            && codex_sandbox::looks_denied(exit_code, text.as_bytes());
        let end = CommandEnd {
            stdout: text.clone(),
            stderr: String::new(),
            formatted: text.clone(),
            aggregated: text,
            exit_code,
            duration,
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

/// The end of a wait; never, if there is none.
async fn until(wait: &mut Option<BoxFuture<'static, ()>>) {
    match wait {
        Some(wait) => wait.await,
        None => std::future::pending().await,
    }
}
