//! Times reading and writing the two messages that matter most: the largest one, a `thread/read`
//! response of 400 KB, and the most frequent one, a delta of 120 bytes.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that prints figures"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::rpc::Message;
use codex_app_server_protocol::v2::ThreadReadResponse;
use serde_json::{Value, json};

const ROUNDS: usize = 41;

fn main() {
    let response = thread_read_response(400_000).to_string();
    let parsed: ThreadReadResponse = serde_json::from_str(&response).unwrap();
    report("thread/read response, read", response.len(), 10, || {
        black_box(serde_json::from_str::<ThreadReadResponse>(black_box(&response)).unwrap());
    });
    report("thread/read response, write", response.len(), 10, || {
        black_box(serde_json::to_vec(black_box(&parsed)).unwrap());
    });

    let delta = json!({
        "method": "item/agentMessage/delta",
        "params": { "threadId": "t", "turnId": "u", "itemId": "i", "delta": "thirty bytes of new text, yes" },
    })
    .to_string();
    let notification = read_notification(&delta);
    report("delta, read", delta.len(), 10_000, || {
        black_box(read_notification(black_box(&delta)));
    });
    let mut buffer = Vec::with_capacity(256);
    report("delta, write", delta.len(), 10_000, || {
        buffer.clear();
        serde_json::to_writer(&mut buffer, black_box(&notification)).unwrap();
        black_box(&buffer);
    });
}

/// The envelope first, then the params, as a client does it.
fn read_notification(text: &str) -> ServerNotification {
    let Message::Notification(notification) = serde_json::from_str(text).unwrap() else {
        unreachable!("the text is a notification");
    };
    ServerNotification::read(&notification.method, notification.params).unwrap()
}

/// Prints the median time of one call, over several rounds of `calls` calls.
fn report(what: &str, bytes: usize, calls: u32, mut call: impl FnMut()) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            start.elapsed() / calls
        })
        .collect();
    times.sort();
    let median = times[ROUNDS / 2];
    let rate = bytes as f64 / median.as_secs_f64() / 1e6;
    println!("{what:<28} {bytes:>7} bytes {median:>12.2?} {rate:>7.0} MB/s");
}

/// A thread of turns with a message, reasoning, a command and a patch each.
fn thread_read_response(bytes: usize) -> Value {
    let turn = |number: usize| {
        json!({
            "id": format!("turn-{number}"),
            "status": "completed",
            "error": null,
            "items": [
                { "type": "userMessage", "id": format!("u{number}"), "content": [
                    { "type": "text", "text": "Please look at the failing test.", "text_elements": [] },
                ] },
                { "type": "reasoning", "id": format!("r{number}"), "summary": ["Reading the test."], "content": [] },
                {
                    "type": "commandExecution", "id": format!("c{number}"), "command": "cargo test",
                    "cwd": "/home/ann/shop", "processId": null, "source": "agent", "status": "completed",
                    "commandActions": [{ "type": "unknown", "command": "cargo test" }],
                    "aggregatedOutput": "test result: ok. 12 passed; 0 failed\n".repeat(12),
                    "exitCode": 0, "durationMs": 1200,
                },
                { "type": "fileChange", "id": format!("f{number}"), "status": "completed", "changes": [
                    { "path": "/home/ann/shop/src/cart.rs", "kind": { "type": "update", "move_path": null },
                      "diff": "@@ -1,2 +1,2 @@\n-let total = 0;\n+let total = sum;\n" },
                ] },
                { "type": "agentMessage", "id": format!("a{number}"), "phase": null, "memoryCitation": null,
                  "text": "The total ignored the discount; it does not any more. ".repeat(8) },
            ],
        })
    };
    let count = bytes / turn(0).to_string().len();
    json!({ "thread": {
        "id": "0198f0a0-0000-7000-8000-000000000001", "preview": "Please look", "ephemeral": false,
        "modelProvider": "local", "createdAt": 1_780_000_000, "updatedAt": 1_780_000_000,
        "status": { "type": "idle" }, "path": null, "cwd": "/home/ann/shop", "cliVersion": "1.0.0",
        "source": "vscode", "agentNickname": null, "agentRole": null, "gitInfo": null, "name": null,
        "turns": (0..count).map(turn).collect::<Vec<_>>(),
    } })
}
