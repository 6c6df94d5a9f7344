//! `codex debug trace-reduce`: reduces a bundle to its state file and prints problems.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use codex_engine_host::console::Console;
use codex_regular_file::OutputFile;
use codex_rollout_trace::{Strictness, replay_bundle_with, write_state};

use crate::follow::watch_state;
use crate::outcome::TraceOutcome;
use crate::problems::{outcome_of, report_all};
use crate::source::{UnpackArguments, open_source};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 reduced, 1 not reduced, 3 reduced although the bundle is damaged."
)]
pub struct TraceReduceArguments {
    /// The bundle, a folder or a packed file; or a rollout, or the id of a thread.
    bundle: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// The output file; by default `state.json` in the bundle.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Fail at the first damage instead of reducing as much as possible.
    #[arg(long)]
    strict: bool,
    /// Write the state whenever the bundle changes, until its session ends. BUNDLE may be a folder of bundles.
    #[arg(long, conflicts_with = "strict")]
    watch: bool,
}

pub(crate) fn run(
    arguments: TraceReduceArguments,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    if arguments.watch {
        return watch_state(&arguments.bundle, arguments.output, console);
    }
    let strictness = if arguments.strict {
        Strictness::Strict
    } else {
        Strictness::Lenient
    };
    let bundle = open_source(&arguments.bundle, arguments.unpack)?;
    let reduction = replay_bundle_with(bundle.folder(), strictness)?;
    console.note(format_args!("schema {}", reduction.trace.schema_version));
    report_all(console, &reduction.problems, None);
    let derived = || bundle.derived("state.json");
    let output = arguments.output.map_or_else(derived, OutputFile::named);
    write_state(&reduction.trace, &output)
        .with_context(|| format!("cannot write {}", output.path().display()))?;
    console.answer(output.path().display());
    let is_damaged = !arguments.strict && reduction.problems.is_damaged();
    Ok(outcome_of(reduction, is_damaged))
}
