//! Sends one message to a server, and prints all messages until the turn ends.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::TurnStatus;
use codex_client::{
    ClientError, ClientThread, Direction, ServerQuestion, Style, Transcript, TurnObserver,
    UserDecision,
};
use codex_engine_host::{environment, runtime};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::interactive_user::{AnswerSource, InteractiveUser, Screen};
use crate::server_process::ServerProcess;

/// The answer to approvals.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ApprovalAnswer {
    Accept,
    AcceptForSession,
    Decline,
    Cancel,
    Ask,
}

/// A message and how its turn is shown.
#[derive(Debug)]
pub struct MessageToSend {
    pub text: String,
    /// The working folder.
    pub cwd: Option<PathBuf>,
    pub approvals: ApprovalAnswer,
    /// Whether only the raw lines are printed.
    pub is_raw: bool,
    pub screen: Screen,
}

/// Starts a server with a command, sends it a message, and returns how the turn ended.
///
/// # Errors
/// The server does not start, or does not answer, or the messages cannot be printed.
pub fn send(server: Command, message: MessageToSend) -> anyhow::Result<TurnStatus> {
    let runtime = runtime::beside_output()?;
    let sent = runtime.block_on(run(server, message));
    runtime.shutdown_background();
    sent
}

async fn run(server: Command, message: MessageToSend) -> anyhow::Result<TurnStatus> {
    let (server, client) = ServerProcess::start(server)?;
    let Screen { style, width } = message.screen;
    let is_raw = message.is_raw;
    let unprinted = Arc::new(Mutex::new(None));
    let first_failure = Arc::clone(&unprinted);
    let mut client = client.tapped(move |wire, line| {
        // The turn still runs to its end.
        if let Err(error) = print(&mut io::stdout().lock(), wire, line, is_raw, style) {
            first_failure.lock().get_or_insert(error);
        }
    });
    client
        .initialize("codex_debug", env!("CARGO_PKG_VERSION"))
        .await?;
    let cwd = message.cwd.map(std::path::absolute).transpose()?;
    let cwd = cwd.as_deref().map(environment::named_path).transpose()?;
    let params = cwd.map_or_else(|| json!({}), |cwd| json!({ "cwd": cwd }));
    let mut session = ClientThread::start(client, &params).await?;
    let mut listener = WireListener(InteractiveUser::new(
        Transcript::new(io::stderr(), style, width),
        answers(message.approvals),
    ));
    let input = json!([{ "type": "text", "text": message.text }]);
    let outcome = session.turn(input, json!({}), &mut listener).await?;
    session.finish().await;
    server.finish().await?;
    match unprinted.lock().take() {
        // The reader had seen enough.
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("the messages cannot be printed"))
        }
        _ => Ok(outcome.status),
    }
}

fn answers(approve: ApprovalAnswer) -> AnswerSource {
    match approve {
        ApprovalAnswer::Accept => AnswerSource::always(UserDecision::Accept),
        ApprovalAnswer::AcceptForSession => AnswerSource::always(UserDecision::AcceptForSession),
        ApprovalAnswer::Decline => AnswerSource::always(UserDecision::Decline),
        ApprovalAnswer::Cancel => AnswerSource::always(UserDecision::Cancel),
        ApprovalAnswer::Ask => AnswerSource::of_person(),
    }
}

/// Answers questions like [`InteractiveUser`], but prints no transcript, because all messages are printed.
struct WireListener(InteractiveUser<io::Stderr>);

impl TurnObserver for WireListener {
    fn on_notification(&mut self, _: &ServerNotification) -> Result<(), ClientError> {
        Ok(())
    }

    async fn decide(&mut self, question: ServerQuestion<'_>) -> Result<UserDecision, ClientError> {
        match &mut self.0.answers {
            AnswerSource::Asked(_) => self.0.decide(question).await,
            AnswerSource::Given(decisions, last) => Ok(decisions.next().unwrap_or(*last)),
        }
    }
}

fn print(
    out: &mut dyn Write,
    wire: Direction,
    line: &str,
    is_raw: bool,
    style: Style,
) -> io::Result<()> {
    let sign = match wire {
        Direction::Sent => '>',
        Direction::Received => '<',
    };
    if is_raw {
        return writeln!(out, "{sign} {line}");
    }
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let text = serde_json::to_string_pretty(&message)?;
    let (bold, reset) = match style {
        Style::Colour => ("\x1b[1;36m", "\x1b[0m"),
        Style::Plain => ("", ""),
    };
    writeln!(out, "{bold}{sign} {}{reset}", title(&message))?;
    for line in codex_client::harmless(&text).lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// A short title of a message.
fn title(message: &Value) -> String {
    let id = &message["id"];
    match (message["method"].as_str(), id.is_null()) {
        (Some(method), true) => method.to_owned(),
        (Some(method), false) => format!("{method} (request {id})"),
        (None, _) if message.get("error").is_some() => format!("error (to request {id})"),
        (None, _) => format!("reply (to request {id})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_title_and_harmless_text() {
        let line = r#"{"id":7,"method":"turn/start","params":"\u001b[2J"}"#;
        let mut out = Vec::new();
        print(&mut out, Direction::Sent, line, false, Style::Plain).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("> turn/start (request 7)\n"), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
        let mut out = Vec::new();
        print(&mut out, Direction::Received, "{}", true, Style::Plain).unwrap();
        assert_eq!(out, b"< {}\n");
    }
}
