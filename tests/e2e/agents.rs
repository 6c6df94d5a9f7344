//! Agents through the built server: what clients are told of them, asked by them, and can read of them.

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app_server::shape;
use crate::exec::ExecFolders;
use crate::hooks::answer_with;
use crate::listeners::Listening;
use crate::setup::{experimental_server, server, untrusted_home};
use crate::trace_record::Traced;

const QUESTION: &str = "item/commandExecution/requestApproval";

pub(crate) fn call(name: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call(name, name, arguments)]))
}

fn text(text: &str) -> HttpReply {
    HttpReply::stream(&sse::text(text))
}

/// The same, once the latch is open.
fn held(text: &str, latch: &Latch) -> HttpReply {
    HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .wait(latch)
        .body(sse::frames(&sse::text(text)))
}

/// A model that starts an agent and says that it is done, and the agent is answered with this.
async fn model_with_agent(replies: impl IntoIterator<Item = HttpReply>) -> (ModelServer, TempDir) {
    let task = json!({ "message": "make it", "agent_type": "worker" });
    let model = ModelServer::start([call("spawn_agent", &task), text("started")]).await;
    let model = model.unwrap();
    for reply in replies {
        model.push_for_agent(reply);
    }
    let home = untrusted_home(&model);
    (model, home)
}

fn touch() -> HttpReply {
    call("shell_command", &json!({ "command": "touch made" }))
}

/// Receives until a turn of each of two threads has ended. Answers what came, with the ends in it.
pub(crate) async fn until_both_ended(server: &mut AppServer) -> Vec<Value> {
    let mut heard = Vec::new();
    let is_end = |message: &&Value| message["method"] == "turn/completed";
    while heard.iter().filter(is_end).count() < 2 {
        let message = server.receive().await.unwrap();
        if message["method"] == QUESTION {
            let answer = json!({ "id": message["id"], "result": { "decision": "accept" } });
            server.send(&answer).await.unwrap();
        }
        heard.push(message);
    }
    heard
}

pub(crate) async fn read(server: &mut AppServer, thread: &str) -> Value {
    let params = json!({ "threadId": thread, "includeTurns": true });
    let reply = server.call("thread/read", params).await.unwrap();
    reply["result"]["thread"].clone()
}

async fn listed(server: &mut AppServer, params: Value) -> Vec<Value> {
    let reply = server.call("thread/list", params).await.unwrap();
    reply["result"]["data"].as_array().unwrap().clone()
}

