//! What clients newer than 0.117 add to requests that are as old as that.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::newer_threads::newer_server;
use crate::setup::{PROGRAM, experimental_server, home_with, scripted_config, scripted_home};
use crate::soak::message;

/// A thread with a model that has this to say.
pub(crate) struct ScriptedThread {
    pub(crate) server: AppServer,
    pub(crate) model: ModelServer,
    home: TempDir,
    pub(crate) thread: Value,
}

impl ScriptedThread {
    pub(crate) async fn start(replies: impl IntoIterator<Item = HttpReply>, params: Value) -> Self {
        let model = ModelServer::start(replies).await.unwrap();
        let home = scripted_home(&model, "");
        let mut server = experimental_server(&home).await;
        let thread = server.result("thread/start", params).await;
        Self {
            server,
            model,
            home,
            thread,
        }
    }

    /// Ends the server, and keeps its home folder.
    pub(crate) async fn into_home(self) -> TempDir {
        self.server.finish().await.unwrap();
        self.home
    }

    /// Ends the server, and keeps its model and its home folder.
    pub(crate) async fn into_parts(self) -> (ModelServer, TempDir) {
        self.server.finish().await.unwrap();
        (self.model, self.home)
    }

    pub(crate) fn id(&self) -> Value {
        self.thread["thread"]["id"].clone()
    }

    /// What a request about the thread is answered.
    pub(crate) async fn call(&mut self, method: &str, mut params: Value) -> Value {
        params["threadId"] = self.id();
        self.server.call(method, params).await.unwrap()
    }

    /// Runs a turn with this besides what is said.
    pub(crate) async fn turn(&mut self, params: Value) {
        let mut params = params;
        params["input"] = json!([{ "type": "text", "text": "hi" }]);
        let started = self.call("turn/start", params).await;
        assert!(started["result"].is_object(), "{started}");
        self.server.wait_for("turn/completed").await.unwrap();
    }
}

