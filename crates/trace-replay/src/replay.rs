//! Runs a recorded session.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use codex_core::{
    NewTurn, Ports, Processes, ProviderModel, RunningProcess, SessionConfig, SessionInput,
    SpawnedAgent, StartError, StartedThread, Thread, ThreadManager,
};
use codex_exec::{Launch, SpawnError};
use codex_model_client::{ModelCatalog, Provider};
use codex_protocol::ThreadId;
use codex_rollout::RolloutWriter;
use codex_rollout_trace::Recording;
use codex_sandbox::EnforcementLevels;
use codex_session_trace::SettingsChange;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::client::RecordedModel;
use crate::clock::ReplayClock;
use crate::difference::Difference;
use crate::ids::ReplayIds;
use crate::observer::ReplayObservers;
use crate::script::{Script, ScriptedInput};
use crate::state::{EarlyEnd, ReplayState};
use crate::timeline::Timeline;
use crate::tools::RecordedTools;

/// A replay without progress for this long has stalled.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// How to replay.
#[derive(Debug, Clone, Default)]
pub struct ReplayOptions {
    /// The turn of the root thread after which the replay ends, from 1.
    pub until: Option<usize>,
    /// Settings that replace recorded ones.
    pub settings: SettingsChange,
}

/// The result of a replay.
#[derive(Debug)]
pub enum Outcome {
    /// All requests were as recorded.
    Same(Replayed),
    /// A request differs.
    Different(Box<Difference>),
    /// The session cannot be replayed, and why.
    Impossible(Vec<String>),
    /// Something that was recorded did not happen again.
    Stopped(String),
}

