//! `codex debug trace-to-scenario`: converts a bundle to a scenario.

use std::path::PathBuf;

use clap::Args;
use codex_engine_host::console::Console;
use codex_regular_file::OutputFile;
use codex_rollout_trace::Recording;
use codex_trace_folder::OpenBundle;
use codex_trace_view::write_scenario;

use crate::outcome::TraceOutcome;
use crate::output::write_output;
use crate::source::UnpackArguments;

#[derive(Debug, Args)]
#[command(after_help = "\
The scenario has the model's part of the session; commands and patches run for real when it is played.\n\n\
Example:\n  codex debug trace-to-scenario BUNDLE -o session.toml\n  \
codex app-server --scenario session.toml\n\n\
Exit status: 0 written, 1 not.")]
pub struct TraceToScenarioArguments {
    /// The bundle, a folder or a packed file.
    bundle: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// The output file; by default `scenario.toml` in the bundle.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(
    arguments: &TraceToScenarioArguments,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    let bundle = OpenBundle::open(&arguments.bundle, arguments.unpack.limit())?;
    let recording = Recording::read(bundle.folder())?;
    let derived = || bundle.derived("scenario.toml");
    let named = arguments.output.clone();
    let output = named.map_or_else(derived, OutputFile::named);
    let mut written = None;
    write_output(console, &output, |out| {
        written = Some(write_scenario(&recording, out)?);
        Ok(())
    })?;
    for limit in written.into_iter().flat_map(|written| written.limits) {
        console.note(format_args!("note: {limit}"));
    }
    Ok(TraceOutcome::Done)
}
