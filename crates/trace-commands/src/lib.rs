//! Layer: surface. Commands that read, convert and replay trace bundles, and write stored threads as documents.
//!
//! A command is its arguments, which `clap` reads or a caller makes, and a function that carries it out. It prints to a
//! [`Console`] and returns a [`TraceOutcome`]; the program decides about its exit.

mod convert;
mod diff;
mod explain;
mod export;
mod folder;
mod follow;
mod outcome;
mod output;
mod problems;
mod redact;
mod reduce;
mod replay;
mod scenario;
mod scratch_folder;
mod source;
mod thread_document;
mod view;

use clap::Subcommand;
use codex_config::Overrides;
use codex_engine_host::console::Console;

pub use convert::TraceConvertArguments;
pub use diff::TraceDiffArguments;
pub use explain::TraceExplainArguments;
pub use export::TraceExportArguments;
pub use folder::TraceFolderCommand;
pub use outcome::TraceOutcome;
pub use redact::TraceRedactArguments;
pub use reduce::TraceReduceArguments;
pub use replay::TraceReplayArguments;
pub use scenario::TraceToScenarioArguments;
pub use thread_document::{ThreadCommand, run as run_thread_command};
pub use view::TraceViewArguments;

#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// List, search, pack and delete trace bundles.
    #[command(subcommand)]
    Trace(TraceFolderCommand),
    /// Reduce the trace bundle of a session to a graph.
    #[command(name = "trace-reduce")]
    Reduce(TraceReduceArguments),
    /// Write an HTML page that shows a trace bundle in a single file.
    #[command(name = "trace-view")]
    View(TraceViewArguments),
    /// Export a trace bundle to the format of another program.
    #[command(name = "trace-export")]
    Export(TraceExportArguments),
    /// Copy a trace bundle without its secrets, or without all text.
    #[command(name = "trace-redact")]
    Redact(TraceRedactArguments),
    /// Run recorded sessions again and show the first request that differs.
    #[command(name = "trace-replay")]
    Replay(TraceReplayArguments),
    /// Convert a trace bundle to a scenario for tests of clients.
    #[command(name = "trace-to-scenario")]
    ToScenario(TraceToScenarioArguments),
    /// Copy a trace bundle to another schema version.
    #[command(name = "trace-convert")]
    Convert(TraceConvertArguments),
    /// List the notable events of a trace bundle, with reasons.
    #[command(name = "trace-explain")]
    Explain(TraceExplainArguments),
    /// Show where the runs of two trace bundles diverge.
    #[command(name = "trace-diff")]
    Diff(TraceDiffArguments),
}

/// Carries out a command. `settings` are those of flags, for replays.
///
/// # Errors
/// The command could not be carried out, for a reason that its outcome does not name.
pub fn run(
    command: TraceCommand,
    settings: &Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    match command {
        TraceCommand::Trace(command) => folder::run(command, console),
        TraceCommand::Reduce(arguments) => reduce::run(arguments, console),
        TraceCommand::View(arguments) => view::run(arguments, console),
        TraceCommand::Export(arguments) => export::run(arguments, console),
        TraceCommand::Redact(arguments) => redact::run(&arguments, console),
        TraceCommand::Replay(arguments) => replay::run(&arguments, settings, console),
        TraceCommand::ToScenario(arguments) => scenario::run(&arguments, console),
        TraceCommand::Convert(arguments) => convert::run(&arguments, console),
        TraceCommand::Explain(arguments) => explain::run(&arguments, console),
        TraceCommand::Diff(arguments) => Ok(diff::run(&arguments, console)),
    }
}

#[cfg(test)]
mod tests;
