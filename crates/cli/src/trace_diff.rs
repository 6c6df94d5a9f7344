//! `codex debug trace-diff`: finds the first difference between the runs of two bundles.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use codex_rollout_trace::replay_bundle;
use codex_trace_folder::OpenBundle;
use codex_trace_view::diff_traces;

use crate::trace_problems::{DAMAGED, report_damage};

/// The exit status if the runs differ.
const DIFFERENT: u8 = 1;
/// The exit status if a bundle cannot be read.
const TROUBLE: u8 = 2;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: 0 the same, 1 different, 2 a bundle cannot be read,\n3 the same as far as damaged bundles show.")]
pub(crate) struct TraceDiffArguments {
    /// The first bundle, a folder or a packed file.
    a: PathBuf,
    /// The second bundle.
    b: PathBuf,
}

pub(crate) fn run(arguments: &TraceDiffArguments) -> ExitCode {
    let reductions = [&arguments.a, &arguments.b].map(|path| -> anyhow::Result<_> {
        let bundle = OpenBundle::open(path)?;
        Ok(replay_bundle(bundle.folder())?)
    });
    let [Ok(left), Ok(right)] = &reductions else {
        for error in reductions
            .iter()
            .filter_map(|reduction| reduction.as_ref().err())
        {
            #[allow(clippy::print_stderr)] // For people: there is no answer.
            {
                eprintln!("error: {error}");
            }
        }
        return ExitCode::from(TROUBLE);
    };
    report_damage(&left.problems, Some("A"));
    report_damage(&right.problems, Some("B"));
    let is_damaged = left.problems.is_damaged() || right.problems.is_damaged();
    let Some(divergence) = diff_traces(&left.trace, &right.trace) else {
        return if is_damaged {
            ExitCode::from(DAMAGED)
        } else {
            ExitCode::SUCCESS
        };
    };
    #[allow(clippy::print_stdout)] // What the command answers.
    {
        println!("{divergence}");
    }
    ExitCode::from(DIFFERENT)
}
