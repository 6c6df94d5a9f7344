//! `codex debug trace-diff`: shows the differences between the runs of two bundles.

use std::path::PathBuf;

use clap::Args;
use codex_engine_host::console::Console;
use codex_regular_file::OutputFile;
use codex_rollout_trace::replay_bundle;
use codex_trace_view::{Divergence, RunComparison, write_diff_page};
use serde_json::json;

use crate::outcome::TraceOutcome;
use crate::output::write_output;
use crate::problems::report_damage;
use crate::source::{UnpackArguments, open_source};

#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: 0 the same, 1 different, 2 a bundle cannot be read,\n3 the same as far as damaged bundles show.")]
pub struct TraceDiffArguments {
    /// The first bundle, a folder or a packed file.
    a: PathBuf,
    /// The second bundle.
    b: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// Print only the first difference.
    #[arg(long)]
    first: bool,
    /// Print the differences as JSON.
    #[arg(long)]
    json: bool,
    /// Write both runs side by side into this HTML file.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

pub(crate) fn run(arguments: &TraceDiffArguments, console: &mut Console<'_>) -> TraceOutcome {
    let reductions = [&arguments.a, &arguments.b].map(|path| -> anyhow::Result<_> {
        let bundle = open_source(path, arguments.unpack)?;
        Ok((replay_bundle(bundle.folder())?, bundle))
    });
    // Texts are read from the bundles again.
    let [Ok((left, _left_bundle)), Ok((right, _right_bundle))] = &reductions else {
        for error in reductions
            .iter()
            .filter_map(|reduction| reduction.as_ref().err())
        {
            console.note(format_args!("error: {error}"));
        }
        return TraceOutcome::Unreadable;
    };
    report_damage(console, &left.problems, Some("A"));
    report_damage(console, &right.problems, Some("B"));
    let is_damaged = left.problems.is_damaged() || right.problems.is_damaged();
    let comparison = RunComparison::compare(&left.trace, &right.trace);
    if let Some(page) = &arguments.page {
        let names = [&arguments.a, &arguments.b].map(|path| path.display().to_string());
        let written = write_output(console, &OutputFile::named(page), |out| {
            write_diff_page(&comparison, [&names[0], &names[1]], out)
        });
        if let Err(error) = written {
            console.note(format_args!("error: {error:#}"));
            return TraceOutcome::Unreadable;
        }
    }
    let mut differences = comparison.differences();
    if arguments.first {
        differences.sort_by_key(|difference| {
            let steps = [&difference.left, &difference.right];
            steps.into_iter().flatten().map(|step| step.seq).min()
        });
        differences.truncate(1);
    }
    print(&differences, arguments, console);
    match (differences.is_empty(), is_damaged) {
        (false, _) => TraceOutcome::Different,
        (true, true) => TraceOutcome::Damaged,
        (true, false) => TraceOutcome::Done,
    }
}

fn print(differences: &[Divergence], arguments: &TraceDiffArguments, console: &mut Console<'_>) {
    if arguments.json {
        console.answer(json!({ "differences": differences }));
        return;
    }
    if arguments.page.is_some() {
        return;
    }
    for difference in differences {
        console.answer(difference);
    }
}
