//! `codex debug app-server`: tools for those who write clients.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use codex_client_commands::{ApprovalAnswer, CheckArguments, MessageToSend, own_server, send};
use tokio::process::Command;

use crate::settings_flags::SettingsFlags;
use crate::terminal::{Colours, screen};
use crate::turn_status::success_if_completed;

#[derive(Debug, Subcommand)]
pub(crate) enum AppServerCommand {
    /// Start a server, send one message, and print all messages until the turn ends.
    #[command(alias = "send-message-v2")]
    Send(SendArguments),
    /// Run a client against all ready scenarios and report its mistakes.
    Check(CheckArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AcpCommand {
    /// Run a client against all ready scenarios and report its mistakes.
    Check(CheckArguments),
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

pub(crate) fn run(arguments: SendArguments, settings: &SettingsFlags) -> anyhow::Result<ExitCode> {
    let mut server = match &arguments.bin {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg("app-server");
            command
        }
        None => own_server()?,
    };
    settings.pass_on(&mut server);
    if let Some(scenario) = &arguments.scenario {
        server.arg("--scenario").arg(scenario);
    }
    let message = MessageToSend {
        text: arguments.text,
        cwd: arguments.cwd,
        approvals: arguments.approve,
        is_raw: arguments.raw,
        screen: screen(&io::stdout(), Colours::Auto),
    };
    Ok(success_if_completed(send(server, message)?))
}
