//! The commands that a client runs outside of threads, by their ids.
//!
//! An id is reserved from the request until the reply is sent. The holder of a [`Run`] can stop the command, write
//! its input and resize its terminal; the task that owns the process carries this out.

use std::collections::HashMap;
use std::sync::Arc;

use codex_exec::{StandardInput, Terminal};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

/// The runs of one connection.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<HashMap<String, Arc<Run>>>);

/// A running command.
#[derive(Debug)]
pub(crate) struct Run {
    /// Whether the client may write input.
    pub(crate) takes_input: bool,
    /// Locked while input is written, so that inputs are not mixed.
    input: tokio::sync::Mutex<Option<StandardInput>>,
    stage: watch::Sender<Stage>,
    stop: Notify,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Starting,
    Running(Option<Arc<Terminal>>),
    RunEnded,
}

/// The run has ended or never started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunEnded;

impl Runs {
    /// Reserves an id. None if it is in use.
    pub(crate) fn enter(self: &Arc<Self>, id: &str, takes_input: bool) -> Option<Reservation> {
        let mut runs = self.0.lock();
        if runs.contains_key(id) {
            return None;
        }
        let run = Arc::new(Run::new(takes_input));
        runs.insert(id.to_owned(), Arc::clone(&run));
        Some(Reservation {
            runs: Some((Arc::clone(self), id.to_owned())),
            run,
        })
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Run>> {
        self.0.lock().get(id).cloned()
    }
}

/// Held by the task of a run. Dropping it ends the run and frees its id.
#[derive(Debug)]
pub(crate) struct Reservation {
    runs: Option<(Arc<Runs>, String)>,
    run: Arc<Run>,
}

impl Reservation {
    /// For a run without an id.
    pub(crate) fn unnamed() -> Self {
        Self {
            runs: None,
            run: Arc::new(Run::new(false)),
        }
    }

    /// The process has started.
    pub(crate) async fn started(
        &self,
        input: Option<StandardInput>,
        terminal: Option<Arc<Terminal>>,
    ) {
        *self.run.input.lock().await = input;
        self.run.stage.send_replace(Stage::Running(terminal));
    }

    /// Waits until the run must be stopped.
    pub(crate) async fn stopped(&self) {
        self.run.stop.notified().await;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some((runs, id)) = &self.runs {
            runs.0.lock().remove(id);
        }
        self.run.stage.send_replace(Stage::RunEnded);
    }
}

impl Run {
    fn new(takes_input: bool) -> Self {
        Self {
            takes_input,
            input: tokio::sync::Mutex::default(),
            stage: watch::Sender::default(),
            stop: Notify::new(),
        }
    }

    /// Kills the process tree. Its output so far is still sent.
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Waits until the command runs, and returns its terminal if it has one.
    pub(crate) async fn terminal(&self) -> Result<Option<Arc<Terminal>>, RunEnded> {
        let mut stage = self.stage.subscribe();
        let began = stage.wait_for(|stage| !matches!(stage, Stage::Starting));
        match began.await.as_deref() {
            Ok(Stage::Running(terminal)) => Ok(terminal.clone()),
            _ => Err(RunEnded),
        }
    }

    /// Waits until the command runs and earlier input is written.
    pub(crate) async fn keyboard(&self) -> Result<RunInput<'_>, RunEnded> {
        self.terminal().await?;
        tokio::select! {
            input = self.input.lock() => Ok(RunInput { run: self, input }),
            () = self.ended() => Err(RunEnded),
        }
    }

    async fn ended(&self) {
        let mut stage = self.stage.subscribe();
        // Cannot fail: this run holds the sender.
        let _ = stage
            .wait_for(|stage| matches!(stage, Stage::RunEnded))
            .await;
    }
}

/// Exclusive access to the input of a run.
#[derive(Debug)]
pub(crate) struct RunInput<'a> {
    run: &'a Run,
    input: tokio::sync::MutexGuard<'a, Option<StandardInput>>,
}

impl RunInput<'_> {
    /// Whether the input is still open.
    pub(crate) fn is_open(&self) -> bool {
        self.input.is_some()
    }

    /// Writes input, and waits while the command does not read. Closes the input if requested, or if nobody reads it.
    pub(crate) async fn write(mut self, bytes: &[u8], close: bool) {
        let Some(mut input) = self.input.take() else {
            return;
        };
        let written = tokio::select! {
            written = input.write(bytes) => written,
            () = self.run.ended() => return,
        };
        if written.is_ok() && !close {
            *self.input = Some(input);
        } else if written.is_ok() {
            tokio::select! {
                // It does not matter if nobody reads the end.
                _ = input.close() => {}
                () = self.run.ended() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn name_is_free_after_run() {
        let runs = Arc::new(Runs::default());
        let reservation = runs.enter("a", true).unwrap();
        assert!(runs.enter("a", true).is_none());
        let run = runs.find("a").unwrap();
        run.stop();
        reservation.stopped().await;
        drop(reservation);
        assert!(runs.find("a").is_none());
        assert_eq!(run.terminal().await.unwrap_err(), RunEnded);
        assert_eq!(run.keyboard().await.unwrap_err(), RunEnded);
        assert!(runs.enter("a", true).is_some());
    }

    #[tokio::test]
    async fn control_waits_until_the_command_runs() {
        let runs = Arc::new(Runs::default());
        let reservation = runs.enter("a", true).unwrap();
        let run = runs.find("a").unwrap();
        let (keyboard, ()) = tokio::join!(run.keyboard(), reservation.started(None, None));
        assert!(!keyboard.unwrap().is_open());
        assert!(run.terminal().await.unwrap().is_none());
    }
}
