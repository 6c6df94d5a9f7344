//! `codex batch run`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use codex_batch::{BatchFolder, BatchWorker, RunOptions, WorkerEnd, WorkerProgress, run as work};
use codex_client_commands::ServerChoice;
use codex_engine_host::host::HostPurpose;
use codex_engine_host::log;
use codex_engine_host::wiring::{TraceRecorder, non_blank};
use codex_system::signals::Signals;
use tokio::sync::watch;

use crate::print::answer;
use crate::settings_flags::SettingsFlags;

/// The key of the model, as for `codex exec`.
const KEY_VARIABLE: &str = "CODEX_API_KEY";
/// Where schedulers say which row is meant.
const INDEX_VARIABLES: [&str; 2] = ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"];
/// The exit status when rows are left that nobody works on.
const UNFINISHED_EXIT_CODE: u8 = 3;

#[derive(Debug, Args)]
#[command(after_help = "\
SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX in the environment names the only row to work on, if --index does not.\n\n\
Exit status: 0 no row is left for this worker, 1 it could not work, 2 wrong usage, 3 rows are left, because it was \
interrupted or the budget is used.")]
pub(super) struct RunArguments {
    /// The run folder.
    folder: PathBuf,
    /// The most rows at once.
    #[arg(short = 'j', long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    jobs: u32,
    /// Work on this row only. The first one is 0.
    #[arg(long, value_name = "NUMBER")]
    index: Option<usize>,
    /// Work on all rows, whatever the environment says.
    #[arg(long, conflicts_with = "index")]
    all: bool,
    /// Answer from a scenario file in place of a model.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
}

pub(super) fn run(arguments: &RunArguments, settings: &SettingsFlags) -> anyhow::Result<ExitCode> {
    log::start();
    let folder = Arc::new(BatchFolder::open(&arguments.folder)?);
    let index = match arguments.index {
        None if !arguments.all => index_of_scheduler()?,
        index => index,
    };
    let worker = BatchWorker::register(&folder).context("cannot make the folder of the worker")?;
    let tracing = TraceRecorder::from_environment();
    let runtime = codex_engine_host::runtime::here()?;
    let done = runtime.block_on(async {
        let purpose = HostPurpose::Batch {
            api_key: non_blank(KEY_VARIABLE),
            threads: worker.home().to_owned(),
            run_folder: folder.path().to_owned(),
        };
        let scenario = arguments.scenario.clone();
        let server = ServerChoice::here_for(purpose, settings.overrides()?, scenario);
        let (mut client, _end) = server.connect(tracing.clone()).await?;
        client
            .initialize("codex_batch", env!("CARGO_PKG_VERSION"))
            .await?;
        let (connection, messages) = client.split();
        let (pauses, pause) = watch::channel(false);
        tokio::spawn(pause_on_signal(pauses));
        let options = RunOptions {
            concurrency: arguments.jobs as usize,
            index,
            pause,
        };
        let mut progress = WorkerProgress::new(&folder, std::io::stderr().is_terminal());
        let ended = work(
            Arc::clone(&folder),
            Arc::new(worker),
            connection,
            messages,
            options,
            |result| {
                // Nobody may look.
                let _ = progress.finished(&mut std::io::stderr().lock(), result);
            },
        );
        anyhow::Ok(ended.await?)
    });
    // A row that goes on later is left as it is.
    runtime.shutdown_background();
    tracing.finish();
    Ok(status_of(done?))
}

/// The row that a scheduler means.
fn index_of_scheduler() -> anyhow::Result<Option<usize>> {
    for name in INDEX_VARIABLES {
        if let Some(text) = non_blank(name) {
            let index = text.parse();
            return Ok(Some(index.with_context(|| {
                format!("{name} is no number of a row: {text}")
            })?));
        }
    }
    Ok(None)
}

/// The first signal lets rows go on later, the second one ends the process.
async fn pause_on_signal(pauses: watch::Sender<bool>) {
    let Ok(mut signals) = Signals::new() else {
        return;
    };
    signals.next().await;
    pauses.send_replace(true);
    let status = signals.next().await;
    std::process::exit(status);
}

fn status_of(end: WorkerEnd) -> ExitCode {
    answer(end);
    if end.left > 0 || end.is_budget_used {
        ExitCode::from(UNFINISHED_EXIT_CODE)
    } else {
        ExitCode::SUCCESS
    }
}
