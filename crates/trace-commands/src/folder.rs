//! `codex debug trace`: lists, searches, packs and deletes the trace bundles of a folder.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use codex_config::schema::TracesFile;
use codex_config::{Overrides, RequestParams};
use codex_engine_host::console::Console;
use codex_engine_host::trace_retention::{deletable, delete, retention};
use codex_engine_host::wiring;
use codex_rollout_trace::format::ROOT_VARIABLE;
use codex_trace_folder::{
    BundleEntry, BundleState, BundleSummary, Pattern, Retention, bundles_at, bundles_in, pack,
    search,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::outcome::TraceOutcome;
use crate::source::UnpackArguments;

/// The matches of a bundle that are listed.
const LISTED_MATCHES: usize = 20;
const MEBIBYTE: u64 = 1 << 20;

#[derive(Debug, Subcommand)]
pub enum TraceFolderCommand {
    /// List the bundles of a folder, newest first.
    List(ListArguments),
    /// Find a text in bundles.
    Search(SearchArguments),
    /// Pack bundles into one file each, which all trace commands read.
    Pack(PackArguments),
    /// Delete old bundles.
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit outcome: 0 listed, 1 the folder cannot be read, 2 a bundle cannot be read."
)]
pub struct ListArguments {
    /// The folder, or a bundle; by default the folder that CODEX_ROLLOUT_TRACE_ROOT names.
    folder: Option<PathBuf>,
    /// Print a JSON object per bundle and line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The texts of requests, responses and tools are searched, each once, and of a call the first. Upper and lower case are the same unless \
--case-sensitive is given.\n\nExit outcome: 0 found, 1 not found, 2 a bundle or the pattern cannot be read.")]
pub struct SearchArguments {
    /// The text to find.
    text: String,
    /// The folder, or a bundle; by default the folder that CODEX_ROLLOUT_TRACE_ROOT names.
    folder: Option<PathBuf>,
    /// The text is a regular expression.
    #[arg(long)]
    regex: bool,
    /// Distinguish upper and lower case.
    #[arg(long)]
    case_sensitive: bool,
    #[command(flatten)]
    unpack: UnpackArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A bundle BUNDLE becomes BUNDLE.tar.zst beside it. Derived files such as state.json are not packed. \
`tar --zstd --long=27 -xf` unpacks the file.\n\nExit outcome: 0 packed, 1 not.")]
pub struct PackArguments {
    /// The bundle folders.
    #[arg(required = true)]
    bundles: Vec<PathBuf>,
    /// Keep the folders.
    #[arg(long)]
    keep: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Bundles of sessions that may still run are kept. The paths of deleted bundles are printed. Without limits, \
those of `[traces]` in config.toml apply.\n\n\
Exit outcome: 0 done, 1 a bundle cannot be deleted.")]
pub struct PruneArguments {
    /// The folder; by default the one that CODEX_ROLLOUT_TRACE_ROOT names.
    folder: Option<PathBuf>,
    /// Delete bundles that were last written more than this number of days ago.
    #[arg(long, value_name = "DAYS")]
    max_days: Option<u64>,
    /// Delete the oldest bundles until all others together have at most this number of MiB.
    #[arg(long, value_name = "MIB")]
    max_mib: Option<u64>,
    /// Only print what would be deleted.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(
    command: TraceFolderCommand,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    match command {
        TraceFolderCommand::List(arguments) => list(arguments, console),
        TraceFolderCommand::Search(arguments) => find(arguments, console),
        TraceFolderCommand::Pack(arguments) => pack_all(&arguments, console),
        TraceFolderCommand::Prune(arguments) => prune(arguments, console),
    }
}

/// The given folder, or the one in which sessions are recorded.
fn folder_or_root(folder: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let default = || std::env::var_os(ROOT_VARIABLE).filter(|root| !root.is_empty());
    let folder = folder.or_else(|| default().map(PathBuf::from));
    folder.with_context(|| format!("no folder is given, and {ROOT_VARIABLE} is not set"))
}

/// The bundles to list or search, oldest first.
fn bundles(folder: Option<PathBuf>) -> anyhow::Result<Vec<BundleEntry>> {
    Ok(bundles_at(&folder_or_root(folder)?)?)
}

fn list(arguments: ListArguments, console: &mut Console<'_>) -> anyhow::Result<TraceOutcome> {
    let mut outcome = TraceOutcome::Done;
    for entry in bundles(arguments.folder)?.iter().rev() {
        let summary = match BundleSummary::read(entry) {
            Ok(summary) => summary,
            Err(error) => {
                console.error(&error.into());
                outcome = TraceOutcome::Unreadable;
                continue;
            }
        };
        let written = if arguments.json {
            let mut line = serde_json::to_value(&summary)?;
            line["path"] = json!(entry.path.to_string_lossy());
            line["packed"] = json!(entry.is_packed);
            line["bytes"] = json!(entry.bytes);
            writeln!(console.output(), "{line}")
        } else {
            write_row(console.output(), entry, &summary)
        };
        if written.is_err() {
            // The reader has closed the pipe.
            break;
        }
    }
    Ok(outcome)
}

fn write_row(out: &mut dyn Write, entry: &BundleEntry, summary: &BundleSummary) -> io::Result<()> {
    let started = Timestamp::from_millisecond(summary.started_at_unix_ms).unwrap_or_default();
    let started = started.to_zoned(TimeZone::system());
    let state = match summary.state {
        BundleState::Complete => "",
        BundleState::Open => " open",
    };
    let failures = match summary.failures {
        0 => String::new(),
        failures => format!(" {failures} failed"),
    };
    writeln!(
        out,
        "{} {:>8.1} MiB {:>4} turns {:>5} requests{failures} {:>5} tools{state}  {}\n    {}",
        started.strftime("%Y-%m-%d %H:%M"),
        entry.bytes as f64 / MEBIBYTE as f64,
        summary.turns,
        summary.requests,
        summary.tool_calls,
        summary.prompt.as_deref().unwrap_or_default(),
        entry.path.display(),
    )
}

fn find(arguments: SearchArguments, console: &mut Console<'_>) -> anyhow::Result<TraceOutcome> {
    let SearchArguments {
        text,
        folder,
        regex,
        case_sensitive,
        unpack,
    } = arguments;
    let pattern = if regex {
        Pattern::regex(&text, case_sensitive)
    } else {
        Pattern::text(&text, case_sensitive)
    };
    let pattern = match pattern {
        Ok(pattern) => pattern,
        Err(error) => {
            console.error(&error.into());
            return Ok(TraceOutcome::Unreadable);
        }
    };
    let mut outcome = TraceOutcome::NothingFound;
    for entry in bundles(folder)?.iter().rev() {
        let matches = match search(entry, &pattern, LISTED_MATCHES, unpack.limit()) {
            Ok(matches) => matches,
            Err(error) => {
                console.error(&error.into());
                outcome = TraceOutcome::Unreadable;
                continue;
            }
        };
        if matches.is_empty() {
            continue;
        }
        if outcome == TraceOutcome::NothingFound {
            outcome = TraceOutcome::Done;
        }
        let out = console.output();
        writeln!(out, "{}", entry.path.display())?;
        for found in matches {
            let call = found.call.map(|call| format!(" (call {call})"));
            let (file, call) = (found.file, call.unwrap_or_default());
            writeln!(out, "    {file}{call}: {}", found.excerpt)?;
        }
    }
    Ok(outcome)
}

fn pack_all(arguments: &PackArguments, console: &mut Console<'_>) -> anyhow::Result<TraceOutcome> {
    let mut outcome = TraceOutcome::Done;
    for bundle in &arguments.bundles {
        match pack(bundle, arguments.keep) {
            Ok(packed) => {
                let (before, after) = (packed.bytes_before, packed.bytes_after);
                let path = packed.path.display();
                console.answer(format_args!("{path}: {before} to {after} bytes"));
            }
            Err(error) => {
                console.error(&error.into());
                outcome = TraceOutcome::PartlyDone;
            }
        }
    }
    Ok(outcome)
}

fn prune(arguments: PruneArguments, console: &mut Console<'_>) -> anyhow::Result<TraceOutcome> {
    let (days, mib) = (arguments.max_days, arguments.max_mib);
    let limits = if days.is_some() || mib.is_some() {
        retention(days, mib)
    } else {
        configured_retention()?
    };
    let mut outcome = TraceOutcome::Done;
    let bundles = bundles_in(&folder_or_root(arguments.folder)?)?;
    for entry in deletable(&bundles, limits) {
        let deleted = if arguments.dry_run {
            Ok(())
        } else {
            delete(entry)
        };
        match deleted {
            Ok(()) => console.answer(entry.path.display()),
            Err(error) => {
                console.error(&error);
                outcome = TraceOutcome::PartlyDone;
            }
        }
    }
    Ok(outcome)
}

fn configured_retention() -> anyhow::Result<Retention> {
    let config = wiring::load_config(None, &Overrides::default(), &RequestParams::default())?;
    let TracesFile { max_days, max_mib } = config.storage.traces;
    if max_days.is_none() && max_mib.is_none() {
        anyhow::bail!(
            "no limit is given: use --max-days or --max-mib, or `[traces]` in config.toml"
        );
    }
    Ok(retention(max_days, max_mib))
}
