//! Sessions of the built server with tracing on: what their bundles say, and who may read them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::server_in;
use crate::{codex, stdout_of};

const PATCH: &str = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch";

/// A server that writes bundles, and the model that it talks to.
pub(crate) struct Traced {
    pub(crate) server: AppServer,
    pub(crate) model: ModelServer,
    pub(crate) home: TempDir,
}

impl Traced {
    pub(crate) async fn start(replies: &[Vec<Value>]) -> Self {
        Self::start_as("Scripted", replies).await
    }

    /// With a provider of this name, which decides what it can do.
    pub(crate) async fn start_as(provider: &str, replies: &[Vec<Value>]) -> Self {
        Self::start_with(provider, "", replies).await
    }

    /// With further settings of the provider.
    pub(crate) async fn start_with(provider: &str, settings: &str, replies: &[Vec<Value>]) -> Self {
        Self::start_with_features(provider, settings, "", replies).await
    }

    /// With further features, too.
    pub(crate) async fn start_with_features(
        provider: &str,
        settings: &str,
        features: &str,
        replies: &[Vec<Value>],
    ) -> Self {
        let replies = replies.iter().map(HttpReply::stream);
        let model = ModelServer::start(replies).await.unwrap();
        model.always(HttpReply::stream(&sse::text("done")));
        let home = tempfile::tempdir().unwrap();
        let config = format!(
            "model = \"scripted\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\n\
             sandbox_mode = \"danger-full-access\"\n\
             [model_providers.scripted]\nname = \"{provider}\"\nbase_url = \"{}\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 1\n{settings}\n\
             [features]\napply_patch_freeform = true\n{features}\n",
            model.base_url()
        );
        fs::write(home.path().join("config.toml"), config).unwrap();
        let root = home.path().join("deep/traces");
        let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
        Self {
            server: server_in(&home, &variables).await,
            model,
            home,
        }
    }

    pub(crate) async fn thread(&mut self) -> String {
        self.server.start_thread().await
    }

    pub(crate) async fn begin(&mut self, thread: &str) -> Value {
        let input = json!([{ "type": "text", "text": "go" }]);
        let params = json!({ "threadId": thread, "input": input });
        let reply = self.server.call("turn/start", params).await.unwrap();
        reply["result"]["turn"]["id"].clone()
    }

    pub(crate) async fn turn(&mut self, thread: &str) {
        self.begin(thread).await;
        self.server.wait_for("turn/completed").await.unwrap();
    }

    /// Ends the server; its bundles, by thread.
    pub(crate) async fn finish(self) -> (BTreeMap<String, TraceBundle>, TempDir) {
        self.server.finish().await.unwrap();
        (bundles(self.home.path()), self.home)
    }
}

/// The bundles of a home, by thread.
pub(crate) fn bundles(home: &Path) -> BTreeMap<String, TraceBundle> {
    let folders = fs::read_dir(home.join("deep/traces")).unwrap();
    folders
        .map(|folder| TraceBundle(folder.unwrap().path()))
        .map(|bundle| (bundle.manifest()["root_thread_id"].clone(), bundle))
        .map(|(thread, bundle)| (thread.as_str().unwrap().to_owned(), bundle))
        .collect()
}

pub(crate) struct TraceBundle(pub(crate) PathBuf);

impl TraceBundle {
    pub(crate) fn manifest(&self) -> Value {
        self.json("manifest.json")
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&fs::read(self.0.join(path)).unwrap()).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.0.join("trace.jsonl")).unwrap();
        log.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The payload of the first event of this type that has one under this key.
    pub(crate) fn payload(&self, event: &str, key: &str) -> Value {
        let events = self.events();
        let found = events.iter().map(|line| &line["payload"]);
        let mut found = found.filter(|payload| payload["type"] == event && !payload[key].is_null());
        self.json(found.next().unwrap()[key]["path"].as_str().unwrap())
    }

    /// What happened, in words.
    pub(crate) fn outline(&self) -> Vec<String> {
        let words = |line: &Value| {
            let payload = &line["payload"];
            let keys = ["event_type", "tool_call_id", "status"];
            let mut words = vec![payload["type"].as_str().unwrap()];
            words.extend(keys.iter().filter_map(|key| payload[key].as_str()));
            words.join(" ")
        };
        let is_for_replay =
            |words: &String| words.contains(" session_") && !words.ends_with(" session_configured");
        let mut outline: Vec<String> = self.events().iter().map(words).collect();
        outline.retain(|words| !is_for_replay(words));
        outline
    }

    /// Replays the bundle. Each request must be as recorded.
    pub(crate) fn replay(&self) {
        let replayed = codex(&["debug", "trace-replay", self.0.to_str().unwrap()]);
        let printed = String::from_utf8(replayed.stdout).unwrap();
        assert_eq!(replayed.status.code(), Some(0), "{printed}");
    }

    /// Replays and reduces the bundle, where nothing may be amiss.
    pub(crate) fn reduce(&self) -> Value {
        self.replay();
        let bundle = self.0.to_str().unwrap();
        stdout_of(&codex(&["debug", "trace-reduce", bundle, "--strict"]));
        self.json("state.json")
    }
}

