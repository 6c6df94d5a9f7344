//! `codex debug trace-convert`: converts a bundle to the other schema version.

use std::path::PathBuf;

use clap::Args;
use codex_engine_host::console::Console;
use codex_rollout_trace::format::Schema;
use codex_rollout_trace::{convert_bundle, read_manifest};
use codex_trace_folder::OpenBundle;

use crate::outcome::TraceOutcome;
use crate::source::UnpackArguments;

#[derive(Debug, Args)]
#[command(after_help = "\
Release 0.140 reads schema 1 and release 0.169 schema 2; this program reads both.\n\n\
Exit status: 0 converted, 1 not.")]
pub struct TraceConvertArguments {
    /// The bundle, a folder or a packed file.
    bundle: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// The output folder, which must not exist.
    out: PathBuf,
    /// The schema of the copy: 1, 2 or 3; by default 3, and 2 for a bundle of schema 3.
    #[arg(long, value_name = "SCHEMA", alias = "schema")]
    to: Option<u32>,
}

pub(crate) fn run(
    arguments: &TraceConvertArguments,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    let bundle = OpenBundle::open(&arguments.bundle, arguments.unpack.limit())?;
    let manifest = read_manifest(bundle.folder())?;
    let to = match (arguments.to, Schema::numbered(manifest.schema_version)) {
        (Some(number), _) => Schema::numbered(number)
            .ok_or_else(|| anyhow::anyhow!("there is no schema {number}; there are 1, 2 and 3"))?,
        (None, Some(Schema::Three)) => Schema::Two,
        (None, _) => Schema::Three,
    };
    let done = convert_bundle(bundle.folder(), &arguments.out, to)?;
    let (from, to, events) = (done.from.number(), done.to.number(), done.events);
    console.note(format_args!(
        "schema {from} to schema {to}: {events} events"
    ));
    for (what, times) in &done.left_out {
        console.note(format_args!("no counterpart, left out: {what} ({times})"));
    }
    console.answer(arguments.out.display());
    Ok(TraceOutcome::Done)
}
