//! What is too deep, too long or too much: it is refused or ends its turn, and the server goes on.

use std::time::Duration;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::serving::{self, Serving};
use crate::setup::{scripted_home, server};

#[tokio::test]
async fn keys_and_values_without_end_are_refused() {
    let mut serving = Serving::start().await;
    let key = ["a"; 10_000].join(".");
    let config = json!({ "config": { &key: 1 } });
    let too_long = "more than 32 segments";
    serving
        .refused("thread/start", config, -32600, too_long)
        .await;
    let write = json!({ "keyPath": key, "value": 1, "mergeStrategy": "replace" });
    serving
        .refused("config/value/write", write, -32600, too_long)
        .await;
    let deep = (0..100).fold(json!(1), |value, _| json!([value]));
    let write = json!({ "keyPath": "a", "value": deep, "mergeStrategy": "upsert" });
    serving
        .refused("config/value/write", write, -32600, "levels deep")
        .await;
    // A file that nests as deeply is an error, too. The parser itself takes this.
    let braces = format!("x = {}1{}", "{a.a.a.a.a.a=".repeat(70), "}".repeat(70));
    std::fs::write(serving.home.path().join("config.toml"), braces).unwrap();
    let reply = serving.server.call("thread/start", json!({})).await;
    assert!(reply.unwrap()["error"]["code"].is_i64());
    serving.result("thread/loaded/list", json!({})).await;
    serving.finish().await;
}

/// A server with a thread whose turn the model makes of `replies`; messages up to the end of that turn,
/// read after `pause`.
async fn turn(replies: Vec<HttpReply>, pause: Duration) -> Vec<Value> {
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"never\"");
    let serving::Bare {
        child: mut server,
        mut input,
        mut output,
    } = serving::bare(home.path());
    let client = json!({ "name": "tests", "version": "1" });
    let begin = [
        json!({ "id": 1, "method": "initialize", "params": { "clientInfo": client } }),
        json!({ "id": 2, "method": "thread/start", "params": {} }),
    ];
    input.write(&begin).await.unwrap();
    let thread = loop {
        let message = output.next().await.unwrap();
        if message["id"] == 2 {
            break message["result"]["thread"]["id"].clone();
        }
    };
    let text = json!([{ "type": "text", "text": "go" }]);
    let start = json!({ "threadId": thread, "input": text });
    let start = json!({ "id": 3, "method": "turn/start", "params": start });
    input.write(&[start]).await.unwrap();
    tokio::time::sleep(pause).await;
    let mut messages = Vec::new();
    while messages
        .last()
        .is_none_or(|last: &Value| last["method"] != "turn/completed")
    {
        messages.push(output.next().await.unwrap());
    }
    drop(input);
    while output.next().await.is_some() {}
    assert!(server.wait().await.unwrap().success());
    messages
}

#[tokio::test]
async fn a_command_that_prints_much_waits_for_its_reader() {
    let script = "head -c 200000000 /dev/zero | tr '\\0' x";
    let call = json!({ "command": script, "timeout_ms": 3000 });
    let call = sse::function_call("call-1", "shell_command", &call);
    let replies = vec![
        HttpReply::stream(&sse::items(&[call])),
        HttpReply::stream(&sse::text("done")),
    ];
    // It could print all of it in this time.
    let messages = turn(replies, Duration::from_secs(4)).await;
    let ended = messages.last().unwrap();
    assert_eq!(ended["params"]["turn"]["status"], "completed", "{ended}");
    let deltas = messages
        .iter()
        .filter(|message| message["method"] == "item/commandExecution/outputDelta");
    let shown: usize = deltas
        .map(|delta| delta["params"]["delta"].as_str().unwrap().len())
        .sum();
    assert!((1..64 << 20).contains(&shown), "{shown} bytes");
}

/// Asserts that a turn with these replies fails because of the size of `what`.
async fn ends_as_too_large(replies: Vec<HttpReply>, what: &str, limit: usize) {
    let messages = turn(replies, Duration::ZERO).await;
    let ended = messages.last().unwrap();
    assert_eq!(ended["params"]["turn"]["status"], "failed", "{ended}");
    let error = &ended["params"]["turn"]["error"]["message"];
    let expected = format!("{what} larger than {limit} bytes");
    assert!(error.as_str().unwrap().contains(&expected), "{error}");
}

#[tokio::test]
async fn endless_model_ends_its_turn() {
    let mut steps = vec![sse::created("r"), sse::added(&sse::message(""))];
    let piece = "x".repeat(1 << 20);
    steps.extend((0..17).map(|_| sse::delta(&piece)));
    ends_as_too_large(vec![HttpReply::stream(&steps)], "an item", 16 << 20).await;
}

