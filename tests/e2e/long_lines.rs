//! Stored lines of 200 MB: they are read with less memory than they have, and the thread stays usable.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use codex_test_support::AppServer;
use serde_json::{Value, json};

use crate::setup::{experimental_server, home_with};

const THREAD: &str = "00000000-0000-7000-8000-000000000001";
const LONG_LINE_BYTES: usize = 200_000_000;
/// How much the memory of the server may grow at its peak, in KiB.
const MOST_GROWTH: u64 = 250 << 10;

fn line(kind: &str, payload: &Value) -> String {
    let line = json!({ "timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload });
    line.to_string() + "\n"
}

/// A thread with a message of a person, one long line and a message of the model.
fn write_thread(home: &Path, long: (&str, Value, char)) {
    let folder = home.join("sessions/2026/01/01");
    fs::create_dir_all(&folder).unwrap();
    let name = format!("rollout-2026-01-01T00-00-00-{THREAD}.jsonl");
    let mut file = fs::File::create(folder.join(name)).unwrap();
    let meta = json!({ "id": THREAD, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": home, "originator": "test",
        "cli_version": "0.117.0", "source": "cli", "model_provider": "openai" });
    let said = json!({ "type": "user_message", "message": "hello", "images": [] });
    let ended = json!({ "type": "agent_message", "message": "after" });
    let (kind, payload, filling) = long;
    let template = line(kind, &payload);
    let (before, after) = template.split_once("LONG").unwrap();
    for text in [
        &line("session_meta", &meta),
        &line("event_msg", &said),
        before,
    ] {
        file.write_all(text.as_bytes()).unwrap();
    }
    let chunk = String::from(filling).repeat(1_000_000 / filling.len_utf8());
    for _ in 0..LONG_LINE_BYTES / chunk.len() {
        file.write_all(chunk.as_bytes()).unwrap();
    }
    for text in [after, &line("event_msg", &ended)] {
        file.write_all(text.as_bytes()).unwrap();
    }
}

/// The most memory that a server has had, in KiB.
fn peak(server: &AppServer) -> u64 {
    let status =
        fs::read_to_string(format!("/proc/{}/status", server.process_id().unwrap())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

#[tokio::test]
async fn long_lines_are_read_with_bounded_memory() {
    let thread = json!({ "threadId": THREAD });
    let with_turns = json!({ "threadId": THREAD, "includeTurns": true });
    let message = json!({ "type": "agent_message", "message": "LONG" });
    let output = json!({ "type": "function_call_output", "call_id": "c", "output": "LONG" });
    let image = json!({ "type": "message", "role": "user",
        "content": [{ "type": "input_image", "image_url": "data:image/png;base64,LONG" }] });
    for (kind, payload, filling) in [
        ("event_msg", message, 'ä'),
        ("response_item", output, 'x'),
        ("response_item", image, 'A'),
    ] {
        let home = home_with("");
        write_thread(home.path(), (kind, payload.clone(), filling));
        for (method, params) in [
            ("thread/list", json!({})),
            ("thread/read", with_turns.clone()),
            ("thread/turns/list", thread.clone()),
            ("thread/search", json!({ "searchTerm": "hello" })),
            ("thread/resume", thread.clone()),
        ] {
            let mut server = experimental_server(&home).await;
            let before = peak(&server);
            let reply = server.result(method, params).await.to_string();
            let growth = peak(&server) - before;
            assert!(growth < MOST_GROWTH, "{method} of {kind}: {growth} KiB");
            println!("{method} of {kind}: {} MB more", growth / 1000);
            if method == "thread/read" {
                assert!(reply.contains("hello") && reply.contains("after"));
                let is_cut = reply.contains("bytes are not read]");
                assert_eq!(is_cut, kind == "event_msg", "what is missing is said");
            }
            server.finish().await.unwrap();
        }
    }
}
