//! Turns whose server is killed: what is asked again, what goes on, and what is never done twice.

use std::fs;
use std::process::Command;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{experimental_server, scripted_home, server};
use crate::threads::message_reply;

const APPROVAL: &str = "item/commandExecution/requestApproval";
const ASKING_SETTINGS: &str = "approval_policy = \"untrusted\"\n[features]\nunified_exec = false\n\
                      default_mode_request_user_input = true";
const NEVER_SETTINGS: &str = "approval_policy = \"never\"\n[features]\nunified_exec = false";

/// A command that leaves a line in a file each time it runs.
const COUNTED_COMMAND: &str = "echo ran >> count; cat count";

struct Interrupted {
    model: ModelServer,
    home: TempDir,
    thread: String,
}

fn calls(calls: &[Value]) -> HttpReply {
    HttpReply::stream(&sse::items(calls))
}

fn runs(id: &str, script: &str) -> Value {
    sse::function_call(id, "shell_command", &json!({ "command": script }))
}

/// Starts a turn, waits for a message of this method, and returns it with the server.
async fn begun(
    replies: Vec<HttpReply>,
    settings: &str,
    until: &str,
) -> (Interrupted, AppServer, Value) {
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, settings);
    let mut server = experimental_server(&home).await;
    let thread = server
        .start_thread_with(json!({ "cwd": home.path() }))
        .await;
    server.start_turn(&thread, "go").await;
    let seen = server.wait_for(until).await.unwrap();
    let interrupted = Interrupted {
        model,
        home,
        thread,
    };
    (interrupted, server, seen)
}

impl Interrupted {
    /// Resumes the thread in a new server.
    async fn resumed(&self, how: Value) -> (AppServer, Value) {
        let mut server = experimental_server(&self.home).await;
        let mut params = json!({ "threadId": self.thread });
        if !how.is_null() {
            params["continueTurn"] = how;
        }
        let reply = server.call("thread/resume", params).await.unwrap();
        assert!(reply["error"].is_null(), "{reply}");
        (server, reply["result"].clone())
    }

    fn count(&self) -> usize {
        let text = fs::read_to_string(self.home.path().join("count")).unwrap_or_default();
        text.lines().count()
    }

    /// What the model was sent last.
    fn last_request(&self) -> String {
        let request = self.model.requests().pop().unwrap();
        String::from_utf8_lossy(&request.body).into_owned()
    }

    /// Kills the server once the file of the thread has all lines.
    async fn kill(&self, mut server: AppServer) {
        // A read waits for the file.
        self.turns(&mut server).await;
        server.kill().await.unwrap();
    }

    /// The turns of the thread, as (id, status).
    async fn turns(&self, server: &mut AppServer) -> Vec<(Value, Value)> {
        let read = json!({ "threadId": self.thread, "includeTurns": true });
        let read = server.call("thread/read", read).await.unwrap();
        let turns = read["result"]["thread"]["turns"].as_array().unwrap();
        let turn = |turn: &Value| (turn["id"].clone(), turn["status"].clone());
        turns.iter().map(turn).collect()
    }
}

async fn answer(server: &mut AppServer, question: &Value, result: Value) {
    let answer = json!({ "id": question["id"], "result": result });
    server.send(&answer).await.unwrap();
}

/// What a question says, without the time and the number of the request.
fn content(question: &Value) -> Value {
    let mut params = question["params"].clone();
    params.as_object_mut().unwrap().remove("startedAtMs");
    params
}

