//! A scripted model, a manual clock, and a driver for one thread.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use codex_core::*;
use codex_exec::{ExitStatus, Launch, OutputChunk, OutputStream, SpawnError};
use codex_model_client::{
    Completion, FactsSource, InstructionsVariables, ModelCatalog, ModelError, ModelEvent,
    ModelInfo, ModelMessages, ModelRequest, ModelStream, ResolvedModel,
};
use codex_protocol::*;
use codex_sandbox::{EnforcementLevels, Namespaces};
use futures::StreamExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc, watch};

/// Longer sleeps are time limits of commands.
const TIME_LIMITS: Duration = Duration::from_secs(10);

/// How long a test waits for an event before it gives up.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// One response of the scripted model.
pub(crate) enum ModelReply {
    /// These events, then the end of the stream.
    Events(Vec<Result<ModelEvent, ModelError>>),
    /// These events, then nothing.
    Stall(Vec<Result<ModelEvent, ModelError>>),
    /// No stream at all.
    Refused(ModelError),
    /// Nothing, not even a stream.
    Silence,
    /// A stream that the test feeds. An error as the first element refuses the request.
    Fed(mpsc::UnboundedReceiver<Result<ModelEvent, ModelError>>),
}

/// The sender of a fed response.
pub(crate) type Feed = mpsc::UnboundedSender<Result<ModelEvent, ModelError>>;

/// A response that the test feeds.
pub(crate) fn fed() -> (Feed, ModelReply) {
    let (feed, events) = mpsc::unbounded_channel();
    (feed, ModelReply::Fed(events))
}

#[derive(Clone, Default)]
pub(crate) struct ScriptedModel(Arc<Script>);

type Compacted = Result<Vec<ResponseItem>, ModelError>;

#[derive(Default)]
struct Script {
    replies: Mutex<VecDeque<ModelReply>>,
    /// Responses for agents.
    to_agents: Mutex<VecDeque<ModelReply>>,
    /// Results of compactions; none if the model cannot compact.
    compactions: Mutex<Option<VecDeque<Compacted>>>,
    requests: Mutex<Vec<Value>>,
    sent: Mutex<Vec<ModelRequest>>,
    asked: Notify,
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ScriptedModel")
    }
}

impl ScriptedModel {
    pub(crate) fn push(&self, reply: ModelReply) {
        self.0.replies.lock().push_back(reply);
    }

    /// Adds a response for an agent.
    pub(crate) fn push_to_agent(&self, reply: ModelReply) {
        self.0.to_agents.lock().push_back(reply);
    }

    /// Adds the result of one compaction.
    pub(crate) fn push_compaction(&self, compacted: Compacted) {
        let mut compactions = self.0.compactions.lock();
        compactions.get_or_insert_default().push_back(compacted);
    }

    /// The requests so far.
    pub(crate) fn sent(&self) -> Vec<ModelRequest> {
        self.0.sent.lock().clone()
    }

    fn note(&self, request: &ModelRequest) {
        let input = serde_json::to_value(&request.input).unwrap();
        self.0.requests.lock().push(input);
        self.0.sent.lock().push(request.clone());
        self.0.asked.notify_one();
    }

    /// The `input` of every request so far.
    pub(crate) fn inputs(&self) -> Vec<Value> {
        self.0.requests.lock().clone()
    }

    pub(crate) async fn wait_for_request(&self, number: usize) {
        let waiting = async {
            while self.inputs().len() < number {
                self.0.asked.notified().await;
            }
        };
        tokio::time::timeout(TEST_TIMEOUT, waiting)
            .await
            .expect("the model is asked");
    }
}

impl Model for ScriptedModel {
    /// Models whose names begin with `small` have a small context window.
    fn resolve(&self, name: &str) -> ResolvedModel {
        let fallback = ModelCatalog::bundled().resolve(name).info;
        let small = name.starts_with("small").then_some(10_000);
        let info = Arc::new(ModelInfo {
            supports_parallel_tool_calls: true,
            context_window: small.or(fallback.context_window),
            model_messages: Some(personalities()),
            ..ModelInfo::clone(&fallback)
        });
        ResolvedModel {
            info,
            source: FactsSource::Catalog,
        }
    }

    fn compacts(&self) -> bool {
        self.0.compactions.lock().is_some()
    }

    fn compact(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'static, Result<Vec<ResponseItem>, ModelError>> {
        self.note(&request);
        let mut compactions = self.0.compactions.lock();
        let compacted = compactions.as_mut().and_then(VecDeque::pop_front);
        Box::pin(std::future::ready(
            compacted.expect("a scripted compaction"),
        ))
    }

