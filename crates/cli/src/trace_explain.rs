//! `codex debug trace-explain`: what of a session is worth a look, for people and for models.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use codex_rollout_trace::replay_bundle;
use codex_trace_view::explain;
use jiff::Timestamp;

use crate::print;
use crate::trace_problems::report_damage;
use crate::trace_source::{UnpackArguments, open_source};

/// The exit status if something is worth a look.
const FOUND: u8 = 1;
/// The exit status if the bundle cannot be read.
const UNREADABLE: u8 = 2;

#[derive(Debug, Args)]
#[command(after_help = "\
Each finding has a reason. Nothing here judges by the words of the model alone.\n\n\
Exit status: 0 nothing found, 1 something is worth a look, 2 the bundle cannot be read.")]
pub(crate) struct TraceExplainArguments {
    /// The bundle, a folder or a packed file; or a rollout, or the id of a thread.
    bundle: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &TraceExplainArguments) -> anyhow::Result<ExitCode> {
    let read = open_source(&arguments.bundle, arguments.unpack)
        .and_then(|bundle| Ok((replay_bundle(bundle.folder())?, bundle)));
    let (reduction, bundle) = match read {
        Ok(read) => read,
        Err(error) => {
            crate::error_report::report(&error);
            return Ok(ExitCode::from(UNREADABLE));
        }
    };
    report_damage(&reduction.problems, None);
    let findings = explain(&reduction, bundle.folder());
    let mut out = print::output();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?;
    } else {
        for finding in &findings {
            let time = Timestamp::from_millisecond(finding.at_unix_ms).unwrap_or_default();
            let time = time.strftime("%H:%M:%S");
            let (kind, agent, object) = (finding.kind.title(), &finding.agent, &finding.object);
            writeln!(out, "{kind}  ({agent}, {time}, {object})")?;
            writeln!(out, "    {}\n    {}", finding.what, finding.why)?;
        }
        if findings.is_empty() {
            writeln!(out, "nothing is worth a look")?;
        }
    }
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FOUND)
    })
}
