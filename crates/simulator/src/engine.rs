//! One simulated process: the app-server with its host on the simulated machine, and its clients.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server::AppServer;
use codex_config::Overrides;
use codex_core::Ports;
use codex_engine_host::host::{EngineHost, HostPurpose, PortChanges};
use codex_engine_host::wiring::TraceRecorder;
use codex_transport::Service;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::Instant;

use crate::clients::{Knowledge, SharedKnowledge, SimulatedClient};
use crate::connections::connect;
use crate::machine::{self, Ending, SeededRandom};
use crate::mcp_servers;
use crate::model::SimulatedModel;
use crate::plan::{Kill, MomentKind, Plan};
use crate::programs::SimulatedPrograms;
use crate::record::{self, RecordKind};

/// How long work may take after the last action of a phase.
const SETTLING_TIME: Duration = Duration::from_secs(20 * 60);

/// How long threads may take to end.
const GRACE_TIME: Duration = Duration::from_millis(1300);

/// The number of the connection that looks at what is stored.
pub(crate) const AUDITOR: u64 = 1_000_000;

/// A process to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProcessRequest {
    pub plan: Plan,
    /// The phase; after the last one comes the process that looks at what is stored.
    pub phase: usize,
    /// The number of the process among those that run at the same time.
    #[serde(default)]
    pub engine: usize,
    /// The time at its begin, in nanoseconds.
    pub now: u64,
    /// The threads of the processes before.
    pub threads: Vec<String>,
}

/// The folder of the simulated machine.
#[must_use]
pub(crate) fn folder() -> &'static Path {
    Path::new("/tmp/codex-simulator")
}

/// What all processes find.
///
/// # Errors
/// The files cannot be written.
pub(crate) fn prepare_files(plan: &Plan) -> std::io::Result<()> {
    let folder = folder();
    std::fs::create_dir_all(folder.join("home"))?;
    std::fs::create_dir_all(folder.join("work"))?;
    let policy = if plan.asks() { "untrusted" } else { "never" };
    let settings = "sandbox_mode = \"danger-full-access\"\nmodel = \"gpt-5.3-codex\"\nmodel_provider = \"simulated\"\n\
         [features]\ngoals = true\nunified_exec = UNIFIED\ndefault_mode_request_user_input = true\n[model_providers.simulated]\nname = \"Simulated\"\n\
         base_url = \"http://127.0.0.1:9/v1\"\nwire_api = \"responses\"\nstream_max_retries = 2\n";
    let settings = settings.replace("UNIFIED", &(!plan.has_plain_shell).to_string());
    let mut settings = format!("approval_policy = \"{policy}\"\n{settings}");
    let servers = if plan.has_mcp_servers { 2 } else { 0 };
    for number in 0..servers {
        let server = format!(
            "[mcp_servers.server_{number}]\ncommand = \"{}\"\n",
            mcp_servers::PROGRAM
        );
        settings.push_str(&format!(
            "{server}args = [\"{number}\"]\ntool_timeout_sec = 60\n"
        ));
    }
    std::fs::write(folder.join("home/config.toml"), settings)
}

/// Runs a process. Does not return.
pub(crate) fn run(request: ProcessRequest) -> ! {
    let plan = &request.plan;
    let seed = plan.seed.wrapping_mul(16) + request.phase as u64;
    let _ = std::env::set_current_dir(folder().join("work"));
    if request.engine == 0 {
        record::add(RecordKind::Phase, request.phase as u64, "");
    }
    let mut random = SeededRandom::for_purpose(seed, 20 + request.engine as u64);
    let workers = if random.chance(1, 4) {
        2 + random.below(2)
    } else {
        0
    };
    let mut builder = match workers {
        0 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if workers > 0 {
        builder.worker_threads(workers as usize);
    }
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => fail(&format!("no runtime: {error}")),
    };
    runtime.block_on(serve(request));
    machine::end(Ending::Done)
}

fn fail(reason: &str) -> ! {
    machine::record(2, format!("{reason}\n").as_bytes());
    machine::end(Ending::Deadlock)
}

/// The server of the process.
async fn server(plan: &Plan) -> Arc<AppServer> {
    let host = EngineHost::new(
        Overrides::default(),
        None,
        TraceRecorder::default(),
        HostPurpose::Clients,
    );
    let host = match host {
        Ok(host) => host,
        Err(error) => fail(&format!("no server: {error:#}")),
    };
    host.write_left_inputs().await;
    let has_mcp_servers = plan.has_mcp_servers;
    let model = Arc::new(SimulatedModel::new(plan.seed));
    let programs = Arc::new(SimulatedPrograms::new(plan.seed));
    let changes = PortChanges::new(move |ports: &mut Ports| {
        ports.model = Arc::clone(&model) as _;
        ports.processes = Arc::clone(&programs) as _;
        match &mut ports.mcp {
            Some(connector) if has_mcp_servers => connector.processes = Arc::clone(&programs) as _,
            mcp => *mcp = None,
        }
    });
    AppServer::new(Arc::new(host.with_port_changes(changes)))
}

