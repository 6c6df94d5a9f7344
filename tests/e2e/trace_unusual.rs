//! Bundles of what is no plain turn: reviews, summaries by the provider, answers that are cut off, a
//! killed server, memories, pinned texts.

use std::fs;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::escapes::wait_until;
use crate::setup::{PROGRAM, scripted_home};
use crate::trace_record::{TraceBundle, Traced, bundles, message_item, response};
use crate::{codex, stdout_of};

fn count(state: &Value, what: &str) -> usize {
    state[what].as_object().unwrap().len()
}

fn number_of(bundle: &TraceBundle, line: &str) -> usize {
    bundle.outline().iter().filter(|told| *told == line).count()
}

async fn review(traced: &mut Traced, thread: &str, delivery: &str) -> String {
    let target = json!({ "type": "custom", "instructions": "look" });
    let params = json!({ "threadId": thread, "delivery": delivery, "target": target });
    let reply = traced.server.call("review/start", params).await.unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    let thread = &reply["result"]["reviewThreadId"];
    thread.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_review_is_a_turn_of_its_thread() {
    let look = json!({ "cmd": "echo look" });
    let replies = [
        response(&[message_item("first")]),
        response(&[sse::function_call("c1", "exec_command", &look)]),
        response(&[message_item("It is fine.")]),
        response(&[message_item("after")]),
        response(&[message_item("That too.")]),
    ];
    let mut traced = Traced::start(&replies).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    review(&mut traced, &thread, "inline").await;
    traced.turn(&thread).await;
    let copy = review(&mut traced, &thread, "detached").await;
    let (bundles, _home) = traced.finish().await;

    let bundle = &bundles[&thread];
    assert_eq!(number_of(bundle, "codex_turn_ended completed"), 3);
    assert_eq!(number_of(bundle, "tool_call_ended c1 completed"), 1);
    let state = bundle.reduce();
    assert_eq!(count(&state, "codex_turns"), 3);
    assert_eq!(count(&state, "inference_calls"), 4);
    let state = bundles[&copy].reduce();
    assert_eq!(count(&state, "inference_calls"), 1);
}

/// The scripts of a reviewer are numbered on from those of its thread.
#[tokio::test]
async fn scripts_of_a_review_have_numbers_of_their_own() {
    let exec = |call: &str| response(&[sse::custom_call(call, "exec", "text(1)")]);
    let replies = [
        exec("c1"),
        response(&[message_item("first")]),
        exec("c2"),
        response(&[message_item("It is fine.")]),
        exec("c3"),
        response(&[message_item("after")]),
    ];
    let mut traced =
        Traced::start_with_features("Scripted", "", "code_mode = true", &replies).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    review(&mut traced, &thread, "inline").await;
    traced.turn(&thread).await;
    let (bundles, _home) = traced.finish().await;
    let state = bundles[&thread].reduce();
    let cells = state["code_cells"].as_object().unwrap();
    let ids: Vec<&str> = cells
        .values()
        .filter_map(|cell| cell["runtime_cell_id"].as_str())
        .collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[tokio::test]
async fn provider_summary_has_request_and_histories() {
    let replies = ["first", "second", "third"].map(|text| response(&[message_item(text)]));
    let mut traced = Traced::start_as("OpenAI", &replies).await;
    let summary = json!({ "output": [{ "type": "compaction", "encrypted_content": "sealed" }] });
    let refusal = json!({ "error": { "message": "not now" } });
    for reply in [
        HttpReply::json(400, &refusal),
        HttpReply::json(200, &summary),
    ] {
        traced.model.push_for("/responses/compact", reply);
    }
    let thread = traced.thread().await;
    for _ in 0..2 {
        traced.turn(&thread).await;
        let params = json!({ "threadId": thread });
        traced
            .server
            .call("thread/compact/start", params)
            .await
            .unwrap();
        traced.server.wait_for("turn/completed").await.unwrap();
    }
    traced.turn(&thread).await;
    let (bundles, _home) = traced.finish().await;

    let bundle = &bundles[&thread];
    let compactions: Vec<_> = bundle
        .outline()
        .into_iter()
        .filter(|line| line.starts_with("compaction"))
        .collect();
    let expected = [
        "compaction_request_started",
        "compaction_request_failed",
        "compaction_request_started",
        "compaction_request_completed",
        "compaction_installed",
    ];
    assert_eq!(compactions, expected);
    let response = bundle.payload("compaction_request_completed", "response_payload");
    assert_eq!(response["output_items"], summary["output"]);
    let checkpoint = bundle.payload("compaction_installed", "checkpoint_payload");
    assert!(checkpoint["input_history"].to_string().contains("second"));
    let after = checkpoint["replacement_history"].to_string();
    assert!(
        after.contains("sealed") && !after.contains("second"),
        "{after}"
    );
    let state = bundle.reduce();
    assert_eq!(count(&state, "inference_calls"), 3);
    assert_eq!(count(&state, "compactions"), 1);
}

#[tokio::test]
async fn truncated_answer_keeps_received_items() {
    let mut traced = Traced::start(&[]).await;
    let mut begun = response(&[message_item("part")]);
    begun.pop();
    begun.push(json!({ "type": "response.output_item.added", "item": message_item("more") }));
    begun.push(json!({ "type": "response.output_text.delta", "delta": "mo" }));
    traced.model.push(HttpReply::stream(&begun).stall());
    let thread = traced.thread().await;
    let turn = traced.begin(&thread).await;
    traced
        .server
        .wait_for("item/agentMessage/delta")
        .await
        .unwrap();
    let params = json!({ "threadId": thread, "turnId": turn });
    traced.server.call("turn/interrupt", params).await.unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    let (bundles, _home) = traced.finish().await;

    let bundle = &bundles[&thread];
    assert_eq!(number_of(bundle, "inference_cancelled"), 1);
    let partial = bundle.payload("inference_cancelled", "partial_response_payload");
    assert_eq!(partial["output_items"][0]["content"][0]["text"], "part");
    bundle.reduce();
}

#[tokio::test]
async fn bundle_of_a_killed_server_reduces_to_its_end() {
    let mut traced = Traced::start(&[response(&[message_item("whole")])]).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    traced.model.push(HttpReply::silence());
    traced.begin(&thread).await;
    traced.model.request(1).await;
    // The writer needs its moment; nothing tells when it had it.
    let asked = |bundle: &TraceBundle| number_of(bundle, "inference_started") == 2;
    let home = traced.home.path();
    wait_until("the request is in the bundle", || {
        asked(&bundles(home)[&thread])
    });
    let process = traced.server.process_id().unwrap().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-9", &process])
        .output();
    stdout_of(&kill.unwrap());
    assert!(traced.server.wait_for("turn/completed").await.is_err());

    let bundle = &bundles(traced.home.path())[&thread];
    let path = bundle.0.to_str().unwrap();
    let reduced = codex(&["debug", "trace-reduce", path]);
    let told = String::from_utf8(reduced.stderr).unwrap();
    assert!(
        told.contains("notice: the log ends before the rollout does"),
        "{told}"
    );
    let state = bundle.json("state.json");
    assert_eq!(state["status"], "running");
    assert_eq!(count(&state, "inference_calls"), 2);
}

/// A server for experimental methods that writes bundles.
async fn recording_server(home: &TempDir) -> AppServer {
    let root = home.path().join("deep/traces");
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
    let mut server = AppServer::start_in(PROGRAM, home.path(), &variables).unwrap();
    server.initialize_experimental().await;
    server
}

#[tokio::test]
async fn sessions_with_memories_replay_without_their_files() {
    let text = "It is 8080.<oai-mem-citation><citation_entries>\nMEMORY.md:3-5|note=[the port]\n\
        </citation_entries><rollout_ids>\none\n</rollout_ids></oai-mem-citation>";
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text(text)));
    let home = scripted_home(&model, "");
    let file = home.path().join("config.toml");
    let settings = fs::read_to_string(&file).unwrap() + "[features]\nmemories = true\n";
    fs::write(&file, settings).unwrap();
    let memories = home.path().join("memories");
    fs::create_dir(&memories).unwrap();
    let summary = format!("The port is 8080. {}", "é".repeat(20_000));
    fs::write(memories.join("memory_summary.md"), summary).unwrap();
    let mut server = recording_server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "hello").await;
    fs::write(memories.join("memory_summary.md"), "The port is 9090.").unwrap();
    server.run_turn(&thread, "and now?").await;
    let params = json!({ "threadId": thread });
    server.result("thread/compact/start", params).await;
    server.completed_turn().await;
    server.run_turn(&thread, "and after it?").await;
    let other = server.start_thread().await;
    server.run_turn(&other, "hello").await;
    server.finish().await.unwrap();
    fs::remove_dir_all(memories).unwrap();
    let sent = model.requests()[0].json().to_string();
    assert!(
        sent.contains("The port is 8080."),
        "the session has memories"
    );
    for bundle in bundles(home.path()).values() {
        bundle.reduce();
    }
}

