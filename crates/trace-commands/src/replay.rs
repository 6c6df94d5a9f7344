//! `codex debug trace-replay`: runs recorded sessions again and shows the first request that differs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, ValueEnum};
use codex_config::{Overrides, RequestParams};
use codex_core::SystemProcesses;
use codex_engine_host::console::Console;
use codex_engine_host::engine_files::engine_files;
use codex_engine_host::resources::EngineResources;
use codex_engine_host::scripted_model::ScenarioModel;
use codex_engine_host::session_settings::session_parts;
use codex_engine_host::{checkpoints, wiring};
use codex_exec::Launcher;
use codex_model_client::ModelCatalog;
use codex_rollout_trace::Recording;
use codex_scenario::Scenario;
use codex_session_trace::SettingsChange;
use codex_trace_folder::{OpenBundle, UnpackLimit};
use codex_trace_replay::{Continuation, LiveTools, Outcome, ReplayOptions, replay, working_folder};

use crate::outcome::TraceOutcome;
use crate::scratch_folder::ScratchFolder;
use crate::source::UnpackArguments;

#[derive(Debug, Args)]
#[command(after_help = "\
The engine of this program runs with the recorded settings. Its model answers with the recorded responses, \
its tools with the recorded outputs; inputs, interrupts and answers to approvals come when they came. \
No command runs, nothing is written to the working folder, and no network is used. With `--tools live`, \
commands and patches run in a copy of the working folder, with the permissions of the recorded session.\n\n\
Exit status, the highest of all bundles: 0 all requests are as recorded, 1 a request differs,\n\
2 a bundle cannot be read, 3 all requests of a damaged bundle are as recorded,\n\
4 a session cannot be replayed.")]
pub struct TraceReplayArguments {
    /// The bundles, folders or packed files.
    #[arg(required = true)]
    bundles: Vec<PathBuf>,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// Stop after this turn of the root thread, counted from 1.
    #[arg(long, value_name = "TURN")]
    until: Option<usize>,
    /// Whether tools answer as recorded or run.
    #[arg(long, value_enum, default_value = "recorded")]
    tools: ReplayedTools,
    /// Run another turn with this message after the replayed ones, with the configured model.
    #[arg(long, value_name = "TEXT", requires = "until")]
    prompt: Option<String>,
    /// The scenario whose model answers the other turn.
    #[arg(long, value_name = "FILE", requires = "prompt")]
    scenario: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReplayedTools {
    /// They answer as recorded.
    Recorded,
    /// Commands and patches run in a copy of the working folder.
    Live,
}

pub(crate) fn run(
    arguments: &TraceReplayArguments,
    settings: &Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    let change = settings_change(settings)?;
    let mut outcome = TraceOutcome::Done;
    for bundle in &arguments.bundles {
        // A runtime of its own, which ends what is left of the session.
        let runtime = codex_engine_host::runtime::here()?;
        let replayed = runtime.block_on(async {
            let next = next_turn(arguments, settings).await?;
            let (next, model) = next.unzip();
            let options = ReplayOptions {
                until: arguments.until,
                settings: change.clone(),
                live: None,
                next,
            };
            let unpack = arguments.unpack.limit();
            let replayed = replay_bundle(bundle, unpack, arguments.tools, options, console).await;
            drop(model);
            replayed
        });
        runtime.shutdown_background();
        outcome = outcome.max(replayed?);
    }
    Ok(outcome)
}

/// The turn after the replayed ones, and the scripted model that must run meanwhile.
async fn next_turn(
    arguments: &TraceReplayArguments,
    settings: &Overrides,
) -> anyhow::Result<Option<(Continuation, Option<ScenarioModel>)>> {
    let Some(prompt) = arguments.prompt.clone() else {
        return Ok(None);
    };
    let (overrides, scripted) = match &arguments.scenario {
        Some(scenario) => {
            let (below, model) = ScenarioModel::start(Scenario::load(scenario)?).await?;
            (settings.over(below), Some(model))
        }
        None => (settings.clone(), None),
    };
    let cwd = std::env::current_dir()?;
    let config = wiring::load_config(Some(&cwd), &overrides, &RequestParams::default())?;
    let resources = EngineResources::new(&config);
    let provider = wiring::provider(&config.model.provider);
    let model = resources.client(provider, wiring::identity(wiring::ORIGINATOR, None));
    Ok(Some((Continuation { prompt, model }, scripted)))
}

/// Live tools in a copy of the working folder of a recording.
fn live_tools(recording: &Recording) -> anyhow::Result<(LiveTools, ScratchFolder)> {
    let folder = working_folder(recording).context("the bundle does not say its working folder")?;
    let scratch = ScratchFolder::copy_of(&folder)?;
    let config = wiring::load_config(
        Some(scratch.path()),
        &Overrides::default(),
        &RequestParams::default(),
    )?;
    let live = LiveTools {
        processes: Arc::new(SystemProcesses::new(Launcher::of_this_program())),
        environment: Arc::new(wiring::command_environment(&config)),
        folder: scratch.path().to_owned(),
    };
    Ok((live, scratch))
}

/// What flags change of the settings of a session. Only that replaces recorded settings.
fn settings_change(flags: &Overrides) -> anyhow::Result<SettingsChange> {
    if flags.is_empty() && !flags.leaves_out_files() {
        return Ok(SettingsChange::default());
    }
    let cwd = std::env::current_dir()?;
    let session = |flags: &Overrides| -> anyhow::Result<_> {
        let config = wiring::load_config(Some(&cwd), flags, &RequestParams::default())?;
        let files = engine_files(&config);
        let catalog = ModelCatalog::bundled();
        let environment = Arc::default();
        let store = checkpoints::store(&config, &config.home);
        Ok(session_parts(config, environment, &cwd, &catalog, false, &files, &store).config)
    };
    let [before, after] = [session(&Overrides::default())?, session(flags)?];
    Ok(SettingsChange::between(&before, &after)?)
}

async fn replay_bundle(
    bundle: &Path,
    unpack: UnpackLimit,
    tools: ReplayedTools,
    mut options: ReplayOptions,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    let opened = match OpenBundle::open(bundle, unpack) {
        Ok(opened) => opened,
        Err(error) => {
            report(console, bundle, &error.to_string());
            return Ok(TraceOutcome::Unreadable);
        }
    };
    let recording = match Recording::read(opened.folder()) {
        Ok(recording) => recording,
        Err(error) => {
            report(console, bundle, &error.to_string());
            return Ok(TraceOutcome::Unreadable);
        }
    };
    let mut scratch = None;
    if tools == ReplayedTools::Live {
        match live_tools(&recording) {
            Ok((live, folder)) => {
                options.live = Some(live);
                scratch = Some(folder);
            }
            Err(error) => {
                report(console, bundle, &format!("cannot be replayed: {error:#}"));
                return Ok(TraceOutcome::NotReplayable);
            }
        }
    }
    let outcome = replay(recording, options).await;
    drop(scratch);
    Ok(match outcome {
        Ok(Outcome::Same(replayed)) => {
            let requests = replayed.requests;
            if replayed.is_damaged {
                report(
                    console,
                    bundle,
                    &format!("same as far as it goes, {requests} requests"),
                );
                TraceOutcome::Damaged
            } else {
                report(console, bundle, &format!("same, {requests} requests"));
                TraceOutcome::Done
            }
        }
        Ok(Outcome::Continued(replayed, answer)) => {
            let requests = replayed.requests;
            let answer = answer.unwrap_or_else(|| "(no answer)".to_owned());
            report(
                console,
                bundle,
                &format!("same, {requests} requests; then\n{answer}"),
            );
            if replayed.is_damaged {
                TraceOutcome::Damaged
            } else {
                TraceOutcome::Done
            }
        }
        Ok(Outcome::Different(difference)) => {
            report(console, bundle, &format!("different\n{difference}"));
            TraceOutcome::Different
        }
        Ok(Outcome::Impossible(reasons)) => {
            for reason in reasons {
                report(console, bundle, &format!("cannot be replayed: {reason}"));
            }
            TraceOutcome::NotReplayable
        }
        Ok(Outcome::Stopped(reason)) => {
            report(console, bundle, &format!("stopped: {reason}"));
            TraceOutcome::Different
        }
        Err(error) => {
            report(console, bundle, &error.to_string());
            TraceOutcome::Unreadable
        }
    })
}

fn report(console: &mut Console<'_>, bundle: &Path, text: &str) {
    console.answer(format_args!("{}: {text}", bundle.display()));
}
