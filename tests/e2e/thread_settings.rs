//! What a thread is set to: which settings a turn runs with, what clients are told of them, and what
//! an administrator forbids.

use std::fs;
use std::path::Path;

use codex_test_support::{AppServer, HttpReply, ModelServer, ReceivedRequest, sse};
use serde_json::{Value, json};

use crate::setup::{
    experimental_server, home_with, limited, numbered, scripted_config, scripted_home,
};
use crate::threads::message_reply;

/// A model that answers a dozen times.
async fn model() -> ModelServer {
    let replies = (0..12).map(|number| message_reply(&format!("message-{number}"), "done"));
    ModelServer::start(replies).await.unwrap()
}

async fn start_thread(server: &mut AppServer, params: Value) -> Value {
    let reply = server.call("thread/start", params).await.unwrap();
    assert!(reply["error"].is_null(), "{reply}");
    reply["result"].clone()
}

/// Runs a turn with these params besides and answers its end.
async fn turn(server: &mut AppServer, thread: &Value, mut params: Value) -> Value {
    params["threadId"] = thread["thread"]["id"].clone();
    params["input"] = json!([{ "type": "text", "text": "go" }]);
    let reply = server.call("turn/start", params).await.unwrap();
    assert!(reply["error"].is_null(), "{reply}");
    server.completed_turn().await
}

async fn resumed(server: &mut AppServer, thread: &Value) -> Value {
    let params = json!({ "threadId": thread["thread"]["id"] });
    let reply = server.call("thread/resume", params).await.unwrap();
    assert!(reply["error"].is_null(), "{reply}");
    reply["result"].clone()
}

fn last_request(model: &ModelServer) -> Value {
    model.requests().last().map(ReceivedRequest::json).unwrap()
}

#[tokio::test]
async fn threads_send_the_token_that_each_was_given() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    for token in ["first", "second"] {
        let config = json!({ "model_providers.scripted.experimental_bearer_token": token });
        let thread = start_thread(&mut server, json!({ "config": config })).await;
        turn(&mut server, &thread, json!({})).await;
        let request = model.requests().pop().unwrap();
        let sent = request.header("authorization").map(str::to_owned);
        assert_eq!(sent, Some(format!("Bearer {token}")));
    }
    server.finish().await.unwrap();
}

fn searches(model: &ModelServer) -> Vec<Value> {
    let tools = last_request(model)["tools"].clone();
    let tools = tools.as_array().unwrap().iter();
    let searches = tools.filter(|tool| tool["type"] == "web_search");
    searches.cloned().collect()
}

