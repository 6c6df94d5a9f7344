//! Agents with paths, through the built server: what models and clients are told of them.

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{call, read, until_both_ended};
use crate::app_server::shape;
use crate::newer_threads::newer_server;
use crate::setup::{home_with, numbered, scripted_config, server, server_in};
use crate::trace_record::Traced;

const FEATURES: &str = "\n[features.multi_agent_v2]\nenabled = true\n";

/// A home for this model, with these settings of agents besides.
pub(crate) fn home(model: &ModelServer, settings: &str) -> TempDir {
    let policy = "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"";
    home_with(&(scripted_config(model, policy) + FEATURES + settings))
}

/// A call with an id of its own.
pub(crate) fn call_as(id: &str, name: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call(id, name, arguments)]))
}

pub(crate) fn spawn(name: &str) -> HttpReply {
    let task =
        json!({ "task_name": name, "message": format!("task of {name}"), "fork_turns": "none" });
    call_as(&format!("spawn_{name}"), "spawn_agent", &task)
}

fn wait(id: &str) -> HttpReply {
    call_as(id, "wait_agent", &json!({}))
}

/// The requests of the root, or those of agents.
pub(crate) fn requests(model: &ModelServer, of_agents: bool) -> Vec<Value> {
    let sent = model.requests().into_iter();
    let sent = sent.filter(|request| request.header("x-openai-subagent").is_some() == of_agents);
    sent.map(|request| request.json()).collect()
}

