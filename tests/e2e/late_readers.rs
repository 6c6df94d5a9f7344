//! A client that reads only once it has said everything.

use std::fs;

use serde_json::{Value, json};

use crate::serving;

/// Their replies are more than a pipe holds.
const REQUESTS: usize = 3000;

#[tokio::test]
async fn late_reader_gets_all_messages_in_order() {
    let home = tempfile::tempdir().unwrap();
    let large = home.path().join("large");
    fs::write(&large, vec![b'x'; 3 << 20]).unwrap();
    let mut server = serving::bare(home.path());
    let client = json!({"name": "late", "version": "1"});
    let mut requests = vec![
        json!({"id": "hello", "method": "initialize", "params": {"clientInfo": client}}),
        json!({"id": "large", "method": "fs/readFile", "params": {"path": large}}),
    ];
    requests.extend((0..REQUESTS).map(|id| json!({"id": id, "method": "no/such", "params": {}})));
    server.input.write(&requests).await.unwrap();

    let (mut next, mut large) = (0, None);
    while next < REQUESTS || large.is_none() {
        let message = server.output.next().await.unwrap();
        match &message["id"] {
            Value::Number(id) => {
                assert_eq!(id.as_u64(), Some(next as u64));
                next += 1;
            }
            Value::String(id) if id == "large" => {
                large = message["result"]["dataBase64"].as_str().map(str::len);
            }
            _ => {}
        }
    }
    assert_eq!(large, Some(4 << 20));
    drop(server.input);
    assert!(server.child.wait().await.unwrap().success());
}