/// What stands around every session and turn.
fn outline_of(turns: &[&[&str]]) -> Vec<String> {
    let mut lines = vec![
        "rollout_started",
        "thread_started",
        "protocol_event_observed session_configured",
    ];
    for turn in turns {
        lines.push("protocol_event_observed warning");
        lines.push("codex_turn_started");
        lines.push("protocol_event_observed turn_started");
        lines.extend(*turn);
    }
    lines.extend([
        "protocol_event_observed shutdown_complete",
        "thread_ended completed",
        "rollout_ended completed",
    ]);
    lines.iter().map(|line| (*line).to_owned()).collect()
}

const COMPLETED_KINDS: [&str; 2] = [
    "codex_turn_ended completed",
    "protocol_event_observed turn_complete",
];

/// A message with an id of its own: its text.
pub(crate) fn message_item(text: &str) -> Value {
    let mut message = sse::message(text);
    message["id"] = json!(text);
    message
}

pub(crate) fn response(items: &[Value]) -> Vec<Value> {
    let done = items.iter().map(sse::done);
    done.chain([sse::completed("resp")]).collect()
}

#[tokio::test]
async fn a_turn_with_tools() {
    let exec = |id, cmd: &str| sse::function_call(id, "exec_command", &json!({ "cmd": cmd }));
    let replies = [
        response(&[exec("c1", "echo one; exit 3")]),
        response(&[sse::custom_call("p1", "apply_patch", PATCH)]),
        response(&[sse::custom_call("p2", "apply_patch", "nonsense")]),
        response(&[sse::function_call("n1", "no_such_tool", &json!({}))]),
        response(&[sse::function_call(
            "w1",
            "write_stdin",
            &json!({ "chars": 1 }),
        )]),
    ];
    let mut traced = Traced::start(&replies).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    let ids: Vec<_> = (0..traced.model.requests().len())
        .map(|number| traced.model.requests()[number].clone())
        .map(|sent| sent.header("x-codex-inference-call-id").map(str::to_owned))
        .collect();
    let (bundles, _home) = traced.finish().await;
    let bundle = &bundles[&thread];

    let calls: Vec<String> = bundle
        .outline()
        .into_iter()
        .filter(|line| line.starts_with("tool_call"))
        .collect();
    let expected = [
        "tool_call_started c1",
        "tool_call_runtime_started c1",
        "tool_call_runtime_ended c1 failed",
        "tool_call_ended c1 completed",
        "tool_call_started p1",
        "tool_call_runtime_started p1",
        "tool_call_runtime_ended p1 completed",
        "tool_call_ended p1 completed",
        "tool_call_started p2",
        "tool_call_ended p2 failed",
        "tool_call_started n1",
        "tool_call_ended n1 failed",
        "tool_call_started w1",
        "tool_call_ended w1 failed",
    ];
    assert_eq!(calls, expected);

    let state = bundle.reduce();
    assert_eq!(state["status"], "completed");
    let calls = state["inference_calls"].as_object().unwrap();
    assert_eq!(calls.len(), 6);
    for id in ids {
        assert_eq!(calls[&id.unwrap()]["provider_name"], "Scripted");
    }
    let operation = &state["terminal_operations"]["terminal_operation:1"];
    assert_eq!(operation["result"]["exit_code"], 3);
    assert_eq!(
        operation["result"]["stdout"].as_str().unwrap().trim_end(),
        "one"
    );

    let invocation = bundle.payload("tool_call_started", "invocation_payload");
    assert_eq!(invocation["tool_name"], "exec_command");
    let response = bundle.payload("inference_completed", "response_payload");
    assert_eq!(response["token_usage"]["total_tokens"], 15);
    assert_eq!(response["output_items"][0]["call_id"], "c1");
    let request = bundle.payload("inference_started", "request_payload");
    assert_eq!(request["stream"], true);
    let metadata = bundle.payload("thread_started", "metadata_payload");
    assert_eq!(metadata["agent_path"], "/root");
    assert_eq!(metadata["provider_name"], "scripted");
    assert_eq!(metadata["approval_policy"], "never");
}

