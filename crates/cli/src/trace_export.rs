//! `codex debug trace-export`: a bundle in, a file for another program out.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use codex_rollout_trace::replay_bundle;
use codex_trace_view::{write_otlp, write_perfetto};

use crate::output::write_output;
use crate::trace_problems::{DAMAGED, report_damage};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Chrome JSON trace events, for the Perfetto UI.
    Perfetto,
    /// OpenTelemetry spans after the conventions for generative AI.
    OtlpJson,
}

impl Format {
    fn file_name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto.json",
            Self::OtlpJson => "otlp.json",
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:\n  codex debug trace-export BUNDLE --format perfetto     to open at ui.perfetto.dev\n  \
codex debug trace-export BUNDLE --format otlp-json    to send to a collector\n\n\
Exit status: 0 written, 1 not, 3 written although the bundle is damaged.")]
pub(crate) struct Arguments {
    /// The folder of the bundle.
    bundle: PathBuf,
    /// What to write.
    #[arg(long, value_enum)]
    format: Format,
    /// The file to write; `perfetto.json` or `otlp.json` in the bundle unless given.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Arguments {
        bundle,
        format,
        output,
    } = arguments;
    let reduction = replay_bundle(&bundle)?;
    let output = output.unwrap_or_else(|| bundle.join(format.file_name()));
    write_output(&output, |out| match format {
        Format::Perfetto => write_perfetto(&reduction, out),
        Format::OtlpJson => write_otlp(&reduction, out),
    })?;
    report_damage(&reduction.problems, None);
    let is_damaged = reduction.problems.is_damaged();
    // The process ends here; taking the graph apart piece by piece would only cost time.
    std::mem::forget(reduction);
    Ok(if is_damaged {
        ExitCode::from(DAMAGED)
    } else {
        ExitCode::SUCCESS
    })
}
