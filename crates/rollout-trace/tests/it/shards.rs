//! Bundles of schema 3: payloads in compressed shards, prompts of parts, outputs that come with their acceptance.

use std::fs;
use std::io::Write;
use std::path::Path;

use codex_rollout_trace::format::Schema;
use codex_rollout_trace::model::RecordingStatus;
use codex_rollout_trace::{Recording, Reduction, replay_bundle};
use serde_json::{Value, json};

const THREAD: &str = "00000000-0000-7000-8000-000000000001";

/// A bundle that is written by hand.
struct ShardedBundle {
    folder: tempfile::TempDir,
    payloads: Vec<u8>,
    events: Vec<Value>,
    last: u64,
}

impl ShardedBundle {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            payloads: Vec::new(),
            events: Vec::new(),
            last: 0,
        }
    }

    fn payload(&mut self, kind: &str, data: &Value) -> Value {
        self.last += 1;
        let (id, data) = (format!("raw_payload:{}", self.last), data.to_string());
        let lengths = (id.len() as u16).to_le_bytes();
        self.payloads.extend_from_slice(&lengths);
        let length = (data.len() as u64).to_le_bytes();
        self.payloads.extend_from_slice(&length);
        self.payloads.extend_from_slice(id.as_bytes());
        self.payloads.extend_from_slice(data.as_bytes());
        json!({ "raw_payload_id": id, "kind": { "type": kind }, "shard": 1 })
    }

    fn event(&mut self, payload: Value) {
        let seq = self.events.len() as u64 + 1;
        self.events.push(json!({
            "schema_version": 3, "seq": seq, "wall_time_unix_ms": seq, "rollout_id": THREAD,
            "thread_id": THREAD, "codex_turn_id": "turn-1", "payload": payload,
        }));
    }

    fn write(&self) {
        let folder = self.folder.path();
        fs::create_dir_all(folder.join("payloads")).unwrap();
        let manifest = json!({
            "schema_version": 3, "trace_id": "t", "rollout_id": THREAD, "root_thread_id": THREAD,
            "started_at_unix_ms": 0, "raw_event_log": "trace.jsonl", "payloads_dir": "payloads",
        });
        fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
        let lines: String = self.events.iter().map(|line| format!("{line}\n")).collect();
        fs::write(folder.join("trace.jsonl"), lines).unwrap();
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(&self.payloads).unwrap();
        let shard = encoder.finish().unwrap();
        fs::write(folder.join("payloads/000001.zst"), shard).unwrap();
    }

    fn reduce(&self) -> Reduction {
        self.write();
        replay_bundle(self.folder.path()).unwrap()
    }

    /// A session with a call whose output no request sends.
    fn session() -> Self {
        let mut bundle = Self::new();
        bundle
            .event(json!({ "type": "rollout_started", "trace_id": "t", "root_thread_id": THREAD }));
        let metadata = bundle.payload("session_metadata", &json!({ "agent_path": "/root" }));
        bundle.event(json!({
            "type": "thread_started", "thread_id": THREAD, "agent_path": "/root", "metadata_payload": metadata,
        }));
        bundle.event(json!({
            "type": "codex_turn_started", "codex_turn_id": "turn-1", "thread_id": THREAD,
        }));
        let long = "long ".repeat(1000);
        let item = json!({
            "type": "message", "id": "m1", "role": "user",
            "content": [{ "type": "input_text", "text": long }],
        });
        let request = bundle.payload("inference_request", &json!({ "input": [item] }));
        let part = bundle.payload("model_item", &item);
        let strings = json!(["{\"input\":[", "],\"tools\":[]}"]);
        let mut prepared = bundle.payload("prepared_prompt", &strings);
        prepared["parts"] = json!([part]);
        bundle.event(json!({
            "type": "inference_started", "inference_call_id": "i1", "thread_id": THREAD,
            "codex_turn_id": "turn-1", "model": "m", "provider_name": "p",
            "request_payload": request, "prepared_prompt_payload": prepared,
        }));
        let call = json!({
            "type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}",
        });
        let response = bundle.payload("inference_response", &json!({ "output_items": [call] }));
        bundle.event(json!({
            "type": "inference_completed", "inference_call_id": "i1", "response_id": "r1",
            "upstream_request_id": null, "response_payload": response,
        }));
        let output = json!({
            "type": "function_call_output", "id": "o1", "call_id": "c1", "output": "seen",
        });
        let output = bundle.payload("protocol_event", &output);
        bundle.event(json!({
            "type": "history_item_accepted", "item_id": "o1", "tool_output_payload": output,
        }));
        bundle.event(json!({
            "type": "codex_turn_ended", "codex_turn_id": "turn-1", "status": "completed",
        }));
        bundle.event(json!({ "type": "thread_ended", "thread_id": THREAD, "status": "completed" }));
        bundle.event(json!({ "type": "rollout_ended", "status": "completed" }));
        bundle.event(json!({ "type": "recording_completed" }));
        bundle
    }
}

