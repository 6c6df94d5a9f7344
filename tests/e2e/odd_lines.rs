//! Lines that nobody would send, through the built server: whatever comes, it goes on, and what carries an
//! id is replied to once.

use std::collections::HashMap;

use codex_app_server_protocol::rpc::{Message, RequestId};
use codex_test_support::PseudoRandom;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::serving;

/// Harmless, and each of them leads to another part of the server.
const SEEDS: [&str; 9] = [
    r#"{"id":1,"method":"thread/start","params":{"cwd":"/tmp","config":{"model":"x"},"ephemeral":true}}"#,
    r#"{"id":"b","method":"turn/start","params":{"threadId":"0195f0a0-7b1c-7000-8000-0000000000ab","input":[{"type":"text","text":"hi"}]}}"#,
    r#"{"id":3,"method":"thread/read","params":{"threadId":"x","includeTurns":true}}"#,
    r#"{"id":4,"method":"thread/list","params":{"limit":1,"sourceKinds":["cli"],"cursor":"x"}}"#,
    r#"{"id":5,"method":"model/list","params":{"cursor":"1","limit":2},"trace":{"traceparent":"00-1"}}"#,
    r#"{"id":6,"method":"fuzzyFileSearch","params":{"query":"x","roots":[],"cancellationToken":"t"}}"#,
    r#"{"id":7,"method":"thread/unsubscribe","params":{"threadId":"0195f0a0-7b1c-7000-8000-0000000000ab"}}"#,
    r#"{"id":0,"result":{"decision":"accept"}}"#,
    r#"{"method":"initialized"}"#,
];

const HANDSHAKE: &str =
    r#"{"id":-1,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}"#;

/// The id under which a line has to be replied to.
fn id_of(line: &[u8]) -> Option<String> {
    match serde_json::from_slice(line) {
        Ok(Message::Request(request)) => Some(request.id.to_string()),
        Ok(_) => None,
        // No message; it may still be an object that has one.
        Err(_) => reply_id(&serde_json::from_slice(line).ok()?),
    }
}

fn reply_id(message: &Value) -> Option<String> {
    let id = serde_json::from_value::<RequestId>(message.get("id")?.clone());
    Some(id.ok()?.to_string())
}

/// 2,000 lines; `FUZZ_LINES=100000 cargo test -p codex-cli --test e2e odd_lines` for more.
#[tokio::test]
async fn odd_lines_get_one_reply_each() {
    let lines = std::env::var("FUZZ_LINES").map_or(2000, |lines| lines.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    let serving::Bare {
        child: mut server,
        mut input,
        mut output,
    } = serving::bare(home.path());
    let (replied, mut replies) = mpsc::unbounded_channel();
    let reading = tokio::spawn(async move {
        while let Some(message) = output.next().await {
            if let Some(id) = reply_id(&message) {
                replied.send(id).unwrap();
            }
        }
    });
    let mut noise = PseudoRandom::new(0);
    let mut missing: HashMap<String, i64> = HashMap::new();
    let mut count = 0_usize;
    let seeds = (0..lines).map(|_| noise.mutated(SEEDS[noise.clone().below(SEEDS.len())]));
    for line in std::iter::once(HANDSHAKE.as_bytes().to_vec()).chain(seeds) {
        if let Some(id) = id_of(&line) {
            *missing.entry(id).or_default() += 1;
            count += 1;
        }
        input.write_noise(&line).await;
        // Not so many at once that the rest is only refused.
        while count > 100 {
            *missing.entry(replies.recv().await.unwrap()).or_default() -= 1;
            count -= 1;
        }
    }
    for _ in 0..count {
        *missing.entry(replies.recv().await.unwrap()).or_default() -= 1;
    }
    missing.retain(|_, missing| *missing != 0);
    assert_eq!(missing, HashMap::new());
    drop(input);
    reading.await.unwrap();
    assert_eq!(replies.recv().await, None);
    assert!(server.wait().await.unwrap().success());
}
