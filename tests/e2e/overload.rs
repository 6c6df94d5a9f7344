//! What a server says to whom asks for more at once than it does.

use std::fs;

use serde_json::json;

use crate::serving::Serving;

/// How many requests of a client may be under way.
const IN_FLIGHT: usize = 256;

#[tokio::test]
async fn overloading_client_gets_refusals_and_all_other_replies() {
    let mut serving = Serving::start().await;
    let server = &mut serving.server;
    // It takes no input before it may, so that whoever writes to it waits.
    let waits = "echo ready; until test -e go; do sleep 0.05; done; cat > /dev/null";
    let command = json!({
        "command": ["sh", "-c", waits], "processId": "slow", "streamStdin": true,
        "streamStdoutStderr": true, "sandboxPolicy": { "type": "dangerFullAccess" },
        "cwd": serving.home.path(),
    });
    let command = server.begin("command/exec", command).await.unwrap();
    server.wait_for("command/exec/outputDelta").await.unwrap();
    // More than a pipe takes. It is accepted, and then under way until all of it is read.
    let long = "eHh4".repeat(1 << 18);
    let write = |text: &str| json!({ "processId": "slow", "deltaBase64": text });
    let first = server.call("command/exec/write", write(&long)).await;
    assert_eq!(first.unwrap()["result"], json!({}));
    let mut admitted = Vec::new();
    for _ in 2..IN_FLIGHT {
        let id = server.begin("command/exec/write", write("eA==")).await;
        admitted.push(id.unwrap());
    }
    for _ in 0..1000 {
        let refused = server.call("command/exec/write", write("eA==")).await;
        let overloaded = json!({ "code": -32001, "message": "Server overloaded; retry later." });
        assert_eq!(refused.unwrap()["error"], overloaded);
    }
    // What is no request, or none that can be carried out, is told so as ever.
    let unknown = server.call("no/such/method", json!({})).await.unwrap();
    assert_eq!(unknown["error"]["code"], -32601);
    fs::write(serving.home.path().join("go"), "").unwrap();
    for id in admitted {
        assert_eq!(server.reply_to(id).await.unwrap()["result"], json!({}));
    }
    let end = json!({ "processId": "slow", "closeStdin": true });
    server.call("command/exec/write", end).await.unwrap();
    let ended = server.reply_to(command).await.unwrap();
    assert_eq!(ended["result"]["exitCode"], 0);
    serving.finish().await;
}
