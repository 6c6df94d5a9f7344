//! Secrets that a server repeats in its errors: they reach neither clients nor files.

use std::fs;
use std::path::Path;

use codex_test_support::{HttpReply, ModelServer};
use serde_json::json;

use crate::setup::{home_with, scripted_config, server};

const KEY: &str = "key-that-nobody-may-see";
const HEADER: &str = "header-that-nobody-may-see";

/// All files below a folder that hold one of the secrets.
fn leaks(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_ours = path.file_name().is_some_and(|name| name == "config.toml");
        if path.is_dir() {
            leaks(&path, found);
        } else if !is_ours && path.is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            if text.contains(KEY) || text.contains(HEADER) {
                found.push(path.display().to_string());
            }
        }
    }
}

/// Runs a turn whose provider and tools repeat what they were sent; all that came, and the files.
async fn check(reply: HttpReply) {
    let model = ModelServer::start([]).await.unwrap();
    model.always(reply);
    let url = model.base_url();
    let secrets = format!(
        "experimental_bearer_token = \"{KEY}\"
http_headers = {{ x-key = \"{HEADER}\" }}
\
         query_params = {{ key = \"{KEY}\" }}
\
         [mcp_servers.tools]
url = \"{url}/mcp?key={KEY}\"
http_headers = {{ x-key = \"{HEADER}\" }}
"
    );
    let home = home_with(&(scripted_config(&model, "") + &secrets));
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "hello").await;
    loop {
        let message = server.receive().await.unwrap();
        let text = message.to_string();
        assert!(!text.contains(KEY) && !text.contains(HEADER), "{text}");
        if message["method"] == "turn/completed" {
            let turn = &message["params"]["turn"];
            assert_eq!(turn["status"], "failed");
            let said = turn["error"]["message"].as_str().unwrap();
            assert!(said.contains("[redacted]"), "{said}");
            break;
        }
    }
    let status = server.call("mcpServerStatus/list", json!({})).await;
    let status = status.unwrap().to_string();
    assert!(
        !status.contains(KEY) && !status.contains(HEADER),
        "{status}"
    );
    server.finish().await.unwrap();
    let mut found = Vec::new();
    leaks(home.path(), &mut found);
    assert_eq!(found, [""; 0]);
}

#[tokio::test]
async fn a_refused_key_is_not_repeated() {
    let text = format!("Incorrect key provided: {KEY} ({HEADER})");
    let body = json!({ "error": { "message": text } });
    for status in [400, 401, 404] {
        check(HttpReply::json(status, &body)).await;
    }
}

#[tokio::test]
async fn a_stream_that_fails_repeats_no_key() {
    let text = format!("no such key: {KEY} {HEADER}");
    let failed = json!({ "type": "response.failed", "response": {
        "id": "r", "error": { "code": "invalid_prompt", "message": text } } });
    check(HttpReply::stream([&failed])).await;
}