/// What was replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// The requests that were compared.
    pub requests: usize,
    /// Whether the recording is incomplete or damaged.
    pub is_damaged: bool,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayFailure {
    /// A temporary folder or thread cannot be made.
    #[error("cannot prepare the replay: {0}")]
    Prepare(#[from] io::Error),
    /// The session does not start.
    #[error("cannot start the session: {0}")]
    Start(#[from] StartError),
    /// The changed settings cannot be applied.
    #[error("cannot change the settings: {0}")]
    Settings(#[from] serde_json::Error),
    /// The recording has no such turn.
    #[error("the recording has no end of turn {0}")]
    NoTurn(usize),
}

/// Runs a recorded session again, up to the first difference. Needs a runtime with one thread.
///
/// # Errors
/// It does not start.
pub async fn replay(
    recording: Recording,
    options: ReplayOptions,
) -> Result<Outcome, ReplayFailure> {
    let mut script = Script::of(&recording);
    if let Some(turn) = options.until
        && !script.cut_after(turn)
    {
        return Err(ReplayFailure::NoTurn(turn));
    }
    let Some(settings) = script.settings.take().filter(|_| script.limits.is_empty()) else {
        return Ok(Outcome::Impossible(script.limits));
    };
    let settings = settings.changed(&options.settings)?;
    let home = tempfile::tempdir()?;
    let timeline = Arc::new(Timeline::new(
        std::mem::take(&mut script.milestones),
        script.started_unix_ms,
    ));
    let provider = provider(&script, &recording);
    let threads = std::mem::take(&mut script.threads);
    let state = ReplayState::new(recording, Arc::clone(&timeline), threads);
    let state = Arc::new(state);
    let tools = RecordedTools::new(Arc::clone(&state), settings.has_mcp_servers);
    let clock = ReplayClock::new(Arc::clone(&timeline), &settings.time_zone);
    let model = RecordedModel::new(Arc::clone(&state), provider);
    let ports = Ports {
        model: Arc::new(ProviderModel::new(
            Arc::new(model),
            Arc::new(ModelCatalog::bundled()),
        )),
        clock: Arc::new(clock),
        ids: Arc::new(ReplayIds::new(script.thread_ids.clone())),
        processes: Arc::new(NoProcesses),
        mcp: None,
        writer: RolloutWriter::start()?,
    };
    let config = config(settings.into_config(home.path()), &script, tools);
    let observers = Arc::new(ReplayObservers(Arc::clone(&state)));
    let manager = ThreadManager::new(ports).observed_by(Some(observers));
    let started = manager.start(config)?;
    let session = tokio::spawn(drive(manager, started, script.inputs, Arc::clone(&state)));
    let ended = tokio::select! {
        biased;
        () = state.ended.cancelled() => true,
        () = timeline.wait_for_all() => true,
        () = stalled(&timeline) => false,
    };
    session.abort();
    let requests = state.compared();
    Ok(match (state.take_end(), ended) {
        (Some(EarlyEnd::Difference(difference)), _) => Outcome::Different(difference),
        (Some(EarlyEnd::Unreadable(reason)), _) => Outcome::Stopped(reason),
        (None, true) => Outcome::Same(Replayed {
            requests,
            is_damaged: script.is_damaged || state.is_damaged(),
        }),
        (None, false) => Outcome::Stopped(stop_reason(&state, &timeline)),
    })
}

fn config(config: SessionConfig, script: &Script, tools: RecordedTools) -> SessionConfig {
    let mut config = SessionConfig {
        ephemeral: !script.needs_file,
        replay_events: false,
        replay: Some(Arc::new(tools)),
        ..config
    };
    config.message_history.keep = false;
    config
}

/// A provider that encodes requests as the recorded one did.
fn provider(script: &Script, recording: &Recording) -> Provider {
    let requests = script
        .threads
        .values()
        .filter_map(|thread| thread.requests.front());
    let stores = requests
        .filter_map(|request| recording.json::<Value>(&request.payload).ok())
        .any(|request| request["store"] == true);
    let name = if stores { "azure" } else { &script.provider };
    Provider::new(name, None)
}

/// Returns when nothing has happened for some time.
async fn stalled(timeline: &Timeline) {
    loop {
        let before = timeline.progress();
        tokio::time::sleep(STALL_TIMEOUT).await;
        if timeline.progress() == before {
            return;
        }
    }
}

fn stop_reason(state: &ReplayState, timeline: &Timeline) -> String {
    let Some(seq) = timeline.first_pending() else {
        return "the replay stopped".to_owned();
    };
    let mut events = state.recording.events().iter();
    let event = events.find(|event| event.seq == seq);
    let kind = event.and_then(|event| serde_json::to_value(&event.payload).ok());
    let kind = kind.as_ref().and_then(|event| event["type"].as_str());
    format!(
        "event {seq} of the recording ({}) did not happen again",
        kind.unwrap_or("unknown")
    )
}

/// Gives the threads their inputs, and takes their events and agents.
async fn drive(
    manager: ThreadManager,
    started: StartedThread,
    inputs: impl IntoIterator<Item = ScriptedInput>,
    state: Arc<ReplayState>,
) {
    let root = started.thread.clone();
    tokio::spawn(take_events(started));
    for input in inputs {
        state.wait(input.at).await;
        let thread = match ThreadId::parse(&input.thread) {
            Ok(id) if id != *root.id() => manager.get(&id),
            _ => Some(root.clone()),
        };
        if let Some(thread) = thread {
            give(&thread, input.input).await;
        }
    }
    // The handles keep the threads running.
    std::future::pending().await
}

/// Takes what a thread emits, so that it does not wait for a subscriber.
fn take_events(started: StartedThread) -> BoxFuture<'static, ()> {
    let StartedThread {
        mut events, agents, ..
    } = started;
    Box::pin(async move {
        tokio::spawn(take_agents(agents));
        let mut batch = Vec::new();
        while events.next_batch(&mut batch).await {
            batch.clear();
        }
    })
}

async fn take_agents(mut agents: mpsc::Receiver<Box<SpawnedAgent>>) {
    while let Some(agent) = agents.recv().await {
        tokio::spawn(take_events(agent.started));
    }
}

/// A refused input was refused in the recorded session too, or the next request differs.
async fn give(thread: &Thread, input: SessionInput) {
    match input {
        SessionInput::Submission(submission) => {
            let _ = thread.submit_as(*submission).await;
        }
        SessionInput::Turn(turn) => {
            let turn = NewTurn {
                id: turn.id,
                settings: turn.settings,
                context: turn.context,
                input: turn.input.into(),
                output_schema: turn.output_schema,
                service_tier: turn.service_tier,
                root_turn_id: turn.root_turn_id,
                limits: turn.limits,
            };
            let _ = thread.start_turn(turn).await;
        }
        SessionInput::Steer(input) => {
            let _ = thread.steer(None, input).await;
        }
        SessionInput::Settings(patch) => {
            let _ = thread.update_settings(*patch).await;
        }
        SessionInput::Context(items) => {
            let _ = thread.inject(items).await;
        }
    }
}

/// Starts nothing.
#[derive(Debug)]
struct NoProcesses;

impl Processes for NoProcesses {
    fn levels(&self) -> EnforcementLevels {
        codex_sandbox::probe()
    }

    fn start(&self, launch: Launch) -> BoxFuture<'static, Result<RunningProcess, SpawnError>> {
        drop(launch);
        let error = io::Error::other("a replay runs no commands");
        Box::pin(std::future::ready(Err(SpawnError::Command(error))))
    }
}
