//! Measures what tracing costs a turn: the same turns with and without tracing, alternately, with a local model
//! server.
//!
//! cargo bench -p codex-session-trace --bench turn
//!
//! Prints the median time of a turn from the submission to its last event, and the processor time of the whole
//! process, including the writer thread and the model server.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "it is a program for a person"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codex_core::{
    Observers, Ports, ProviderModel, RandomIds, SessionConfig, StartedThread, SystemClock,
    SystemProcesses, ThreadManager,
};
use codex_exec::Launcher;
use codex_http::{HttpPool, HttpSettings};
use codex_model_client::{
    ClientDependencies, ClientIdentity, FixedCredential, HttpModelClient, ModelCatalog, Platform,
    Provider, SystemClock as ModelClock,
};
use codex_protocol::{AskForApproval, EventMsg, Op, SandboxPolicy, UserInput, UserInputOp};
use codex_session_trace::Traces;
use codex_test_support::{HttpReply, ModelServer, sse};

/// Turns per session; sessions with and without tracing alternate.
const TURNS: usize = 40;
const SESSIONS: usize = 15;
/// The number of pieces of the model's answer.
const DELTAS: usize = 40;

/// The measurements of all sessions of one kind.
#[derive(Default)]
struct Measurements {
    times: Vec<Duration>,
    cpu: Duration,
}

impl Measurements {
    async fn session(&mut self, model: &ModelServer, home: &Path, traces: Option<&Arc<Traces>>) {
        let observers = traces.map(|traces| Arc::clone(traces) as Arc<dyn Observers>);
        let manager = ThreadManager::new(ports(model)).observed_by(observers);
        let mut config = SessionConfig::new(home, home, "mock-model");
        config.options.settings.approval_policy = AskForApproval::Never;
        config.options.settings.sandbox_policy = SandboxPolicy::DangerFullAccess;
        let mut started = manager.start(config).unwrap();
        turn(&mut started).await;
        let before = cpu();
        for _ in 0..TURNS {
            let time = turn(&mut started).await;
            self.times.push(time);
        }
        if let Some(traces) = traces {
            assert!(traces.flush(Duration::from_secs(60)));
        }
        self.cpu += cpu().saturating_sub(before);
    }

    fn median(&mut self) -> Duration {
        self.times.sort_unstable();
        self.times[self.times.len() / 2]
    }
}

async fn turn(started: &mut StartedThread) -> Duration {
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
    let said = started.thread.submit(Op::UserInput(input)).await;
    said.unwrap();
    loop {
        let event = started.events.next().await.unwrap();
        if let EventMsg::TurnComplete(_) = event.msg {
            return begun.elapsed();
        }
    }
}

fn ports(model: &ModelServer) -> Ports {
    let platform = Platform {
        os: "any",
        os_version: "1",
        architecture: "any",
        terminal: "none",
    };
    let surroundings = ClientDependencies {
        identity: ClientIdentity::new("bench", "1", platform, None),
        environment: Arc::new(|_: &str| None),
        credentials: Arc::new(FixedCredential::default()),
        clock: Arc::new(ModelClock),
        http: Arc::new(HttpPool::new(HttpSettings::default())),
    };
    let provider = Provider::new("Bench", Some(model.base_url()));
    let client = HttpModelClient::new(provider, surroundings);
    let catalog = Arc::new(ModelCatalog::bundled());
    Ports {
        model: Arc::new(ProviderModel::new(Arc::new(client), catalog)),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(RandomIds),
        processes: Arc::new(SystemProcesses::new(Launcher::of_this_program())),
        mcp: None,
        writer: codex_rollout::RolloutWriter::start().unwrap(),
    }
}

/// The processor time of this process so far, ended threads included.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap()
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
    let (mut off, mut on) = (Measurements::default(), Measurements::default());
    for _ in 0..SESSIONS {
        off.session(&model, home.path(), None).await;
        on.session(&model, home.path(), Some(&traces)).await;
    }
    let turns = u32::try_from(TURNS * SESSIONS).unwrap();
    let (without, with) = (off.median(), on.median());
    let ratio = 100.0 * (with.as_secs_f64() / without.as_secs_f64() - 1.0);
    println!("a turn without tracing: {without:?}, with: {with:?}, {ratio:+.1} %");
    println!(
        "processor time of a turn: {:?}, {:?}",
        off.cpu / turns,
        on.cpu / turns
    );
}
