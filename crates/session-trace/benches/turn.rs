//! What tracing costs a turn: the same turns with and without, one after the other, against a model
//! on this machine.
//!
//!     cargo bench -p codex-session-trace --bench turn
//!
//! Prints the median time of a turn from the submission to its last event, and the processor time of
//! the whole process, the writing thread and the model's server included.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // It is a program for a person.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codex_core::{
    Observers, Ports, ProviderModel, RandomIds, SessionConfig, Started, SystemClock,
    SystemProcesses, ThreadManager,
};
use codex_exec::Launcher;
use codex_model_client::{
    ClientIdentity, FixedCredential, HttpModelClient, HttpPool, HttpSettings, ModelCatalog,
    Platform, Provider, Surroundings, SystemClock as ModelClock,
};
use codex_protocol::{AskForApproval, EventMsg, Op, SandboxPolicy, UserInput, UserInputOp};
use codex_session_trace::Traces;
use codex_test_support::{HttpReply, ModelServer, sse};

/// Turns of a block; blocks with and without tracing take turns.
const BLOCK: usize = 25;
const BLOCKS: usize = 16;
/// Pieces that the model's answer comes in.
const DELTAS: usize = 40;

struct Side {
    started: Started,
    times: Vec<Duration>,
    cpu: Duration,
}

impl Side {
    fn start(model: &ModelServer, home: &Path, traces: Option<Arc<Traces>>) -> Self {
        let observers = traces.map(|traces| traces as Arc<dyn Observers>);
        let manager = ThreadManager::new(ports(model)).observed_by(observers);
        let mut config = SessionConfig::new(home, home, "mock-model");
        config.approval_policy = AskForApproval::Never;
        config.sandbox_policy = SandboxPolicy::DangerFullAccess;
        let started = manager.start(config).unwrap();
        Self {
            started,
            times: Vec::new(),
            cpu: Duration::ZERO,
        }
    }

    async fn turn(&mut self) -> Duration {
        let begun = Instant::now();
        let text = "What does this project do? ".repeat(20);
        let items = vec![UserInput::Text {
            text,
            text_elements: Vec::new(),
        }];
        let input = UserInputOp {
            items,
            ..UserInputOp::default()
        };
        let said = self.started.thread.submit(Op::UserInput(input)).await;
        said.unwrap();
        loop {
            let event = self.started.events.next().await.unwrap();
            if let EventMsg::TurnComplete(_) = event.msg {
                return begun.elapsed();
            }
        }
    }

    async fn block(&mut self) {
        let before = cpu();
        for _ in 0..BLOCK {
            let time = self.turn().await;
            self.times.push(time);
        }
        self.cpu += cpu().saturating_sub(before);
    }

    fn median(&mut self) -> Duration {
        self.times.sort_unstable();
        self.times[self.times.len() / 2]
    }
}

fn ports(model: &ModelServer) -> Ports {
    let platform = Platform {
        os: "any",
        os_version: "1",
        architecture: "any",
        terminal: "none",
    };
    let surroundings = Surroundings {
        identity: ClientIdentity::new("bench", "1", platform, None),
        environment: Arc::new(|_: &str| None),
        credentials: Arc::new(FixedCredential::default()),
        clock: Arc::new(ModelClock),
        http: Arc::new(HttpPool::new(HttpSettings::default())),
    };
    let provider = Provider::new("Bench", &model.base_url());
    let client = HttpModelClient::new(provider, surroundings);
    let catalog = Arc::new(ModelCatalog::bundled());
    Ports {
        model: Arc::new(ProviderModel::new(Arc::new(client), catalog)),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(RandomIds),
        processes: Arc::new(SystemProcesses::new(Launcher::of_this_program())),
        writer: codex_rollout::Writer::start().unwrap(),
    }
}

/// The processor time of this process so far, in steps of 10 ms.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after
        .split_ascii_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

fn answer() -> HttpReply {
    let piece = "It reads and writes. ";
    let item = sse::message(&piece.repeat(DELTAS));
    let mut events = vec![sse::created("r"), sse::added(&sse::message(""))];
    events.extend((0..DELTAS).map(|_| sse::delta(piece)));
    events.extend([sse::done(&item), sse::completed("r")]);
    HttpReply::stream(&events)
}

#[tokio::main]
async fn main() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(answer());
    let home = tempfile::tempdir().unwrap();
    let traces = Arc::new(Traces::below(home.path().join("traces")));
    let mut off = Side::start(&model, home.path(), None);
    let mut on = Side::start(&model, home.path(), Some(Arc::clone(&traces)));
    for side in [&mut off, &mut on] {
        for _ in 0..5 {
            side.turn().await;
        }
    }
    for _ in 0..BLOCKS {
        off.block().await;
        on.block().await;
    }
    assert!(traces.flush(Duration::from_secs(60)));
    let turns = u32::try_from(BLOCK * BLOCKS).unwrap();
    let (without, with) = (off.median(), on.median());
    let ratio = 100.0 * (with.as_secs_f64() / without.as_secs_f64() - 1.0);
    println!("a turn without tracing: {without:?}, with: {with:?}, {ratio:+.1} %");
    println!(
        "processor time of a turn: {:?}, {:?}",
        off.cpu / turns,
        on.cpu / turns
    );
}
