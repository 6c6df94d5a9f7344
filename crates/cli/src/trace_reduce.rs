//! `codex debug trace-reduce`: reduces a bundle to its state file and prints problems.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use codex_rollout_trace::{Strictness, replay_bundle_with, write_state};
use codex_trace_folder::OpenBundle;

use crate::trace_problems::{exit_with, report_all};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 reduced, 1 not reduced, 3 reduced although the bundle is damaged."
)]
pub(crate) struct TraceReduceArguments {
    /// The bundle, a folder or a packed file.
    bundle: PathBuf,
    /// The output file; by default `state.json` in the bundle.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Fail at the first damage instead of reducing as much as possible.
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(arguments: TraceReduceArguments) -> anyhow::Result<ExitCode> {
    let strictness = if arguments.strict {
        Strictness::Strict
    } else {
        Strictness::Lenient
    };
    let bundle = OpenBundle::open(&arguments.bundle)?;
    let reduction = replay_bundle_with(bundle.folder(), strictness)?;
    #[allow(clippy::print_stderr)] // For people, beside what the command answers.
    {
        eprintln!("schema {}", reduction.trace.schema_version);
    }
    report_all(&reduction.problems, None);
    let output = arguments
        .output
        .unwrap_or_else(|| bundle.derived("state.json"));
    write_state(&reduction.trace, &output)
        .with_context(|| format!("cannot write {}", output.display()))?;
    #[allow(clippy::print_stdout)] // What the command answers.
    {
        println!("{}", output.display());
    }
    let is_damaged = !arguments.strict && reduction.problems.is_damaged();
    Ok(exit_with(reduction, is_damaged))
}
