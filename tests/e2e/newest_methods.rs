//! What 0.171 added: searches that tell what they find while they run, the default provider, MCP servers by machine, causes.

use std::fs;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::mcp_process::configured;
use crate::newer_requests::ScriptedThread;
use crate::setup::{PROGRAM, experimental_server, home_with, scripted_config, scripted_home};
use crate::soak::message;

const STREAM: &str = "thread/search/stream";
const PARTIAL_METHOD: &str = "thread/search/partial";

/// A server with this number of threads about apples.
async fn searched(threads: usize) -> ScriptedThread {
    let replies = (0..threads).map(|number| message(number, "yes"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    for _ in 0..threads {
        let thread = scripted.server.start_thread().await;
        scripted.server.run_turn(&thread, "about apples").await;
    }
    scripted
}

/// What a search says until its reply: the threads of its notifications, and the reply.
async fn search_messages(server: &mut AppServer, params: Value) -> (Vec<Value>, Value) {
    let id = server.begin(STREAM, params).await.unwrap();
    let mut partial = Vec::new();
    loop {
        let message = server.receive().await.unwrap();
        if message["method"] == PARTIAL_METHOD {
            assert_eq!(message["params"]["requestId"], id);
            partial.extend(message["params"]["data"].as_array().unwrap().clone());
        }
        if message["id"] == id {
            return (partial, message);
        }
    }
}

fn threads(found: &Value) -> Vec<Value> {
    let found = found.as_array().unwrap().iter();
    let mut ids: Vec<_> = found.map(|one| one["thread"]["id"].clone()).collect();
    ids.sort_by_key(Value::to_string);
    ids
}

#[tokio::test]
async fn streamed_search_reports_threads_before_its_reply() {
    let mut scripted = searched(3).await;
    let server = &mut scripted.server;
    let (partial, reply) = search_messages(server, json!({ "searchTerm": "apples" })).await;
    let data = &reply["result"]["data"];
    assert_eq!(data.as_array().unwrap().len(), 3, "{reply}");
    assert_eq!(threads(&json!(partial)), threads(data));
    for one in &partial {
        assert_eq!(one["thread"]["environments"], Value::Null);
        assert_eq!(one["snippet"], "about apples");
    }
    let (partial, reply) =
        search_messages(server, json!({ "searchTerm": "apples", "limit": 2 })).await;
    assert_eq!(partial.len(), 2);
    assert_eq!(reply["result"]["data"].as_array().unwrap().len(), 2);
    let (partial, reply) = search_messages(server, json!({ "searchTerm": "pears" })).await;
    assert!(partial.is_empty());
    assert_eq!(reply["result"]["data"], json!([]));
    for (term, code) in [("", -32600), (&*"x".repeat(65_537), -32602)] {
        let (refused, _) = server.refusal(STREAM, json!({ "searchTerm": term })).await;
        assert_eq!(refused, code);
    }
    let longest = json!({ "searchTerm": "x".repeat(65_536) });
    assert_eq!(server.result(STREAM, longest).await["data"], json!([]));
    let filtered = json!({ "searchTerm": "apples", "onlyMine": true });
    let (code, message) = server.refusal(STREAM, filtered).await;
    assert_eq!(code, -32602, "{message}");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn each_search_kind_has_its_own_cancel_method() {
    let mut scripted = searched(4).await;
    let server = &mut scripted.server;
    let term = json!({ "searchTerm": "apples" });
    for (method, own, other) in [
        (
            STREAM,
            "thread/search/stream/cancel",
            "thread/search/cancel",
        ),
        (
            "thread/search",
            "thread/search/cancel",
            "thread/search/stream/cancel",
        ),
    ] {
        let search = server.begin(method, term.clone()).await.unwrap();
        let given_up = json!({ "requestId": search });
        assert_eq!(server.result(other, given_up).await, json!({}));
        let reply = server.reply_to(search).await.unwrap();
        assert_eq!(
            reply["result"]["data"].as_array().unwrap().len(),
            4,
            "{reply}"
        );
        // A search that is quicker than this is tried again.
        let mut is_cancelled = false;
        for _ in 0..200 {
            let search = server.begin(method, term.clone()).await.unwrap();
            let given_up = json!({ "requestId": search });
            assert_eq!(server.result(own, given_up).await, json!({}));
            let reply = server.reply_to(search).await.unwrap();
            if let Some(code) = reply["error"]["code"].as_i64() {
                assert_eq!(code, -32600);
                assert_eq!(reply["error"]["message"], "thread search cancelled");
                is_cancelled = true;
                break;
            }
        }
        assert!(is_cancelled, "{method}");
        assert_eq!(
            server.result(own, json!({ "requestId": "none" })).await,
            json!({})
        );
    }
    let (_, reply) = search_messages(server, term).await;
    assert_eq!(reply["result"]["data"].as_array().unwrap().len(), 4);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn the_default_provider_is_changed_in_its_place() {
    let model = ModelServer::start([]).await.unwrap();
    let other = "[model_providers.other]\nname = \"Other\"\nbase_url = \"http://127.0.0.1:9/v1\"\nwire_api = \"responses\"\n";
    let home = home_with(&(scripted_config(&model, "# mine") + other));
    let file = home.path().join("config.toml");
    let before = fs::read_to_string(&file).unwrap();
    let mut server = experimental_server(&home).await;
    let method = "modelProvider/default/set";
    let listed = server.result("modelProvider/list", json!({})).await;
    let default = listed["defaultProviderId"].clone();
    let set = server
        .result(method, json!({ "providerId": "other" }))
        .await;
    assert_eq!(set["status"], "ok");
    assert_eq!(set["filePath"], json!(file));
    assert_eq!(set["overriddenMetadata"], Value::Null);
    let after = fs::read_to_string(&file).unwrap();
    let changed = |line: &&str| !before.lines().any(|other| other == *line);
    let changed: Vec<_> = after.lines().filter(changed).collect();
    assert_eq!(changed, ["model_provider = \"other\""]);
    let started = server.result("thread/start", json!({})).await;
    assert_eq!(started["modelProvider"], "other");
    for wrong in ["nope", ""] {
        let reply = server
            .call(method, json!({ "providerId": wrong }))
            .await
            .unwrap();
        assert_eq!(reply["error"]["code"], -32600);
        let data = &reply["error"]["data"];
        assert_eq!(data["config_write_error_code"], "configValidationError");
    }
    server
        .result(method, json!({ "providerId": "openai" }))
        .await;
    server
        .result(method, json!({ "providerId": default }))
        .await;
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn configured_mcp_servers_belong_to_no_machine() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home_with(&(scripted_config(&model, "") + &configured("scripted", &json!({}), "")));
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let update = server
        .wait_for("mcpServer/startupStatus/updated")
        .await
        .unwrap();
    assert_eq!(update["params"].get("environmentId"), Some(&Value::Null));
    let list = "mcpServerStatus/list";
    let all = server.result(list, json!({})).await;
    assert_eq!(all["data"][0].get("environmentId"), Some(&Value::Null));
    let local = json!({ "threadId": thread, "environmentId": "local" });
    assert_eq!(server.result(list, local).await["data"], json!([]));
    for params in [
        json!({ "environmentId": "nope" }),
        json!({ "threadId": thread, "environmentId": "nope" }),
    ] {
        assert_eq!(server.refusal(list, params).await.0, -32600);
    }
    assert_eq!(
        server.refusal(list, json!({ "machine": "x" })).await.0,
        -32602
    );
    let call = |environment: Value| {
        json!({ "threadId": thread, "server": "scripted", "tool": "echo",
                "arguments": { "text": "hi" }, "environmentId": environment })
    };
    let called = server
        .result("mcpServer/tool/call", call(Value::Null))
        .await;
    assert_eq!(called["content"][0]["text"], "hi", "{called}");
    for environment in ["local", "nope"] {
        let (code, _) = server
            .refusal("mcpServer/tool/call", call(json!(environment)))
            .await;
        assert_eq!(code, -32603);
        let read = json!({ "threadId": thread, "server": "scripted", "uri": "res://a", "environmentId": environment });
        assert_eq!(
            server.refusal("mcpServer/resource/read", read).await.0,
            -32603
        );
        let login = json!({ "name": "scripted", "environmentId": environment });
        assert_eq!(
            server.refusal("mcpServer/oauth/login", login).await.0,
            -32600
        );
    }
    server.finish().await.unwrap();
}

/// What a turn whose request fails has as its cause, while it runs and read back, for a client of a release.
async fn cause(release: &str, reply: HttpReply) -> Value {
    let model = ModelServer::start([reply]).await.unwrap();
    let home = scripted_home(&model, "");
    let arguments = ["--client-release", release];
    let mut server = AppServer::start_with(PROGRAM, home.path(), &arguments).unwrap();
    server.initialize_experimental().await;
    let thread = server.start_thread().await;
    let turn = server.run_turn(&thread, "hi").await;
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.result("thread/read", params).await;
    let read = &read["thread"]["turns"][0]["error"]["codexErrorInfo"];
    assert_eq!(*read, turn["error"]["codexErrorInfo"], "{release}: {turn}");
    server.finish().await.unwrap();
    read.clone()
}

#[tokio::test]
async fn error_cause_is_known_to_client_release() {
    for (status, code, expected) in [
        (
            400,
            "cyber_policy",
            ["other", "cyberPolicy", "cyberPolicy", "cyberPolicy"],
        ),
        (
            404,
            "model_not_found",
            ["badRequest", "badRequest", "modelNotFound", "modelNotFound"],
        ),
        (400, "bio_policy", ["other", "other", "other", "bioPolicy"]),
    ] {
        let body = json!({ "error": { "message": "no", "code": code } });
        for (release, expected) in ["0.117", "0.140", "0.169", "0.171"].iter().zip(expected) {
            let found = cause(release, HttpReply::json(status, &body)).await;
            assert_eq!(found, expected, "{code} for {release}");
        }
    }
}

#[tokio::test]
async fn biology_policy_error_has_its_own_cause() {
    let failed = HttpReply::stream(&[sse::failed("bio_policy", "no")]);
    assert_eq!(cause("0.171", failed).await, "bioPolicy");
}
