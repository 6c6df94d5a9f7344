//! `codex debug trace-view`: writes an HTML page for a bundle.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use codex_rollout_trace::replay_bundle;
use codex_trace_folder::OpenBundle;
use codex_trace_view::{Budget, write_view};

use crate::output::write_output;
use crate::trace_problems::{exit_with, report_damage};

#[derive(Debug, Args)]
#[command(after_help = "\
A bundle is a folder `trace-...` below the one that CODEX_ROLLOUT_TRACE_ROOT named when the session \
ran. The path of the page is printed; open it in a browser.\n\n\
Example:\n  CODEX_ROLLOUT_TRACE_ROOT=traces codex exec \"Say hello.\"\n  \
codex debug trace-view traces/trace-*\n\n\
Exit status: 0 written, 1 not, 3 written although the bundle is damaged.")]
pub(crate) struct TraceViewArguments {
    /// The bundle, a folder or a packed file.
    bundle: PathBuf,
    /// The output file; by default `view.html` in the bundle.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: TraceViewArguments) -> anyhow::Result<ExitCode> {
    let TraceViewArguments { bundle, output } = arguments;
    let bundle = OpenBundle::open(&bundle)?;
    let reduction = replay_bundle(bundle.folder())?;
    let output = output.unwrap_or_else(|| bundle.derived("view.html"));
    write_output(&output, |out| {
        write_view(&reduction, bundle.folder(), Budget::default(), out)
    })?;
    report_damage(&reduction.problems, None);
    let is_damaged = reduction.problems.is_damaged();
    Ok(exit_with(reduction, is_damaged))
}
