//! `codex thread export`: a stored thread as a document to read or to pass on.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use codex_engine_host::console::Console;
use codex_protocol::ThreadId;
use codex_regular_file::OutputFile;
use codex_rollout_trace::{Reduction, replay_bundle};
use codex_trace_folder::OpenBundle;
use codex_trace_view::{Text, ViewOptions, redact_bundle, write_markdown, write_view};

use crate::outcome::TraceOutcome;
use crate::output::write_output;
use crate::redact::this_person;
use crate::source::{UnpackArguments, rollout_of};

#[derive(Debug, Subcommand)]
pub enum ThreadCommand {
    /// Write a thread as Markdown or as an HTML page.
    Export(ExportArguments),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DocumentFormat {
    /// Messages, commands and patches as text.
    Markdown,
    /// A page to read or print: the conversation, and behind it the timeline of `codex debug trace-view`.
    Html,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without -o, Markdown is printed.\n\n\
Examples:\n  codex thread export 0196f1c2-7f04-7d63-9f40-5b1f0d6b0f1e > session.md\n  \
codex thread export 0196f1c2-7f04-7d63-9f40-5b1f0d6b0f1e --format html --redact -o session.html\n\n\
Exit status: 0 written, 1 not.")]
pub struct ExportArguments {
    /// The id of the thread, or its rollout.
    thread: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// The format.
    #[arg(long, value_enum, default_value = "markdown")]
    format: DocumentFormat,
    /// Replace secrets and the names of people.
    #[arg(long)]
    redact: bool,
    /// The output file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(command: ThreadCommand, console: &mut Console<'_>) -> anyhow::Result<TraceOutcome> {
    let ThreadCommand::Export(arguments) = command;
    let rollout = match arguments.thread.to_str().map(ThreadId::parse) {
        Some(Ok(thread)) if !arguments.thread.exists() => rollout_of(&thread)?,
        _ => arguments.thread.clone(),
    };
    let bundle = OpenBundle::open(&rollout, arguments.unpack.limit())?;
    if !arguments.redact {
        write(bundle.folder(), &arguments, console)?;
        return Ok(TraceOutcome::Done);
    }
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let copy = scratch.path().join("copy");
    redact_bundle(bundle.folder(), &copy, Text::Keep, &this_person())?;
    write(&copy, &arguments, console)?;
    Ok(TraceOutcome::Done)
}

fn write(
    bundle: &Path,
    arguments: &ExportArguments,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let reduction = replay_bundle(bundle)?;
    let document = |out: &mut dyn Write| -> io::Result<()> {
        match arguments.format {
            DocumentFormat::Markdown => write_markdown(&reduction.trace, out),
            DocumentFormat::Html => page(&reduction, bundle, out),
        }
    };
    match (&arguments.output, arguments.format) {
        (Some(output), _) => write_output(console, &OutputFile::named(output), |out| document(out)),
        (None, DocumentFormat::Markdown) => {
            document(console.output()).context("cannot write to standard output")
        }
        (None, DocumentFormat::Html) => anyhow::bail!("name the page's file with -o"),
    }
}

fn page(reduction: &Reduction, bundle: &Path, mut out: &mut dyn Write) -> io::Result<()> {
    let options = ViewOptions {
        is_document: true,
        ..ViewOptions::default()
    };
    write_view(reduction, bundle, &options, &mut out)
}
