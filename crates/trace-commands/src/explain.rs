//! `codex debug trace-explain`: what of a session is worth a look, for people and for models.

use std::path::PathBuf;

use clap::Args;
use codex_engine_host::console::Console;
use codex_rollout_trace::replay_bundle;
use codex_trace_view::explain;
use jiff::Timestamp;

use crate::outcome::TraceOutcome;
use crate::problems::report_damage;
use crate::source::{UnpackArguments, open_source};

#[derive(Debug, Args)]
#[command(after_help = "\
Each finding has a reason. Nothing here judges by the words of the model alone.\n\n\
Exit status: 0 nothing found, 1 something is worth a look, 2 the bundle cannot be read.")]
pub struct TraceExplainArguments {
    /// The bundle, a folder or a packed file; or a rollout, or the id of a thread.
    bundle: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    arguments: &TraceExplainArguments,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    let read = open_source(&arguments.bundle, arguments.unpack)
        .and_then(|bundle| Ok((replay_bundle(bundle.folder())?, bundle)));
    let (reduction, bundle) = match read {
        Ok(read) => read,
        Err(error) => {
            console.error(&error);
            return Ok(TraceOutcome::Unreadable);
        }
    };
    report_damage(console, &reduction.problems, None);
    let findings = explain(&reduction, bundle.folder());
    let out = console.output();
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
        TraceOutcome::Done
    } else {
        TraceOutcome::Findings
    })
}
