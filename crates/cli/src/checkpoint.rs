//! `codex checkpoint`: lists what files were before the turns of a thread, compares it, and goes back to it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use codex_checkpoints::{
    Checkpoint, ConflictReason, Coverage, DifferenceKind, OnConflict, RestoreReport, RestoreRequest,
};
use codex_config::RequestParams;
use codex_engine_host::{checkpoints, wiring};
use codex_protocol::ThreadId;
use codex_rollout::{LockError, ThreadLocks};
use jiff::Timestamp;

use crate::print;
use crate::settings_flags::SettingsFlags;

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// List the checkpoints of a thread, newest first.
    List {
        /// The thread.
        thread: String,
    },
    /// Show what has changed since a checkpoint.
    Diff {
        /// The thread.
        thread: String,
        /// The checkpoint.
        checkpoint: String,
        /// Show what had changed until this checkpoint.
        #[arg(long, value_name = "CHECKPOINT")]
        to: Option<String>,
        /// Only these files and folders.
        paths: Vec<PathBuf>,
    },
    /// Make files what they were before a checkpoint.
    Restore(RestoreArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The thread.
    thread: String,
    /// The checkpoint.
    checkpoint: String,
    /// Change nothing, and only say what would be.
    #[arg(long)]
    dry_run: bool,
    /// What to do about files that somebody else has changed.
    #[arg(long, value_enum, default_value = "fail")]
    on_conflict: ConflictChoice,
    /// Only these files and folders.
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ConflictChoice {
    /// Change nothing at all.
    Fail,
    /// Leave them and restore the others.
    Skip,
    /// Restore them, too.
    Overwrite,
}

pub(crate) fn run(
    command: CheckpointCommand,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let cwd = std::env::current_dir()?;
    let overrides = settings.overrides()?;
    let config = wiring::load_config(Some(&cwd), &overrides, &RequestParams::default())?;
    let store = checkpoints::store(&config, &config.home);
    if store.exists() {
        store.finish_restores()?;
    }
    let mut out = print::output();
    match command {
        CheckpointCommand::List { thread } => {
            for checkpoint in store.checkpoints(&thread)?.iter().rev() {
                write_checkpoint(&mut out, checkpoint)?;
            }
        }
        CheckpointCommand::Diff {
            thread,
            checkpoint,
            to,
            paths,
        } => {
            let paths = absolute(paths)?;
            let diff = store.diff(&thread, &checkpoint, to.as_deref(), &paths)?;
            out.write_all(diff.text.as_bytes())?;
        }
        CheckpointCommand::Restore(arguments) => {
            let thread = ThreadId::parse(&arguments.thread).context("not the id of a thread")?;
            let locks = ThreadLocks::of_home(&config.home);
            if let Some(holder) = locks.other_holder(&thread) {
                return Err(LockError::new(&thread, holder).into());
            }
            let _lock = locks.acquire(&thread)?;
            let request = RestoreRequest {
                checkpoint: arguments.checkpoint,
                paths: absolute(arguments.paths)?,
                on_conflict: match arguments.on_conflict {
                    ConflictChoice::Fail => OnConflict::Fail,
                    ConflictChoice::Skip => OnConflict::Skip,
                    ConflictChoice::Overwrite => OnConflict::Overwrite,
                },
                dry_run: arguments.dry_run,
                at: Timestamp::now().as_second(),
            };
            let report = store.restore(thread.as_str(), &request)?;
            write_report(&mut out, &report)?;
            if request.on_conflict == OnConflict::Fail && !report.conflicts.is_empty() {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn absolute(paths: Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
    let resolve =
        |path: PathBuf| codex_mounts::canonicalize(&path).or_else(|_| std::path::absolute(path));
    paths.into_iter().map(resolve).collect()
}

fn write_checkpoint(out: &mut impl Write, checkpoint: &Checkpoint) -> io::Result<()> {
    let at = Timestamp::from_second(checkpoint.at).unwrap_or_default();
    let coverage = match checkpoint.coverage {
        Coverage::Complete => "",
        Coverage::Patches => "  patches only",
        Coverage::Partial => "  not everything",
    };
    writeln!(
        out,
        "{}  {at}  {} files, +{} -{}{coverage}  {}",
        checkpoint.id,
        checkpoint.files(),
        checkpoint.insertions,
        checkpoint.deletions,
        checkpoint.label
    )
}

fn write_report(out: &mut impl Write, report: &RestoreReport) -> io::Result<()> {
    for file in &report.changed {
        let letter = match file.kind {
            DifferenceKind::Added => 'A',
            DifferenceKind::Deleted => 'D',
            DifferenceKind::Modified => 'M',
        };
        writeln!(out, "{letter} {}", file.path.display())?;
    }
    for conflict in &report.conflicts {
        let reason = match conflict.reason {
            ConflictReason::ChangedSince => "changed since by somebody else",
            ConflictReason::ChangedBetween => "changed in between by somebody else",
            ConflictReason::OtherThread => "perhaps changed by another thread",
            ConflictReason::Unreachable => "not reachable",
        };
        writeln!(out, "conflict: {}: {reason}", conflict.path.display())?;
    }
    for lost in &report.not_kept {
        let reason = lost.reason.as_str();
        writeln!(out, "not kept: {}: {reason}", lost.path.display())?;
    }
    if let Some(undo) = &report.undo_checkpoint {
        writeln!(out, "undo with checkpoint {undo}")?;
    }
    Ok(())
}
