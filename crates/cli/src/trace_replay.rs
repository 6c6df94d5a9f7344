//! `codex debug trace-replay`: runs recorded sessions again and shows the first request that differs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use codex_config::{Overrides, RequestParams};
use codex_model_client::ModelCatalog;
use codex_rollout_trace::Recording;
use codex_session_trace::SettingsChange;
use codex_trace_folder::OpenBundle;
use codex_trace_replay::{Outcome, ReplayOptions, replay};

use crate::engine_files::engine_files;
use crate::session_settings::session_parts;
use crate::settings_flags::SettingsFlags;
use crate::trace_problems::DAMAGED;
use crate::{checkpoints, wiring};

/// The exit status if a request differs.
const DIFFERENT: u8 = 1;
/// The exit status if a bundle cannot be read.
const UNREADABLE: u8 = 2;
/// The exit status if a session cannot be replayed.
const IMPOSSIBLE: u8 = 4;

#[derive(Debug, Args)]
#[command(after_help = "\
The engine of this program runs with the recorded settings. Its model answers with the recorded responses, \
its tools with the recorded outputs; inputs, interrupts and answers to approvals come when they came. \
No command runs, nothing is written to the working folder, and no network is used.\n\n\
Exit status, the highest of all bundles: 0 all requests are as recorded, 1 a request differs,\n\
2 a bundle cannot be read, 3 all requests of a damaged bundle are as recorded,\n\
4 a session cannot be replayed.")]
pub(crate) struct TraceReplayArguments {
    /// The bundles, folders or packed files.
    #[arg(required = true)]
    bundles: Vec<PathBuf>,
    /// Stop after this turn of the root thread, counted from 1.
    #[arg(long, value_name = "TURN")]
    until: Option<usize>,
    /// Settings that replace recorded ones, to try them.
    #[command(flatten)]
    settings: SettingsFlags,
}

/// `before` are the settings before the subcommand.
pub(crate) fn run(
    arguments: &TraceReplayArguments,
    before: SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let options = ReplayOptions {
        until: arguments.until,
        settings: settings_change(&before.followed_by(arguments.settings.clone()))?,
    };
    let mut status = 0;
    for bundle in &arguments.bundles {
        status = status.max(replay_bundle(bundle, options.clone())?);
    }
    Ok(ExitCode::from(status))
}

/// What flags change of the settings of a session. Only that replaces recorded settings.
fn settings_change(flags: &SettingsFlags) -> anyhow::Result<SettingsChange> {
    if flags.is_empty() {
        return Ok(SettingsChange::default());
    }
    let cwd = std::env::current_dir()?;
    let session = |flags: &Overrides| -> anyhow::Result<_> {
        let config = wiring::load_config(Some(&cwd), flags, &RequestParams::default())?;
        let files = engine_files(&config);
        let catalog = ModelCatalog::bundled();
        let environment = Arc::default();
        let store = checkpoints::store(&config);
        Ok(session_parts(config, environment, &cwd, &catalog, false, &files, &store).config)
    };
    let [before, after] = [
        session(&Overrides::default())?,
        session(&flags.overrides()?)?,
    ];
    Ok(SettingsChange::between(&before, &after)?)
}

fn replay_bundle(bundle: &Path, options: ReplayOptions) -> anyhow::Result<u8> {
    let opened = match OpenBundle::open(bundle) {
        Ok(opened) => opened,
        Err(error) => {
            report(bundle, &error.to_string());
            return Ok(UNREADABLE);
        }
    };
    let recording = match Recording::read(opened.folder()) {
        Ok(recording) => recording,
        Err(error) => {
            report(bundle, &error.to_string());
            return Ok(UNREADABLE);
        }
    };
    // A runtime of its own, which ends what is left of the session.
    let runtime = crate::runtime::here()?;
    let outcome = runtime.block_on(replay(recording, options));
    runtime.shutdown_background();
    Ok(match outcome {
        Ok(Outcome::Same(replayed)) => {
            let requests = replayed.requests;
            if replayed.is_damaged {
                report(
                    bundle,
                    &format!("same as far as it goes, {requests} requests"),
                );
                DAMAGED
            } else {
                report(bundle, &format!("same, {requests} requests"));
                0
            }
        }
        Ok(Outcome::Different(difference)) => {
            report(bundle, &format!("different\n{difference}"));
            DIFFERENT
        }
        Ok(Outcome::Impossible(reasons)) => {
            for reason in reasons {
                report(bundle, &format!("cannot be replayed: {reason}"));
            }
            IMPOSSIBLE
        }
        Ok(Outcome::Stopped(reason)) => {
            report(bundle, &format!("stopped: {reason}"));
            DIFFERENT
        }
        Err(error) => {
            report(bundle, &error.to_string());
            UNREADABLE
        }
    })
}

#[allow(clippy::print_stdout)] // What the command answers.
fn report(bundle: &Path, text: &str) {
    println!("{}: {text}", bundle.display());
}