async fn serve(request: ProcessRequest) {
    let ProcessRequest {
        plan,
        phase,
        engine,
        threads,
        ..
    } = request;
    let begin = Instant::now();
    if engine > 0 {
        let wait = plan.second_begins.get(phase).copied().unwrap_or_default();
        tokio::time::sleep_until(begin + Duration::from_millis(wait)).await;
    }
    if let Some(Kill {
        after,
        since: Some(since),
    }) = plan.kill(phase, engine)
        && since.kind == MomentKind::FileRemoved
    {
        machine::kill_since_removal(since.number, after);
    }
    let server = server(&plan).await;
    if phase >= plan.phases() {
        audit(&server, &threads).await;
        record::add(RecordKind::Finish, 0, "");
        return;
    }
    let knowledge: Knowledge = Arc::new(Mutex::new(SharedKnowledge::new(
        threads,
        phase as u64 * 1000 + engine as u64 * record::CONNECTIONS,
        plan.kill(phase, engine),
    )));
    let mut clients = Vec::new();
    let mut last = 0;
    for (number, client) in plan.clients.iter().enumerate() {
        let is_own =
            |action: &&crate::plan::Action| action.phase == phase && action.client == number;
        let actions: Vec<_> = plan.actions.iter().filter(is_own).copied().collect();
        // Both processes end at the same time.
        last = last.max(
            actions
                .iter()
                .map(|action| action.at)
                .max()
                .unwrap_or_default(),
        );
        if number % plan.engines(phase) != engine {
            continue;
        }
        let client = SimulatedClient {
            plan: client.clone(),
            seed: plan.seed,
            number,
            knowledge: Arc::clone(&knowledge),
            server: Arc::clone(&server),
            asks: plan.asks(),
            has_two_engines: plan.has_two_engines,
        };
        clients.push(tokio::spawn(client.run(actions, begin)));
    }
    tokio::time::sleep_until(begin + Duration::from_millis(last) + SETTLING_TIME).await;
    record::add(RecordKind::Ending, 0, "");
    let _ = tokio::time::timeout(GRACE_TIME, Service::shut_down(&*server)).await;
    // What is queued for clients is still sent.
    Service::close_connections(&*server);
    for client in clients {
        let _ = client.await;
    }
    if let Some(at) = machine::disk_filled_at() {
        record::add(RecordKind::FullDisk, at, "");
    }
    record::add(RecordKind::Finish, engine as u64, "");
    if plan.is_killed(phase, engine) {
        machine::end_killed();
    }
}

/// Asks for everything that is stored.
async fn audit(server: &Arc<AppServer>, threads: &[String]) {
    record::add(
        RecordKind::Connect,
        AUDITOR,
        "{\"release\":\"0.171\",\"delay\":0}",
    );
    let (output, mut input) = tokio::io::split(connect(server, 262_144));
    let mut lines = BufReader::new(output).lines();
    let capabilities = json!({ "experimentalApi": true, "clientRelease": "0.171" });
    let info = json!({ "name": "auditor", "version": "1.0" });
    let mut requests = vec![(
        "initialize",
        json!({ "clientInfo": info, "capabilities": capabilities }),
    )];
    for archived in [false, true] {
        requests.push(("thread/list", json!({ "archived": archived, "limit": 200 })));
    }
    requests.push(("config/read", json!({})));
    for thread in threads {
        let of_thread = json!({ "threadId": thread });
        let read = json!({ "threadId": thread, "includeTurns": true });
        requests.push(("thread/read", read));
        // The rest is not shown of archived threads.
        requests.push(("thread/unarchive", of_thread.clone()));
        requests.push(("thread/queue/list", of_thread.clone()));
        requests.push(("thread/goal/get", of_thread));
    }
    for (id, (method, params)) in requests.into_iter().enumerate() {
        let message = json!({ "id": id, "method": method, "params": params }).to_string();
        record::add(RecordKind::Sent, AUDITOR, &message);
        let _ = input.write_all(format!("{message}\n").as_bytes()).await;
        while let Ok(Some(line)) = lines.next_line().await {
            record::add(RecordKind::Received, AUDITOR, &line);
            let reply: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if reply["id"] == id && reply["method"].is_null() {
                break;
            }
        }
    }
}
