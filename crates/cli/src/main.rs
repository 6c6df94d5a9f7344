//! Layer: surface. The `codex` binary: argument parsing and wiring, no behaviour of its own.

mod app_server;
mod generate;
mod host;
mod output;
mod proto;
mod scripted_model;
mod settings_flags;
mod trace_diff;
mod trace_export;
mod trace_redact;
mod trace_reduce;
mod trace_view;
mod wiring;

use std::process::ExitCode;

use clap::Parser;
use clap::Subcommand;

/// The local engine behind AI coding assistants in IDEs.
#[derive(Debug, Parser)]
#[command(
    name = "codex",
    display_name = "codex-cli",
    version,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(flatten)]
    settings: settings_flags::SettingsFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve IDE extensions over JSON-RPC, or describe what is served.
    AppServer(app_server::Arguments),
    /// Speak the queue protocol over standard input and output, a line a message.
    Proto(proto::Arguments),
    /// Tools for who needs to know what happened.
    #[command(subcommand)]
    Debug(DebugCommand),
}

#[derive(Debug, Subcommand)]
enum DebugCommand {
    /// Reduce the trace bundle of a session to the graph of what happened in it.
    #[command(name = "trace-reduce")]
    Reduce(trace_reduce::Arguments),
    /// Write a page that shows a trace bundle: one file, which loads nothing.
    #[command(name = "trace-view")]
    View(trace_view::Arguments),
    /// Write a trace bundle in the format of another program.
    #[command(name = "trace-export")]
    Export(trace_export::Arguments),
    /// Copy a trace bundle without its secrets, or without all text.
    #[command(name = "trace-redact")]
    Redact(trace_redact::Arguments),
    /// Say where the runs of two trace bundles parted.
    #[command(name = "trace-diff")]
    Diff(trace_diff::Arguments),
}

fn main() -> anyhow::Result<ExitCode> {
    #[cfg(target_os = "linux")]
    codex_exec::run_helper_if_asked();
    let Arguments { settings, command } = Arguments::parse();
    match command {
        Command::AppServer(arguments) => {
            app_server::run(arguments, settings).map(|()| ExitCode::SUCCESS)
        }
        Command::Proto(arguments) => proto::run(arguments, settings).map(|()| ExitCode::SUCCESS),
        Command::Debug(command) => debug(command),
    }
}

fn debug(command: DebugCommand) -> anyhow::Result<ExitCode> {
    match command {
        DebugCommand::Reduce(arguments) => trace_reduce::run(arguments),
        DebugCommand::View(arguments) => trace_view::run(arguments),
        DebugCommand::Export(arguments) => trace_export::run(arguments),
        DebugCommand::Redact(arguments) => trace_redact::run(arguments),
        DebugCommand::Diff(arguments) => Ok(trace_diff::run(&arguments)),
    }
}
