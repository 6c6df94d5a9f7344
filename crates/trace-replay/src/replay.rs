//! Runs a recorded session.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codex_core::{
    ContinueTurn, InjectItems, NewTurn, Ports, Processes, ProviderModel, RunningProcess,
    SessionInput, SetPins, SpawnedAgent, StartTurn, StartedThread, Steer, Thread, ThreadManager,
    UpdateSettings,
};
use codex_exec::{Launch, SpawnError};
use codex_model_client::{ModelCatalog, Provider};
use codex_protocol::{Op, ThreadId, UserInput, UserInputOp};
use codex_rollout::RolloutWriter;
use codex_rollout_trace::Recording;
use codex_sandbox::EnforcementLevels;
use codex_session_trace::{ReplayedSession, SessionSettings, SettingsChange};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::client::RecordedModel;
use crate::clock::ReplayClock;
use crate::continuation::Continuation;
use crate::difference::Difference;
use crate::failure::ReplayFailure;
use crate::history;
use crate::ids::ReplayIds;
use crate::live::{CopiedFolder, LiveTools, RecordedAnswers, use_folder};
use crate::observer::ReplayObservers;
use crate::script::{Script, ScriptedInput};
use crate::state::{EarlyEnd, RecordedTakings, ReplayState};
use crate::timeline::Timeline;
use crate::tools::RecordedTools;

/// A replay without progress for this long has stalled.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);
/// After this long without progress, events of the same time may come in another order.
const ORDER_TIMEOUT: Duration = Duration::from_millis(300);
/// The same with tools that run for real.
const LIVE_STALL_TIMEOUT: Duration = Duration::from_secs(600);

/// Why a replay with other settings says nothing.
const LOST_CHANGE: &str = "it continues a stored thread, which keeps the context that it began with, so the changed \
    settings changed no request; replay the session that began the thread";

/// Why a session with such an agent cannot be replayed.
const UNRECORDED_MESSAGE: &str =
    "it resumed an agent that had ended, whose later turns are not in the bundle";

/// How to replay.
#[derive(Debug, Clone, Default)]
pub struct ReplayOptions {
    /// The turn of the root thread after which the replay ends, from 1.
    pub until: Option<usize>,
    /// Settings that replace recorded ones.
    pub settings: SettingsChange,
    /// Tools that run for real; without them, all answer as recorded.
    pub live: Option<LiveTools>,
    /// A turn after the last one.
    pub next: Option<Continuation>,
}