    fn stream(&self, request: ModelRequest) -> BoxFuture<'static, Result<ModelStream, ModelError>> {
        self.note(&request);
        let replies = match request.context.subagent.as_deref() {
            Some("collab_spawn") => &self.0.to_agents,
            _ => &self.0.replies,
        };
        let reply = replies.lock().pop_front().expect("a scripted reply");
        Box::pin(async move {
            Ok(match reply {
                ModelReply::Events(events) => ModelStream::new(futures::stream::iter(events)),
                ModelReply::Stall(events) => {
                    let silence = futures::stream::pending();
                    ModelStream::new(futures::stream::iter(events).chain(silence))
                }
                ModelReply::Refused(error) => return Err(error),
                ModelReply::Silence => std::future::pending().await,
                ModelReply::Fed(mut events) => {
                    let first = events.recv().await.transpose()?;
                    let rest = futures::stream::unfold(events, |mut events| async {
                        Some((events.recv().await?, events))
                    });
                    ModelStream::new(futures::stream::iter(first.map(Ok)).chain(rest))
                }
            })
        })
    }
}

/// Fake processes: a command prints words of its script and ends.
///
/// `print X` prints, `fail X` prints and ends with 1, `held X` prints and ends when the test says so,
/// `guarded X` prints if it runs without sandbox and is denied in one.
#[derive(Clone, Debug)]
pub(crate) struct FakeProcesses {
    launches: Arc<Mutex<Vec<Launch>>>,
    /// Every process with an owner has a receiver.
    held: Arc<watch::Sender<bool>>,
}

impl Default for FakeProcesses {
    fn default() -> Self {
        Self {
            launches: Arc::default(),
            held: Arc::new(watch::Sender::new(true)),
        }
    }
}

impl FakeProcesses {
    /// All launches.
    pub(crate) fn launches(&self) -> Vec<Launch> {
        self.launches.lock().clone()
    }

    /// The number of processes with a live owner.
    pub(crate) fn living(&self) -> usize {
        self.held.receiver_count()
    }

    /// Ends the held processes.
    pub(crate) fn release(&self) {
        self.held.send_replace(false);
    }
}

impl Processes for FakeProcesses {
    fn levels(&self) -> EnforcementLevels {
        EnforcementLevels {
            landlock: 7,
            seccomp: true,
            namespaces: Namespaces::MountsAndProcesses,
            ..EnforcementLevels::default()
        }
    }

    fn start(&self, launch: Launch) -> BoxFuture<'static, Result<RunningProcess, SpawnError>> {
        let script = launch.command.last().unwrap().to_str().unwrap().to_owned();
        let is_free = launch.plan == codex_sandbox::LaunchPlan::Unconfined;
        self.launches.lock().push(launch);
        let held = self.held.subscribe();
        Box::pin(async move {
            let (verb, words) = match script.split_once(' ').unwrap_or((&script, "")) {
                ("guarded", _) if !is_free => ("fail", "touch: Permission denied"),
                other => other,
            };
            let process = FakeProcess {
                is_held: verb == "held",
                status: ExitStatus::Code(i32::from(verb == "fail")),
                held,
            };
            let bytes = Bytes::copy_from_slice(words.as_bytes());
            let chunk = (!words.is_empty()).then_some(OutputChunk {
                stream: OutputStream::Stdout,
                bytes,
            });
            Ok(RunningProcess {
                owner: Box::new(process),
                output: futures::stream::iter(chunk).boxed(),
                input: None,
            })
        })
    }
}

#[derive(Debug)]
struct FakeProcess {
    is_held: bool,
    status: ExitStatus,
    held: watch::Receiver<bool>,
}

