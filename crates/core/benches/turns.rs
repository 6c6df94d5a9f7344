//! Measures the CPU time and memory of turns, and prints a table.
//!
//! The model is in memory, commands are fake, the rollout is real. Rows with "1,000 turns" start with that many turns
//! in the history.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program that measures and prints"
)]

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use codex_core::*;
use codex_exec::{ExitStatus, Launch, SpawnError};
use codex_model_client::{
    Completion, FactsSource, ModelCatalog, ModelError, ModelEvent, ModelInfo, ModelRequest,
    ModelStream, ResolvedModel,
};
use codex_protocol::*;
use codex_sandbox::{EnforcementLevels, Namespaces};
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        text_turns().await;
        tool_rounds().await;
        deltas().await;
        side_by_side().await;
        memory().await;
        resume().await;
    });
}

async fn text_turns() {
    let mut bench = Bench::new();
    let mut thread = bench.thread();
    warm_up(&bench, &mut thread).await;
    let first = measure(100, async |_| bench.turn(&mut thread, text(1)).await).await;
    row("turn of one text message, the first 100", first);
    for _ in 0..900 {
        bench.turn(&mut thread, text(1)).await;
    }
    let late = measure(100, async |_| bench.turn(&mut thread, text(1)).await).await;
    row("turn of one text message, after 1,000 turns", late);
    bench.end();
}

async fn tool_rounds() {
    let mut bench = Bench::new();
    let mut thread = bench.thread();
    warm_up(&bench, &mut thread).await;
    let plain = measure(200, async |_| bench.turn(&mut thread, text(1)).await).await;
    let with_tool = measure(200, async |_| {
        bench
            .model
            .push(vec![ModelEvent::ItemDone(call()), completed()]);
        bench.turn(&mut thread, text(1)).await;
    })
    .await;
    row(
        "tool round without the child",
        with_tool.saturating_sub(plain),
    );
    bench.end();
}

async fn deltas() {
    let mut bench = Bench::new();
    let mut thread = bench.thread();
    warm_up(&bench, &mut thread).await;
    let cost = measure(1, async |_| bench.turn(&mut thread, text(20_000)).await).await;
    row("delta, in a new thread", cost / 20_000);
    for _ in 0..1_000 {
        bench.turn(&mut thread, text(1)).await;
    }
    let cost = measure(1, async |_| bench.turn(&mut thread, text(20_000)).await).await;
    row("delta, after 1,000 turns", cost / 20_000);
    bench.end();
}

async fn side_by_side() {
    let mut bench = Bench::new();
    let mut alone = bench.thread();
    warm_up(&bench, &mut alone).await;
    let one = measure(1, async |_| bench.turn(&mut alone, text(20_000)).await).await;
    row("1 thread of 20,000 deltas", one);
    let mut threads = Vec::new();
    for _ in 0..20 {
        let mut thread = bench.thread();
        bench.turn(&mut thread, text(1)).await;
        threads.push(thread);
    }
    let many = measure(1, async |_| {
        for _ in 0..20 {
            bench.model.push(text(1_000));
        }
        let turns = threads.drain(..).map(|mut started| {
            tokio::spawn(async move {
                started
                    .thread
                    .submit(input())
                    .await
                    .expect("an open thread");
                until_over(&mut started.events).await;
                started
            })
        });
        futures::future::join_all(turns.collect::<Vec<_>>()).await;
    })
    .await;
    row("20 threads of 1,000 deltas at once", many);
    bench.end();
}

async fn memory() {
    let mut bench = Bench::new();
    let before = resident();
    let mut threads = Vec::new();
    for _ in 0..500 {
        let mut thread = bench.thread();
        bench.turn(&mut thread, text(1)).await;
        threads.push(thread);
    }
    let each = resident().saturating_sub(before) / 500;
    println!(
        "{:<52} {:>9} KiB",
        "memory of a thread after one turn",
        each / 1024
    );
    bench.end();
}

async fn resume() {
    let mut bench = Bench::new();
    let mut thread = bench.thread();
    for _ in 0..5_000 {
        bench.turn(&mut thread, text(1)).await;
    }
    let path = thread.thread.rollout_path().expect("a file").to_owned();
    bench.manager.close(thread.thread.id()).await;
    let cost = measure(1, async |_| {
        let mut config = SessionConfig::new(bench.home.path(), bench.home.path(), "model");
        config.options.replay_events = false;
        thread = bench.manager.resume(&path, config).expect("a rollout");
    })
    .await;
    row("resuming 5,000 turns", cost);
    let cost = measure(1, async |_| bench.turn(&mut thread, text(1)).await).await;
    row("a turn after that", cost);
    bench.end();
}

async fn warm_up(bench: &Bench, thread: &mut StartedThread) {
    for _ in 0..3 {
        bench.turn(thread, text(1)).await;
    }
}

/// CPU time of the process for each of `times` runs.
async fn measure(times: u32, mut run: impl AsyncFnMut(u32)) -> Duration {
    let before = cpu();
    for time in 0..times {
        run(time).await;
    }
    (cpu() - before) / times
}

fn row(name: &str, cost: Duration) {
    println!("{name:<52} {:>9.1} us", cost.as_secs_f64() * 1e6);
}