/// The thread of the agent that the turn has started.
fn agent_of(turn: &Value) -> String {
    let item = &turn["items"][1];
    assert_eq!(item["type"], "collabAgentToolCall", "{turn}");
    item["receiverThreadIds"][0].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn agent_thread_notifies_asks_and_can_be_read() {
    let (model, home) = model_with_agent([touch(), text("made")]).await;
    let mut server = server(&home).await;
    let parent = server.start_thread().await;
    server.start_turn(&parent, "go").await;
    let heard = until_both_ended(&mut server).await;
    let end_of = |is_parent: bool| {
        let is_it = |message: &&Value| {
            let of_parent = message["params"]["threadId"] == parent.as_str();
            message["method"] == "turn/completed" && of_parent == is_parent
        };
        &heard.iter().find(is_it).unwrap()["params"]
    };
    let turn = &end_of(true)["turn"];
    let agent = agent_of(turn);
    assert_eq!(end_of(false)["threadId"], agent.as_str());
    let item = &turn["items"][1];
    assert_eq!(item["tool"], "spawnAgent");
    assert_eq!(item["status"], "completed");
    assert_eq!(item["prompt"], "make it");
    assert_eq!(item["agentsStates"][&agent]["status"], "pendingInit");
    let asked = heard.iter().find(|message| message["method"] == QUESTION);
    assert_eq!(asked.unwrap()["params"]["threadId"], agent.as_str());
    assert_eq!(end_of(false)["turn"]["items"][1]["exitCode"], 0);

    // What was told live is what is stored.
    let stored = read(&mut server, &parent).await;
    assert_eq!(shape(&stored["turns"][0]), shape(turn));
    let stored = read(&mut server, &agent).await;
    // While it is loaded, it is part of the session of its root.
    assert_eq!(stored["sessionId"], *parent);
    assert_eq!(shape(&stored["turns"][0]), shape(&end_of(false)["turn"]));
    assert_eq!(stored["agentRole"], "worker");
    assert!(stored["agentNickname"].is_string());
    let origin = &stored["source"]["subAgent"]["thread_spawn"];
    assert_eq!(origin["parent_thread_id"], parent.as_str());

    // So it is for the model.
    let sent = model.requests().into_iter();
    let mut sent = sent.filter_map(|sent| {
        let metadata = sent.header("x-codex-turn-metadata").unwrap();
        let metadata: Value = serde_json::from_str(metadata).unwrap();
        metadata
            .get("parent_thread_id")
            .is_some()
            .then_some(metadata)
    });
    let metadata = sent.next().unwrap();
    let lineage = [
        "session_id",
        "parent_thread_id",
        "thread_id",
        "subagent_kind",
    ];
    assert_eq!(
        lineage.map(|name| metadata[name].as_str().unwrap()),
        [&*parent, &*parent, &*agent, "thread_spawn"]
    );
    assert_eq!(metadata["root_turn_id"], turn["id"]);

    // Lists of what people began do not have it.
    let ids = |threads: Vec<Value>| -> Vec<String> {
        let id = |thread: &Value| thread["id"].as_str().unwrap().to_owned();
        threads.iter().map(id).collect()
    };
    assert_eq!(ids(listed(&mut server, json!({})).await), [parent.as_str()]);
    let kinds = json!({ "sourceKinds": ["subAgentThreadSpawn"] });
    assert_eq!(ids(listed(&mut server, kinds).await), [agent.as_str()]);

    // The model hears of it with the next request, people do not.
    let mut again = sse::message("good");
    again["id"] = "another".into();
    model.push(HttpReply::stream(&sse::items(&[again])));
    server.run_turn(&parent, "and?").await;
    let request = model.requests().pop().unwrap().json();
    let told = request["input"].to_string();
    assert_eq!(told.matches("<subagent_notification>").count(), 1);
    let stored = read(&mut server, &parent).await;
    assert!(
        !stored["turns"]
            .to_string()
            .contains("subagent_notification")
    );
    server.finish().await.unwrap();

    // It has its parent after a restart too.
    let mut server = experimental_server(&home).await;
    assert_eq!(read(&mut server, &agent).await["parentThreadId"], *parent);
    let agents = listed(&mut server, json!({ "parentThreadId": parent })).await;
    assert_eq!(agents.len(), 1);
    assert_eq!(agents[0]["id"], *agent);
    assert_eq!(agents[0]["parentThreadId"], *parent);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn agents_end_with_unloaded_thread() {
    let (_model, home) = model_with_agent([HttpReply::silence()]).await;
    let mut server = server(&home).await;
    let parent = server.start_thread().await;
    let ended = server.run_turn(&parent, "go").await;
    let agent = agent_of(&ended);
    let loaded = server.call("thread/loaded/list", json!({})).await.unwrap();
    assert_eq!(loaded["result"]["data"].as_array().unwrap().len(), 2);
    let params = json!({ "threadId": parent });
    server.call("thread/unsubscribe", params).await.unwrap();
    let mut gone = Vec::new();
    while gone.len() < 2 {
        let changed = server.wait_for("thread/status/changed").await.unwrap();
        if changed["params"]["status"]["type"] == "notLoaded" {
            gone.push(changed["params"]["threadId"].as_str().unwrap().to_owned());
        }
    }
    assert!(gone.contains(&agent) && gone.contains(&parent));
    let loaded = server.call("thread/loaded/list", json!({})).await.unwrap();
    assert_eq!(loaded["result"]["data"], json!([]));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_server_that_ends_leaves_no_agent_at_work() {
    let (_model, home) = model_with_agent([HttpReply::silence()]).await;
    let mut server = server(&home).await;
    let parent = server.start_thread().await;
    server.run_turn(&parent, "go").await;
    // The observer holds it to the end of the agent's turn.
    server.finish().await.unwrap();
}

#[tokio::test]
async fn interrupting_a_wait_leaves_the_agent_alone() {
    let (model, home) = model_with_agent([HttpReply::silence()]).await;
    let mut server = server(&home).await;
    let parent = server.start_thread().await;
    server.start_turn(&parent, "go").await;
    let ended = server.wait_for("turn/completed").await.unwrap();
    let agent = agent_of(&ended["params"]["turn"]);
    model.push(call("wait_agent", &json!({ "targets": [agent] })));
    let started = server.start_turn(&parent, "wait").await;
    let turn = started["id"].clone();
    loop {
        let begun = server.wait_for("item/started").await.unwrap();
        if begun["params"]["item"]["tool"] == "wait" {
            break;
        }
    }
    let params = json!({ "threadId": parent, "turnId": turn });
    server.call("turn/interrupt", params).await.unwrap();
    let ended = server.wait_for("turn/completed").await.unwrap();
    assert_eq!(ended["params"]["turn"]["status"], "interrupted");
    assert_eq!(ended["params"]["threadId"], parent.as_str());
    let still = read(&mut server, &agent).await;
    assert_eq!(still["status"]["type"], "active");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn agent_approval_outlives_its_client() {
    let (_model, home) = model_with_agent([touch(), text("made")]).await;
    let server = Listening::start(home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
    let mut first = server.connect().await;
    let reply = first.call("thread/start", json!({})).await.unwrap();
    let parent = reply["result"]["thread"]["id"].clone();
    let mut second = server.connect().await;
    let input = json!([{ "type": "text", "text": "go" }]);
    let params = json!({ "threadId": parent, "input": input });
    first.call("turn/start", params).await.unwrap();
    let question = first.wait_for(QUESTION).await.unwrap();
    let agent = question["params"]["threadId"].clone();
    assert_ne!(agent, parent);
    // Both hear the parent, so that it stays when the first one goes.
    let params = json!({ "threadId": parent });
    second.call("thread/resume", params.clone()).await.unwrap();
    for thread in [&parent, &agent] {
        let params = json!({ "threadId": thread });
        first.call("thread/unsubscribe", params).await.unwrap();
    }
    second.call("thread/resume", params).await.unwrap();
    let again = second.wait_for(QUESTION).await.unwrap();
    assert_eq!(again, question);
    let params = json!({ "threadId": agent });
    second.call("thread/resume", params).await.unwrap();
    let answer = json!({ "id": question["id"], "result": { "decision": "accept" } });
    second.send(&answer).await.unwrap();
    loop {
        let ended = second.wait_for("turn/completed").await.unwrap();
        if ended["params"]["threadId"] == agent {
            assert_eq!(ended["params"]["turn"]["status"], "completed");
            break;
        }
    }
}

#[tokio::test]
async fn bundle_of_parent_has_agent() {
    let mut traced = Traced::start(&[]).await;
    let parent = traced.thread().await;
    let task = json!({ "message": "make it" });
    traced.model.push(call("spawn_agent", &task));
    traced.model.push(text("started"));
    let parent_ended = Latch::new();
    traced.model.push_for_agent(held("made", &parent_ended));
    traced.begin(&parent).await;
    let end = traced.server.wait_for("turn/completed").await.unwrap();
    assert_eq!(end["params"]["threadId"], parent);
    parent_ended.open();
    let end = traced.server.wait_for("turn/completed").await.unwrap();
    let agent = end["params"]["threadId"].as_str().unwrap().to_owned();
    assert_ne!(agent, parent);
    let (bundles, _home) = traced.finish().await;
    assert_eq!(bundles.len(), 1, "one bundle for both");
    let state = bundles[&parent].reduce();
    let origin = &state["threads"][&agent]["origin"];
    assert_eq!(origin["type"], "spawned");
    assert_eq!(origin["parent_thread_id"], parent.as_str());
    let edges = state["interaction_edges"].as_object().unwrap();
    let spawned = format!("edge:spawn:{parent}:{agent}");
    assert_eq!(edges[&spawned]["kind"], "spawn_agent");
}

/// Whether the notice of an agent still reaches the ending turn of its parent is different every time, and recorded.
#[tokio::test]
async fn agents_ended_by_parent_turns_replay() {
    let mut traced = Traced::start(&[]).await;
    let parent = traced.thread().await;
    for round in 0..4 {
        let task = json!({ "message": "make it" });
        let spawn = sse::function_call(&format!("c{round}"), "spawn_agent", &task);
        traced.model.push(HttpReply::stream(&sse::items(&[spawn])));
        traced.model.push(answer_with(&format!("started {round}")));
        traced.model.push_for_agent(answer_with("made"));
        // To the request with the notice, if there is one.
        let noticed = answer_with(&format!("noticed {round}"));
        traced.model.always(noticed);
        traced.begin(&parent).await;
        until_both_ended(&mut traced.server).await;
    }
    let (bundles, _home) = traced.finish().await;
    bundles[&parent].replay();
}

#[tokio::test]
async fn user_role_sets_agent_instructions_and_model() {
    let task = json!({ "message": "judge it", "agent_type": "critic" });
    let model = ModelServer::start([call("spawn_agent", &task), text("started")]).await;
    let model = model.unwrap();
    model.push_for_agent(text("bad"));
    let home = untrusted_home(&model);
    let folder = home.path().join("agents/more");
    std::fs::create_dir_all(&folder).unwrap();
    let role = "name = 'critic'\ndescription = 'Judges.'\ndeveloper_instructions = 'Be harsh.'\n\
                model = 'judge'\nnickname_candidates = ['Ada']\nsandbox_mode = 'read-only'\n";
    std::fs::write(folder.join("critic.toml"), role).unwrap();
    std::fs::write(folder.join("half.toml"), "name = 'half'").unwrap();
    let mut server = server(&home).await;
    let parent = server.start_thread().await;
    server.start_turn(&parent, "go").await;
    let heard = until_both_ended(&mut server).await;
    let ended = |message: &&Value| {
        message["method"] == "turn/completed" && message["params"]["threadId"] == parent.as_str()
    };
    let turn = &heard.iter().find(ended).unwrap()["params"]["turn"];
    assert_eq!(turn["items"][1]["model"], "judge");
    let stored = read(&mut server, &agent_of(turn)).await;
    assert_eq!(stored["agentRole"], "critic");
    assert_eq!(stored["agentNickname"], "Ada");
    let requests: Vec<Value> = model.requests().iter().map(|sent| sent.json()).collect();
    let tools = requests[0]["tools"].to_string();
    assert!(tools.contains("critic: Judges. Works with the model judge."));
    assert!(!tools.contains("half:"), "what is no role is not offered");
    let asked = requests.iter().find(|request| request["model"] == "judge");
    assert!(asked.unwrap()["input"].to_string().contains("Be harsh."));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn notifier_script_gets_only_its_own_turn() {
    let latch = Latch::new();
    let held = held("mine", &latch);
    let task = json!({ "message": "make it" });
    let model = ModelServer::start([call("spawn_agent", &task), held]).await;
    let model = model.unwrap();
    let plan = json!({ "plan": [{ "step": "look", "status": "in_progress" }] });
    let works = [
        sse::message("theirs"),
        sse::function_call("plan", "update_plan", &plan),
    ];
    model.push_for_agent(HttpReply::stream(&sse::items(&works)));
    model.push_for_agent(text("theirs again"));
    let place = ExecFolders::with_model(&model);
    let running = tokio::task::spawn_blocking(move || place.exec(&["--json", "go"]));
    // Two of the thread and two of the agent, which has said something by the second one.
    model.request(3).await;
    latch.open();
    let output = String::from_utf8(running.await.unwrap().stdout).unwrap();
    assert!(output.contains("mine"), "{output}");
    assert!(!output.contains("theirs"), "{output}");
}