impl ProcessOwner for FakeProcess {
    fn ended(&self) -> BoxFuture<'_, ExitStatus> {
        let mut held = self.held.clone();
        Box::pin(async move {
            if self.is_held {
                let released = held.wait_for(|held| !held).await;
                released.expect("the test has the other end");
            }
            self.status
        })
    }

    fn kill(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A clock whose sleeps end when the test wants it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestClock(Arc<ClockState>);

#[derive(Debug, Default)]
struct ClockState {
    sleeps: Mutex<Vec<Duration>>,
    holds: Mutex<bool>,
    released: Notify,
}

impl TestClock {
    /// From now on sleeps wait for `release`.
    pub(crate) fn hold(&self) {
        *self.0.holds.lock() = true;
    }

    /// Ends the current sleep, and holds no further ones.
    pub(crate) fn release(&self) {
        *self.0.holds.lock() = false;
        self.0.released.notify_one();
    }

    pub(crate) fn sleeps(&self) -> Vec<Duration> {
        self.0.sleeps.lock().clone()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(250)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        // Windows and time limits, which the tests never reach, in contrast to waits for a retry.
        if duration < Duration::from_millis(160) || duration >= TIME_LIMITS {
            return Box::pin(tokio::time::sleep(Duration::from_secs(5)));
        }
        self.0.sleeps.lock().push(duration);
        let state = Arc::clone(&self.0);
        let held = *self.0.holds.lock();
        Box::pin(async move {
            if held {
                state.released.notified().await;
            }
        })
    }

    fn zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}

/// A thread and its environment.
pub(crate) struct Driver {
    pub(crate) model: ScriptedModel,
    pub(crate) clock: TestClock,
    pub(crate) processes: FakeProcesses,
    pub(crate) manager: ThreadManager,
    pub(crate) config: SessionConfig,
    pub(crate) thread: Thread,
    pub(crate) events: EventReceiver,
    /// The agents of the thread.
    pub(crate) agents: mpsc::Receiver<Box<SpawnedAgent>>,
    pub(crate) home: Arc<TempDir>,
    /// All events so far.
    pub(crate) seen: Vec<Event>,
}

impl Driver {
    pub(crate) async fn new() -> Self {
        Self::with_config(|_| {}).await
    }

    pub(crate) async fn with_config(change: impl FnOnce(&mut SessionConfig)) -> Self {
        let home = Arc::new(tempfile::tempdir().unwrap());
        let model = ScriptedModel::default();
        let clock = TestClock::default();
        let processes = FakeProcesses::default();
        let manager = ThreadManager::new(Ports {
            model: Arc::new(model.clone()),
            processes: Arc::new(processes.clone()),
            clock: Arc::new(clock.clone()),
            ids: Arc::new(RandomIds),
            mcp: None,
            writer: codex_rollout::RolloutWriter::start().unwrap(),
        });
        let mut config = config(&home);
        change(&mut config);
        let StartedThread {
            thread,
            events,
            agents,
            ..
        } = manager.start(config.clone()).unwrap();
        let seen = Vec::new();
        let mut driver = Self {
            model,
            clock,
            processes,
            manager,
            config,
            thread,
            events,
            agents,
            home,
            seen,
        };
        driver
            .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
            .await;
        driver
    }

    pub(crate) async fn submit_text(&self, text: &str) -> String {
        self.thread.submit(user_input(text)).await.unwrap()
    }

    pub(crate) async fn submit(&self, op: Op) -> String {
        self.thread.submit(op).await.unwrap()
    }

    /// Gives input to the running turn.
    pub(crate) async fn steer(
        &self,
        expected: Option<String>,
        input: impl Into<TurnInput>,
    ) -> Result<String, SteerError> {
        let input = input.into();
        self.thread.call(Steer { expected, input }).await
    }

    /// Reads events until one matches.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&EventMsg) -> bool) -> Event {
        loop {
            let next = tokio::time::timeout(TEST_TIMEOUT, self.events.next()).await;
            let event = next
                .unwrap_or_else(|_| panic!("no such event; seen: {:#?}", self.names()))
                .expect("the thread is open");
            self.seen.push(event.clone());
            if wanted(&event.msg) {
                return event;
            }
        }
    }

    pub(crate) async fn turn_over(&mut self) -> Event {
        self.until(|msg| matches!(msg, EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_)))
            .await
    }

    /// Closes and resumes the thread. The next request has the earlier history, the response to it, and the new
    /// input.
    pub(crate) async fn assert_resumes(&mut self) {
        let before = self.model.inputs().pop().unwrap();
        let path = self.thread.rollout_path().unwrap().to_owned();
        let id = self.thread.id().clone();
        self.manager.close(&id).await;
        self.until(|msg| matches!(msg, EventMsg::ShutdownComplete))
            .await;
        let started = self.manager.resume(&path, self.config.clone()).unwrap();
        assert_eq!(started.thread.id(), &id);
        let after = next_input(self, started).await;
        let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
        assert_eq!(after[..before.len()], before[..]);
        assert_eq!(after.len(), before.len() + 2);
    }

    /// The number of events of a type.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.names().iter().filter(|seen| *seen == name).count()
    }

    /// The types of all events so far.
    pub(crate) fn names(&self) -> Vec<String> {
        self.seen.iter().map(|event| name(&event.msg)).collect()
    }

    /// The lines of the rollout: `type/type of payload`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.thread.rollout_path().unwrap()).unwrap();
        text.lines()
            .map(|line| {
                let line: Value = serde_json::from_str(line).unwrap();
                let kind = line["type"].as_str().unwrap().to_owned();
                match line["payload"]["type"].as_str() {
                    Some(inner) => inner.to_owned(),
                    None => kind,
                }
            })
            .collect()
    }

    /// Everything that started has ended once, in order. Two exceptions: failed compactions have no end, and declined
    /// commands of `exec_command` have no start.
    pub(crate) fn assert_ends(&self) {
        let mut turns = 0;
        let mut items: Vec<String> = Vec::new();
        for event in &self.seen {
            match &event.msg {
                EventMsg::TurnStarted(_) => {
                    assert_eq!(turns, 0, "one turn at a time");
                    turns += 1;
                }
                EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => {
                    turns -= 1;
                    assert!(items.is_empty(), "items left open: {items:?}");
                }
                EventMsg::ItemStarted(item) | EventMsg::ItemCompleted(item)
                    if matches!(item.item, TurnItem::ContextCompaction(_)) => {}
                EventMsg::ExecCommandEnd(end)
                    if end.status == ExecCommandStatus::Declined
                        && !items.contains(&end.call_id) => {}
                EventMsg::ItemStarted(item) => items.push(item.item.id().unwrap().to_owned()),
                EventMsg::ItemCompleted(item) => close(&mut items, item.item.id().unwrap()),
                EventMsg::PatchApplyBegin(begin) => items.push(begin.call_id.clone()),
                EventMsg::PatchApplyEnd(end) => close(&mut items, &end.call_id),
                EventMsg::DynamicToolCallRequest(begin) => items.push(begin.call_id.clone()),
                EventMsg::DynamicToolCallResponse(end) => close(&mut items, &end.call_id),
                EventMsg::ExecCommandBegin(begin) => items.push(begin.call_id.clone()),
                EventMsg::ExecCommandEnd(end) => close(&mut items, &end.call_id),
                other if name(other).starts_with("collab_") => {
                    let event = serde_json::to_value(other).unwrap();
                    let call = event["call_id"].as_str().unwrap();
                    if name(other).ends_with("_begin") {
                        items.push(call.to_owned())
                    } else {
                        close(&mut items, call)
                    }
                }
                _ => {}
            }
        }
        assert_eq!(turns, 0, "a turn left open");
    }
}

