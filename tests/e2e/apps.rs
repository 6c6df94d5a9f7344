//! Apps through the built server, with a scripted directory and a scripted MCP server.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::account::token;
use crate::mcp_servers::text_reply;
use crate::setup::{experimental_server, home_with, scripted_config};

/// What the scripted service answers.
struct ServiceState {
    directory: Mutex<Vec<ResponseTemplate>>,
    tools: Mutex<Value>,
    /// The number of requests for the directory.
    asked: AtomicUsize,
    /// What the account has of plugins, as the service answers.
    plugins: Mutex<Value>,
    /// A header `authorization` that is refused.
    refused: Mutex<Option<String>>,
    /// Whether the server of apps is where newer services have it.
    is_newer: AtomicBool,
}

/// The service of apps: the directory and the MCP server.
#[derive(Clone)]
struct AppService(Arc<ServiceState>);

impl Respond for AppService {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let authorization = request.headers.get("authorization");
        let authorization = authorization.map_or("", |value| value.to_str().unwrap());
        let is_refused = self.0.refused.lock().as_deref() == Some(authorization);
        if is_refused || !authorization.starts_with("Bearer e30.") {
            return ResponseTemplate::new(401);
        }
        if request.url.path().contains("/connectors/directory/") {
            self.0.asked.fetch_add(1, Ordering::Relaxed);
            let mut pages = self.0.directory.lock();
            return if pages.len() > 1 {
                pages.remove(0)
            } else {
                pages[0].clone()
            };
        }
        if request.url.path().contains("/plugins/") {
            return self.plugins(request.url.path());
        }
        let place = if self.0.is_newer.load(Ordering::Relaxed) {
            "/api/codex/ps/mcp"
        } else {
            "/api/codex/apps"
        };
        if request.url.path() != place {
            return ResponseTemplate::new(404);
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let answer = |result: Value| {
            let message = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            ResponseTemplate::new(200).set_body_json(message)
        };
        match message["method"].as_str() {
            Some("initialize") => {
                answer(json!({ "protocolVersion": "2025-06-18", "capabilities": {} }))
            }
            Some("tools/list") => answer(json!({ "tools": *self.0.tools.lock() })),
            Some("tools/call") => {
                let text = format!("called {}", message["params"]["name"]);
                answer(json!({ "content": [{ "type": "text", "text": text }] }))
            }
            Some(_) => ResponseTemplate::new(202),
            None => ResponseTemplate::new(405),
        }
    }
}

impl AppService {
    fn plugins(&self, path: &str) -> ResponseTemplate {
        let (_, path) = path.split_once("/plugins/").unwrap();
        let answer = match path.split_once('/') {
            Some((id, skill)) if skill.starts_with("skills/") => json!({
                "plugin_id": id, "name": "a/b", "skill_md_contents": format!("text of {skill}"),
            }),
            Some((id, change)) => json!({ "id": id, "enabled": change == "enable" }),
            None if path == "featured" => json!(["demo@openai-curated"]),
            None => self.0.plugins.lock().clone(),
        };
        ResponseTemplate::new(200).set_body_json(answer)
    }
}

pub(crate) fn tool(app: &str, name: &str, annotations: &Value) -> Value {
    json!({
        "name": format!("{app}_{name}"), "inputSchema": { "type": "object" },
        "annotations": annotations,
        "_meta": { "connector_id": format!("connector_{app}"), "connector_name": app },
    })
}

/// Two tools of one app, one of another, and one of none.
pub(crate) fn few_tools() -> Value {
    let read = json!({ "readOnlyHint": true });
    json!([
        tool("mail", "read", &read),
        tool("mail", "erase", &json!({ "destructiveHint": true })),
        tool("notes", "read", &read),
        { "name": "stray", "inputSchema": { "type": "object" } },
    ])
}

fn page(apps: &Value, next: Option<&str>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({ "apps": apps, "next_token": next }))
}

/// A server with a ChatGPT login, a service of apps and a model.
pub(crate) struct AppTest {
    pub(crate) service: MockServer,
    state: Arc<ServiceState>,
    pub(crate) model: ModelServer,
    pub(crate) home: TempDir,
    pub(crate) server: AppServer,
}