#[tokio::test]
async fn open_approval_is_asked_again_and_the_turn_continues() {
    let replies = vec![
        calls(&[runs("call-1", COUNTED_COMMAND)]),
        message_reply("m1", "done"),
    ];
    let (case, server, asked) = begun(replies, ASKING_SETTINGS, APPROVAL).await;
    server.kill().await.unwrap();
    let turn = asked["params"]["turnId"].clone();

    // Clients that do not ask for it see an interrupted turn and no question.
    let (mut server, resumed) = case.resumed(Value::Null).await;
    let interrupted = &resumed["interruptedTurn"];
    assert_eq!(interrupted["turnId"], turn);
    let waiting = json!([{ "itemId": "call-1", "tool": "shell_command" }]);
    assert_eq!(interrupted["waiting"], waiting);
    assert_eq!(interrupted["interrupted"], json!([]));
    assert_eq!(interrupted["isContinued"], false);
    assert_eq!(resumed["thread"]["turns"][0]["status"], "interrupted");
    let turns = case.turns(&mut server).await;
    assert_eq!(turns, [(turn.clone(), json!("interrupted"))]);
    server.kill().await.unwrap();

    let (mut server, resumed) = case.resumed(json!("ifWaiting")).await;
    assert_eq!(resumed["interruptedTurn"]["isContinued"], true);
    let started = server.wait_for("turn/started").await.unwrap();
    assert_eq!(started["params"]["turn"]["id"], turn);
    let item = server.wait_for("item/started").await.unwrap();
    assert_eq!(item["params"]["item"]["id"], "call-1");
    let again = server.wait_for(APPROVAL).await.unwrap();
    assert_eq!(content(&again), content(&asked));
    assert_eq!(case.count(), 0);
    answer(&mut server, &again, json!({ "decision": "accept" })).await;
    let completed = server.completed_turn().await;
    assert_eq!(completed["id"], turn);
    assert_eq!(completed["status"], "completed");
    assert_eq!(case.count(), 1);
    assert!(case.last_request().contains("ran"));
    let turns = case.turns(&mut server).await;
    assert_eq!(turns, [(turn, json!("completed"))]);
    server.finish().await.unwrap();

    let (server, resumed) = case.resumed(json!("always")).await;
    assert_eq!(resumed["interruptedTurn"], Value::Null);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn clients_of_stable_methods_see_an_interrupted_turn_alone() {
    let replies = vec![
        calls(&[runs("call-1", COUNTED_COMMAND)]),
        message_reply("m1", "fine"),
    ];
    let (case, first, asked) = begun(replies, ASKING_SETTINGS, APPROVAL).await;
    first.kill().await.unwrap();
    let mut client = server(&case.home).await;
    let resume = json!({ "threadId": case.thread });
    let resumed = client.call("thread/resume", resume).await.unwrap();
    assert!(resumed["result"].get("interruptedTurn").is_none());
    // Another turn takes its place.
    client.run_turn(&case.thread, "something else").await;
    assert!(case.last_request().contains("aborted"));
    client.finish().await.unwrap();
    let (mut server, resumed) = case.resumed(json!("always")).await;
    assert_eq!(resumed["interruptedTurn"], Value::Null);
    let params = json!({ "threadId": case.thread, "turnId": asked["params"]["turnId"] });
    let refused = server.call("turn/continue", params).await.unwrap();
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be continued"), "{message}");
    server.finish().await.unwrap();
    assert_eq!(case.count(), 0);
}

#[tokio::test]
async fn open_question_survives_client_exit_and_a_signal() {
    let replies = vec![
        calls(&[runs("call-1", COUNTED_COMMAND)]),
        message_reply("m1", "done"),
    ];
    let (case, server, asked) = begun(replies, ASKING_SETTINGS, APPROVAL).await;
    server.abandon().await.unwrap();
    let (mut server, _) = case.resumed(json!("ifWaiting")).await;
    let again = server.wait_for(APPROVAL).await.unwrap();
    assert_eq!(content(&again), content(&asked));
    let id = server.process_id().unwrap().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    server.finish().await.unwrap();
    let (mut server, _) = case.resumed(json!("ifWaiting")).await;
    let again = server.wait_for(APPROVAL).await.unwrap();
    answer(&mut server, &again, json!({ "decision": "decline" })).await;
    assert_eq!(server.completed_turn().await["status"], "completed");
    server.finish().await.unwrap();
    assert_eq!(case.count(), 0);
    assert!(case.last_request().contains("rejected by user"));
}

#[tokio::test]
async fn a_call_that_had_begun_is_never_made_again() {
    let begins = format!("{COUNTED_COMMAND}; sleep 600");
    for settings in [NEVER_SETTINGS, ASKING_SETTINGS] {
        let replies = vec![
            calls(&[runs("call-1", &begins)]),
            message_reply("m1", "so be it"),
        ];
        let until = match settings {
            NEVER_SETTINGS => "item/commandExecution/outputDelta",
            _ => APPROVAL,
        };
        let (case, mut server, seen) = begun(replies, settings, until).await;
        if settings == ASKING_SETTINGS {
            answer(&mut server, &seen, json!({ "decision": "accept" })).await;
            let output = server.wait_for("item/commandExecution/outputDelta").await;
            output.unwrap();
        }
        case.kill(server).await;
        let (mut server, resumed) = case.resumed(json!("ifWaiting")).await;
        let interrupted = &resumed["interruptedTurn"];
        assert_eq!(interrupted["waiting"], json!([]));
        assert_eq!(interrupted["interrupted"][0]["itemId"], "call-1");
        assert_eq!(interrupted["isContinued"], false);
        let turn = interrupted["turnId"].clone();
        let params = json!({ "threadId": case.thread, "turnId": turn });
        let continued = server.call("turn/continue", params).await.unwrap();
        assert_eq!(continued["result"]["turn"]["id"], turn);
        assert_eq!(server.completed_turn().await["status"], "completed");
        assert!(case.last_request().contains("The call was interrupted"));
        assert_eq!(case.count(), 1);
        let turns = case.turns(&mut server).await;
        assert_eq!(turns, [(turn, json!("completed"))]);
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn calls_before_pending_approval_survive_kill() {
    let two = [runs("call-1", "pwd"), runs("call-2", COUNTED_COMMAND)];
    let replies = vec![calls(&two), message_reply("m1", "done")];
    let (case, server, asked) = begun(replies, ASKING_SETTINGS, APPROVAL).await;
    assert_eq!(asked["params"]["itemId"], "call-2");
    server.kill().await.unwrap();
    let (mut server, resumed) = case.resumed(json!("ifWaiting")).await;
    let interrupted = &resumed["interruptedTurn"];
    assert_eq!(interrupted["interrupted"], json!([]), "{interrupted}");
    let again = server.wait_for(APPROVAL).await.unwrap();
    answer(&mut server, &again, json!({ "decision": "accept" })).await;
    assert_eq!(server.completed_turn().await["status"], "completed");
    let request = case.last_request();
    assert!(!request.contains("The call was interrupted"), "{request}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_model_that_was_writing_is_asked_again() {
    let mut message = sse::message("");
    message["id"] = "m1".into();
    let begun_message = [
        sse::created("r1"),
        sse::added(&message),
        sse::delta("half a sen"),
    ];
    let replies = vec![
        HttpReply::stream(&begun_message).stall(),
        message_reply("m2", "a whole sentence"),
    ];
    let (case, server, _) = begun(replies, NEVER_SETTINGS, "item/agentMessage/delta").await;
    case.kill(server).await;
    let (mut server, resumed) = case.resumed(json!("always")).await;
    assert_eq!(resumed["interruptedTurn"]["isContinued"], true);
    assert_eq!(server.completed_turn().await["status"], "completed");
    let request = case.last_request();
    assert!(!request.contains("half a sen") && request.contains("\"go\""));
    assert_eq!(case.turns(&mut server).await.len(), 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turn_killed_between_requests_continues() {
    let replies = vec![
        calls(&[runs("call-1", COUNTED_COMMAND)]),
        HttpReply::silence(),
        message_reply("m1", "done"),
    ];
    let (case, server, _) = begun(replies, NEVER_SETTINGS, "item/completed").await;
    case.model.request(1).await;
    case.kill(server).await;
    let (mut server, resumed) = case.resumed(json!("always")).await;
    let interrupted = &resumed["interruptedTurn"];
    assert_eq!(
        (&interrupted["waiting"], &interrupted["interrupted"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(server.completed_turn().await["status"], "completed");
    assert_eq!(case.count(), 1);
    assert!(case.last_request().contains("ran"));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turn_keeps_settings_without_override() {
    let replies = vec![
        calls(&[runs("call-1", COUNTED_COMMAND)]),
        message_reply("m1", "done"),
    ];
    let (case, server, _) = begun(replies, ASKING_SETTINGS, APPROVAL).await;
    server.kill().await.unwrap();
    // Meanwhile the configuration became careless. The turn still asks.
    let file = case.home.path().join("config.toml");
    let config = fs::read_to_string(&file).unwrap();
    fs::write(&file, config.replace("untrusted", "never")).unwrap();
    let (mut server, _) = case.resumed(json!("ifWaiting")).await;
    server.wait_for(APPROVAL).await.unwrap();
    server.kill().await.unwrap();
    assert_eq!(case.count(), 0);
    let mut server = experimental_server(&case.home).await;
    let params = json!({ "threadId": case.thread, "approvalPolicy": "never",
        "continueTurn": "ifWaiting" });
    server.call("thread/resume", params).await.unwrap();
    assert_eq!(server.completed_turn().await["status"], "completed");
    assert_eq!(case.count(), 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn fork_does_not_continue_source_turn() {
    let replies = vec![
        calls(&[runs("call-1", COUNTED_COMMAND)]),
        message_reply("m1", "done"),
    ];
    let (case, mut server, _) = begun(replies, ASKING_SETTINGS, APPROVAL).await;
    let forked = json!({ "threadId": case.thread });
    let forked = server.call("thread/fork", forked).await.unwrap();
    let fork = forked["result"]["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.kill().await.unwrap();
    let mut server = experimental_server(&case.home).await;
    let params = json!({ "threadId": fork, "continueTurn": "always" });
    let resumed = server.call("thread/resume", params).await.unwrap();
    assert_eq!(resumed["result"]["interruptedTurn"], Value::Null);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn fork_marks_unfinished_turn() {
    let replies = vec![
        calls(&[runs("call-1", COUNTED_COMMAND)]),
        message_reply("m1", "done"),
    ];
    let (case, server, _) = begun(replies, ASKING_SETTINGS, APPROVAL).await;
    server.kill().await.unwrap();
    let mut server = experimental_server(&case.home).await;
    let forked = json!({ "threadId": case.thread });
    let forked = server.result("thread/fork", forked).await["thread"].take();
    assert_eq!(forked["turns"][0]["status"], "interrupted");
    let turn = &forked["turns"][0]["id"];
    let stored = fs::read_to_string(forked["path"].as_str().unwrap()).unwrap();
    let lines = stored
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let end = &lines[lines.len() - 1]["payload"];
    let ended = (&end["type"], &end["turn_id"], &end["reason"]);
    assert_eq!(ended, (&json!("turn_aborted"), turn, &json!("interrupted")));
    let fork = forked["id"].as_str().unwrap();
    let last = server.run_turn(fork, "go on").await;
    assert_eq!(last["status"], "completed");
    let request = case.last_request();
    assert_eq!(request.matches("<turn_aborted>").count(), 1, "{request}");
    // What was said before is there once more.
    let read = json!({ "threadId": fork, "includeTurns": true });
    let read = server.result("thread/read", read).await;
    let turns = read["thread"]["turns"].as_array().unwrap();
    let statuses: Vec<_> = turns.iter().map(|turn| &turn["status"]).collect();
    assert_eq!(statuses, ["interrupted", "completed"]);
    // The source is as it was.
    let resumed = json!({ "threadId": case.thread });
    let resumed = server.result("thread/resume", resumed).await;
    assert!(resumed["interruptedTurn"].is_object(), "{resumed}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_question_of_the_model_is_asked_again() {
    let question = json!({ "questions": [{ "id": "q", "header": "Color", "question": "Which?",
        "options": [{ "label": "red", "description": "warm" },
            { "label": "blue", "description": "cold" }] }] });
    let asks = sse::function_call("call-1", "request_user_input", &question);
    let replies = vec![calls(&[asks]), message_reply("m1", "done")];
    let method = "item/tool/requestUserInput";
    let (case, server, asked) = begun(replies, ASKING_SETTINGS, method).await;
    server.kill().await.unwrap();
    let (mut server, _) = case.resumed(json!("ifWaiting")).await;
    let again = server.wait_for(method).await.unwrap();
    assert_eq!(content(&again), content(&asked));
    let red = json!({ "answers": { "q": { "answers": ["red"] } } });
    answer(&mut server, &again, red).await;
    assert_eq!(server.completed_turn().await["status"], "completed");
    let output = case.last_request();
    assert!(output.contains(r#"{\"answers\":[\"red\"]}"#), "{output}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn the_approval_of_a_patch_is_asked_again() {
    let patch = "*** Begin Patch\n*** Add File: new\n+text\n*** End Patch";
    let patch = runs("call-1", &format!("apply_patch <<'EOF'\n{patch}\nEOF"));
    let replies = vec![calls(&[patch]), message_reply("m1", "done")];
    let method = "item/fileChange/requestApproval";
    let (case, server, asked) = begun(replies, ASKING_SETTINGS, method).await;
    server.kill().await.unwrap();
    let (mut server, _) = case.resumed(json!("ifWaiting")).await;
    let again = server.wait_for(method).await.unwrap();
    assert_eq!(content(&again), content(&asked));
    assert!(!case.home.path().join("new").exists());
    answer(&mut server, &again, json!({ "decision": "accept" })).await;
    assert_eq!(server.completed_turn().await["status"], "completed");
    assert!(case.home.path().join("new").exists());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn agent_turn_continues_after_a_resume() {
    let task = json!({ "message": "make it", "agent_type": "worker" });
    let spawns = sse::function_call("call-1", "spawn_agent", &task);
    let replies = vec![calls(&[spawns]), HttpReply::silence()];
    let model = ModelServer::start(replies).await.unwrap();
    model.push_for_agent(calls(&[runs("call-2", COUNTED_COMMAND)]));
    let home = scripted_home(&model, ASKING_SETTINGS);
    let mut server = experimental_server(&home).await;
    let thread = server
        .start_thread_with(json!({ "cwd": home.path() }))
        .await;
    server.start_turn(&thread, "go").await;
    let asked = server.wait_for(APPROVAL).await.unwrap();
    let agent = asked["params"]["threadId"].as_str().unwrap().to_owned();
    assert_ne!(agent, thread);
    // The request of the parent, that of the agent, and that of the parent which gets no answer.
    model.request(2).await;
    let case = Interrupted {
        model,
        home,
        thread,
    };
    case.kill(server).await;
    let of_agent = Interrupted {
        thread: agent,
        ..case
    };
    let (mut server, resumed) = of_agent.resumed(json!("ifWaiting")).await;
    let waiting = json!([{ "itemId": "call-2", "tool": "shell_command" }]);
    assert_eq!(resumed["interruptedTurn"]["waiting"], waiting);
    let again = server.wait_for(APPROVAL).await.unwrap();
    assert_eq!(content(&again), content(&asked));
    of_agent.model.push(message_reply("m1", "made"));
    answer(&mut server, &again, json!({ "decision": "accept" })).await;
    assert_eq!(server.completed_turn().await["status"], "completed");
    assert_eq!(of_agent.count(), 1);

    // The turn of the parent goes on by itself, and knows that there is an agent.
    let case = Interrupted {
        thread: case.thread,
        ..of_agent
    };
    case.model.push(message_reply("m2", "done"));
    let params = json!({ "threadId": case.thread, "continueTurn": "always" });
    let resumed = server.call("thread/resume", params).await.unwrap();
    assert_eq!(resumed["result"]["interruptedTurn"]["isContinued"], true);
    assert_eq!(server.completed_turn().await["status"], "completed");
    assert!(case.last_request().contains("agent_id"));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn shown_message_survives_kill() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let home = scripted_home(&model, NEVER_SETTINGS);
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "first").await;
    for round in 0..8 {
        let text = format!("message {round}.");
        server.start_turn(&thread, &text).await;
        let is_shown = |message: &Value| {
            message["method"] == "item/completed" && message.to_string().contains(&text)
        };
        while !is_shown(&server.wait_for("item/completed").await.unwrap()) {}
        server.kill().await.unwrap();
        server = experimental_server(&home).await;
        let params = json!({ "threadId": thread, "includeTurns": true });
        let read = server.result("thread/read", params).await;
        assert!(read.to_string().contains(&text), "{text} {read}");
        let resumed = json!({ "threadId": thread });
        server.result("thread/resume", resumed).await;
    }
    server.finish().await.unwrap();
}
