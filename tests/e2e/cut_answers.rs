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
fn response_answer(reason: &str) -> HttpReply {
    let message = json!({ "type": "message", "role": "assistant", "id": "m", "content": [] });
    stream(
        &[
            json!({ "type": "response.created", "response": { "id": "r" } }),
            json!({ "type": "response.output_item.added", "item": message }),
            json!({ "type": "response.output_text.delta", "delta": TEXT }),
            json!({ "type": "response.incomplete", "response":
                { "id": "r", "incomplete_details": { "reason": reason } } }),
        ],
        "",
    )
}

#[tokio::test]
async fn cut_answer_is_kept_and_asked_for_once() {
    let cases = [
        ("chat", chat_answer("length"), "limit on output tokens"),
        ("chat", chat_answer("content_filter"), "content filter"),
        (
            "responses",
            response_answer("max_output_tokens"),
            "limit on output tokens",
        ),
        (
            "responses",
            response_answer("content_filter"),
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