#[tokio::test]
#[ignore = "streams 540 MiB; .ci/run runs it"]
async fn a_turn_of_too_many_long_responses_ends() {
    let piece = "x".repeat(1 << 20);
    let mut steps = vec![sse::created("r")];
    for _ in 0..12 {
        steps.push(sse::added(&sse::message("")));
        steps.extend((0..15).map(|_| sse::delta(&piece)));
        steps.push(sse::done(&sse::message("short")));
    }
    let plan = json!({ "plan": [{ "step": "go on", "status": "pending" }] });
    let call = sse::function_call("again", "update_plan", &plan);
    steps.extend([sse::done(&call), sse::completed("r")]);
    // No response is over its own limit of 192 MiB; the third one takes the turn over 512 MiB.
    let replies = vec![HttpReply::stream(&steps); 4];
    ends_as_too_large(replies, "a turn", 512 << 20).await;
}

/// Answers what begins a session, and nothing else.
const STUCK_SERVER: &str = r#"
while read -r line; do
  id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<< "$line")
  case "$line" in
    *'"initialize"'*)
      echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18",
        "capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}}' | tr -d '\n'
      echo ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[]}}' ;;
  esac
done
"#;

#[tokio::test]
async fn unresponsive_mcp_server_delays_no_list() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("stuck.sh");
    std::fs::write(&script, STUCK_SERVER).unwrap();
    let config = format!(
        "[mcp_servers.stuck]\ncommand = \"bash\"\nargs = [{script:?}]\ntool_timeout_sec = 6000\n"
    );
    let mut serving = Serving::with_config(&config).await;
    let listed = serving.result("mcpServerStatus/list", json!({})).await;
    assert_eq!(listed["data"][0]["name"], "stuck");
    assert_eq!(listed["data"][0]["resources"], json!([]));
    serving.finish().await;
}

#[tokio::test]
async fn two_calls_with_one_id_are_both_answered() {
    let call =
        |script: &str| sse::function_call("same", "shell_command", &json!({ "command": script }));
    let calls = sse::items(&[call("touch one"), call("touch two")]);
    let replies = [
        HttpReply::stream(&calls),
        HttpReply::stream(&sse::text("done")),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"untrusted\"");
    let serving::Bare {
        child: _server,
        mut input,
        mut output,
    } = serving::bare(home.path());
    let client = json!({ "name": "tests", "version": "1" });
    let mut say = async |message: Value| input.write(&[message]).await.unwrap();
    say(json!({ "id": 1, "method": "initialize", "params": { "clientInfo": client } })).await;
    say(json!({ "id": 2, "method": "thread/start", "params": {} })).await;
    let mut asked = 0;
    loop {
        let message = output.next().await.unwrap();
        if message["id"] == 2 && message.get("result").is_some() {
            let thread = &message["result"]["thread"]["id"];
            let text = json!([{ "type": "text", "text": "go" }]);
            let start = json!({ "threadId": thread, "input": text });
            say(json!({ "id": 3, "method": "turn/start", "params": start })).await;
        } else if message["method"] == "item/commandExecution/requestApproval" {
            asked += 1;
            say(json!({ "id": message["id"], "result": { "decision": "accept" } })).await;
        } else if message["method"] == "turn/completed" {
            assert_eq!(
                message["params"]["turn"]["status"], "completed",
                "{message}"
            );
            break;
        }
    }
    assert_eq!(asked, 2);
    let request = model.requests().pop().unwrap().json();
    let items = request["input"].as_array().unwrap();
    let outputs = items
        .iter()
        .filter(|item| item["type"] == "function_call_output");
    assert_eq!(outputs.count(), 2, "{request}");
    assert!(home.path().join("one").exists() && home.path().join("two").exists());
}

#[tokio::test]
async fn fork_is_stored_before_reply() {
    let model = ModelServer::start([HttpReply::stream(&sse::text("done"))]);
    let model = model.await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "go").await;
    for _ in 0..20 {
        let fork = json!({ "threadId": thread });
        let reply = server.call("thread/fork", fork).await.unwrap();
        let path = reply["result"]["thread"]["path"].as_str().unwrap();
        let lines = std::fs::read_to_string(path).unwrap_or_default();
        assert!(lines.contains("done") && lines.ends_with('\n'), "{path}");
    }
    server.finish().await.unwrap();
}