/// The next request of `started`.
pub(crate) async fn next_input(driver: &Driver, started: StartedThread) -> Value {
    let StartedThread {
        thread, mut events, ..
    } = started;
    driver
        .model
        .push(ModelReply::Events(message_events("more", &[])));
    thread.submit(user_input("more?")).await.unwrap();
    loop {
        let event = tokio::time::timeout(TEST_TIMEOUT, events.next()).await;
        if let EventMsg::TurnComplete(_) = event.unwrap().unwrap().msg {
            break;
        }
    }
    driver.model.inputs().pop().unwrap()
}

fn close(items: &mut Vec<String>, id: &str) {
    let at = items.iter().position(|open| open == id);
    items.remove(at.unwrap_or_else(|| panic!("{id} ended without a start")));
}

pub(crate) fn config(home: &TempDir) -> SessionConfig {
    let mut config = SessionConfig::new(home.path(), home.path(), "mock-model");
    config.options.settings.approval_policy = AskForApproval::Never;
    config.options.settings.sandbox_policy = SandboxPolicy::DangerFullAccess;
    config
}

pub(crate) fn name(msg: &EventMsg) -> String {
    serde_json::to_value(msg).unwrap()["type"]
        .as_str()
        .unwrap()
        .to_owned()
}

pub(crate) fn user_input(text: &str) -> Op {
    Op::UserInput(UserInputOp {
        items: vec![text_input(text)],
        ..UserInputOp::default()
    })
}

pub(crate) fn text_input(text: &str) -> UserInput {
    UserInput::Text {
        text: text.to_owned(),
        text_elements: Vec::new(),
    }
}

pub(crate) fn message(text: &str) -> ResponseItem {
    ResponseItem::Message {
        role: "assistant".to_owned(),
        content: vec![ContentItem::OutputText {
            text: text.to_owned(),
        }],
        end_turn: None,
        phase: None,
        id: Some(format!("msg_{text}")),
    }
}

pub(crate) fn call(name: &str, arguments: Value, id: &str) -> ResponseItem {
    ResponseItem::FunctionCall {
        name: name.to_owned(),
        namespace: None,
        arguments: match arguments {
            Value::String(raw) => raw,
            other => other.to_string(),
        },
        call_id: id.to_owned(),
        id: None,
    }
}

