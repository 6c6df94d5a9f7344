//! `codex debug trace-export`: exports a bundle for another program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use codex_rollout_trace::replay_bundle;
use codex_trace_folder::OpenBundle;
use codex_trace_view::{write_otlp, write_perfetto};

use crate::output::write_output;
use crate::trace_problems::{exit_with, report_damage};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExportFormat {
    /// Chrome JSON trace events, for the Perfetto UI.
    Perfetto,
    /// OpenTelemetry spans after the conventions for generative AI.
    OtlpJson,
}

impl ExportFormat {
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
pub(crate) struct TraceExportArguments {
    /// The bundle, a folder or a packed file.
    bundle: PathBuf,
    /// The output format.
    #[arg(long, value_enum)]
    format: ExportFormat,
    /// The output file; by default `perfetto.json` or `otlp.json` in the bundle.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: TraceExportArguments) -> anyhow::Result<ExitCode> {
    let TraceExportArguments {
        bundle,
        format,
        output,
    } = arguments;
    let bundle = OpenBundle::open(&bundle)?;
    let reduction = replay_bundle(bundle.folder())?;
    let output = output.unwrap_or_else(|| bundle.derived(format.file_name()));
    write_output(&output, |out| match format {
        ExportFormat::Perfetto => write_perfetto(&reduction, out),
        ExportFormat::OtlpJson => write_otlp(&reduction, out),
    })?;
    report_damage(&reduction.problems, None);
    let is_damaged = reduction.problems.is_damaged();
    Ok(exit_with(reduction, is_damaged))
}