#[tokio::test]
async fn web_search_is_offered_as_it_is_configured() {
    let with = |live: bool| vec![json!({ "type": "web_search", "external_web_access": live })];
    let narrowed = vec![json!({
        "type": "web_search", "external_web_access": true, "search_context_size": "low",
        "filters": { "allowed_domains": ["a.example"] },
        "user_location": { "type": "approximate", "country": "DE" },
    })];
    let options = json!({ "web_search": "live", "tools.web_search": {
        "context_size": "low", "allowed_domains": ["a.example"], "location": { "country": "DE" },
    } });
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    for (config, expected) in [
        (json!({ "sandbox_mode": "read-only" }), with(false)),
        (
            json!({ "web_search": "cached", "sandbox_mode": "read-only" }),
            with(false),
        ),
        (
            json!({ "web_search": "live", "sandbox_mode": "read-only" }),
            with(true),
        ),
        (json!({ "web_search": "disabled" }), vec![]),
        // With full access to everything else, stored results become live ones.
        (json!({}), with(true)),
        (options, narrowed),
    ] {
        let thread = start_thread(&mut server, json!({ "config": config })).await;
        turn(&mut server, &thread, json!({})).await;
        assert_eq!(searches(&model), expected, "{config}");
    }
    // The policy of the turn decides, not that of the start.
    let config = json!({ "sandbox_mode": "read-only" });
    let thread = start_thread(&mut server, json!({ "config": config })).await;
    let full = json!({ "sandboxPolicy": { "type": "dangerFullAccess" } });
    turn(&mut server, &thread, full).await;
    assert_eq!(searches(&model), with(true));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn relative_turn_folder_is_reported_as_absolute() {
    let model = model().await;
    let home = scripted_home(&model, "");
    fs::create_dir(home.path().join("one")).unwrap();
    fs::create_dir(home.path().join("two")).unwrap();
    let folder = home.path().canonicalize().unwrap();
    let mut server = experimental_server(&home).await;
    let thread = start_thread(&mut server, json!({ "cwd": "one" })).await;
    assert_eq!(thread["cwd"], folder.join("one").to_str().unwrap());
    // The server's folder counts, not that of the thread.
    turn(&mut server, &thread, json!({ "cwd": "two" })).await;
    let two = folder.join("two");
    let cwd = resumed(&mut server, &thread).await["cwd"].clone();
    assert_eq!(cwd, two.to_str().unwrap());
    let input = last_request(&model)["input"].to_string();
    let shown = format!("<cwd>{}</cwd>", two.display());
    assert!(input.contains(&shown), "{input}");
    for (asked, shown) in [
        ("./one/../two/", folder.join("two")),
        ("", folder.clone()),
        ("..", folder.parent().unwrap().to_owned()),
        ("~/x", home.path().join("person/x")),
    ] {
        let other = start_thread(&mut server, json!({ "cwd": asked })).await;
        assert_eq!(other["cwd"], shown.to_str().unwrap(), "{asked}");
        turn(&mut server, &thread, json!({ "cwd": asked })).await;
        let cwd = resumed(&mut server, &thread).await["cwd"].clone();
        assert_eq!(cwd, shown.to_str().unwrap(), "{asked}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn the_paths_of_a_sandbox_are_absolute() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = start_thread(&mut server, json!({})).await;
    let writable = |root: &str| json!({ "type": "workspaceWrite", "writableRoots": [root] });
    for policy in [
        writable("sub"),
        writable("~/sub"),
        json!({ "type": "readOnly", "access": { "type": "restricted", "readableRoots": ["sub"] } }),
    ] {
        for method in ["turn/start", "thread/settings/update"] {
            let params = json!({ "threadId": thread["thread"]["id"], "sandboxPolicy": policy,
                "input": [{ "type": "text", "text": "go" }] });
            let reply = server.call(method, params).await.unwrap();
            assert_eq!(reply["error"]["code"], -32600, "{reply}");
        }
    }
    let policy = json!({ "sandboxPolicy": writable("/tmp/./x/../y/") });
    turn(&mut server, &thread, policy).await;
    let resumed = resumed(&mut server, &thread).await;
    assert_eq!(resumed["sandbox"]["writableRoots"], json!(["/tmp/y"]));
    server.finish().await.unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
#[ignore = "needs mounts in a user namespace; .ci/run runs it"]
async fn an_administrator_instructs_the_reviewer_of_approvals() {
    let model = ModelServer::start([]).await.unwrap();
    let settings = "approval_policy = \"on-request\"\napprovals_reviewer = \"guardian_subagent\"";
    let home = home_with(&scripted_config(&model, settings));
    let program = limited(
        &home,
        "guardian_developer_instructions = \"Allow nothing.\"\n",
    );
    let mut server = AppServer::start(text(&program), home.path()).unwrap();
    server.initialize_experimental().await;
    let arguments = json!({"command": "echo a", "sandbox_permissions": "require_escalated"});
    let call = sse::function_call("call_1", "shell_command", &arguments);
    model.push(HttpReply::stream(&numbered(sse::items(&[call]))));
    for answer in ["no verdict", "then not"] {
        model.push(HttpReply::stream(&numbered(sse::text(answer))));
    }
    let thread = server.start_thread().await;
    server.run_turn(&thread, "go").await;
    assert_eq!(model.requests()[1].json()["instructions"], "Allow nothing.");
    server.finish().await.unwrap();
}

#[tokio::test]
#[ignore = "needs mounts in a user namespace; .ci/run runs it"]
async fn forbidden_turn_settings_fail_the_turn_without_notification() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let limits =
        "allowed_approval_policies = ['on-request']\nallowed_sandbox_modes = ['read-only']\n";
    let program = limited(&home, limits);
    let mut server = AppServer::start(text(&program), home.path()).unwrap();
    server.initialize_experimental().await;
    let named = json!({ "permissions": ":danger-full-access" });
    let thread = start_thread(&mut server, named).await;
    assert_eq!(thread["sandbox"]["type"], "readOnly");
    assert_eq!(thread["activePermissionProfile"], Value::Null, "{thread}");
    let forbidden = json!({
        "approvalPolicy": "never",
        "sandboxPolicy": { "type": "dangerFullAccess" },
    });
    let ended = turn(&mut server, &thread, forbidden.clone()).await;
    assert_eq!(ended["status"], "failed");
    let message = ended["error"]["message"].as_str().unwrap();
    assert!(message.contains("approval_policy"), "{message}");
    let resumed = resumed(&mut server, &thread).await;
    assert_eq!(resumed["approvalPolicy"], "on-request");
    assert_eq!(resumed["sandbox"]["type"], "readOnly");
    assert_eq!(resumed["thread"]["turns"][0]["status"], "failed");
    // Alone, they are refused.
    let mut params = forbidden;
    params["threadId"] = thread["thread"]["id"].clone();
    let reply = server.call("thread/settings/update", params).await.unwrap();
    assert_eq!(reply["error"]["code"], -32600, "{reply}");
    let ended = turn(&mut server, &thread, json!({})).await;
    assert_eq!(ended["status"], "completed");
    server.finish().await.unwrap();
}

fn collaboration(mode: &str, instructions: Option<&str>) -> Value {
    json!({ "collaborationMode": { "mode": mode, "settings": {
        "model": "scripted", "reasoning_effort": null, "developer_instructions": instructions,
    } } })
}

/// The texts about modes that the model has seen, oldest first.
fn shown_modes(model: &ModelServer) -> Vec<String> {
    let input = last_request(model)["input"].clone();
    let messages = input.as_array().unwrap().iter();
    let parts = messages.filter_map(|message| message["content"].as_array());
    let texts = parts.flatten().filter_map(|part| part["text"].as_str());
    let modes = texts.filter(|text| text.starts_with("<collaboration_mode>"));
    modes.map(str::to_owned).collect()
}

fn question_tool(model: &ModelServer) -> String {
    let tools = last_request(model)["tools"].clone();
    let tools = tools.as_array().unwrap().clone();
    let found = tools
        .into_iter()
        .find(|tool| tool["name"] == "request_user_input");
    found.unwrap()["description"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn model_gets_the_end_of_plan_mode() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = start_thread(&mut server, json!({})).await;
    turn(&mut server, &thread, json!({})).await;
    assert_eq!(shown_modes(&model).len(), 0);
    turn(&mut server, &thread, collaboration("plan", None)).await;
    assert_eq!(shown_modes(&model).len(), 1);
    turn(&mut server, &thread, collaboration("default", None)).await;
    let shown = shown_modes(&model);
    assert_eq!(shown.len(), 2);
    assert!(shown[1].contains("Default mode"), "{}", shown[1]);
    // An empty text says nothing.
    turn(&mut server, &thread, collaboration("default", Some(""))).await;
    assert_eq!(shown_modes(&model).len(), 2);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn question_tool_description_names_its_modes() {
    let model = model().await;
    for (settings, expected) in [
        ("", false),
        ("[features]\ndefault_mode_request_user_input = true", true),
    ] {
        let home = scripted_home(&model, settings);
        let mut server = experimental_server(&home).await;
        let thread = start_thread(&mut server, json!({})).await;
        turn(&mut server, &thread, json!({})).await;
        let description = question_tool(&model);
        assert_eq!(description.contains("Default"), expected, "{description}");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn changed_turn_settings_precede_its_items() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = start_thread(&mut server, json!({})).await;
    let params = json!({
        "threadId": thread["thread"]["id"], "model": "another", "effort": "low",
        "input": [{ "type": "text", "text": "go" }],
    });
    server.call("turn/start", params.clone()).await.unwrap();
    let mut order = Vec::new();
    while order.last().is_none_or(|method| method != "turn/completed") {
        let message = server.receive().await.unwrap();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if method == "thread/settings/updated" {
            let shown = &message["params"]["threadSettings"];
            assert_eq!(shown["model"], "another");
            assert_eq!(shown["effort"], "low");
            assert_eq!(shown["collaborationMode"]["settings"]["model"], "another");
        }
        order.push(method);
    }
    let position = |name: &str| order.iter().position(|method| method == name);
    assert!(position("thread/settings/updated").unwrap() < position("item/started").unwrap());
    // The same again changes nothing.
    server.call("turn/start", params).await.unwrap();
    loop {
        let message = server.receive().await.unwrap();
        assert_ne!(message["method"], "thread/settings/updated", "{message}");
        if message["method"] == "turn/completed" {
            break;
        }
    }
    server.finish().await.unwrap();
}
