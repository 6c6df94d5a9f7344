//! `codex debug trace-redact`: copies a bundle without secrets.

use std::path::PathBuf;

use clap::Args;
use codex_engine_host::console::Console;
use codex_trace_view::{Person, Text, redact_bundle};

use crate::outcome::TraceOutcome;
use crate::source::{UnpackArguments, open_source};

#[derive(Debug, Args)]
#[command(after_help = "\
No list of patterns is complete: read the copy before you pass it on.\n\n\
Exit status: 0 copied, 1 not.")]
pub struct TraceRedactArguments {
    /// The bundle, a folder or a packed file; or a rollout, or the id of a thread.
    bundle: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// The output folder, which must be new or empty.
    out: PathBuf,
    /// Replace all text by markers of the same length.
    #[arg(long)]
    text: bool,
}

/// The user of this program.
pub(crate) fn this_person() -> Person {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Person {
        home: variable("HOME").or_else(|| variable("USERPROFILE")),
        user: variable("USER").or_else(|| variable("USERNAME")),
    }
}

pub(crate) fn run(
    arguments: &TraceRedactArguments,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    let text = if arguments.text {
        Text::Mark
    } else {
        Text::Keep
    };
    let bundle = open_source(&arguments.bundle, arguments.unpack)?;
    let done = redact_bundle(bundle.folder(), &arguments.out, text, &this_person())?;
    console.note(format_args!(
        "{} files copied, {} different secrets replaced; read the copy before you pass it on",
        done.files, done.secrets
    ));
    if done.changed > 0 {
        console.note(format_args!(
            "left out: {} payload files that are not as they were recorded",
            done.changed
        ));
    }
    console.answer(arguments.out.display());
    Ok(TraceOutcome::Done)
}
