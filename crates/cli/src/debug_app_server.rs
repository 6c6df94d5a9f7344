//! `codex debug app-server`: a client that prints all messages.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::TurnStatus;
use codex_client::{
    ClientError, ClientThread, Direction, ServerQuestion, Style, Transcript, TurnObserver,
    UserDecision,
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::client_check;
use crate::server_process::{ServerProcess, own_server};
use crate::settings_flags::SettingsFlags;
use crate::terminal::{self, AnswerSource, Colours, InteractiveUser};
use codex_engine_host::environment;

#[derive(Debug, Subcommand)]
pub(crate) enum AppServerCommand {
    /// Start a server, send one message, and print all messages until the turn ends.
    #[command(alias = "send-message-v2")]
    Send(SendArguments),
    /// Run a client against all ready scenarios and report its mistakes.
    Check(client_check::CheckArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:\n  codex debug app-server send --scenario scenarios/hello.toml \"hi\"\n  \
codex debug app-server send --raw \"hi\" | grep turn/\n  \
codex debug app-server send --bin /path/to/another/codex \"hi\"\n\n\
Exit status: 0 the turn was completed, 1 it was not.")]
pub(crate) struct SendArguments {
    /// The message to send.
    text: String,
    /// The program to start as `PROGRAM app-server` instead of this one.
    #[arg(long, value_name = "PROGRAM")]
    bin: Option<OsString>,
    /// Print only the raw lines.
    #[arg(long)]
    raw: bool,
    /// The answer to approvals; `ask` asks you.
    #[arg(long, value_enum, default_value = "decline", value_name = "ANSWER")]
    approve: ApprovalAnswer,
    /// The working folder.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Let the server use a scripted model from a scenario file.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ApprovalAnswer {
    Accept,
    AcceptForSession,
    Decline,
    Cancel,
    Ask,
}

pub(crate) fn run(arguments: SendArguments, settings: &SettingsFlags) -> anyhow::Result<ExitCode> {
    let runtime = codex_engine_host::runtime::beside_output()?;
    let sent = runtime.block_on(send(arguments, settings));
    runtime.shutdown_background();
    sent
}

async fn send(arguments: SendArguments, settings: &SettingsFlags) -> anyhow::Result<ExitCode> {
    let mut command = match &arguments.bin {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg("app-server");
            command
        }
        None => own_server()?,
    };
    settings.pass_on(&mut command);
    if let Some(scenario) = &arguments.scenario {
        command.arg("--scenario").arg(scenario);
    }
    let (server, client) = ServerProcess::start(command)?;
    let style = terminal::style(&io::stdout(), Colours::Auto);
    let raw = arguments.raw;
    let mut client = client.tapped(move |wire, line| {
        // A closed output pipe is not an error; the turn still runs to its end.
        let _ = print(wire, line, raw, style);
    });
    client
        .initialize("codex_debug", env!("CARGO_PKG_VERSION"))
        .await?;
    let cwd = arguments.cwd.map(std::path::absolute).transpose()?;
    let cwd = cwd.as_deref().map(environment::named_path).transpose()?;
    let params = cwd.map_or_else(|| json!({}), |cwd| json!({ "cwd": cwd }));
    let mut session = ClientThread::start(client, &params).await?;
    let mut listener = WireListener(InteractiveUser::new(
        Transcript::new(io::stderr(), style, terminal::width()),
        answers(arguments.approve),
    ));
    let input = json!([{ "type": "text", "text": arguments.text }]);
    let outcome = session.turn(input, json!({}), &mut listener).await?;
    session.finish().await;
    server.finish().await?;
    Ok(match outcome.status {
        TurnStatus::Completed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
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

fn print(wire: Direction, line: &str, raw: bool, style: Style) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let sign = match wire {
        Direction::Sent => '>',
        Direction::Received => '<',
    };
    if raw {
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
