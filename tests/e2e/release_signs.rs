//! A client that shows in the middle of a turn that it is newer than release 0.117, and one whose release is said.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::setup::{PROGRAM, experimental_server, home_with, untrusted_home};

const APPROVAL: &str = "item/commandExecution/requestApproval";

/// Two turns of a thread, each with a command that is approved and a message.
async fn model() -> ModelServer {
    let arguments = json!({ "cmd": "touch made" });
    let turn = |number: usize| {
        let call = sse::function_call(&format!("call-{number}"), "exec_command", &arguments);
        let mut message = sse::message("done");
        message["id"] = json!(format!("message-{number}"));
        [call, message].map(|item| HttpReply::stream(&sse::items(&[item])))
    };
    ModelServer::start([turn(1), turn(2)].concat())
        .await
        .unwrap()
}

/// A thread whose commands begin after their approval for clients of 0.117, and before it for newer ones.
async fn thread(server: &mut AppServer) -> String {
    let params = json!({ "config": { "features.unified_exec": true } });
    server.start_thread_with(params).await
}

/// Plays a turn. This many messages after its begin the client sends something that release 0.117 does not know. Returns what was
/// told about the command, and the number of messages.
async fn play(
    server: &mut AppServer,
    thread: &str,
    sign_after: Option<usize>,
) -> (Vec<String>, usize) {
    let mut told = Vec::new();
    let mut count = 0;
    let params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] });
    server.begin("turn/start", params).await.unwrap();
    server.wait_for("turn/started").await.unwrap();
    loop {
        if sign_after == Some(count) {
            let params = json!({ "threadId": thread });
            server.begin("thread/goal/get", params).await.unwrap();
        }
        let message = server.receive().await.unwrap();
        count += 1;
        let method = message["method"].as_str().unwrap_or_default();
        if method == APPROVAL {
            let answer = json!({ "id": message["id"], "result": { "decision": "accept" } });
            server.send(&answer).await.unwrap();
        }
        let is_end = method == "turn/completed";
        if method == APPROVAL
            || (!is_end && message["params"]["item"]["type"] == "commandExecution")
        {
            told.push(method.to_owned());
        }
        if is_end {
            return (told, count);
        }
    }
}

#[tokio::test]
async fn shown_release_applies_from_next_turn() {
    let older = [APPROVAL, "item/started", "item/completed"];
    let newer = ["item/started", APPROVAL, "item/completed"];
    let mut position = 0;
    loop {
        let model = model().await;
        let home = untrusted_home(&model);
        let mut server = experimental_server(&home).await;
        let thread = thread(&mut server).await;
        let (told, count) = play(&mut server, &thread, Some(position)).await;
        assert_eq!(told, older, "after {position} messages");
        let is_after_the_turn = position >= count;
        if !is_after_the_turn {
            let (told, _) = play(&mut server, &thread, None).await;
            assert_eq!(told, newer, "the turn after that");
        }
        server.finish().await.unwrap();
        if is_after_the_turn {
            return;
        }
        position += 1;
    }
}

/// Whether a client is told of remote control after the handshake, as all since 0.140 are, and again when it has used a
/// method of 0.169.
async fn is_newer(
    settings: &str,
    arguments: &[&str],
    capability: Option<&str>,
    name: &str,
) -> bool {
    let home = home_with(settings);
    let mut server = AppServer::start_with(PROGRAM, home.path(), arguments).unwrap();
    let params = json!({
        "clientInfo": { "name": name, "version": "0.169.0" },
        "capabilities": { "clientRelease": capability },
    });
    let reply = server.call("initialize", params).await.unwrap();
    assert!(reply["result"].is_object(), "{reply}");
    let id = server.begin("thread/loaded/list", json!({})).await.unwrap();
    let mut is_told = false;
    loop {
        let message = server.receive().await.unwrap();
        is_told |= message["method"] == "remoteControl/status/changed";
        if message["id"] == id {
            break;
        }
    }
    server.finish().await.unwrap();
    is_told
}

#[tokio::test]
async fn release_sources_have_a_fixed_priority() {
    let (older, newer) = ("client_release = \"0.117\"", "client_release = \"0.171\"");
    let (older_flag, newer_flag) = (["--client-release", "0.117"], ["--client-release=0.140"]);
    let (other, official) = ("tests", "codex-tui");
    assert!(!is_newer("", &[], None, other).await);
    assert!(is_newer("", &[], None, official).await);
    assert!(is_newer(newer, &[], None, other).await);
    assert!(!is_newer(older, &[], None, official).await);
    assert!(!is_newer(newer, &older_flag, None, official).await);
    assert!(is_newer(older, &newer_flag, None, other).await);
    assert!(is_newer(older, &["--newer-clients"], None, other).await);
    assert!(!is_newer(newer, &newer_flag, Some("0.117"), official).await);
    assert!(is_newer(older, &older_flag, Some("0.140"), other).await);
}

#[tokio::test]
async fn invalid_release_is_refused_everywhere() {
    let wrong = "`0.171.0` is no release of a client; expected one from 0.117 on, such as `0.171`";
    let home = home_with("");
    let mut server = AppServer::start(PROGRAM, home.path()).unwrap();
    let handshake = |release: Value| {
        json!({
            "clientInfo": { "name": "tests", "version": "1" },
            "capabilities": { "clientRelease": release },
        })
    };
    let (code, message) = server
        .refusal("initialize", handshake(json!("0.171.0")))
        .await;
    assert_eq!(code, -32600);
    assert_eq!(
        message,
        format!("Invalid capabilities.clientRelease: {wrong}")
    );
    for other in [json!("own"), json!("0.116"), json!(171)] {
        let (code, _) = server.refusal("initialize", handshake(other)).await;
        assert_eq!(code, -32600);
    }
    // Nothing was agreed on.
    let (_, message) = server.refusal("thread/loaded/list", json!({})).await;
    assert_eq!(message, "Not initialized");
    let reply = server
        .call("initialize", handshake(Value::Null))
        .await
        .unwrap();
    assert!(reply["result"].is_object(), "{reply}");
    server.finish().await.unwrap();

    let run = |home: &std::path::Path, arguments: &[&str]| {
        let output = std::process::Command::new(PROGRAM)
            .arg("app-server")
            .args(arguments)
            .env("CODEX_HOME", home)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, text) = run(home.path(), &["--client-release", "0.171.0"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(wrong), "{text}");
}

#[tokio::test]
async fn invalid_release_setting_is_reported_with_its_path() {
    let home = home_with("client_release = \"newest\"");
    let mut server = AppServer::start(PROGRAM, home.path()).unwrap();
    let params = json!({ "clientInfo": { "name": "tests", "version": "1" } });
    server.call("initialize", params).await.unwrap();
    let warning = server.wait_for("configWarning").await.unwrap();
    let text = warning["params"].to_string();
    assert!(
        text.contains("`newest` is no release of a client"),
        "{text}"
    );
    assert!(text.contains("config.toml"), "{text}");
    server.finish().await.unwrap();
}
