//! Prints a turn without a UI for people or programs, and records the last message.

use std::io::{self, Write};
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

use super::options::ExecOptions;
use crate::interactive_user::{Screen, usage_line};

/// The exit status after a second interrupt, and for programs that end after the first one.
pub const INTERRUPTED_EXIT_CODE: u8 = 130;

/// How the turn is printed.
enum TurnView<'a> {
    /// Progress, beside the output.
    Progress(Box<Transcript<&'a mut dyn Write>>),
    /// Events, as the output.
    Events(ExecEvents),
}

pub(super) struct TurnPrinter<'a> {
    view: TurnView<'a>,
    last_message: Option<String>,
    usage: Option<TokenUsageBreakdown>,
    interrupts: Signals,
    hides_reasoning: bool,
    progress_shows_message: bool,
    output: &'a mut dyn Write,
}

impl<'a> TurnPrinter<'a> {
    pub(super) fn new(
        options: &ExecOptions,
        thread: &str,
        cwd: &Path,
        hides_reasoning: bool,
        (output, notes): (&'a mut dyn Write, &'a mut dyn Write),
    ) -> io::Result<Self> {
        let view = if options.prints_events {
            let event = ExecEvents::thread_started(thread);
            write_line(output, &event.to_string())?;
            TurnView::Events(ExecEvents::default())
        } else {
            let Screen { style, width } = options.screen;
            let transcript = Transcript::new(notes, style, width);
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
            progress_shows_message: options.progress_shows_message,
            output,
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
                write_line(self.output, &event.to_string())
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
                if self.progress_shows_message {
                    return Ok(());
                }
                let message = message.as_deref().unwrap_or_default();
                write_line(self.output, message)
            }
            (TurnStatus::Interrupted, _) => Ok(()),
            _ => transcript.block("Failed", "", usage),
        }
    }
}

impl TurnObserver for TurnPrinter<'_> {
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
                    write_line(self.output, &event.to_string())?;
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
                std::process::exit(INTERRUPTED_EXIT_CODE.into());
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

/// Each line is for a reader that may wait for it.
fn write_line(output: &mut dyn Write, line: &str) -> io::Result<()> {
    writeln!(output, "{line}")?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::options;
    use super::*;

    /// What a completed turn prints as output and beside it.
    fn printed(options: &ExecOptions) -> (String, String) {
        let (mut output, mut notes) = (Vec::new(), Vec::new());
        let outputs: (&mut dyn Write, &mut dyn Write) = (&mut output, &mut notes);
        let mut printer =
            TurnPrinter::new(options, "thread-1", Path::new("/work"), false, outputs).unwrap();
        printer.last_message = Some("All is well.".to_owned());
        let outcome = TurnOutcome {
            status: TurnStatus::Completed,
            error: None,
            is_unauthorized: false,
        };
        printer.finish(&outcome).unwrap();
        drop(printer);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output), text(notes))
    }

    #[tokio::test]
    async fn output_is_last_message_and_progress_on_stderr() {
        let (output, notes) = printed(&options());
        assert_eq!(output, "All is well.\n");
        assert!(notes.contains("thread-1"), "{notes}");
        assert!(notes.contains("Completed"), "{notes}");
    }

    #[tokio::test]
    async fn message_that_the_progress_shows_is_not_printed_again() {
        let (output, _) = printed(&ExecOptions {
            progress_shows_message: true,
            ..options()
        });
        assert_eq!(output, "");
    }

    #[tokio::test]
    async fn json_output_has_only_events() {
        let (output, notes) = printed(&ExecOptions {
            prints_events: true,
            ..options()
        });
        let event: Value = serde_json::from_str(&output).unwrap();
        assert_eq!(event["type"], "thread.started");
        assert_eq!(notes, "");
    }
}
