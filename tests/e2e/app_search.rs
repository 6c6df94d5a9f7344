//! Tools of apps: searched for where there are many, offered where an app is mentioned, approved by a person, and called
//! with a renewed token.

use codex_test_support::{HttpReply, sse};
use serde_json::{Value, json};

use crate::account::token;
use crate::apps::{AppTest, directory, tool};
use crate::mcp_servers::text_reply;
use crate::setup::write_searching_model;

const SEARCH: &str = "approval_policy = \"never\"\nmodel_catalog_json = \"models.json\"\n";
const FEATURE: &str = "[features]\ntool_search = true\n";

/// The tools of two apps, 100 together.
fn many_tools() -> Value {
    let mail = (0..98).map(|number| tool("mail", &format!("box_{number}"), &Value::Null));
    let mut letter = tool("mail", "forwardLetters", &Value::Null);
    letter["inputSchema"]["properties"] = json!({ "addressee": { "type": "string" } });
    let notes = tool("notes", "read", &Value::Null);
    mail.chain([letter, notes]).collect()
}

async fn searching(replies: Vec<HttpReply>, features: &str) -> AppTest {
    AppTest::with_tools(
        many_tools(),
        directory(),
        replies,
        (SEARCH, features),
        write_searching_model,
    )
    .await
}

fn search(id: &str, arguments: &Value) -> Value {
    json!({ "type": "tool_search_call", "call_id": id, "execution": "client", "arguments": arguments })
}

pub(crate) fn names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().unwrap().iter();
    let name = |tool: &Value| {
        tool["name"]
            .as_str()
            .or(tool["type"].as_str())
            .map(str::to_owned)
    };
    tools.filter_map(name).collect()
}

pub(crate) fn last_items(request: &Value, count: usize) -> &[Value] {
    let input = request["input"].as_array().unwrap();
    &input[input.len() - count..]
}