/// The result of a replay.
#[derive(Debug)]
pub enum Outcome {
    /// All requests were as recorded.
    Same(Replayed),
    /// The same, and another turn followed, whose last message this is.
    Continued(Replayed, Option<String>),
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

/// The working folder of a recorded session; none if the bundle does not say.
#[must_use]
pub fn working_folder(recording: &Recording) -> Option<PathBuf> {
    let settings = Script::from_recording(recording).settings?;
    Some(settings.cwd().to_owned())
}

/// Runs a recorded session again, up to the first difference. Needs a runtime with one thread.
///
/// # Errors
/// It does not start.
pub async fn replay(
    recording: Recording,
    options: ReplayOptions,
) -> Result<Outcome, ReplayFailure> {
    let mut script = Script::from_recording(&recording);
    if let Some(turn) = options.until
        && !script.cut_after(turn)
    {
        return Err(ReplayFailure::NoTurn(turn));
    }
    let Some(settings) = script.settings.take().filter(|_| script.limits.is_empty()) else {
        return Ok(Outcome::Impossible(script.limits));
    };
    // A stored thread keeps the context that it began with.
    let is_change_lost = settings.has_history && options.settings.is_change();
    let mut settings = settings.changed(&options.settings)?;
    let folder = options.live.as_ref().map(|live| CopiedFolder {
        recorded: settings.cwd().display().to_string(),
        copy: live.folder.display().to_string(),
    });
    let answers = folder
        .as_ref()
        .map(|folder| use_folder(&mut script, folder));
    if let Some(live) = &options.live {
        settings = settings.in_folder(&live.folder);
    }
    let home = tempfile::tempdir()?;
    let timeline = Arc::new(Timeline::new(
        std::mem::take(&mut script.milestones),
        times(&recording),
        script.started_unix_ms,
    ));
    let provider = provider(&script, &recording);
    let threads = std::mem::take(&mut script.threads);
    let state = ReplayState::new(
        recording,
        Arc::clone(&timeline),
        threads,
        takings(&settings),
        folder,
    );
    let unrecorded = std::mem::take(&mut script.unrecorded);
    let state = Arc::new(state.with_unrecorded(unrecorded));
    let tools = RecordedTools::new(Arc::clone(&state), settings.has_mcp_servers);
    let clock = ReplayClock::new(
        Arc::clone(&timeline),
        &settings.time_zone,
        options.live.is_some(),
    );
    let ids = ReplayIds::new(script.new_threads());
    let model = RecordedModel::new(Arc::clone(&state), provider);
    let ports = ports(model, clock, ids, options.live.as_ref())?;
    let environment = options.live.as_ref();
    let environment = environment.map(|live| Arc::clone(&live.environment));
    let config = settings.into_config(ReplayedSession {
        home: home.path().to_owned(),
        environment: environment.unwrap_or_default(),
        replay: Arc::new(tools),
        has_file: script.needs_file,
    });
    let observers = Arc::new(ReplayObservers(Arc::clone(&state)));
    let manager = ThreadManager::new(ports).observed_by(Some(observers));
    let started = match script.history.take() {
        Some(history) => history::start(&manager, config, history, home.path())?,
        None => manager.start(config)?,
    };
    let root = started.thread.clone();
    let answers = answers.map(Arc::new);
    let inputs = script.inputs;
    let session = tokio::spawn(drive(manager, started, inputs, Arc::clone(&state), answers));
    let patience = match &options.live {
        Some(_) => LIVE_STALL_TIMEOUT,
        None => STALL_TIMEOUT,
    };
    let ended = tokio::select! {
        biased;
        () = state.ended.cancelled() => true,
        () = timeline.wait_for_all() => true,
        () = stalled(&timeline, patience) => false,
    };
    let answer = match options.next {
        Some(next) if ended && !state.has_end() => Some(go_on(&root, next, &state).await),
        _ => None,
    };
    session.abort();
    if let Some(end) = early_end(&state) {
        return Ok(end);
    }
    if !ended {
        return Ok(Outcome::Stopped(stop_reason(&state, &timeline)));
    }
    let replayed = Replayed {
        requests: state.compared(),
        is_damaged: script.is_damaged || state.is_damaged() || state.has_damage_elsewhere(),
    };
    Ok(match answer {
        Some(answer) => Outcome::Continued(replayed, answer),
        None if is_change_lost => Outcome::Impossible(vec![LOST_CHANGE.to_owned()]),
        None => Outcome::Same(replayed),
    })
}

fn takings(settings: &SessionSettings) -> RecordedTakings {
    match (settings.is_complete, settings.has_idle_notices) {
        (true, true) => RecordedTakings::All,
        (true, false) => RecordedTakings::OfTurns,
        (false, _) => RecordedTakings::None,
    }
}

/// What the engine uses in a replay.
fn ports(
    model: RecordedModel,
    clock: ReplayClock,
    ids: ReplayIds,
    live: Option<&LiveTools>,
) -> Result<Ports, ReplayFailure> {
    let catalog = Arc::new(ModelCatalog::bundled());
    Ok(Ports {
        model: Arc::new(ProviderModel::new(Arc::new(model), catalog)),
        clock: Arc::new(clock),
        ids: Arc::new(ids),
        processes: match live {
            Some(live) => Arc::clone(&live.processes),
            None => Arc::new(NoProcesses),
        },
        mcp: None,
        writer: RolloutWriter::start()?,
    })
}

fn early_end(state: &ReplayState) -> Option<Outcome> {
    state.take_end().map(|end| match end {
        EarlyEnd::Difference(difference) => Outcome::Different(difference),
        EarlyEnd::Unreadable(reason) => Outcome::Stopped(reason),
        EarlyEnd::Unrecorded => Outcome::Impossible(vec![UNRECORDED_MESSAGE.to_owned()]),
    })
}

/// Runs another turn with another model, and returns its last message.
async fn go_on(root: &Thread, next: Continuation, state: &ReplayState) -> Option<String> {
    state.continued.begin(next.model);
    let text = UserInput::Text {
        text: next.prompt,
        text_elements: Vec::new(),
    };
    let submitted = root.submit(Op::UserInput(UserInputOp {
        items: vec![text],
        ..UserInputOp::default()
    }));
    submitted.await.ok()?;
    state.continued.answer().await
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

/// When each event was recorded.
fn times(recording: &Recording) -> HashMap<u64, i64> {
    let events = recording.events().iter();
    events
        .map(|line| (line.seq, line.wall_time_unix_ms))
        .collect()
}

/// Returns when nothing has happened for some time. What holds up something else of the same time is passed over first.
async fn stalled(timeline: &Timeline, patience: Duration) {
    let mut before = timeline.progress();
    let mut since = Instant::now();
    while since.elapsed() < patience {
        tokio::time::sleep(ORDER_TIMEOUT).await;
        let now = timeline.progress();
        if now == before {
            timeline.release_one();
        } else {
            (before, since) = (now, Instant::now());
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
    answers: Option<Arc<RecordedAnswers>>,
) {
    let root = started.thread.clone();
    tokio::spawn(take_events(started, answers));
    for input in inputs {
        state.wait_for_input(&input).await;
        let thread = match ThreadId::parse(&input.thread) {
            Ok(id) if id != *root.id() => manager.get(&id),
            _ => Some(root.clone()),
        };
        state.giving(&input.thread, input.at);
        let is_sent = match thread {
            Some(thread) => give(&thread, input.input).await,
            None => false,
        };
        state.gave(is_sent);
    }
    // The handles keep the threads running.
    std::future::pending().await
}

/// Takes what a thread emits, so that it does not wait for a subscriber.
fn take_events(
    started: StartedThread,
    answers: Option<Arc<RecordedAnswers>>,
) -> BoxFuture<'static, ()> {
    let StartedThread {
        thread,
        mut events,
        agents,
        ..
    } = started;
    Box::pin(async move {
        tokio::spawn(take_agents(agents, answers.clone()));
        // With recorded tools nobody is asked anything, and the handle would keep an agent running.
        let asking = answers.map(|answers| (thread, answers));
        let mut batch = Vec::new();
        while events.next_batch(&mut batch).await {
            for event in batch.drain(..) {
                if let Some((thread, answers)) = &asking {
                    answers.answer(thread, &event.msg).await;
                }
            }
        }
    })
}

async fn take_agents(
    mut agents: mpsc::Receiver<Box<SpawnedAgent>>,
    answers: Option<Arc<RecordedAnswers>>,
) {
    while let Some(agent) = agents.recv().await {
        tokio::spawn(take_events(agent.started, answers.clone()));
    }
}

/// A refused input was refused in the recorded session too, or the next request differs. Returns whether the thread
/// takes the input later.
async fn give(thread: &Thread, input: SessionInput) -> bool {
    match input {
        SessionInput::Submission(submission) => {
            return thread.submit_as(*submission).await.is_ok();
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
                metadata: turn.metadata,
                may_be_empty: turn.may_be_empty,
            };
            let _ = thread.ask(|reply| StartTurn { turn, reply }).await;
        }
        SessionInput::Steer(input) => {
            let steer = Steer {
                expected: None,
                input: input.into(),
            };
            let _ = thread.call(steer).await;
        }
        SessionInput::Settings(patch) => {
            let _ = thread.call(UpdateSettings(*patch)).await;
        }
        SessionInput::Context(items) => {
            return thread.call(InjectItems(items)).await.is_ok();
        }
        SessionInput::Pins(pins) => {
            let _ = thread.call(SetPins(pins)).await;
        }
        SessionInput::Continue { turn, settings } => {
            let continued = thread.ask(|reply| ContinueTurn {
                turn,
                settings: *settings,
                reply,
            });
            let _ = continued.await;
        }
    }
    false
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