impl AppTest {
    pub(crate) async fn new(
        pages: Vec<ResponseTemplate>,
        replies: Vec<HttpReply>,
        more: &str,
    ) -> Self {
        let settings = ("approval_policy = \"never\"\n", more);
        Self::with_tools(few_tools(), pages, replies, settings, |_| {}).await
    }

    /// The same, where a person approves calls.
    pub(crate) async fn asking(pages: Vec<ResponseTemplate>, replies: Vec<HttpReply>) -> Self {
        let settings = ("approval_policy = \"on-request\"\n", "");
        Self::with_tools(few_tools(), pages, replies, settings, |_| {}).await
    }

    /// With settings and tables of the configuration, and a home folder that is prepared before the start.
    pub(crate) async fn with_tools(
        tools: Value,
        pages: Vec<ResponseTemplate>,
        replies: Vec<HttpReply>,
        (own, tables): (&str, &str),
        prepare: impl FnOnce(&Path),
    ) -> Self {
        let state = Arc::new(ServiceState {
            directory: Mutex::new(pages),
            tools: Mutex::new(tools),
            asked: AtomicUsize::new(0),
            plugins: Mutex::default(),
            refused: Mutex::default(),
            is_newer: AtomicBool::new(false),
        });
        let service = MockServer::start().await;
        let answers = AppService(Arc::clone(&state));
        Mock::given(any())
            .respond_with(answers)
            .mount(&service)
            .await;
        let model = ModelServer::start(replies).await.unwrap();
        let settings = format!(
            "sandbox_mode = \"danger-full-access\"\n{own}chatgpt_base_url = \"{}/api/codex\"\n",
            service.uri()
        );
        let home = home_with(&(scripted_config(&model, &settings) + tables));
        prepare(home.path());
        let mut server = experimental_server(&home).await;
        log_in(&mut server).await;
        Self {
            service,
            state,
            model,
            home,
            server,
        }
    }

    /// Starts the server again, with the same login.
    pub(crate) async fn restart(&mut self) {
        let next = experimental_server(&self.home).await;
        let before = std::mem::replace(&mut self.server, next);
        before.finish().await.unwrap();
        log_in(&mut self.server).await;
    }

    /// Answers the question for a new token.
    pub(crate) async fn renew_token(&mut self) {
        let question = self
            .server
            .wait_for("account/chatgptAuthTokens/refresh")
            .await;
        let fresh = token("w1-again");
        let renewed = json!({
            "accessToken": fresh, "chatgptAccountId": "w1", "chatgptPlanType": null,
        });
        self.answer(&question.unwrap(), renewed).await;
    }

    /// What the service answers about the plugins of the account.
    pub(crate) fn set_plugins(&self, plugins: Value) {
        *self.state.plugins.lock() = plugins;
    }

    /// The paths of the requests about plugins.
    pub(crate) async fn asked_about_plugins(&self) -> Vec<String> {
        let requests = self.service.received_requests().await.unwrap();
        let paths = requests.iter().map(|request| request.url.path().to_owned());
        paths.filter(|path| path.contains("/plugins/")).collect()
    }

    /// The next question to the client.
    pub(crate) async fn question(&mut self) -> Value {
        let question = self.server.wait_for("mcpServer/elicitation/request").await;
        question.unwrap()
    }

    pub(crate) async fn answer(&mut self, question: &Value, result: Value) {
        let answer = json!({ "id": question["id"], "result": result });
        self.server.send(&answer).await.unwrap();
    }

    /// Has the account connect an app.
    pub(crate) fn add_tool(&self, tool: Value) {
        self.state.tools.lock().as_array_mut().unwrap().push(tool);
    }

    /// Refuses this token from now on.
    pub(crate) fn refuse(&self, token: &str) {
        *self.state.refused.lock() = Some(format!("Bearer {token}"));
    }