#[tokio::test]
async fn service_tier_of_a_turn_is_not_kept() {
    let steps = [
        (json!({ "serviceTier": "flex" }), json!("flex")),
        (
            json!({ "serviceTierForTurn": "priority" }),
            json!("priority"),
        ),
        (json!({ "serviceTierForTurn": "default" }), Value::Null),
        (json!({ "serviceTierForTurn": null }), json!("flex")),
        (json!({ "serviceTier": "default" }), Value::Null),
        (json!({}), Value::Null),
    ];
    let replies = (0..steps.len()).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({ "serviceTier": "default" })).await;
    assert_eq!(scripted.thread["serviceTier"], "default");
    for (number, (params, tier)) in steps.into_iter().enumerate() {
        scripted.turn(params.clone()).await;
        let request = scripted.model.request(number).await.json();
        assert_eq!(request["service_tier"], tier, "{params}");
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_reviewer_is_known_by_its_newer_name() {
    let params = json!({ "approvalsReviewer": "auto_review" });
    let scripted = ScriptedThread::start([], params).await;
    assert_eq!(scripted.thread["approvalsReviewer"], "auto_review");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_list_takes_the_filters_of_newer_clients() {
    let mut scripted = ScriptedThread::start([message(0, "done")], json!({})).await;
    scripted.turn(json!({})).await;
    let (id, cwd) = (scripted.id(), scripted.thread["cwd"].clone());
    let found = [
        (
            json!({ "sortKey": "recency_at", "useStateDbOnly": true }),
            true,
        ),
        (json!({ "cwd": ["/nowhere", cwd] }), true),
        (json!({ "cwd": ["/nowhere"] }), false),
        (json!({ "cwd": cwd }), true),
        (
            json!({ "sectionId": "any", "sortKey": "section_position" }),
            false,
        ),
        (json!({ "parentThreadId": id }), false),
        (json!({ "ancestorThreadId": id }), false),
        (json!({ "originators": [] }), true),
    ];
    for (params, is_found) in found {
        let page = scripted
            .server
            .call("thread/list", params.clone())
            .await
            .unwrap();
        let threads = page["result"]["data"].as_array().unwrap();
        let ids: Vec<&Value> = threads.iter().map(|thread| &thread["id"]).collect();
        let expected = is_found.then_some(&id);
        assert_eq!(ids, expected.into_iter().collect::<Vec<_>>(), "{params}");
    }
    let refused = [
        (json!({ "sortKey": "section_position" }), -32600),
        (json!({ "projectId": "any" }), -32602),
        (json!({ "originators": ["other"] }), -32602),
        (
            json!({ "parentThreadId": id, "ancestorThreadId": id }),
            -32600,
        ),
    ];
    for (params, code) in refused {
        let reply = scripted
            .server
            .call("thread/list", params.clone())
            .await
            .unwrap();
        assert_eq!(reply["error"]["code"], code, "{params}: {reply}");
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_terminal_that_is_stopped_from_outside_has_failed() {
    let waits = json!({ "cmd": "sleep 600", "yield_time_ms": 250 });
    let call = sse::items(&[sse::function_call("call", "exec_command", &waits)]);
    let replies = [HttpReply::stream(&call), message(1, "it waits")];
    let settings = json!({ "features.unified_exec": true });
    let params = json!({ "approvalPolicy": "never", "config": settings });
    let mut scripted = ScriptedThread::start(replies, params).await;
    scripted.turn(json!({})).await;
    let cleaned = scripted
        .call("thread/backgroundTerminals/clean", json!({}))
        .await;
    assert_eq!(cleaned["result"], json!({}));
    let ended = scripted.server.wait_for("item/completed").await.unwrap();
    let item = &ended["params"]["item"];
    assert_eq!(item["status"], "failed");
    assert_eq!(item["exitCode"], -1);
    scripted.server.finish().await.unwrap();
}

/// The texts that a request to the model has of this role.
pub(crate) fn texts_of(request: &Value, role: &str) -> Vec<String> {
    let items = request["input"].as_array().unwrap();
    let spoken = items.iter().filter(|item| item["role"] == role);
    let parts = spoken.flat_map(|item| item["content"].as_array().unwrap());
    let text = |part: &Value| part["text"].as_str().unwrap().to_owned();
    parts.map(text).collect()
}

#[tokio::test]
async fn additional_context_precedes_the_message_once() {
    let replies = (0..2).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let context = json!({
        "file": { "kind": "application", "value": "main.rs" },
        "page": { "kind": "untrusted", "value": "from the web" },
    });
    for number in 0..2 {
        scripted.turn(json!({ "additionalContext": context })).await;
        let request = scripted.model.request(number).await.json();
        let count = |role: &str, text: &str| {
            let texts = texts_of(&request, role);
            texts.iter().filter(|own| *own == text).count()
        };
        assert_eq!(count("developer", "<file>main.rs</file>"), 1);
        let untrusted = "<untrusted_context name=\"page\">from the web</untrusted_context>";
        assert_eq!(count("user", untrusted), 1);
        let last = texts_of(&request, "user").pop();
        assert_eq!(last.as_deref(), Some("hi"));
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn injected_items_are_sent_only_to_the_model() {
    let replies = (0..2).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let item = |text: &str| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let method = "thread/inject_items";
    for text in ["before the first", "between"] {
        let injected = scripted
            .call(method, json!({ "items": [item(text)] }))
            .await;
        assert_eq!(injected["result"], json!({}));
        scripted.turn(json!({})).await;
    }
    let said = texts_of(&scripted.model.request(1).await.json(), "user");
    let own = said
        .iter()
        .filter(|text| ["before the first", "between", "hi"].contains(&&***text));
    assert_eq!(
        own.collect::<Vec<_>>(),
        ["before the first", "hi", "between", "hi"]
    );
    let read = scripted
        .call("thread/read", json!({ "includeTurns": true }))
        .await;
    assert!(!read.to_string().contains("between"), "{read}");
    let refused = scripted.call(method, json!({ "items": [] })).await;
    assert_eq!(refused["error"]["message"], "items must not be empty");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn permissions_by_name_are_those_of_a_sandbox() {
    let kinds = [
        (":read-only", "readOnly"),
        (":workspace", "workspaceWrite"),
        (":danger-full-access", "dangerFullAccess"),
    ];
    for (name, kind) in kinds {
        let scripted = ScriptedThread::start([], json!({ "permissions": name })).await;
        let sandbox = &scripted.thread["sandbox"];
        assert_eq!(sandbox["type"], kind);
        let roots = &sandbox["writableRoots"];
        assert!(roots.is_null() || *roots == json!([]), "{sandbox}");
        assert_eq!(scripted.thread["activePermissionProfile"]["id"], name);
        scripted.server.finish().await.unwrap();
    }
    let replies = (0..2).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let listed = scripted
        .server
        .call("permissionProfile/list", json!({}))
        .await
        .unwrap();
    let listed = listed["result"]["data"].as_array().unwrap();
    let names: Vec<&Value> = listed.iter().map(|one| &one["id"]).collect();
    assert_eq!(names, kinds.map(|(name, _)| name));
    assert!(listed.iter().all(|one| one["allowed"] == true));
    let unknown = json!({ "permissions": "mine" });
    let refused = scripted.server.call("thread/start", unknown).await.unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let both = json!({ "permissions": ":workspace", "sandbox": "read-only" });
    let refused = scripted.server.call("thread/start", both).await.unwrap();
    let message = "`permissions` cannot be combined with `sandbox`";
    assert_eq!(refused["error"]["message"], message);
    // What a turn is given holds for those after it.
    let input = json!([{ "type": "text", "text": "hi" }]);
    let params = json!({ "input": input, "permissions": "mine" });
    let refused = scripted.call("turn/start", params).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    scripted.turn(json!({ "permissions": ":read-only" })).await;
    let resumed = scripted.call("thread/resume", json!({})).await;
    assert_eq!(
        resumed["result"]["sandbox"]["type"], "readOnly",
        "{resumed}"
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn thread_has_newer_client_members() {
    let settings = json!({ "model_reasoning_effort": "high" });
    let params = json!({ "threadSource": "user", "config": settings });
    let mut scripted = ScriptedThread::start([message(0, "done")], params).await;
    scripted.turn(json!({})).await;
    let cwd = scripted.thread["cwd"].clone();
    let environments =
        json!([{ "environmentId": "local", "cwd": cwd, "runtimeWorkspaceRoots": [cwd] }]);
    let resumed = scripted.call("thread/resume", json!({})).await;
    for thread in [&scripted.thread["thread"], &resumed["result"]["thread"]] {
        assert_eq!(thread["historyMode"], "paginated");
        assert_eq!(thread["originator"], "tests");
        assert_eq!(thread["reasoningEffort"], "high");
        assert_eq!(thread["recencyAt"], thread["updatedAt"]);
        assert_eq!(thread["threadSource"], "user");
        assert_eq!(thread["canAcceptDirectInput"], true);
        assert_eq!(thread["environments"], environments);
        assert_eq!(thread.get("parentThreadId"), None);
    }
    let page = scripted
        .server
        .call("thread/list", json!({}))
        .await
        .unwrap();
    let thread = &page["result"]["data"][0];
    assert_eq!(thread["reasoningEffort"], "high");
    assert_eq!(thread["recencyAt"], thread["updatedAt"]);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn interrupt_without_a_turn_applies_to_the_running_one() {
    let mut scripted = ScriptedThread::start([HttpReply::silence()], json!({})).await;
    let idle = scripted
        .call("turn/interrupt", json!({ "turnId": "" }))
        .await;
    assert_eq!(idle["result"], json!({}), "{idle}");
    let input = json!([{ "type": "text", "text": "hi" }]);
    scripted.call("turn/start", json!({ "input": input })).await;
    scripted.server.wait_for("turn/started").await.unwrap();
    let other = scripted
        .call("turn/interrupt", json!({ "turnId": "other" }))
        .await;
    assert_eq!(other["error"]["code"], -32600, "{other}");
    let stopped = scripted
        .call("turn/interrupt", json!({ "turnId": "" }))
        .await;
    assert_eq!(stopped["result"], json!({}), "{stopped}");
    let end = scripted.server.completed_turn().await;
    assert_eq!(end["status"], "interrupted");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn tokens_written_to_the_cache_are_counted() {
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": { "cached_tokens": 3, "cache_write_tokens": 4 },
        "output_tokens": 2, "total_tokens": 12,
    });
    let completed = json!({
        "type": "response.completed", "response": { "id": "resp_1", "usage": usage },
    });
    let reply = || {
        HttpReply::status(200)
            .header("content-type", "text/event-stream")
            .body(format!("event: response.completed\ndata: {completed}\n\n"))
    };
    let mut scripted = ScriptedThread::start([reply(), reply()], json!({})).await;
    for total in [4, 8] {
        let input = json!([{ "type": "text", "text": "hi" }]);
        scripted.call("turn/start", json!({ "input": input })).await;
        let mut usage = Value::Null;
        loop {
            let told = scripted.server.receive().await.unwrap();
            match told["method"].as_str() {
                Some("thread/tokenUsage/updated") => usage = told["params"]["tokenUsage"].clone(),
                Some("turn/completed") => break,
                _ => {}
            }
        }
        assert_eq!(usage["last"]["cacheWriteInputTokens"], 4);
        assert_eq!(usage["total"]["cacheWriteInputTokens"], total);
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn efforts_and_tiers_that_are_not_known_pass_through() {
    let model = ModelServer::start([message(0, "one"), message(1, "two")])
        .await
        .unwrap();
    let settings = "model_reasoning_effort = \"ultra\"\nservice_tier = \"standard\"\n\
                    personality = \"grumpy\"\n";
    let home = scripted_home(&model, settings);
    let mut first = newer_server(&home).await;
    let initialized = json!({ "method": "initialized" });
    first.send(&initialized).await.unwrap();
    let warning = first.wait_for("configWarning").await.unwrap();
    let summary = warning["params"]["summary"].as_str().unwrap();
    assert!(summary.contains("`personality`"), "{warning}");

    let started = first
        .call("thread/start", json!({ "model": "gpt-5.4" }))
        .await
        .unwrap();
    let thread = &started["result"];
    assert_eq!(thread["reasoningEffort"], "ultra", "{started}");
    assert_eq!(thread["serviceTier"], "standard");
    let id = thread["thread"]["id"].clone();
    let input = json!([{ "type": "text", "text": "hi" }]);
    for (number, more, effort, tier) in [
        // For this model that is as much thought as it has.
        (0, json!({}), "xhigh", "standard"),
        (
            1,
            json!({ "effort": "max", "serviceTier": "batch" }),
            "max",
            "batch",
        ),
    ] {
        let mut params = more;
        params["threadId"] = id.clone();
        params["input"] = input.clone();
        first.call("turn/start", params).await.unwrap();
        first.wait_for("turn/completed").await.unwrap();
        let request = model.request(number).await.json();
        assert_eq!(request["reasoning"]["effort"], effort);
        assert_eq!(request["service_tier"], tier);
    }
    first.finish().await.unwrap();

    let mut second = newer_server(&home).await;
    let resumed = second
        .call("thread/resume", json!({ "threadId": id }))
        .await
        .unwrap();
    assert_eq!(resumed["result"]["reasoningEffort"], "max", "{resumed}");
    second.finish().await.unwrap();
}

#[tokio::test]
async fn flat_client_tool_may_have_namespace() {
    let tool = |name: &str, more: Value| {
        let mut tool =
            json!({ "name": name, "description": "d", "inputSchema": { "type": "object" } });
        tool.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        tool
    };
    let call = json!({
        "type": "function_call", "name": "lookup", "namespace": "kb", "arguments": "{}", "call_id": "c1",
    });
    let done = json!({ "type": "response.output_item.done", "item": call });
    let completed = json!({ "type": "response.completed", "response": { "id": "r" } });
    let replies = [HttpReply::stream([&done, &completed]), message(1, "done")];
    let tools = json!([
        tool("lookup", json!({ "namespace": "kb" })),
        tool("lookup", json!({})),
        tool("more", json!({ "namespace": "kb" })),
        tool("later", json!({ "namespace": "kb", "deferLoading": true })),
    ]);
    let mut scripted = ScriptedThread::start(replies, json!({ "dynamicTools": tools })).await;
    let input = json!([{ "type": "text", "text": "hi" }]);
    scripted.call("turn/start", json!({ "input": input })).await;
    let asked = scripted.server.wait_for("item/tool/call").await.unwrap();
    assert_eq!(asked["params"]["tool"], "lookup");
    assert_eq!(asked["params"]["namespace"], "kb");
    let answer = json!({ "contentItems": [{ "type": "inputText", "text": "x" }], "success": true });
    let reply = json!({ "id": asked["id"], "result": answer });
    scripted.server.send(&reply).await.unwrap();
    scripted.server.wait_for("turn/completed").await.unwrap();
    let request = scripted.model.request(0).await.json();
    let offered = request["tools"].as_array().unwrap();
    let spaces: Vec<_> = offered
        .iter()
        .filter(|tool| tool["type"] == "namespace")
        .collect();
    assert_eq!(spaces.len(), 1, "{spaces:?}");
    assert_eq!(spaces[0]["name"], "kb");
    let names = spaces[0]["tools"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["lookup", "more"]);
    assert!(offered.iter().any(|tool| tool["name"] == "lookup"));
    for (refused, cause) in [
        (
            json!([tool("later", json!({ "deferLoading": true }))]),
            "must include a namespace",
        ),
        (
            json!([tool("x", json!({ "namespace": " " }))]),
            "must not be empty",
        ),
        (
            json!([tool("x", json!({ "namespace": "mcp__a" }))]),
            "reserved",
        ),
        (
            json!([tool("x", json!({ "namespace": "a b" }))]),
            "must match",
        ),
        (
            json!([
                tool("x", json!({ "namespace": "a" })),
                tool("x", json!({ "namespace": "a" }))
            ]),
            "duplicate dynamic tool name in namespace a: x",
        ),
    ] {
        let params = json!({ "dynamicTools": refused });
        let reply = scripted.server.call("thread/start", params).await.unwrap();
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(cause), "{reply}");
    }
}

#[tokio::test]
async fn empty_instructions_send_nothing() {
    let params = json!({ "baseInstructions": "", "developerInstructions": "" });
    let mut scripted = ScriptedThread::start([message(1, "done")], params).await;
    scripted.turn(json!({})).await;
    let request = scripted.model.request(0).await.json();
    assert_eq!(request.get("instructions"), None);
    let input = request["input"].as_array().unwrap().iter();
    let parts = input.flat_map(|item| item["content"].as_array().into_iter().flatten());
    let texts: Vec<_> = parts
        .map(|part| part["text"].as_str().unwrap_or("?"))
        .collect();
    assert!(texts.iter().all(|text| !text.is_empty()), "{texts:?}");
}

#[tokio::test]
async fn tools_of_the_client_may_be_in_a_namespace() {
    let schema = json!({ "type": "object" });
    let tools = json!([
        { "type": "namespace", "name": "crm", "description": "d", "tools": [
            { "type": "function", "name": "lookup", "description": "x", "inputSchema": schema }] },
        { "type": "function", "name": "flat", "description": "y", "inputSchema": schema },
    ]);
    let in_namespace = json!({
        "type": "function_call", "name": "lookup", "namespace": "crm", "arguments": "{\"id\":1}",
        "call_id": "d1",
    });
    let done = json!({ "type": "response.output_item.done", "item": in_namespace });
    let completed = json!({ "type": "response.completed", "response": { "id": "r" } });
    let call = HttpReply::stream([&done, &completed]);
    let flat = HttpReply::stream(&sse::items(&[sse::function_call("d2", "flat", &json!({}))]));
    let replies = [call, flat, message(2, "done"), message(3, "again")];
    let mut scripted = ScriptedThread::start(replies, json!({ "dynamicTools": tools })).await;
    let input = json!([{ "type": "text", "text": "hi" }]);
    scripted.call("turn/start", json!({ "input": input })).await;
    for (tool, namespace) in [("lookup", json!("crm")), ("flat", Value::Null)] {
        let asked = scripted.server.wait_for("item/tool/call").await.unwrap();
        assert_eq!(asked["params"]["tool"], tool);
        assert_eq!(asked["params"]["namespace"], namespace);
        let content = json!([{ "type": "inputText", "text": "open" }]);
        let answer = json!({ "contentItems": content, "success": true });
        let reply = json!({ "id": asked["id"], "result": answer });
        scripted.server.send(&reply).await.unwrap();
        loop {
            let ended = scripted.server.wait_for("item/completed").await.unwrap();
            let item = &ended["params"]["item"];
            if item["type"] == "dynamicToolCall" {
                assert_eq!(
                    (&item["tool"], &item["namespace"]),
                    (&json!(tool), &namespace)
                );
                break;
            }
        }
    }
    scripted.server.wait_for("turn/completed").await.unwrap();
    let request = scripted.model.request(0).await.json();
    let offered = request["tools"].as_array().unwrap();
    let namespace = offered
        .iter()
        .find(|tool| tool["type"] == "namespace")
        .unwrap();
    assert_eq!(namespace["name"], "crm");
    assert_eq!(namespace["tools"][0]["name"], "lookup");

    let old = json!({ "name": "old", "description": "x", "inputSchema": schema });
    let mixed = json!([old, { "type": "function", "name": "f", "description": "x", "inputSchema": schema }]);
    let blank =
        json!([{ "type": "function", "name": "a b", "description": "x", "inputSchema": schema }]);
    for tools in [mixed, blank] {
        let params = json!({ "dynamicTools": tools });
        let refused = scripted.server.call("thread/start", params).await.unwrap();
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
    }

    // They are stored with the thread, in the form in which they were given.
    let path = scripted.thread["thread"]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    let stored = std::fs::read_to_string(path).unwrap();
    let meta: Value = serde_json::from_str(stored.lines().next().unwrap()).unwrap();
    assert_eq!(meta["payload"]["dynamic_tools"][0]["type"], "namespace");
    let id = scripted.id();
    let fork = scripted
        .server
        .call("thread/fork", json!({ "threadId": id }))
        .await
        .unwrap();
    let fork = fork["result"]["thread"]["id"].clone();
    let turn = json!({ "threadId": fork, "input": input });
    scripted.server.call("turn/start", turn).await.unwrap();
    scripted.server.wait_for("turn/completed").await.unwrap();
    let request = scripted.model.request(3).await.json();
    assert!(request["tools"].to_string().contains("\"lookup\""));
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn turn_may_begin_with_a_tool_output() {
    let replies = (0..3).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    let answered = json!({ "name": "build", "namespace": "ci", "output": "it failed" });
    let params = json!({ "input": [], "toolOutput": answered });
    let started = scripted.call("turn/start", params).await;
    assert!(started["result"].is_object(), "{started}");
    let ended = loop {
        let ended = scripted.server.wait_for("item/completed").await.unwrap();
        if ended["params"]["item"]["type"] == "functionCallOutput" {
            break ended["params"]["item"].clone();
        }
    };
    assert_eq!(
        (&ended["name"], &ended["namespace"]),
        (&json!("build"), &json!("ci"))
    );
    assert_eq!(ended["output"], "it failed");
    scripted.server.wait_for("turn/completed").await.unwrap();
    let request = scripted.model.request(1).await.json();
    let input = request["input"].as_array().unwrap();
    let [call, output] = &input[input.len() - 2..] else {
        panic!("{input:?}");
    };
    assert_eq!(
        (&call["type"], &call["name"]),
        (&json!("function_call"), &json!("build"))
    );
    assert_eq!(
        (&output["output"], &output["call_id"]),
        (&json!("it failed"), &call["call_id"])
    );

    let both = json!({ "input": [{ "type": "text", "text": "hi" }], "toolOutput": answered });
    let refused = scripted.call("turn/start", both).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let read = scripted
        .call("thread/read", json!({ "includeTurns": true }))
        .await;
    let turns = read["result"]["thread"]["turns"].as_array().unwrap();
    assert_eq!(turns[1]["items"][0]["type"], "functionCallOutput");
    assert_eq!(turns[1]["items"][0]["output"], "it failed");

    // It counts as a turn when turns are taken back.
    scripted
        .call("thread/rollback", json!({ "numTurns": 1 }))
        .await;
    scripted.turn(json!({})).await;
    let input = scripted.model.request(2).await.json()["input"].to_string();
    assert!(
        !input.contains("it failed") && input.contains("\"hi\""),
        "{input}"
    );
    assert_eq!(input.matches("\"done\"").count(), 1, "{input}");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn permissions_of_the_configuration_are_listed_and_chosen() {
    let model = ModelServer::start([message(0, "done")]).await.unwrap();
    let tables = "default_permissions = \":workspace\"\n[permissions.mine]\nextends = \":workspace\"\n\
         description = \"For me\"\n[permissions.mine.filesystem]\n\"/opt\" = \"write\"\n";
    let home = home_with(&scripted_config(&model, tables));
    let mut server = experimental_server(&home).await;
    let listed = server.result("permissionProfile/list", json!({})).await;
    let mine = json!({ "id": "mine", "description": "For me", "allowed": true });
    assert_eq!(listed["data"][3], mine, "{listed}");
    let chosen = json!({ "id": "mine", "extends": ":workspace" });
    let started = server
        .result("thread/start", json!({ "permissions": "mine" }))
        .await;
    assert_eq!(started["activePermissionProfile"], chosen);
    assert_eq!(
        started["sandbox"]["writableRoots"],
        json!(["/opt"]),
        "{started}"
    );
    // A running thread can be given them too.
    let started = server.result("thread/start", json!({})).await;
    assert_eq!(started["activePermissionProfile"]["id"], ":workspace");
    let thread = started["thread"]["id"].clone();
    let change = json!({ "threadId": thread, "permissions": "mine" });
    server.result("thread/settings/update", change).await;
    let updated = server.wait_for("thread/settings/updated").await.unwrap();
    let settings = &updated["params"]["threadSettings"];
    assert_eq!(settings["activePermissionProfile"], chosen);
    assert_eq!(settings["sandboxPolicy"]["writableRoots"], json!(["/opt"]));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn without_an_environment_there_are_no_commands() {
    let params = json!({ "environments": [] });
    let mut scripted = ScriptedThread::start([message(0, "done")], params).await;
    assert_eq!(scripted.thread["thread"]["environments"], json!([]));
    scripted.turn(json!({})).await;
    let tools = scripted.model.request(0).await.json()["tools"].to_string();
    for tool in ["exec_command", "shell", "apply_patch", "view_image"] {
        assert!(!tools.contains(&format!("\"{tool}\"")), "{tool} in {tools}");
    }
    assert!(tools.contains("update_plan"), "{tools}");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn providers_are_added_and_changed() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let method = "modelProvider/config/write";
    let write = |settings: Value| {
        let mut settings = settings;
        settings["type"] = "customGateway".into();
        json!({ "settings": settings })
    };
    let new = write(json!({ "name": "My Gate", "baseUrl": "http://127.0.0.1:1/v1" }));
    let added = server.result(method, new).await;
    assert_eq!(added["provider"]["id"], "my-gate");
    let change = json!({ "providerId": "my-gate", "envKey": "GATE_KEY" });
    let changed = server.result(method, write(change)).await;
    let auth = json!({ "mode": "environmentVariable", "envKey": "GATE_KEY" });
    assert_eq!(changed["provider"]["settings"]["auth"], auth);
    let change = json!({ "providerId": "my-gate", "envKey": null });
    let changed = server.result(method, write(change)).await;
    assert_eq!(
        changed["provider"]["settings"]["auth"],
        json!({ "mode": "none" })
    );
    assert_eq!(changed["provider"]["baseUrl"], "http://127.0.0.1:1/v1");
    for wrong in [
        json!({ "name": "Nowhere" }),
        json!({ "providerId": "openai", "name": "Mine" }),
        json!({ "providerId": "gone", "name": "Mine" }),
        json!({ "providerId": "my-gate", "baseUrl": "no address" }),
    ] {
        let refused = server.call(method, write(wrong)).await.unwrap();
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn goals_can_be_switched_off() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "features.goals = false");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let asked = json!({ "threadId": thread, "objective": "Ship it" });
    let refused = server.call("thread/goal/set", asked).await.unwrap();
    assert_eq!(refused["error"]["message"], "goals feature is disabled");
    let listed = server.result("experimentalFeature/list", json!({})).await;
    let listed = listed["data"].as_array().unwrap();
    let goals = listed.iter().find(|one| one["name"] == "goals").unwrap();
    assert_eq!(
        (&goals["enabled"], &goals["defaultEnabled"]),
        (&json!(false), &json!(true))
    );
    let other = listed
        .iter()
        .find(|one| one["name"] == "plugin_hooks")
        .unwrap();
    assert_eq!(other["stage"], "removed");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn ephemeral_fork_returns_turns_for_releases_that_have_them() {
    let model = ModelServer::start([message(0, "one")]).await.unwrap();
    let home = scripted_home(&model, "");
    let mut first = experimental_server(&home).await;
    let thread = first.start_thread().await;
    first.run_turn(&thread, "hi").await;
    first.finish().await.unwrap();
    for (name, version, has_turns) in [("codex-tui", "0.140.0", true), ("another", "9.1", false)] {
        let mut server = AppServer::start(PROGRAM, home.path()).unwrap();
        let client = json!({ "name": name, "version": version });
        let capabilities = json!({ "experimentalApi": true, "requiredHumanApproval": true });
        let hello = json!({ "clientInfo": client, "capabilities": capabilities });
        server.result("initialize", hello).await;
        let params = json!({ "threadId": thread, "ephemeral": true });
        let forked = server.call("thread/fork", params).await.unwrap();
        let turns = forked["result"]["thread"]["turns"].as_array();
        assert_eq!(
            turns.is_some_and(|turns| turns.len() == 1),
            has_turns,
            "{forked}"
        );
        server.finish().await.unwrap();
    }
}
