//! Answers that the model's server cut: they are kept, asked for once, and a person is told why they end.

use std::fs;

use codex_test_support::{HttpReply, ModelServer};
use serde_json::{Value, json};

use crate::exec::{ExecFolders, events, kinds};
use crate::stdout_of;

const TEXT: &str = "The first half of";

fn stream(events: &[Value], end: &str) -> HttpReply {
    let frames: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .body(format!("{frames}{end}"))
}

/// An answer over chat completions with this reason for its end.
fn chat_answer(reason: &str) -> HttpReply {
    let chunk = |delta: Value, reason: Value| json!({ "id": "c", "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    let call = json!({ "tool_calls": [{ "index": 0, "id": "t", "function":
        { "name": "shell_command", "arguments": "{\"command\": \"touch made" } }] });
    stream(
        &[
            chunk(json!({ "content": TEXT }), Value::Null),
            chunk(call, Value::Null),
            chunk(json!({}), reason.into()),
        ],
        "data: [DONE]\n\n",
    )
}

/// An answer over responses whose message has no end.
pub(crate) fn response_answer(text: &str, reason: &str) -> HttpReply {
    let message = json!({ "type": "message", "role": "assistant", "id": "m", "content": [] });
    stream(
        &[
            json!({ "type": "response.created", "response": { "id": "r" } }),
            json!({ "type": "response.output_item.added", "item": message }),
            json!({ "type": "response.output_text.delta", "delta": text }),
            json!({ "type": "response.incomplete", "response":
                { "id": "r", "incomplete_details": { "reason": reason } } }),
        ],
        "",
    )
}

/// An answer over responses with a call, cut behind it.
fn response_call(arguments: &str, status: &str) -> HttpReply {
    let call = json!({ "type": "function_call", "id": "f", "call_id": "t", "name": "shell_command",
        "arguments": arguments, "status": status });
    stream(
        &[
            json!({ "type": "response.created", "response": { "id": "r" } }),
            json!({ "type": "response.output_item.done", "item": call }),
            json!({ "type": "response.incomplete", "response":
                { "id": "r", "incomplete_details": { "reason": "max_output_tokens" } } }),
        ],
        "",
    )
}

#[tokio::test]
async fn call_that_the_server_calls_incomplete_does_not_run() {
    let answer = response_call("{\"command\": \"touch made\"}", "incomplete");
    let model = ModelServer::start([answer]).await.unwrap();
    let place = ExecFolders::with_model(&model);
    let mut command = place.command(&["--json", "-s", "workspace-write", "go"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let printed = stdout_of(&output);
    assert!(!place.work.path().join("made").exists(), "{printed}");
    assert_eq!(model.requests().len(), 1, "{printed}");
    assert!(printed.contains("limit on output tokens"), "{printed}");
}

#[tokio::test]
async fn answers_that_are_always_cut_end_the_turn() {
    let answer = || response_call("{\"command\": \"touch", "completed");
    let answers: Vec<HttpReply> = std::iter::repeat_with(answer).take(20).collect();
    let model = ModelServer::start(answers).await.unwrap();
    let place = ExecFolders::with_model(&model);
    let mut command = place.command(&["--json", "-s", "workspace-write", "go"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let printed = stdout_of(&output);
    assert_eq!(model.requests().len(), 5, "{printed}");
    assert!(printed.contains("5 answers in a row were cut"), "{printed}");
    assert_eq!(kinds(&events(&output)).last(), Some(&"turn.completed"));
}

#[tokio::test]
async fn cut_answer_is_kept_and_asked_for_once() {
    let cases = [
        ("chat", chat_answer("length"), "limit on output tokens"),
        ("chat", chat_answer("content_filter"), "content filter"),
        (
            "responses",
            response_answer(TEXT, "max_output_tokens"),
            "limit on output tokens",
        ),
        (
            "responses",
            response_answer(TEXT, "content_filter"),
            "content filter",
        ),
    ];
    for (wire, answer, expected) in cases {
        let model = ModelServer::start([answer]).await.unwrap();
        let place = ExecFolders::with_model(&model);
        let file = place.home.path().join("config.toml");
        let config = fs::read_to_string(&file).unwrap();
        let config = config
            .replace("\"responses\"", &format!("\"{wire}\""))
            .replace("stream_max_retries = 0", "stream_max_retries = 5");
        fs::write(&file, config).unwrap();
        let mut command = place.command(&["--json", "-s", "workspace-write", "go"]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        let printed = stdout_of(&output);
        assert!(output.status.success(), "{wire}: {printed}");
        assert_eq!(model.requests().len(), 1, "{wire}: {printed}");
        assert_eq!(printed.matches(TEXT).count(), 1, "{wire}: {printed}");
        assert!(printed.contains(expected), "{wire}: {printed}");
        assert_eq!(kinds(&events(&output)).last(), Some(&"turn.completed"));
        assert!(!place.work.path().join("made").exists());
        // The model knows what it said.
        model.push(HttpReply::stream(&codex_test_support::sse::text(
            "the rest",
        )));
        let config = fs::read_to_string(&file).unwrap();
        fs::write(&file, config.replace("\"chat\"", "\"responses\"")).unwrap();
        let mut command = place.command(&["resume", "--last", "go on"]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        assert_eq!(stdout_of(&output.await.unwrap()), "the rest\n");
        let asked = model.requests()[1].json()["input"].to_string();
        assert!(asked.contains(TEXT), "{asked}");
    }
}