#[tokio::test]
async fn many_tools_are_searched_for_and_called() {
    let searches = [
        search("s1", &json!({ "query": "forward a letter", "limit": 1 })),
        search("s2", &json!({ "query": " " })),
        search("s3", &json!({ "query": "x", "limit": 0 })),
        search("s4", &json!({ "limit": 2 })),
    ];
    let call = json!({
        "type": "function_call", "call_id": "c", "namespace": "mcp__codex_apps__mail",
        "name": "_forwardletters", "arguments": "{}",
    });
    let replies = vec![
        HttpReply::stream(&sse::items(&searches)),
        HttpReply::stream(&sse::items(&[call])),
        text_reply("done"),
    ];
    let mut test = searching(replies, FEATURE).await;
    let thread = test.server.start_thread().await;
    let ended = test.server.run_turn(&thread, "forward it").await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let requests = test.model.requests();
    let first = requests[0].json();
    assert!(
        !names(&first)
            .iter()
            .any(|name| name.starts_with("mcp__codex_apps")),
        "{first}"
    );
    let offered = first["tools"].as_array().unwrap();
    let offered = offered
        .iter()
        .find(|tool| tool["type"] == "tool_search")
        .unwrap();
    assert_eq!(offered["execution"], "client");
    assert!(
        offered["description"]
            .as_str()
            .unwrap()
            .contains("mail, notes"),
        "{offered}"
    );

    let second = requests[1].json();
    let outputs = last_items(&second, 4);
    let found = &outputs[0];
    assert_eq!(
        (&found["type"], &found["call_id"]),
        (&json!("tool_search_output"), &json!("s1"))
    );
    assert_eq!(
        (&found["status"], &found["execution"]),
        (&json!("completed"), &json!("client"))
    );
    let namespace = &found["tools"][0];
    assert_eq!(
        (&namespace["type"], &namespace["name"]),
        (&json!("namespace"), &json!("mcp__codex_apps__mail"))
    );
    let function = &namespace["tools"][0];
    assert_eq!(
        (&function["name"], &function["defer_loading"]),
        (&json!("_forwardletters"), &json!(true))
    );
    assert!(function["parameters"]["properties"]["addressee"].is_object());
    for bad in &outputs[1..] {
        assert_eq!(
            (&bad["type"], &bad["tools"]),
            (&json!("tool_search_output"), &json!([])),
            "{bad}"
        );
    }
    let third = requests[2].json();
    let output = last_items(&third, 1)[0].to_string();
    assert!(
        output.contains("called \\\\\\\"mail_forwardLetters"),
        "the raw name: {output}"
    );
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn mentioned_apps_stay_offered() {
    let replies = ["one", "two", "three", "four"].map(text_reply).into();
    let mut test = searching(replies, FEATURE).await;
    let thread = test.server.start_thread().await;
    for text in [
        "nothing, app://connector_notes",
        "[$x](app://connector_unknown)",
        "ask $notes",
        "go on",
    ] {
        test.server.run_turn(&thread, text).await;
    }
    let requests = test.model.requests();
    let offers = |at: usize| {
        let names = names(&requests[at].json());
        assert!(names.iter().any(|name| name == "tool_search"), "{names:?}");
        names
            .iter()
            .filter(|name| name.starts_with("mcp__codex_apps"))
            .count()
    };
    assert_eq!([offers(0), offers(1), offers(2), offers(3)], [0, 0, 1, 1]);

    // An item mentions an app, too, also in a thread that has just started.
    test.model.push(text_reply("five"));
    let other = test.server.start_thread().await;
    let mention = json!([
        { "type": "text", "text": "send it" },
        { "type": "mention", "name": "Mail", "path": "app://connector_mail" },
    ]);
    let turn = json!({ "threadId": other, "input": mention });
    test.server.result("turn/start", turn).await;
    test.server.completed_turn().await;
    let names = names(&test.model.requests()[4].json());
    let offered = names
        .iter()
        .filter(|name| name.starts_with("mcp__codex_apps__mail"));
    assert_eq!(offered.count(), 99);
    assert!(!names.iter().any(|name| name.contains("notes")));
    test.server.finish().await.unwrap();
}

/// How many tools of apps a request offers.
fn offered_tools(test: &AppTest, request: usize) -> usize {
    let names = names(&test.model.requests()[request].json());
    let of_apps = |name: &&String| name.starts_with("mcp__codex_apps");
    names.iter().filter(of_apps).count()
}

#[tokio::test]
async fn apps_mentioned_while_steering_are_offered() {
    let waits = sse::function_call("c", "shell_command", &json!({ "command": "cat fifo" }));
    let waits = HttpReply::stream(&sse::items(&[waits]));
    let replies = vec![
        text_reply("hi"),
        waits,
        text_reply("one"),
        text_reply("two"),
        text_reply("three"),
    ];
    let mut test = searching(replies, FEATURE).await;
    let fifo = test.home.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let params = json!({ "cwd": test.home.path() });
    let thread = test.server.start_thread_with(params).await;
    test.server.run_turn(&thread, "hello").await;
    let turn = test.server.start_turn(&thread, "wait").await["id"].clone();
    while test.server.wait_for("item/started").await.unwrap()["params"]["item"]["type"]
        != "commandExecution"
    {}
    let input = json!([{ "type": "text", "text": "ask $notes" }]);
    let steer = json!({ "threadId": thread, "expectedTurnId": turn, "input": input });
    test.server.result("turn/steer", steer).await;
    std::fs::write(&fifo, "go on").unwrap();
    test.server.completed_turn().await;
    assert_eq!([0, 1, 2].map(|at| offered_tools(&test, at)), [0, 0, 1]);

    test.restart().await;
    let resume = json!({ "threadId": thread });
    test.server.result("thread/resume", resume).await;
    test.server.run_turn(&thread, "go on").await;
    assert_eq!(offered_tools(&test, 3), 1);
    let params = json!({ "threadId": thread });
    let forked = test.server.result("thread/fork", params).await;
    let fork = forked["thread"]["id"].as_str().unwrap();
    test.server.run_turn(fork, "go on").await;
    assert_eq!(offered_tools(&test, 4), 1);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn without_the_feature_all_tools_are_offered() {
    let mut test = searching(vec![text_reply("done")], "").await;
    let thread = test.server.start_thread().await;
    test.server.run_turn(&thread, "hello").await;
    let names = names(&test.model.requests()[0].json());
    let offered = names
        .iter()
        .filter(|name| name.starts_with("mcp__codex_apps"));
    assert_eq!(offered.count(), 100);
    assert!(!names.iter().any(|name| name == "tool_search"));
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn refused_token_is_renewed_in_thread() {
    let call = sse::function_call("call", "mcp__codex_apps__mail_read", &json!({}));
    let replies = vec![HttpReply::stream(&sse::items(&[call])), text_reply("done")];
    let mut test = AppTest::new(directory(), replies, "").await;
    let thread = test.server.start_thread().await;
    loop {
        let told = test
            .server
            .wait_for("mcpServer/startupStatus/updated")
            .await
            .unwrap();
        if told["params"]["status"] == "ready" {
            break;
        }
    }
    test.refuse(&token("w1"));
    test.server.start_turn(&thread, "read").await;
    test.renew_token().await;
    let ended = test.server.completed_turn().await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let second = test.model.requests()[1].json();
    let output = last_items(&second, 1)[0].to_string();
    assert!(output.contains("called"), "{output}");
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn app_tool_approval_names_the_app() {
    let call = |id| {
        let call = sse::function_call(id, "mcp__codex_apps__mail_erase", &json!({}));
        HttpReply::stream(&sse::items(&[call]))
    };
    let replies = vec![
        call("one"),
        text_reply("done"),
        call("two"),
        text_reply("again"),
    ];
    let mut test = AppTest::asking(directory(), replies).await;
    let thread = test.server.start_thread().await;
    test.server.start_turn(&thread, "erase").await;
    let question = test.question().await;
    let params = &question["params"];
    assert_eq!(params["serverName"], "codex_apps");
    assert_eq!(params["message"], "Allow mail to run tool \"mail_erase\"?");
    let about = &params["_meta"];
    assert_eq!(
        (&about["source"], &about["connector_id"]),
        (&json!("connector"), &json!("connector_mail"))
    );
    let answer = json!({ "action": "accept", "content": {}, "_meta": { "persist": "always" } });
    test.answer(&question, answer).await;
    assert_eq!(test.server.completed_turn().await["status"], "completed");
    let config = std::fs::read_to_string(test.home.path().join("config.toml")).unwrap();
    let config: toml::Table = config.parse().unwrap();
    let tool = &config["apps"]["connector_mail"]["tools"]["mail_erase"];
    assert_eq!(tool["approval_mode"].as_str(), Some("approve"));
    // Nobody is asked again.
    assert_eq!(
        test.server.run_turn(&thread, "again").await["status"],
        "completed"
    );
    test.server.finish().await.unwrap();
}
