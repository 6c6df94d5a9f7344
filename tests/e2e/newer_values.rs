//! Values of newer clients that come back: settings and marks over a restart, images and sound of messages, causes of
//! failures, reports as archives.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::newer_requests::ScriptedThread;
use crate::setup::{PROGRAM, experimental_server, scripted_home, untrusted_home};
use crate::soak::message;

#[tokio::test]
async fn settings_without_a_turn_survive_a_restart() {
    let model = ModelServer::start([message(0, "one")]).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let params = json!({ "threadSource": "user", "daybreakEnabled": true });
    let thread = server.start_thread_with(params).await;
    server.run_turn(&thread, "hi").await;
    let changed = json!({
        "threadId": thread,
        "model": "other",
        "effort": "high",
        "approvalPolicy": "on-request",
        "sandboxPolicy": { "type": "readOnly" },
        "serviceTier": "flex",
    });
    server.result("thread/settings/update", changed).await;
    let named = json!({ "threadId": thread, "name": "Named" });
    server.result("thread/name/set", named).await;
    server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    let params = json!({ "threadId": thread, "excludeTurns": true });
    let resumed = server.result("thread/resume", params.clone()).await;
    assert_eq!(
        [&resumed["model"], &resumed["reasoningEffort"]],
        ["other", "high"]
    );
    assert_eq!(
        [&resumed["approvalPolicy"], &resumed["serviceTier"]],
        ["on-request", "flex"]
    );
    assert_eq!(resumed["sandbox"]["type"], "readOnly");
    let shown = &resumed["thread"];
    assert_eq!([&shown["model"], &shown["threadSource"]], ["other", "user"]);
    assert_eq!(shown["daybreakEnabled"], true);
    // A fork has the name and the mark of its source.
    let forked = server.result("thread/fork", params).await;
    assert_eq!(forked["thread"]["name"], "Named");
    assert_eq!(forked["thread"]["daybreakEnabled"], true);
    let fork = json!({ "threadId": forked["thread"]["id"] });
    let read = server.result("thread/read", fork).await;
    assert_eq!(read["thread"]["name"], "Named");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turns_before_the_first_newer_request_count_as_unread() {
    let replies = (0..2).map(|number| message(number, "done"));
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let first = server.run_turn(&thread, "1").await["id"].take();
    server.run_turn(&thread, "2").await;
    let read = json!({ "threadId": thread });
    let shown = server.result("thread/read", read.clone()).await;
    let unread = json!({ "type": "turn", "turnId": first });
    assert_eq!(shown["readState"]["firstUnread"], unread);
    let params = json!({
        "threadId": thread,
        "operation": { "type": "read" },
        "expectedRevision": shown["readState"]["revision"],
    });
    server.result("thread/readState/update", params).await;
    let shown = server.result("thread/read", read).await;
    assert_eq!(shown["readState"]["firstUnread"], Value::Null);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn image_and_sound_details_round_trip() {
    let mut scripted = ScriptedThread::start([message(0, "seen")], json!({})).await;
    let pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let input = json!([
        { "type": "text", "text": "look", "text_elements": [] },
        { "type": "image", "url": pixel, "detail": "low" },
        { "type": "audio", "url": "data:audio/wav;base64,UklGRg==" },
        { "type": "localAudio", "path": "/sounds/a.wav" },
    ]);
    let started = scripted.call("turn/start", json!({ "input": input })).await;
    assert!(started["result"].is_object(), "{started}");
    scripted.server.wait_for("turn/completed").await.unwrap();
    let request = scripted.model.request(0).await.json();
    let text = request["input"].to_string();
    assert!(text.contains("\"detail\":\"low\""), "{text}");
    assert!(text.contains("/sounds/a.wav"), "{text}");
    let params = json!({ "itemsView": "full" });
    let listed = scripted.call("thread/turns/list", params).await;
    let shown = &listed["result"]["data"][0]["items"][0]["content"];
    assert_eq!(*shown, input);
    let id = scripted.id();
    let home = scripted.into_home().await;
    for release in ["0.117", "0.140"] {
        let arguments = ["--client-release", release];
        let mut older = AppServer::start_with(PROGRAM, home.path(), &arguments).unwrap();
        older.initialize_experimental().await;
        let params = json!({ "threadId": id, "includeTurns": true });
        let read = older.result("thread/read", params).await;
        let content = &read["thread"]["turns"][0]["items"][0]["content"];
        let texts = content.as_array().unwrap().iter();
        let texts = texts.filter(|part| part["text"] == "[audio]");
        assert_eq!(texts.count(), 2, "{release}: {content}");
        older.finish().await.unwrap();
    }
}

#[tokio::test]
async fn request_failure_cause_follows_the_client_release() {
    let unknown = json!({ "error": { "message": "none", "code": "model_not_found" } });
    let refused = json!({ "error": { "message": "no key" } });
    let status = |code: u16| json!({ "httpConnectionFailed": { "httpStatusCode": code } });
    let forbidden = json!({ "error": { "message": "no", "code": "cyber_policy" } });
    for (status, body, is_newer, expected) in [
        (404, &unknown, true, json!("modelNotFound")),
        (404, &unknown, false, json!("badRequest")),
        (400, &refused, true, json!("badRequest")),
        (400, &refused, false, json!("badRequest")),
        (401, &refused, true, json!("unauthorized")),
        (401, &refused, false, json!("unauthorized")),
        (403, &refused, true, status(403)),
        (403, &refused, false, status(403)),
        (400, &forbidden, true, json!("cyberPolicy")),
        (400, &forbidden, false, json!("other")),
    ] {
        let reply = HttpReply::json(status, body);
        let model = ModelServer::start([reply]).await.unwrap();
        let home = scripted_home(&model, "");
        let mut server = experimental_server(&home).await;
        let params = if is_newer {
            json!({ "threadSource": "user" })
        } else {
            json!({})
        };
        let thread = server.start_thread_with(params).await;
        let turn = server.run_turn(&thread, "hi").await;
        assert_eq!(turn["error"]["codexErrorInfo"], expected, "{turn}");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn a_report_is_saved_as_an_archive() {
    let mut scripted = ScriptedThread::start([], json!({})).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.zip");
    let params = json!({ "classification": "bug", "includeLogs": true, "savePath": path });
    let saved = scripted.server.result("feedback/save", params).await;
    assert_eq!(saved["savedPath"], json!(path));
    let archive = std::fs::read(&path).unwrap();
    assert_eq!(&archive[..4], b"PK\x03\x04");
    let names = String::from_utf8_lossy(&archive);
    assert!(names.contains("report.json") && names.contains("codex-logs.log"));
    let relative = json!({ "classification": "bug", "savePath": "report.zip" });
    let refused = scripted.server.refusal("feedback/save", relative).await;
    assert_eq!(refused.0, -32600);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn an_approval_against_the_reviewer_reaches_the_model() {
    let replies = (0..2).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    let event = json!({ "id": "call_1", "status": "denied", "action": { "command": "touch me" } });
    let approved = scripted
        .call(
            "thread/approveGuardianDeniedAction",
            json!({ "event": event }),
        )
        .await;
    assert_eq!(approved["result"], json!({}));
    scripted.turn(json!({})).await;
    let request = scripted.model.request(1).await.json().to_string();
    assert!(request.contains("touch me"), "{request}");
    let refused = scripted
        .call("thread/approveGuardianDeniedAction", json!({ "event": {} }))
        .await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("invalid Guardian denial event: missing field `id`"));
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn queued_messages_wait_after_an_interrupt_and_a_restart() {
    let model = ModelServer::start([message(0, "one"), message(1, "two")])
        .await
        .unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "hi").await;
    let read = server
        .result("thread/read", json!({ "threadId": thread }))
        .await;
    server.finish().await.unwrap();
    // The last turn of the file was interrupted.
    let file = read["thread"]["path"].as_str().unwrap();
    let mut text = std::fs::read_to_string(file).unwrap();
    text.push_str(
        &json!({
            "timestamp": "2026-01-01T00:00:00.000Z",
            "type": "event_msg",
            "payload": { "type": "turn_aborted", "turn_id": "x", "reason": "interrupted" },
        })
        .to_string(),
    );
    text.push('\n');
    std::fs::write(file, text).unwrap();

    let mut server = experimental_server(&home).await;
    let queued = json!({
        "threadId": thread,
        "input": [{ "type": "text", "text": "later" }],
        "clientUserMessageId": "q1",
    });
    server.result("thread/queue/add", queued).await;
    let params = json!({ "threadId": thread, "excludeTurns": true });
    server.result("thread/resume", params).await;
    let params = json!({ "threadId": thread });
    let listed = server.result("thread/queue/list", params.clone()).await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
    server.result("thread/queue/start", params).await;
    server.wait_for("turn/completed").await.unwrap();
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turn_without_input_sends_the_current_history() {
    let replies = (0..2).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({ "threadSource": "user" })).await;
    scripted.turn(json!({})).await;
    let params = json!({ "input": [], "responsesapiClientMetadata": { "k": "v", "turn_id": "x" } });
    let started = scripted.call("turn/start", params).await;
    let turn = started["result"]["turn"]["id"].as_str().unwrap().to_owned();
    scripted.server.wait_for("turn/completed").await.unwrap();
    let request = scripted.model.request(1).await.json();
    let metadata = request["client_metadata"]["x-codex-turn-metadata"].as_str();
    let metadata: Value = serde_json::from_str(metadata.unwrap()).unwrap();
    assert_eq!([&metadata["k"], &metadata["turn_id"]], ["v", &*turn]);
    let messages = |request: &Value| request["input"].to_string().matches("\"user\"").count();
    let first = scripted.model.request(0).await.json();
    assert_eq!(messages(&request), messages(&first));
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn fork_requests_name_the_source_thread() {
    let replies = (0..3).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({ "threadSource": "user" })).await;
    scripted.turn(json!({})).await;
    let source = scripted.id();
    let params = json!({ "threadId": source });
    let forked = scripted.server.result("thread/fork", params).await;
    let fork = forked["thread"]["id"].as_str().unwrap().to_owned();
    scripted.server.run_turn(&fork, "go on").await;
    let first = scripted.model.request(0).await;
    let metadata: Value =
        serde_json::from_str(first.header("x-codex-turn-metadata").unwrap()).unwrap();
    let own = [
        &metadata["session_id"],
        &metadata["thread_id"],
        &metadata["sandbox"],
    ];
    assert_eq!(own, [&source, &source, &json!("none")]);
    assert_eq!(metadata.get("forked_from_thread_id"), None);
    assert!(metadata["turn_id"].is_string());
    assert_eq!(metadata["root_turn_id"], metadata["turn_id"]);
    let of_fork = scripted.model.request(1).await;
    let metadata: Value =
        serde_json::from_str(of_fork.header("x-codex-turn-metadata").unwrap()).unwrap();
    assert_eq!(metadata["forked_from_thread_id"], source);
    assert_eq!(metadata["thread_id"], fork);
    // The key of the cache is that of the source.
    assert_eq!(
        of_fork.json()["client_metadata"],
        json!({ "thread_id": fork })
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn an_older_client_must_give_input() {
    let mut scripted = ScriptedThread::start([], json!({})).await;
    let refused = scripted.call("turn/start", json!({ "input": [] })).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    scripted.server.finish().await.unwrap();
}

/// What is told about the command of a turn until its end, when the approval is answered with this.
async fn command_events(decision: &str) -> Vec<(Value, Value)> {
    let arguments = json!({ "command": "touch made" });
    let call = sse::function_call("call-1", "shell_command", &arguments);
    let replies = [HttpReply::stream(&sse::items(&[call])), message(1, "done")];
    let model = ModelServer::start(replies).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = experimental_server(&home).await;
    let thread = server
        .start_thread_with(json!({ "threadSource": "user" }))
        .await;
    server.start_turn(&thread, "go").await;
    let mut told = Vec::new();
    loop {
        let message = server.receive().await.unwrap();
        let item = &message["params"]["item"];
        if message["method"] == "item/commandExecution/requestApproval" {
            told.push((message["method"].clone(), Value::Null));
            let answer = json!({ "id": message["id"], "result": { "decision": decision } });
            server.send(&answer).await.unwrap();
        } else if item["type"] == "commandExecution" && message["method"] != "turn/completed" {
            told.push((message["method"].clone(), item["status"].clone()));
        } else if message["method"] == "turn/completed" {
            break;
        }
    }
    server.finish().await.unwrap();
    // A refusal is told with the end, and again with the text for the model, as in 0.117.
    told.dedup();
    told
}

#[tokio::test]
async fn newer_clients_see_command_awaiting_approval() {
    for (decision, status) in [
        ("accept", "completed"),
        ("decline", "declined"),
        ("cancel", "declined"),
    ] {
        let told = command_events(decision).await;
        let expected = [
            ("item/started", json!("inProgress")),
            ("item/commandExecution/requestApproval", Value::Null),
            ("item/completed", json!(status)),
        ];
        let expected = expected.map(|(method, status)| (json!(method), status));
        assert_eq!(told, expected, "{decision}");
    }
}

#[tokio::test]
async fn newer_clients_get_relative_diffs() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\nEOF";
    for is_newer in [true, false] {
        let place = folder.path().join(is_newer.to_string());
        std::fs::create_dir(&place).unwrap();
        let call = sse::function_call("call_1", "shell_command", &json!({ "command": script }));
        let replies = [HttpReply::stream(&sse::items(&[call])), message(1, "done")];
        let mut params = json!({ "cwd": place });
        if is_newer {
            params["threadSource"] = json!("user");
        }
        let mut scripted = ScriptedThread::start(replies, params).await;
        let input = json!([{ "type": "text", "text": "hi" }]);
        scripted.call("turn/start", json!({ "input": input })).await;
        let mut told = Vec::new();
        while told
            .last()
            .is_none_or(|last: &Value| last["method"] != "turn/completed")
        {
            told.push(scripted.server.receive().await.unwrap());
        }
        let place_of = |method: &str| told.iter().position(|one| one["method"] == method);
        let (diff, tokens) = (
            place_of("turn/diff/updated").unwrap(),
            place_of("thread/tokenUsage/updated"),
        );
        // What the response used is told after its calls.
        assert!(!is_newer || tokens > Some(diff), "{told:?}");
        let diff = told[diff]["params"]["diff"].as_str().unwrap();
        let shown = if is_newer {
            "new.txt".to_owned()
        } else {
            place.join("new.txt").display().to_string()
        };
        let first = format!("diff --git a/{shown} b/{shown}\n");
        assert!(diff.starts_with(&first), "{diff}");
        scripted.server.finish().await.unwrap();
    }
}
