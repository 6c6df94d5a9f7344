//! Readers of what others write. Each must return whatever it is given, and nothing may panic. The tests give them damaged inputs, and
//! the targets below `fuzz` those of a fuzzer.

use std::ops::ControlFlow;

use codex_app_server_protocol::{ClientRequest, rpc};
use codex_exec_policy::{ProgramMatching, RuleSet};
use codex_http::{SseLimits, SseParser};
use codex_json_rpc::Peer;
use codex_transport::{InputLine, Limits, MessageHandler, Service};

/// Reads something.
pub(crate) type InputReader = fn(&[u8]);

/// All readers, by the name of the folder with their corpus.
pub(crate) const READERS: [(&str, InputReader); 11] = [
    ("client_messages", client_messages),
    ("event_streams", event_streams),
    ("exec_server_requests", exec_server_requests),
    ("patches", patches),
    ("peer_messages", peer_messages),
    ("rules", rules),
    ("scripts", scripts),
    ("settings", settings),
    ("thread_logs", thread_logs),
    ("trace_logs", trace_logs),
    ("trace_shards", trace_shards),
];

/// Gives the input to the reader with this name.
#[expect(dead_code, reason = "the targets of fuzzers call it")]
pub(crate) fn read(name: &str, bytes: &[u8]) {
    for (_, reader) in READERS.iter().filter(|(known, _)| *known == name) {
        reader(bytes);
    }
}

fn client_messages(bytes: &[u8]) {
    if let Ok(rpc::Message::Request(request)) = serde_json::from_slice(bytes) {
        let _ = ClientRequest::read(&request.method, request.params);
    }
}

/// The same events come in pieces of any size.
fn event_streams(bytes: &[u8]) {
    let events = |size: usize| {
        let mut parser = SseParser::new(SseLimits::default());
        let mut events = Vec::new();
        for mut piece in bytes.chunks(size) {
            while let Some(event) = parser.next(&mut piece) {
                match event {
                    Ok(event) => events.push(event.to_vec()),
                    Err(_) => return events,
                }
            }
        }
        events
    };
    assert_eq!(events(1), events(bytes.len().max(1)));
}

fn thread_logs(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rollout.jsonl");
    std::fs::write(&file, bytes).unwrap();
    let mut lines = 0;
    let _ = codex_rollout::scan(&file, |line| {
        lines += usize::from(line.read().is_some());
        ControlFlow::Continue(())
    });
    // What can be read line by line can be loaded, and the other way around.
    if let Ok(loaded) = codex_rollout::load(&file) {
        assert!(loaded.items.len() <= lines + 1);
    }
}

/// The log of a bundle.
fn trace_logs(bytes: &[u8]) {
    bundle(bytes, &[]);
}

/// A shard of a bundle with two payloads.
fn trace_shards(bytes: &[u8]) {
    let payload = |number: usize, kind: &str| {
        let payload = serde_json::json!({ "raw_payload_id": format!("raw_payload:{number}"), "kind": { "type": kind }, "shard": 1 });
        serde_json::json!({
            "schema_version": 3, "seq": number, "wall_time_unix_ms": number, "rollout_id": THREAD, "thread_id": THREAD,
            "payload": { "type": "thread_started", "thread_id": THREAD, "agent_path": "/root", "metadata_payload": payload },
        })
    };
    let log = format!(
        "{}\n{}\n",
        payload(1, "session_metadata"),
        payload(2, "session_metadata")
    );
    bundle(log.as_bytes(), bytes);
}

const THREAD: &str = "00000000-0000-7000-8000-000000000001";

fn bundle(log: &[u8], shard: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let manifest = serde_json::json!({
        "schema_version": 3, "trace_id": "t", "rollout_id": THREAD, "root_thread_id": THREAD, "started_at_unix_ms": 0,
        "raw_event_log": "trace.jsonl", "payloads_dir": "payloads",
    });
    let payloads = folder.path().join("payloads");
    std::fs::create_dir(&payloads).unwrap();
    std::fs::write(folder.path().join("manifest.json"), manifest.to_string()).unwrap();
    std::fs::write(folder.path().join("trace.jsonl"), log).unwrap();
    std::fs::write(payloads.join("000001.zst"), shard).unwrap();
    let _ = codex_rollout_trace::replay_bundle(folder.path());
}

fn patches(bytes: &[u8]) {
    let _ = codex_apply_patch::Patch::parse(&String::from_utf8_lossy(bytes));
}

fn scripts(bytes: &[u8]) {
    let _ = codex_shell_command::parse_plain_commands(&String::from_utf8_lossy(bytes));
}

fn rules(bytes: &[u8]) {
    let mut rules = RuleSet::default();
    let read = rules.add_file("rules", &String::from_utf8_lossy(bytes));
    if read.is_err() {
        // All rules of a file or none.
        let found = rules.check(&["git", "status"], ProgramMatching::AsWritten);
        assert!(found.matched_rules.is_empty());
    }
}

fn settings(bytes: &[u8]) {
    let _ = codex_config::parse_table(&String::from_utf8_lossy(bytes));
}

/// Messages of editors and of clients of the MCP server.
fn peer_messages(bytes: &[u8]) {
    runtime().block_on(async {
        let (peer, queue) = Peer::new("notifications/cancelled");
        let writing = tokio::spawn(queue.write_to(tokio::io::sink()));
        let mut requests = Vec::new();
        let read = peer.read(bytes, 1024, |incoming| requests.push(incoming));
        read.await.unwrap();
        drop((requests, peer));
        writing.abort();
    });
}

fn exec_server_requests(bytes: &[u8]) {
    runtime().block_on(async {
        let launcher = codex_exec::Launcher::of_this_program();
        let server = codex_exec_server::MachineServer::new(launcher, "/no/program".into(), 4);
        let mut session = Service::connect(server, Limits::ONLY_CLIENT).session;
        for line in bytes.split(|byte| *byte == b'\n') {
            MessageHandler::take(&mut session, InputLine::Whole(line.to_vec())).await;
        }
    });
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}
