//! Agents with paths that are ended for good, through the built server.

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};

use crate::setup::server;
use crate::teams::{answer, call_as, held, home, loaded, output_of, requests, spawn};

/// A call that comes once the latch is open.
fn held_call(latch: &Latch, name: &str, arguments: &Value) -> HttpReply {
    HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .wait(latch)
        .body(sse::frames(&sse::items(&[sse::function_call(
            name, name, arguments,
        )])))
}

/// A call about the agent that the root has started.
fn about_worker(id: &str, tool: &str) -> HttpReply {
    let mut arguments = json!({ "target": "worker" });
    if tool != "close_agent" {
        arguments["message"] = "more".into();
    }
    call_as(id, tool, &arguments)
}

/// Receives until the turns of so many agents have begun. Answers their threads.
async fn begun(server: &mut AppServer, root: &str, count: usize) -> Vec<String> {
    let mut threads = Vec::new();
    while threads.len() < count {
        let begun = server.wait_for("turn/started").await.unwrap();
        let thread = begun["params"]["threadId"].as_str().unwrap().to_owned();
        if thread != root {
            threads.push(thread);
        }
    }
    threads
}

#[tokio::test]
async fn closing_an_agent_closes_its_descendants() {
    let (never, may_close) = (Latch::new(), Latch::new());
    let target = json!({ "target": "worker" });
    let task = json!({ "task_name": "worker", "message": "x", "fork_turns": "none" });
    let list = || call_as("list", "list_agents", &json!({}));
    let model = ModelServer::start([
        spawn("worker"),
        held_call(&may_close, "close_agent", &target),
        about_worker("again", "close_agent"),
        about_worker("send", "send_message"),
        about_worker("follow", "followup_task"),
        call_as("spawn_again", "spawn_agent", &task),
        list(),
        answer("done"),
    ]);
    let model = model.await.unwrap();
    for reply in [spawn("helper"), held("one", &never), held("two", &never)] {
        model.push_for_agent(reply);
    }
    let home = home(&model, "");
    let mut first = server(&home).await;
    let root = first.start_thread().await;
    first.start_turn(&root, "go").await;
    let agents = begun(&mut first, &root, 2).await;
    // Both have a file once they ask the model.
    while requests(&model, true).len() < 3 {
        tokio::task::yield_now().await;
    }
    may_close.open();

    let mut ended = Vec::new();
    let turn = loop {
        let end = first.wait_for("turn/completed").await.unwrap()["params"].clone();
        if end["threadId"] == root.as_str() {
            break end["turn"].clone();
        }
        assert_eq!(end["turn"]["status"], "interrupted", "{end}");
        ended.push(end["threadId"].as_str().unwrap().to_owned());
    };
    ended.sort();
    let mut expected = agents.clone();
    expected.sort();
    assert_eq!(ended, expected, "both, before the call had its answer");
    while loaded(&mut first).await != [root.clone()] {}
    let shown = turn["items"].as_array().unwrap().iter();
    let shown: Vec<_> = shown.filter(|item| item["id"] == "close_agent").collect();
    assert_eq!(shown.len(), 1, "{turn}");
    assert_eq!(shown[0]["tool"], "closeAgent");
    assert_eq!(shown[0]["receiverThreadIds"], json!([agents[0]]));

    let status = json!({ "previous_status": "running" });
    assert_eq!(output_of(&model, "close_agent"), status);
    for call in ["again", "send", "follow"] {
        assert_eq!(output_of(&model, call), "agent `/root/worker` was closed");
    }
    let taken = "agent path `/root/worker` already exists";
    assert_eq!(output_of(&model, "spawn_again"), taken);
    let only_root = json!({ "agents": [{ "agent_name": "/root", "agent_status": "running",
        "last_task_message": "Main thread" }] });
    assert_eq!(output_of(&model, "list"), only_root);
    first.finish().await.unwrap();

    let mut second = server(&home).await;
    let resumed = second.call("thread/resume", json!({ "threadId": root }));
    resumed.await.unwrap();
    let helper = json!({ "target": "worker/helper", "message": "more" });
    for reply in [
        about_worker("later", "followup_task"),
        call_as("below", "followup_task", &helper),
        list(),
        answer("done"),
    ] {
        model.push(reply);
    }
    second.run_turn(&root, "go on").await;
    assert_eq!(
        output_of(&model, "later"),
        "agent `/root/worker` was closed"
    );
    let below = "agent `/root/worker/helper` was closed";
    assert_eq!(output_of(&model, "below"), below);
    assert_eq!(output_of(&model, "list"), only_root);

    // Clients are not bound by it.
    let own = second.call("thread/resume", json!({ "threadId": agents[0] }));
    own.await.unwrap();
    model.push(answer("as a thread of its own"));
    let turn = second.run_turn(&agents[0], "go on").await;
    assert_eq!(turn["status"], "completed", "{turn}");
    second.finish().await.unwrap();
}

#[tokio::test]
async fn agent_cannot_close_itself_or_its_ancestors() {
    let latch = Latch::new();
    let refused = [
        (
            "own",
            "/root/worker",
            "an agent can close neither itself nor one above it",
        ),
        ("root", "/root", "root is not a spawned agent"),
        (
            "unknown",
            "nobody",
            "live agent path `/root/worker/nobody` not found",
        ),
    ];
    let calls = refused
        .map(|(id, target, _)| sse::function_call(id, "close_agent", &json!({ "target": target })));
    let model = ModelServer::start([spawn("worker"), held("done", &latch)]).await;
    let model = model.unwrap();
    model.push_for_agent(HttpReply::stream(&sse::items(&calls)));
    model.push_for_agent(answer("made"));
    let home = home(&model, "");
    let mut server = server(&home).await;
    let root = server.start_thread().await;
    server.start_turn(&root, "go").await;
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "completed");
    let last = requests(&model, true).pop().unwrap()["input"].to_string();
    for (_, _, refusal) in refused {
        assert!(last.contains(refusal), "{refusal}: {last}");
    }
    latch.open();
    server.completed_turn().await;
    server.finish().await.unwrap();
}