    async fn refusal(&mut self) -> (i64, String) {
        let reply = self.server.call("app/list", json!({})).await.unwrap();
        let error = &reply["error"];
        let message = error["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{reply}"));
        (error["code"].as_i64().unwrap(), message.to_owned())
    }
}

async fn log_in(server: &mut AppServer) {
    let login = json!({
        "type": "chatgptAuthTokens", "accessToken": token("w1"), "chatgptAccountId": "w1",
    });
    server.result("account/login/start", login).await;
}

pub(crate) fn directory() -> Vec<ResponseTemplate> {
    let first = json!([
        { "id": "connector_zeal", "name": "Zeal", "description": "d", "logoUrl": "https://l" },
        { "id": "connector_secret", "name": "Secret", "visibility": "HIDDEN" },
        { "no": "app" },
    ]);
    let second = json!([
        { "id": "connector_mail", "name": "Mail", "description": "letters" },
        { "id": "connector_openai_x", "name": "X" },
    ]);
    vec![page(&first, Some("a b&c")), page(&second, None)]
}

fn shown(list: &Value) -> Vec<(&str, bool, bool)> {
    let apps = list["data"].as_array().unwrap().iter();
    apps.map(|app| {
        let flag = |name: &str| app[name].as_bool().unwrap();
        (
            app["id"].as_str().unwrap(),
            flag("isAccessible"),
            flag("isEnabled"),
        )
    })
    .collect()
}