pub(crate) fn completed(id: &str) -> ModelEvent {
    let usage = TokenUsage {
        input_tokens: 10,
        output_tokens: 5,
        total_tokens: 15,
        ..TokenUsage::default()
    };
    ModelEvent::Completed(Completion {
        response_id: id.to_owned(),
        usage: Some(usage),
        end_turn: None,
        cut: None,
    })
}

/// A whole message in deltas.
pub(crate) fn message_events(text: &str, deltas: &[&str]) -> Vec<Result<ModelEvent, ModelError>> {
    let mut events = starts(text, deltas);
    events.push(Ok(ModelEvent::ItemDone(message(text))));
    events.push(Ok(completed(&format!("resp_{text}"))));
    events
}

/// The beginning of a message.
pub(crate) fn starts(text: &str, deltas: &[&str]) -> Vec<Result<ModelEvent, ModelError>> {
    let mut events = vec![Ok(ModelEvent::ItemAdded(message(text)))];
    events.extend(
        deltas
            .iter()
            .map(|delta| Ok(ModelEvent::TextDelta((*delta).to_owned()))),
    );
    events
}

/// A message, with the size of the request.
pub(crate) fn message_events_at(
    text: &str,
    total_tokens: i64,
) -> Vec<Result<ModelEvent, ModelError>> {
    vec![
        Ok(ModelEvent::ItemDone(message(text))),
        Ok(completed_at(&format!("resp_{text}"), total_tokens)),
    ]
}

pub(crate) fn completed_at(id: &str, total_tokens: i64) -> ModelEvent {
    let usage = TokenUsage {
        total_tokens,
        ..TokenUsage::default()
    };
    ModelEvent::Completed(Completion {
        response_id: id.to_owned(),
        usage: Some(usage),
        end_turn: None,
        cut: None,
    })
}

/// A permanent failure.
pub(crate) fn fatal(message: &str) -> ModelError {
    ModelError::InvalidRequest(message.to_owned())
}

pub(crate) fn calls(items: Vec<ResponseItem>) -> Vec<Result<ModelEvent, ModelError>> {
    let mut events: Vec<_> = items
        .into_iter()
        .map(|item| Ok(ModelEvent::ItemDone(item)))
        .collect();
    events.push(Ok(completed("resp_calls")));
    events
}

/// A temporary failure.
pub(crate) fn broken() -> ModelError {
    ModelError::disconnected("test")
}

fn personalities() -> ModelMessages {
    ModelMessages {
        instructions_template: None,
        instructions_variables: Some(InstructionsVariables {
            personality_default: None,
            personality_friendly: Some("Be kind.".to_owned()),
            personality_pragmatic: Some("Be brief.".to_owned()),
        }),
    }
}

/// Every call of a request has one output, and every output comes after its call.
pub(crate) fn assert_well_formed(input: &Value) {
    let mut open: Vec<&Value> = Vec::new();
    let mut answered: Vec<&Value> = Vec::new();
    for item in input.as_array().unwrap() {
        let (kind, id) = (item["type"].as_str().unwrap(), &item["call_id"]);
        if kind.ends_with("_call_output") {
            assert!(open.contains(&id), "an output of nothing: {input:#}");
            open.retain(|call| *call != id);
            answered.push(id);
        } else if kind.ends_with("_call") {
            let is_new = !open.contains(&id) && !answered.contains(&id);
            assert!(is_new, "a call twice: {input:#}");
            open.push(id);
        }
    }
    assert!(open.is_empty(), "calls without output: {input:#}");
}

/// Texts of all messages of a role in a request.
pub(crate) fn texts(input: &Value, role: &str) -> Vec<String> {
    let messages = input
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["role"] == role);
    let parts = messages.flat_map(|item| item["content"].as_array().unwrap().clone());
    parts
        .map(|part| part["text"].as_str().unwrap_or("").to_owned())
        .collect()
}

/// The outputs of calls in a request.
pub(crate) fn outputs(input: &Value) -> Vec<Value> {
    let is_output = |item: &&Value| {
        item["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("call_output"))
    };
    input
        .as_array()
        .unwrap()
        .iter()
        .filter(is_output)
        .map(|item| item["output"].clone())
        .collect()
}

pub(crate) fn plan_call(id: &str) -> ResponseItem {
    let step = json!({ "step": "look", "status": "in_progress" });
    call("update_plan", json!({ "plan": [step] }), id)
}

/// A script for the shell.
pub(crate) fn script(script: &str, id: &str) -> ResponseItem {
    call(
        "shell_command",
        json!({ "command": script, "login": false }),
        id,
    )
}