/// User and system time of this process, ended threads included.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("a time since the start")
}

/// Bytes of memory in use.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

struct Bench {
    model: MemoryModel,
    manager: ThreadManager,
    home: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let model = MemoryModel::default();
        let manager = ThreadManager::new(Ports {
            model: Arc::new(model.clone()),
            clock: Arc::new(SystemClock::new()),
            ids: Arc::new(RandomIds),
            mcp: None,
            processes: Arc::new(NoProcesses),
            writer: codex_rollout::RolloutWriter::start().expect("a thread"),
        });
        Self {
            model,
            manager,
            home: tempfile::tempdir().expect("a folder"),
        }
    }

    fn thread(&mut self) -> StartedThread {
        let mut config = SessionConfig::new(self.home.path(), self.home.path(), "model");
        config.options.settings.approval_policy = AskForApproval::Never;
        config.options.settings.sandbox_policy = SandboxPolicy::DangerFullAccess;
        self.manager.start(config).expect("a thread")
    }

    /// One turn, up to the event that ends it.
    async fn turn(&self, started: &mut StartedThread, reply: Vec<ModelEvent>) {
        self.model.push(reply);
        started
            .thread
            .submit(input())
            .await
            .expect("an open thread");
        until_over(&mut started.events).await;
    }

    fn end(self) {
        drop(self);
    }
}

async fn until_over(events: &mut EventReceiver) {
    let mut batch = Vec::new();
    loop {
        batch.clear();
        assert!(events.next_batch(&mut batch).await, "an open thread");
        if batch
            .iter()
            .any(|event| matches!(event.msg, EventMsg::TurnComplete(_)))
        {
            return;
        }
    }
}

fn input() -> Op {
    let text = "What does this function do, and who calls it?".to_owned();
    let items = vec![UserInput::Text {
        text,
        text_elements: Vec::new(),
    }];
    Op::UserInput(UserInputOp {
        items,
        ..UserInputOp::default()
    })
}

/// A message in so many deltas.
fn text(deltas: usize) -> Vec<ModelEvent> {
    let message = |text: String| ResponseItem::Message {
        role: "assistant".to_owned(),
        content: vec![ContentItem::OutputText { text }],
        end_turn: None,
        phase: None,
        id: Some("msg_1".to_owned()),
    };
    let mut events = vec![ModelEvent::ItemAdded(message(String::new()))];
    events.extend((0..deltas).map(|_| ModelEvent::TextDelta("some words ".to_owned())));
    events.push(ModelEvent::ItemDone(message("some words ".repeat(deltas))));
    events.push(completed());
    events
}

fn completed() -> ModelEvent {
    let usage = Some(TokenUsage {
        total_tokens: 10,
        ..TokenUsage::default()
    });
    ModelEvent::Completed(Completion {
        response_id: "resp".to_owned(),
        usage,
        end_turn: None,
        cut: None,
    })
}

fn call() -> ResponseItem {
    ResponseItem::FunctionCall {
        name: "shell_command".to_owned(),
        namespace: None,
        arguments: r#"{"command":"ls -l src && cat README.md"}"#.to_owned(),
        call_id: "call_1".to_owned(),
        id: None,
    }
}

#[derive(Clone, Default)]
struct MemoryModel(Arc<Mutex<VecDeque<Vec<ModelEvent>>>>);

impl MemoryModel {
    fn push(&self, reply: Vec<ModelEvent>) {
        self.0.lock().push_back(reply);
    }
}

impl fmt::Debug for MemoryModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MemoryModel")
    }
}

impl Model for MemoryModel {
    fn resolve(&self, name: &str) -> ResolvedModel {
        let fallback = ModelCatalog::bundled().resolve(name).info;
        let info = Arc::new(ModelInfo {
            context_window: None,
            ..ModelInfo::clone(&fallback)
        });
        ResolvedModel {
            info,
            source: FactsSource::Catalog,
        }
    }

    fn stream(&self, request: ModelRequest) -> BoxFuture<'static, Result<ModelStream, ModelError>> {
        // What a provider does with the conversation: one body of bytes.
        let mut body = Vec::new();
        request.input.write_json(&mut body);
        std::hint::black_box(body);
        let reply = self.0.lock().pop_front().unwrap_or_default();
        let events = futures::stream::iter(reply.into_iter().map(Ok));
        Box::pin(async move { Ok(ModelStream::new(events)) })
    }
}

#[derive(Debug)]
struct NoProcesses;

impl Processes for NoProcesses {
    fn levels(&self) -> EnforcementLevels {
        let namespaces = Namespaces::MountsAndProcesses;
        EnforcementLevels {
            landlock: 7,
            seccomp: true,
            namespaces,
            ..EnforcementLevels::default()
        }
    }

    fn start(&self, _: Launch) -> BoxFuture<'static, Result<RunningProcess, SpawnError>> {
        Box::pin(async {
            Ok(RunningProcess {
                owner: Box::new(Ended),
                output: futures::stream::empty().boxed(),
                input: None,
            })
        })
    }
}

#[derive(Debug)]
struct Ended;

impl ProcessOwner for Ended {
    fn ended(&self) -> BoxFuture<'_, ExitStatus> {
        Box::pin(std::future::ready(ExitStatus::Code(0)))
    }

    fn kill(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