#[tokio::test]
async fn app_list_is_merged_reported_cached_and_paged() {
    let settings = "[apps.connector_notes]\nenabled = false\n";
    let mut test = AppTest::new(directory(), Vec::new(), settings).await;
    let list = test.server.result("app/list", json!({})).await;
    let expected = [
        ("connector_mail", true, true),
        ("connector_notes", true, false),
        ("connector_zeal", false, true),
    ];
    assert_eq!(shown(&list), expected, "{list}");
    let mail = &list["data"][0];
    assert_eq!(
        (&mail["name"], &mail["description"]),
        (&json!("Mail"), &json!("letters"))
    );
    assert_eq!(
        mail["installUrl"],
        "https://chatgpt.com/apps/mail/connector_mail"
    );
    assert_eq!(list["data"][2]["logoUrl"], "https://l");
    let told = loop {
        let told = test.server.wait_for("app/list/updated").await.unwrap();
        if told["params"]["data"].as_array().unwrap().len() == 3 {
            break told;
        }
    };
    assert_eq!(shown(&told["params"]), expected);
    let requests = test.service.received_requests().await.unwrap();
    let pages = requests
        .iter()
        .filter(|request| request.url.path().contains("directory"));
    let queries: Vec<_> = pages.map(|request| request.url.query().unwrap()).collect();
    assert_eq!(queries[0], "tier=categorized&external_logos=true");
    assert_eq!(
        queries[1],
        "tier=categorized&external_logos=true&token=a%20b%26c"
    );

    // Known lists are used until somebody insists.
    let asked = || test.state.asked.load(Ordering::Relaxed);
    let before = asked();
    let one = test.server.result("app/list", json!({ "limit": 1 })).await;
    assert_eq!(
        (shown(&one), &one["nextCursor"]),
        (expected[..1].to_vec(), &json!("1"))
    );
    let next = test
        .server
        .result("app/list", json!({ "cursor": "1" }))
        .await;
    assert_eq!(shown(&next), expected[1..]);
    assert_eq!(asked(), before);
    let late = test
        .server
        .call("app/list", json!({ "cursor": "9" }))
        .await
        .unwrap();
    assert_eq!(late["error"]["message"], "cursor 9 exceeds total apps 3");

    let installed = test.server.result("app/installed", json!({})).await;
    let ids: Vec<_> = installed["apps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|app| (&app["id"], &app["callable"]))
        .collect();
    assert_eq!(
        ids,
        [
            (&json!("connector_mail"), &json!(true)),
            (&json!("connector_notes"), &json!(false))
        ]
    );
    let read = json!({ "appIds": ["connector_zeal", "none"] });
    let read = test.server.result("app/read", read).await;
    assert_eq!(
        (&read["apps"][0]["name"], &read["missingAppIds"]),
        (&json!("Zeal"), &json!(["none"]))
    );
    test.server
        .result("app/list", json!({ "forceRefetch": true }))
        .await;
    assert!(asked() > before);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_refetch_shows_no_list_that_is_half_new() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let old = test.server.result("app/list", json!({})).await["data"].take();
    let news = json!([{ "id": "connector_mail", "name": "Post", "description": "new" }]);
    *test.state.directory.lock() = vec![page(&news, None)];
    *test.state.tools.lock() = json!([tool("mail", "send", &json!({}))]);
    let refetch = json!({ "forceRefetch": true });
    let new = test.server.result("app/list", refetch).await["data"].take();
    assert_eq!(new[0]["name"], "Post");
    assert_ne!(old, new);
    let mut told = Vec::new();
    while told.last() != Some(&new) {
        let update = test.server.wait_for("app/list/updated").await.unwrap();
        told.push(update["params"]["data"].clone());
    }
    let since = told.iter().position(|list| *list == old).unwrap();
    assert!(
        told[since..]
            .iter()
            .all(|list| *list == old || *list == new),
        "{told:?}"
    );
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_refetch_shows_newer_clients_the_new_list_alone() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let arguments = ["--client-release", "0.140"];
    let newer = AppServer::start_with(crate::setup::PROGRAM, test.home.path(), &arguments);
    let before = std::mem::replace(&mut test.server, newer.unwrap());
    before.finish().await.unwrap();
    test.server.initialize_experimental().await;
    log_in(&mut test.server).await;
    let old = test.server.result("app/list", json!({})).await["data"].take();
    loop {
        let told = test.server.wait_for("app/list/updated").await.unwrap();
        if told["params"]["data"] == old {
            break;
        }
    }
    let news = json!([{ "id": "connector_mail", "name": "Post", "description": "new" }]);
    *test.state.directory.lock() = vec![page(&news, None)];
    let refetch = json!({ "forceRefetch": true });
    // The second time nothing is new.
    for _ in 0..2 {
        let new = test.server.result("app/list", refetch.clone()).await["data"].take();
        let told = test.server.wait_for("app/list/updated").await.unwrap();
        assert_eq!(told["params"]["data"], new);
    }
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn enabled_apps_are_fetched_and_reported() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let switch = json!({ "enablement": { "apps": true } });
    test.server
        .result("experimentalFeature/enablement/set", switch)
        .await;
    let told = loop {
        let told = test.server.wait_for("app/list/updated").await.unwrap();
        if told["params"]["data"].as_array().unwrap().len() == 3 {
            break told;
        }
    };
    assert_eq!(told["params"]["data"][0]["id"], "connector_mail");
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_newer_service_has_its_apps_elsewhere() {
    let mut test = AppTest::new(directory(), vec![text_reply("done")], "").await;
    test.state.is_newer.store(true, Ordering::Relaxed);
    let list = test.server.result("app/list", json!({})).await;
    assert_eq!(list["data"][0]["id"], "connector_mail", "{list}");
    assert_eq!(list["data"][0]["isAccessible"], true);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_bad_directory_is_an_error_and_nothing_else() {
    let elsewhere = MockServer::start().await;
    let redirect = ResponseTemplate::new(302).insert_header("location", elsewhere.uri().as_str());
    let huge = ResponseTemplate::new(200).set_body_string("x".repeat(5_000_000));
    for (answer, problem) in [
        (ResponseTemplate::new(500), "refused with status 500"),
        (redirect, "failed to list apps: "),
        (huge, "larger than"),
        (
            ResponseTemplate::new(200).set_body_string("no"),
            "cannot be read",
        ),
        (page(&json!([]), Some("again")), "its pages form a circle"),
    ] {
        let mut test = AppTest::new(vec![answer], vec![text_reply("done")], "").await;
        let (code, message) = test.refusal().await;
        assert_eq!(code, -32603, "{message}");
        assert!(
            message.starts_with("failed to list apps: ") && message.contains(problem),
            "{message}"
        );
        let thread = test.server.start_thread().await;
        let ended = test.server.run_turn(&thread, "hello").await;
        assert_eq!(ended["status"], "completed");
        test.server.finish().await.unwrap();
    }
    assert!(
        elsewhere.received_requests().await.unwrap().is_empty(),
        "the token stays here"
    );
}

#[tokio::test]
async fn token_refused_by_directory_is_renewed() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    test.refuse(&token("w1"));
    let asked = test.server.begin("app/list", json!({})).await.unwrap();
    test.renew_token().await;
    let reply = test.server.reply_to(asked).await.unwrap();
    assert_eq!(reply["error"], Value::Null);
    let ids: Vec<_> = shown(&reply["result"])
        .into_iter()
        .map(|(id, ..)| id)
        .collect();
    assert_eq!(ids, ["connector_mail", "connector_notes", "connector_zeal"]);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn offered_app_tools_can_be_called() {
    let call = sse::function_call("call", "mcp__codex_apps__mail_read", &json!({}));
    let replies = vec![
        HttpReply::stream(&sse::items(&[call])),
        text_reply("done"),
        text_reply("again"),
    ];
    let settings = "[apps._default]\ndestructive_enabled = false\n[apps.connector_notes]\nenabled = false\n\
        [mcp_servers.codex_apps]\ncommand = \"/not/there\"\n";
    let mut test = AppTest::new(directory(), replies, settings).await;
    let thread = test.server.start_thread().await;
    let ended = test.server.run_turn(&thread, "read").await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let first = test.model.requests()[0].json();
    let tools = first["tools"].to_string();
    assert!(tools.contains("mcp__codex_apps__mail_read"), "{tools}");
    for absent in ["mail_erase", "notes_read", "stray"] {
        assert!(!tools.contains(absent), "{absent}: {tools}");
    }
    assert!(first["input"].to_string().contains("<apps_instructions>"));
    let output = test.model.requests()[1].json()["input"].to_string();
    assert!(
        output.contains("called \\\\\\\"mail_read"),
        "the raw name: {output}"
    );
    // The tools are known to the next start.
    let kept = test.home.path().join("cache/codex_apps_tools");
    assert_eq!(fs::read_dir(kept).unwrap().count(), 1);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn apps_need_feature_and_login() {
    let settings = "[features]\napps = false\n";
    let mut off = AppTest::new(directory(), vec![text_reply("done")], settings).await;
    let none = json!({ "data": [], "nextCursor": null });
    assert_eq!(off.server.result("app/list", json!({})).await, none);
    let thread = off.server.start_thread().await;
    off.server.run_turn(&thread, "hello").await;
    let request = off.model.requests()[0].json().to_string();
    assert!(!request.contains("codex_apps") && !request.contains("<apps_instructions>"));
    off.server.finish().await.unwrap();
    assert!(off.service.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn app_list_of_a_thread_follows_its_settings() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    for (is_on, count) in [(true, 3), (false, 0)] {
        let params = json!({ "config": { "features.apps": is_on } });
        let started = test.server.result("thread/start", params).await;
        let params = json!({ "threadId": started["thread"]["id"] });
        let list = test.server.result("app/list", params.clone()).await;
        let apps = list["data"].as_array().unwrap();
        assert_eq!(apps.len(), count, "{list}");
        let one = json!({ "threadId": started["thread"]["id"], "limit": 1 });
        let page = test.server.result("app/list", one).await;
        assert_eq!(page["nextCursor"].is_null(), !is_on, "{page}");
    }
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_slow_directory_delays_nobody_else() {
    let slow = page(&json!([]), None).set_delay(Duration::from_mins(5));
    let mut test = AppTest::new(vec![slow], vec![text_reply("done")], "").await;
    test.server.begin("app/list", json!({})).await.unwrap();
    let thread = test.server.start_thread().await;
    let ended = test.server.run_turn(&thread, "hello").await;
    assert_eq!(ended["status"], "completed");
    test.server.result("plugin/list", json!({})).await;
    test.server.abandon().await.unwrap();
}