fn texts(reduction: &Reduction) -> Vec<String> {
    let items = reduction.trace.conversation_items.values();
    items.map(|item| item.body.shown()).collect()
}

#[test]
fn sharded_payloads_and_accepted_outputs_are_reduced() {
    let reduction = ShardedBundle::session().reduce();
    assert_eq!(reduction.problems.total(), 0, "{:?}", reduction.problems);
    let trace = &reduction.trace;
    assert_eq!(trace.schema_version, Schema::Three.number());
    assert_eq!(trace.recording_status, Some(RecordingStatus::Complete));
    let texts = texts(&reduction);
    assert_eq!(texts.len(), 3);
    assert_eq!(texts[0], "long ".repeat(1000));
    assert_eq!(texts[2], "seen");
    let call = trace.inference_calls.values().next().unwrap();
    let prepared = call.prepared_prompt_payload_id.as_ref().unwrap();
    assert_eq!(prepared.as_str(), "raw_payload:4");
    let state = serde_json::to_value(&trace.raw_payloads).unwrap();
    assert_eq!(state["raw_payload:4"]["parts"][0]["shard"], 1);
}

#[test]
fn prompt_is_put_together_from_its_parts() {
    let bundle = ShardedBundle::session();
    bundle.write();
    let recording = Recording::read(bundle.folder.path()).unwrap();
    let payloads = recording
        .events()
        .iter()
        .flat_map(|line| line.payload.payloads());
    let prepared = payloads
        .filter(|payload| !payload.parts.is_empty())
        .last()
        .unwrap();
    let prompt: Value = recording.json(prepared).unwrap();
    assert_eq!(prompt["input"][0]["id"], "m1");
    assert_eq!(prompt["tools"], json!([]));
}

#[test]
fn payload_that_was_left_out_is_a_notice() {
    let mut bundle = ShardedBundle::session();
    let omitted = bundle
        .events
        .iter_mut()
        .find(|event| event["payload"]["type"] == "inference_started")
        .unwrap();
    let request = &mut omitted["payload"]["request_payload"];
    request["shard"] = Value::Null;
    request["capture"] = json!({ "status": "omitted", "original_bytes": 7 });
    let reduction = bundle.reduce();
    assert!(!reduction.problems.is_damaged(), "{:?}", reduction.problems);
    assert_eq!(
        reduction.trace.recording_status,
        Some(RecordingStatus::ClosedWithPartialPayloads)
    );
    let state = serde_json::to_value(&reduction.trace.raw_payloads).unwrap();
    assert_eq!(state["raw_payload:2"]["shard"], Value::Null);
    assert!(
        state["raw_payload:2"]
            .as_object()
            .unwrap()
            .contains_key("shard")
    );
}

fn damage(bundle: &ShardedBundle, change: impl FnOnce(&Path)) -> Reduction {
    bundle.write();
    change(&bundle.folder.path().join("payloads/000001.zst"));
    replay_bundle(bundle.folder.path()).unwrap()
}

#[test]
fn damaged_shards_are_reported_and_not_shown() {
    let bundle = ShardedBundle::session();
    let changed = damage(&bundle, |shard| {
        let mut bytes = fs::read(shard).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(shard, bytes).unwrap();
    });
    assert!(changed.problems.is_damaged());
    assert_eq!(texts(&changed), Vec::<String>::new());
    let missing = damage(&bundle, |shard| fs::remove_file(shard).unwrap());
    assert!(missing.problems.is_damaged());
    let without_end = damage(&bundle, |shard| {
        let bytes = fs::read(shard).unwrap();
        fs::write(shard, &bytes[..bytes.len() - 4]).unwrap();
    });
    assert!(without_end.problems.is_damaged());
    let cut = damage(&bundle, |shard| {
        let bytes = fs::read(shard).unwrap();
        let mut file = fs::File::create(shard).unwrap();
        file.write_all(&bytes[..20]).unwrap();
    });
    assert!(cut.problems.is_damaged());
}