#[tokio::test]
async fn replay_follows_pinned_texts() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("the summary")));
    let home = scripted_home(&model, "approval_policy = \"never\"");
    let mut server = recording_server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "one").await;
    let mut ids = Vec::new();
    for text in ["Never push to main.", "The port is 8431."] {
        let params = json!({ "threadId": thread, "text": text });
        let pinned = server.result("thread/pin/add", params).await;
        ids.push(pinned["pin"]["id"].clone());
    }
    for pin in [None, Some(&ids[0]), Some(&ids[1])] {
        if let Some(pin) = pin {
            let params = json!({ "threadId": thread, "pinId": pin });
            server.result("thread/pin/remove", params).await;
        }
        let params = json!({ "threadId": thread });
        server.result("thread/compact/start", params).await;
        server.completed_turn().await;
        server.run_turn(&thread, "go on").await;
    }
    server.finish().await.unwrap();
    let texts: Vec<usize> = (model.requests().iter())
        .map(|request| request.json().to_string().matches("<pinned_text>").count())
        .collect();
    assert_eq!(texts.last(), Some(&0), "{texts:?}");
    assert!(texts.contains(&2) && texts.contains(&1), "{texts:?}");
    for bundle in bundles(home.path()).values() {
        bundle.reduce();
    }
}