/// The output of a call in the last request of the root.
pub(crate) fn output_of(model: &ModelServer, call: &str) -> Value {
    let last = requests(model, false).pop().unwrap();
    let items = last["input"].as_array().unwrap();
    let is_it = |item: &&Value| item["type"] == "function_call_output" && item["call_id"] == call;
    let text = items.iter().find(is_it).unwrap()["output"]
        .as_str()
        .unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn messages(request: &Value) -> Vec<Value> {
    let items = request["input"].as_array().unwrap().iter();
    let messages = items.filter(|item| item["type"] == "agent_message");
    messages.cloned().collect()
}

fn written(text: &str) -> Value {
    json!({ "type": "agent_message", "author": "/root", "recipient": "/root/worker",
        "content": [{ "type": "encrypted_content", "encrypted_content": text }] })
}

fn result(status: &Value) -> Value {
    let status = json!({ "agent_path": "/root/worker", "status": status });
    let text = format!("<subagent_notification>\n{status}\n</subagent_notification>");
    json!({ "type": "agent_message", "author": "/root/worker", "recipient": "/root",
        "content": [{ "type": "input_text", "text": text }] })
}

/// The threads that are loaded.
pub(crate) async fn loaded(server: &mut AppServer) -> Vec<String> {
    let listed = server.call("thread/loaded/list", json!({})).await.unwrap();
    serde_json::from_value(listed["result"]["data"].clone()).unwrap()
}

async fn until_ended(server: &mut AppServer, thread: &str) -> Value {
    loop {
        let ended = server.wait_for("turn/completed").await.unwrap();
        if ended["params"]["threadId"] == thread {
            return ended["params"]["turn"].clone();
        }
    }
}

pub(crate) fn answer(said: &str) -> HttpReply {
    HttpReply::stream(&numbered(sse::text(said)))
}

/// An answer that comes once the latch is open.
pub(crate) fn held(said: &str, latch: &Latch) -> HttpReply {
    HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .wait(latch)
        .body(sse::frames(&numbered(sse::text(said))))
}

/// An agent that answers once the root waits for it.
fn push_held_reply(model: &ModelServer, said: &str) -> Latch {
    let latch = Latch::new();
    model.push_for_agent(held(said, &latch));
    latch
}

/// Lets the agent answer once the root waits, and receives until the turns of both have ended.
async fn answered(server: &mut AppServer, latch: &Latch) -> Vec<Value> {
    loop {
        let begun = server.wait_for("item/started").await.unwrap();
        if begun["params"]["item"]["tool"] == "wait" {
            break;
        }
    }
    latch.open();
    until_both_ended(server).await
}

#[tokio::test]
async fn an_agent_gets_its_task_and_reports_as_messages() {
    let model = ModelServer::start([spawn("worker"), wait("wait"), answer("done")]).await;
    let model = model.unwrap();
    let latch = push_held_reply(&model, "made");
    let home = home(&model, "");
    let mut server = newer_server(&home).await;
    let root = server.start_thread().await;
    server.start_turn(&root, "go").await;
    let heard = answered(&mut server, &latch).await;
    let is_end = |message: &&Value| {
        message["method"] == "turn/completed" && message["params"]["threadId"] == root.as_str()
    };
    let turn = &heard.iter().find(is_end).unwrap()["params"]["turn"];

    let asked = requests(&model, true).pop().unwrap();
    assert_eq!(messages(&asked), [written("task of worker")]);
    let told = asked["input"].to_string();
    assert!(told.contains("You are `/root/worker`"), "{told}");
    assert!(!told.contains("\"go\""), "nothing was forked");
    let last = requests(&model, false).pop().unwrap();
    assert_eq!(messages(&last), [result(&json!({ "completed": "made" }))]);
    assert_eq!(
        output_of(&model, "spawn_worker"),
        json!({ "task_name": "/root/worker" })
    );
    let waited = json!({ "message": "Wait completed.", "timed_out": false });
    assert_eq!(output_of(&model, "wait"), waited);

    // What clients are told, live and later.
    let items = turn["items"].as_array().unwrap();
    let kinds: Vec<_> = items
        .iter()
        .map(|item| (&item["type"], &item["kind"]))
        .collect();
    assert_eq!(
        json!(kinds),
        json!([
            ["userMessage", null],
            ["subAgentActivity", "started"],
            ["subAgentActivity", "completed"],
            ["collabAgentToolCall", null],
            ["agentMessage", null],
        ])
    );
    assert_eq!(items[1]["agentPath"], "/root/worker");
    assert_eq!(items[1]["model"], "scripted");
    let agent = items[1]["agentThreadId"].as_str().unwrap().to_owned();
    let stored = read(&mut server, &root).await;
    assert_eq!(shape(&stored["turns"][0]), shape(turn));
    let stored = read(&mut server, &agent).await;
    let origin = &stored["source"]["subAgent"]["thread_spawn"];
    assert_eq!(origin["agent_path"], "/root/worker");

    // Only other agents give it input.
    let input = json!([{ "type": "text", "text": "go" }]);
    let params = json!({ "threadId": agent, "input": input });
    let refused = server.call("turn/start", params).await.unwrap();
    let refusal = "direct app-server input is not allowed for multi-agent v2 sub-agents";
    assert_eq!(refused["error"]["message"], refusal);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn oldest_clients_see_agent_activity_as_tool_calls() {
    let model = ModelServer::start([spawn("worker"), wait("wait"), answer("done")]).await;
    let model = model.unwrap();
    let latch = push_held_reply(&model, "made");
    let home = home(&model, "");
    let mut server = server(&home).await;
    let root = server.start_thread().await;
    server.start_turn(&root, "go").await;
    let heard = answered(&mut server, &latch).await;
    let is_end = |message: &&Value| {
        message["method"] == "turn/completed" && message["params"]["threadId"] == root.as_str()
    };
    let turn = &heard.iter().find(is_end).unwrap()["params"]["turn"];
    let items = turn["items"].as_array().unwrap();
    let kinds: Vec<_> = items
        .iter()
        .map(|item| (&item["type"], &item["tool"]))
        .collect();
    assert_eq!(
        json!(kinds),
        json!([
            ["userMessage", null],
            ["collabAgentToolCall", "spawnAgent"],
            ["collabAgentToolCall", "wait"],
            ["collabAgentToolCall", "wait"],
            ["agentMessage", null],
        ])
    );
    assert_eq!(items[1]["senderThreadId"], root.as_str());
    let stored = read(&mut server, &root).await;
    assert_eq!(shape(&stored["turns"][0]), shape(turn));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn restarted_agent_has_its_history() {
    let model = ModelServer::start([spawn("worker"), wait("wait"), answer("done")]).await;
    let model = model.unwrap();
    let latch = push_held_reply(&model, "made");
    let home = home(&model, "");
    let mut first = server(&home).await;
    let root = first.start_thread().await;
    first.start_turn(&root, "go").await;
    answered(&mut first, &latch).await;
    first.finish().await.unwrap();

    let task = json!({ "target": "worker", "message": "more" });
    let top = json!({ "path_prefix": "/root/worker" });
    for reply in [
        call_as("list", "list_agents", &top),
        call_as("follow", "followup_task", &task),
        wait("again"),
        answer("done"),
    ] {
        model.push(reply);
    }
    let latch = push_held_reply(&model, "made more");
    let mut second = server(&home).await;
    let params = json!({ "threadId": root });
    second.call("thread/resume", params).await.unwrap();
    second.start_turn(&root, "go on").await;
    answered(&mut second, &latch).await;
    let listed = json!({ "agents": [{ "agent_name": "/root/worker",
        "agent_status": { "completed": "made" }, "last_task_message": null }] });
    assert_eq!(output_of(&model, "list"), listed);
    assert_eq!(output_of(&model, "follow"), "");
    let asked = requests(&model, true).pop().unwrap();
    assert_eq!(
        messages(&asked),
        [written("task of worker"), written("more")]
    );
    assert!(asked["input"].to_string().contains("\"made\""));
    let last = requests(&model, false).pop().unwrap();
    assert_eq!(
        messages(&last)[1],
        result(&json!({ "completed": "made more" }))
    );
    second.finish().await.unwrap();
}

#[tokio::test]
async fn agents_that_are_idle_make_room_and_come_back() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home(&model, "max_concurrent_threads_per_session = 2\n");
    let mut server = server(&home).await;
    let root = server.start_thread().await;
    // One works: there is no room.
    let latch = Latch::new();
    model.push_for_agent(held("one", &latch));
    for reply in [spawn("one"), spawn("two"), answer("full")] {
        model.push(reply);
    }
    let ended = server.run_turn(&root, "go").await;
    let first = ended["items"][1]["receiverThreadIds"][0]
        .as_str()
        .unwrap()
        .to_owned();
    let full = "collab spawn failed: agent thread limit reached";
    assert_eq!(output_of(&model, "spawn_two"), full);
    // It is idle: it makes room for another one, and that one for it.
    latch.open();
    until_ended(&mut server, &first).await;
    let latch = push_held_reply(&model, "two");
    for reply in [spawn("two"), wait("wait"), answer("room")] {
        model.push(reply);
    }
    server.start_turn(&root, "again").await;
    answered(&mut server, &latch).await;
    assert_eq!(output_of(&model, "wait")["timed_out"], false);
    // The session that makes room ends beside the others.
    while loaded(&mut server).await.contains(&first) {}
    let latch = push_held_reply(&model, "one again");
    let task = json!({ "target": "/root/one", "message": "more" });
    for reply in [
        call_as("follow", "followup_task", &task),
        wait("last"),
        answer("done"),
    ] {
        model.push(reply);
    }
    server.start_turn(&root, "once more").await;
    answered(&mut server, &latch).await;
    assert_eq!(output_of(&model, "follow"), "");
    let asked = requests(&model, true).pop().unwrap();
    assert_eq!(messages(&asked).len(), 2, "its history is there");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn agent_inherits_messages_without_tool_calls() {
    let plan = json!({ "plan": [{ "step": "look", "status": "in_progress" }] });
    let task = json!({ "task_name": "worker", "message": "job" });
    let model = ModelServer::start([
        call("update_plan", &plan),
        answer("first answer"),
        call("spawn_agent", &task),
        wait("wait"),
        answer("done"),
    ]);
    let model = model.await.unwrap();
    let latch = push_held_reply(&model, "made");
    let home = home(&model, "");
    let mut server = server(&home).await;
    let root = server.start_thread().await;
    server.run_turn(&root, "question").await;
    server.start_turn(&root, "delegate it").await;
    answered(&mut server, &latch).await;
    let asked = requests(&model, true).pop().unwrap();
    let told = asked["input"].to_string();
    for kept in [
        "question",
        "first answer",
        "delegate it",
        "You are `/root/worker`",
    ] {
        assert!(told.contains(kept), "{kept}: {told}");
    }
    for gone in ["update_plan", "function_call", "You are `/root`"] {
        assert!(!told.contains(gone), "{gone}: {told}");
    }
    assert_eq!(told.matches("<environment_context>").count(), 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn calls_that_make_no_sense_are_refused() {
    let calls = [
        (
            "spawn_agent",
            json!({ "task_name": "root", "message": "x" }),
            "agent_name `root` is reserved",
        ),
        (
            "spawn_agent",
            json!({ "task_name": "a/b", "message": "x" }),
            "agent_name must not contain `/`",
        ),
        (
            "spawn_agent",
            json!({ "task_name": "a", "message": " " }),
            "Empty message can't be sent to an agent",
        ),
        (
            "spawn_agent",
            json!({ "task_name": "a", "message": "x", "fork_turns": "0" }),
            "fork_turns must be `none`, `all`, or a positive integer string",
        ),
        (
            "send_message",
            json!({ "target": "nobody", "message": "x" }),
            "live agent path `/root/nobody` not found",
        ),
        (
            "followup_task",
            json!({ "target": "/root", "message": "x" }),
            "Follow-up tasks can't target the root agent",
        ),
        (
            "wait_agent",
            json!({ "timeout_ms": 3_600_001 }),
            "timeout_ms must be at most 3600000",
        ),
        (
            "interrupt_agent",
            json!({ "target": "nobody" }),
            "live agent path `/root/nobody` not found",
        ),
    ];
    let items: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments, _))| sse::function_call(&format!("c{at}"), name, arguments))
        .collect();
    let model = ModelServer::start([HttpReply::stream(&sse::items(&items)), answer("done")]).await;
    let model = model.unwrap();
    let home = home(&model, "");
    let mut server = server(&home).await;
    let root = server.start_thread().await;
    server.run_turn(&root, "go").await;
    for (at, (name, _, error)) in calls.iter().enumerate() {
        assert_eq!(output_of(&model, &format!("c{at}")), *error, "{name}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn the_tools_may_be_in_a_namespace() {
    let task = json!({ "task_name": "worker", "message": "job", "fork_turns": "none" });
    let mut spawn = sse::function_call("spawn", "spawn_agent", &task);
    spawn["namespace"] = "team".into();
    let mut waits = sse::function_call("wait", "wait_agent", &json!({}));
    waits["namespace"] = "team".into();
    let model = ModelServer::start([
        HttpReply::stream(&sse::items(&[spawn])),
        HttpReply::stream(&sse::items(&[waits])),
        answer("done"),
    ]);
    let model = model.await.unwrap();
    let latch = push_held_reply(&model, "made");
    let home = home(
        &model,
        "tool_namespace = \"team\"\nhide_spawn_agent_metadata = false\n",
    );
    let mut server = server(&home).await;
    let root = server.start_thread().await;
    server.start_turn(&root, "go").await;
    answered(&mut server, &latch).await;
    let output = output_of(&model, "spawn");
    assert_eq!(output["task_name"], "/root/worker");
    assert!(output["nickname"].is_string());
    let tools = requests(&model, false)[0]["tools"].clone();
    let tools = tools.as_array().unwrap().iter();
    let names: Vec<_> = tools
        .filter(|tool| tool["name"] == "team")
        .cloned()
        .collect();
    let names = names[0]["tools"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected =
        "spawn_agent send_message followup_task wait_agent interrupt_agent list_agents close_agent";
    assert_eq!(names.join(" "), expected);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn messages_and_results_are_edges_of_the_trace() {
    let features = "multi_agent_v2 = true";
    let mut traced = Traced::start_with_features("Scripted", "", features, &[]).await;
    let root = traced.thread().await;
    let target = json!({ "target": "worker" });
    for reply in [
        spawn("worker"),
        wait("wait"),
        call_as("close", "close_agent", &target),
        answer("done"),
    ] {
        traced.model.push(reply);
    }
    let latch = push_held_reply(&traced.model, "made");
    traced.begin(&root).await;
    answered(&mut traced.server, &latch).await;
    let (bundles, _home) = traced.finish().await;
    assert_eq!(bundles.len(), 1, "one bundle for both");
    let state = bundles[&root].reduce();
    let threads = state["threads"].as_object().unwrap();
    let agent = threads.keys().find(|id| **id != root).unwrap();
    assert_eq!(threads[agent]["agent_path"], "/root/worker");
    let edges = state["interaction_edges"].as_object().unwrap();
    let spawned = &edges[&format!("edge:spawn:{root}:{agent}")];
    assert_eq!(spawned["target"]["type"], "conversation_item", "{spawned}");
    let result = edges.values().find(|edge| edge["kind"] == "agent_result");
    let result = result.unwrap();
    assert_eq!(result["target"]["type"], "conversation_item", "{result}");
    let closed = edges.values().find(|edge| edge["kind"] == "close_agent");
    let closed = closed.unwrap();
    assert_eq!(closed["target"]["thread_id"], agent.as_str(), "{closed}");
    bundles[&root].replay();
}

#[tokio::test]
async fn a_closed_agent_comes_back_with_its_own_agents() {
    let task = json!({ "message": "make it" });
    let model = ModelServer::start([call("spawn_agent", &task), answer("started")]).await;
    let model = model.unwrap();
    model.push_for_agent(call("spawn_agent", &task));
    for _ in 0..3 {
        model.push_for_agent(answer("ok"));
    }
    model.always(answer("noted"));
    let policy = "sandbox_mode = \"danger-full-access\"\n[agents]\nmax_depth = 2";
    let home = home_with(&scripted_config(&model, policy));
    let mut server = server_in(&home, &[]).await;
    let root = server.start_thread().await;
    server.start_turn(&root, "go").await;
    let mut ended = Vec::new();
    while ended.len() < 3 {
        let end = server.wait_for("turn/completed").await.unwrap();
        ended.push(end["params"].clone());
    }
    let of_root = ended.iter().find(|end| end["threadId"] == root.as_str());
    let agent = of_root.unwrap()["turn"]["items"][1]["receiverThreadIds"][0].clone();
    for reply in [
        call("close_agent", &json!({ "target": agent })),
        call("resume_agent", &json!({ "id": agent })),
        answer("back"),
    ] {
        model.push(reply);
    }
    let is_of_agents = |end: &&Value| end["threadId"] != root.as_str() && end["threadId"] != agent;
    let own_agent = ended.iter().find(is_of_agents).unwrap()["threadId"].clone();
    server.start_turn(&root, "close it and resume it").await;
    let (mut is_back, mut is_over) = (false, false);
    while !is_back || !is_over {
        let message = server.receive().await.unwrap();
        let params = &message["params"];
        let is_idle = params["status"]["type"] == "idle";
        is_back |= is_idle && params["threadId"] == own_agent;
        is_over |= message["method"] == "turn/completed";
    }
    server.finish().await.unwrap();
}