#[tokio::test]
async fn turns_that_fail_or_are_interrupted() {
    let mut cut = response(&[message_item("part")]);
    cut.pop();
    let call = sse::function_call(
        "c1",
        "exec_command",
        &json!({ "cmd": "echo begun; sleep 60" }),
    );
    let replies = [cut, response(&[message_item("whole")]), response(&[call])];
    let mut traced = Traced::start(&replies).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    let turn = traced.begin(&thread).await;
    // A command that has not started yet would end within its turn.
    let output = traced.server.wait_for("item/commandExecution/outputDelta");
    output.await.unwrap();
    let params = json!({ "threadId": thread, "turnId": turn });
    traced.server.call("turn/interrupt", params).await.unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    traced.model.always(HttpReply::status(400).body("refused"));
    traced.turn(&thread).await;
    let (bundles, _home) = traced.finish().await;
    let bundle = &bundles[&thread];

    let outline = bundle.outline();
    let position = |wanted: &str| outline.iter().position(|line| line == wanted).unwrap();
    // The command ends when its tree is gone, which is after its turn.
    let ended = position("tool_call_runtime_ended c1 failed");
    assert!(ended > position("codex_turn_ended cancelled"));
    let mut lines = outline.clone();
    lines.remove(ended);
    lines.retain(|line| !line.starts_with("tool_call") && !line.ends_with("checkpoint_created"));
    let cancelled = [
        "inference_started",
        "inference_completed",
        "codex_turn_ended cancelled",
        "protocol_event_observed turn_aborted",
    ];
    let retried = [
        "inference_started",
        "inference_failed",
        "inference_started",
        "inference_completed",
    ];
    let refused = [
        "inference_started",
        "inference_failed",
        "protocol_event_observed error",
    ];
    let expected = outline_of(&[
        &[&retried[..], &COMPLETED_KINDS].concat(),
        &cancelled,
        &[&refused[..], &COMPLETED_KINDS].concat(),
    ]);
    assert_eq!(lines, expected);
    let partial = bundle.payload("inference_failed", "partial_response_payload");
    assert_eq!(partial["output_items"][0]["content"][0]["text"], "part");
    assert_eq!(partial["response_id"], Value::Null);
    bundle.reduce();
}

#[tokio::test]
async fn a_compaction_takes_the_place_of_the_history() {
    let replies = ["first", "a summary", "after"].map(|text| response(&[message_item(text)]));
    let mut traced = Traced::start(&replies).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    let params = json!({ "threadId": thread });
    traced
        .server
        .call("thread/compact/start", params)
        .await
        .unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    traced.turn(&thread).await;
    let sent = traced.model.requests()[1].clone();
    assert_eq!(sent.header("x-codex-inference-call-id"), None);
    let (bundles, _home) = traced.finish().await;

    let bundle = &bundles[&thread];
    let checkpoint = bundle.payload("compaction_installed", "checkpoint_payload");
    let last = checkpoint["input_history"].as_array().unwrap().last();
    assert_eq!(last.unwrap()["content"][0]["text"], "first");
    let request = bundle.payload("compaction_request_started", "request_payload");
    // The same as before, so that the beginning of the request is known to the provider.
    let before = bundle.payload("inference_started", "request_payload");
    assert_eq!(request["tools"], before["tools"]);
    assert_eq!(request["tool_choice"], "none");
    let response = bundle.payload("compaction_request_completed", "response_payload");
    assert_eq!(
        response["output_items"][0]["content"][0]["text"],
        "a summary"
    );

    let state = bundle.reduce();
    assert_eq!(state["inference_calls"].as_object().unwrap().len(), 2);
    let compactions = state["compactions"].as_object().unwrap();
    let (_, compaction) = compactions.iter().next().unwrap();
    assert_eq!(compaction["request_ids"], json!(["compaction_request:1"]));
}

#[tokio::test]
async fn root_sessions_have_private_bundles() {
    let mut traced = Traced::start(&[]).await;
    let first = traced.thread().await;
    traced.turn(&first).await;
    traced
        .model
        .always(HttpReply::stream(&response(&[message_item("more")])));
    let params = json!({ "threadId": first });
    let forked = traced.server.call("thread/fork", params).await.unwrap();
    let fork = forked["result"]["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    traced.turn(&fork).await;
    let (bundles, home) = traced.finish().await;
    assert_eq!(bundles.len(), 2);
    bundles[&first].reduce();
    bundles[&fork].reduce();

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = &bundles[&first].0;
    for path in [home.path().join("deep/traces"), folder.join("payloads")] {
        assert_eq!(mode(&path), 0o700, "{}", path.display());
    }
    for path in ["manifest.json", "trace.jsonl", "payloads/1.json"] {
        assert_eq!(mode(&folder.join(path)), 0o600, "{path}");
    }
}

#[tokio::test]
async fn session_continues_without_a_writable_bundle() {
    let traced = Traced::start(&[]).await;
    let root = traced.home.path().join("config.toml");
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
    let server = server_in(&traced.home, &variables).await;
    let mut blocked = Traced { server, ..traced };
    let thread = blocked.thread().await;
    blocked.turn(&thread).await;
    let sent = blocked.model.requests()[0].clone();
    assert_eq!(sent.header("x-codex-inference-call-id"), None);
    blocked.server.finish().await.unwrap();
}
