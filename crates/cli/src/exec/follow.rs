//! Prints the turn of `codex exec` for people or programs, and records the last message.

use std::io::{self, IsTerminal, Stderr};
use std::path::Path;
use std::time::Duration;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{ThreadItem, TokenUsageBreakdown, TurnStatus};
use codex_client::{
    ClientError, ExecEvents, ServerQuestion, Transcript, TurnObserver, TurnOutcome, UserDecision,
    context_text,
};
use codex_system::signals::Signals;
use serde_json::{Value, json};

use super::INTERRUPTED;
use super::arguments::ExecOptions;
use crate::print::line_for_reader;
use crate::terminal::{self, usage_line};

/// How the turn is printed.
enum TurnView {
    /// Progress on standard error.
    Progress(Box<Transcript<Stderr>>),
    /// Events on standard output.
    Events(ExecEvents),
}

pub(super) struct TurnPrinter {
    view: TurnView,
    last_message: Option<String>,
    usage: Option<TokenUsageBreakdown>,
    interrupts: Signals,
    hides_reasoning: bool,
}

impl TurnPrinter {
    pub(super) fn new(
        options: &ExecOptions,
        thread: &str,
        cwd: &Path,
        hides_reasoning: bool,
    ) -> io::Result<Self> {
        let view = if options.json {
            let event = ExecEvents::thread_started(thread);
            line_for_reader(&event.to_string())?;
            TurnView::Events(ExecEvents::default())
        } else {
            let style = terminal::style(&io::stderr(), options.color);
            let transcript = Transcript::new(io::stderr(), style, terminal::width());
            let mut transcript = transcript.seen_from(cwd);
            let thread = thread.to_owned();
            let lines = [
                ("session id:", thread),
                ("folder", cwd.display().to_string()),
            ];
            transcript.list("codex exec", &lines)?;
            TurnView::Progress(Box::new(transcript))
        };
        Ok(Self {
            view,
            last_message: None,
            usage: None,
            interrupts: Signals::interrupts()?,
            hides_reasoning,
        })
    }

    pub(super) fn prompt(&mut self, prompt: &str) -> io::Result<()> {
        match &mut self.view {
            TurnView::Progress(transcript) => transcript.prompt(prompt),
            TurnView::Events(_) => Ok(()),
        }
    }

    pub(super) fn last_message(&self) -> Option<&str> {
        self.last_message.as_deref()
    }

    /// Prints what fills the context of the model. A server that cannot say it fails no turn.
    pub(super) fn context(&mut self, read: Result<Value, ClientError>) -> io::Result<()> {
        match (&mut self.view, read) {
            (TurnView::Progress(transcript), Ok(read)) => {
                transcript.block("Context", "", context_text(&read).trim_end())
            }
            (TurnView::Progress(transcript), Err(error)) => {
                transcript.block("Context", "", &format!("not known: {error}"))
            }
            (TurnView::Events(_), read) => {
                let event = match read {
                    Ok(read) => json!({ "type": "thread.context", "context": read }),
                    Err(error) => json!({ "type": "thread.context", "error": error.to_string() }),
                };
                line_for_reader(&event.to_string())
            }
        }
    }

    /// Prints the final output after the turn.
    pub(super) fn finish(&mut self, outcome: &TurnOutcome) -> io::Result<()> {
        let TurnView::Progress(transcript) = &mut self.view else {
            return Ok(());
        };
        let usage = self.usage.as_ref().map(usage_line);
        let usage = usage.as_deref().unwrap_or("no token count");
        match (outcome.status, &self.last_message) {
            (TurnStatus::Completed, message) => {
                transcript.block("Completed", "", usage)?;
                // On a terminal that also shows the progress, the message has been printed already.
                if io::stdout().is_terminal() && io::stderr().is_terminal() {
                    return Ok(());
                }
                let message = message.as_deref().unwrap_or_default();
                line_for_reader(message)
            }
            (TurnStatus::Interrupted, _) => Ok(()),
            _ => transcript.block("Failed", "", usage),
        }
    }
}

impl TurnObserver for TurnPrinter {
    fn on_notification(&mut self, notification: &ServerNotification) -> Result<(), ClientError> {
        match notification {
            ServerNotification::ItemCompleted(it) => {
                if let ThreadItem::AgentMessage { text, .. } = &it.item.item {
                    self.last_message = Some(text.as_str().into_owned());
                }
            }
            ServerNotification::ThreadTokenUsageUpdated(it) => {
                self.usage = Some(it.token_usage.total.clone());
            }
            _ => {}
        }
        match &mut self.view {
            TurnView::Progress(_) if self.hides_reasoning && is_reasoning(notification) => {}
            TurnView::Progress(transcript) => transcript.on_notification(notification)?,
            TurnView::Events(events) => {
                for event in events.on_notification(notification) {
                    line_for_reader(&event.to_string())?;
                }
            }
        }
        Ok(())
    }

    fn on_silence(&mut self, silence: Duration) -> Result<(), ClientError> {
        if let TurnView::Progress(transcript) = &mut self.view {
            transcript.waiting(silence)?;
        }
        Ok(())
    }

    /// Declines every question, because no user is present.
    async fn decide(&mut self, _: ServerQuestion<'_>) -> Result<UserDecision, ClientError> {
        Ok(UserDecision::Decline)
    }

    /// The first interrupt ends the turn cleanly, a second one ends the process.
    async fn interrupted(&mut self) {
        self.interrupts.next().await;
        if let Ok(mut again) = Signals::interrupts() {
            tokio::spawn(async move {
                again.next().await;
                std::process::exit(INTERRUPTED.into());
            });
        }
    }
}

fn is_reasoning(notification: &ServerNotification) -> bool {
    use ServerNotification as N;
    match notification {
        N::ReasoningSummaryTextDelta(_)
        | N::ReasoningTextDelta(_)
        | N::ReasoningSummaryPartAdded(_) => true,
        N::ItemStarted(it) => matches!(it.item.item, ThreadItem::Reasoning { .. }),
        N::ItemCompleted(it) => matches!(it.item.item, ThreadItem::Reasoning { .. }),
        _ => false,
    }
}
