//! Environments: where commands of a thread run, and machines with exec servers.

use std::sync::Arc;

use codex_http::{SocketMessage, WebSocket};
use codex_test_support::AppServer;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

use crate::model_websocket::{header, upgrade};
use crate::newer_requests::ScriptedThread;
use crate::setup::{experimental_server, home_with};
use crate::soak::message;

/// What is answered to a message: `result` or `error`, nothing at all if it is null, and as usual if there is none.
type Answers = Box<dyn FnMut(&Value) -> Option<Value> + Send>;

/// An exec server that tells what it was sent, and closes its connections on request.
pub(crate) struct ExecServer {
    pub(crate) url: String,
    received: mpsc::UnboundedReceiver<Value>,
    drop_connections: Arc<Notify>,
}

impl ExecServer {
    pub(crate) async fn start() -> Self {
        Self::answering(|_| None).await
    }

    /// One that answers some messages in this way.
    pub(crate) async fn answering(
        answers: impl FnMut(&Value) -> Option<Value> + Send + 'static,
    ) -> Self {
        let mut answers: Answers = Box::new(answers);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let (told, received) = mpsc::unbounded_channel();
        let drop_connections = Arc::<Notify>::default();
        let dropped = Arc::clone(&drop_connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::select! {
                    () = serve(stream, &told, &mut answers) => {}
                    () = dropped.notified() => {}
                }
            }
        });
        Self {
            url,
            received,
            drop_connections,
        }
    }

    /// The next message with this method.
    pub(crate) async fn wait_for(&mut self, method: &str) -> Value {
        loop {
            let message = self.received.recv().await.unwrap();
            if message["method"] == method {
                return message;
            }
        }
    }

    /// All messages that have come so far.
    pub(crate) fn received(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }

    /// Closes the connection that is open.
    pub(crate) fn drop_connection(&self) {
        self.drop_connections.notify_waiters();
    }
}

async fn serve(mut stream: TcpStream, told: &mpsc::UnboundedSender<Value>, answers: &mut Answers) {
    let head = upgrade(&mut stream).await;
    let head = json!({
        "method": "http",
        "authorization": header(&head, "authorization"),
        "requestId": header(&head, "x-request-id"),
    });
    told.send(head).unwrap();
    let mut socket = WebSocket::serve(stream, Default::default(), 1 << 22).await;
    while let Ok(SocketMessage::Text(text)) = socket.next().await {
        let message: Value = serde_json::from_str(&text).unwrap();
        let id = message["id"].clone();
        let shell = json!({ "name": "zsh", "path": "/bin/zsh" });
        let info = json!({ "shell": shell, "cwd": "file:///there", "platformOs": "linux" });
        let result = match message["method"].as_str() {
            Some("initialize") => json!({ "sessionId": "s1", "environmentInfo": info }),
            Some("environment/status") => json!({ "status": "ready" }),
            Some("environment/info") => info,
            // It says that it starts commands, and does not say that it confines them.
            Some("process/start") => {
                json!({ "processId": message["params"]["processId"], "sandboxType": "none" })
            }
            _ => json!({}),
        };
        let answer = answers(&message).unwrap_or_else(|| json!({ "result": result }));
        told.send(message).unwrap();
        if !id.is_null() && !answer.is_null() {
            let mut reply = answer;
            reply["id"] = id;
            let _ = socket.send(reply.to_string()).await;
        }
    }
}

async fn status(server: &mut AppServer, id: &str) -> Value {
    let params = json!({ "environmentId": id });
    server.result("environment/status", params).await
}

#[tokio::test]
async fn a_registered_machine_is_described_by_its_exec_server() {
    let mut exec = ExecServer::start().await;
    let home = home_with("");
    let mut server = experimental_server(&home).await;
    let params = json!({
        "environmentId": "r", "execServerUrl": exec.url, "authBearerToken": "token-1", "websocketRequestId": "id-1",
    });
    server.result("environment/add", params).await;
    let head = exec.wait_for("http").await;
    assert_eq!(
        [&head["authorization"], &head["requestId"]],
        ["Bearer token-1", "id-1"]
    );
    let first = exec.wait_for("initialize").await;
    assert_eq!(first["params"]["resumeSessionId"], Value::Null);
    exec.wait_for("initialized").await;
    let r = json!({ "environmentId": "r" });
    let info = server.result("environment/info", r).await;
    assert_eq!(
        info,
        json!({ "shell": { "name": "zsh", "path": "/bin/zsh" }, "cwd": "file:///there" })
    );
    assert_eq!(
        status(&mut server, "r").await,
        json!({ "status": "ready", "error": null })
    );
    // A lost connection is opened again, for the same session.
    exec.drop_connection();
    let again = exec.wait_for("initialize").await;
    assert_eq!(again["params"]["resumeSessionId"], "s1");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unreachable_machine_gives_the_reason() {
    let home = home_with("");
    let mut server = experimental_server(&home).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", closed.local_addr().unwrap());
    drop(closed);
    let add = |id: &str, url: &str| json!({ "environmentId": id, "execServerUrl": url });
    for (id, url, reason) in [
        ("closed", &*url, "failed to connect"),
        ("odd", "zz", "`zz`"),
    ] {
        server.result("environment/add", add(id, url)).await;
        let params = json!({ "environmentId": id });
        let (code, refused) = server.refusal("environment/info", params).await;
        assert_eq!(code, -32603);
        assert!(refused.contains(reason), "{refused}");
        let status = status(&mut server, id).await;
        assert_eq!(status["status"], "disconnected", "{status}");
        assert!(
            status["error"].as_str().unwrap().contains(reason),
            "{status}"
        );
    }
    for (id, url) in [
        ("local", "ws://127.0.0.1:1"),
        ("", "ws://127.0.0.1:1"),
        ("r", ""),
    ] {
        server.refusal("environment/add", add(id, url)).await;
    }
    assert_eq!(status(&mut server, "r").await["status"], "unknown");
    assert_eq!(status(&mut server, "local").await["status"], "ready");
    let unknown = json!({ "environmentId": "r" });
    let (code, _) = server.refusal("environment/info", unknown).await;
    assert_eq!(code, -32600);
    server.finish().await.unwrap();
}

fn tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

#[tokio::test]
async fn thread_environment_can_be_removed_and_restored() {
    let replies = (0..3).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = dunce::canonicalize(elsewhere.path()).unwrap();
    let update = "thread/settings/update";
    let updated = scripted.call(update, json!({ "environments": [] })).await;
    assert_eq!(updated["result"], json!({}));
    let told = scripted.server.wait_for("thread/settings/updated").await;
    assert_eq!(
        told.unwrap()["params"]["threadSettings"]["environments"],
        json!([])
    );
    let command = json!({ "command": "echo typed" });
    scripted.call("thread/shellCommand", command).await;
    let ended = scripted.server.wait_for("turn/completed").await.unwrap();
    assert_eq!(ended["params"]["turn"]["status"], "failed", "{ended}");
    scripted.turn(json!({})).await;
    let request = scripted.model.request(0).await.json();
    assert!(
        !tools(&request).contains(&"view_image"),
        "{:?}",
        tools(&request)
    );
    assert!(
        request["input"].to_string().contains("unavailable"),
        "{request}"
    );
    let read = scripted.call("thread/read", json!({})).await;
    assert_eq!(read["result"]["thread"]["environments"], json!([]));

    let root = elsewhere.display().to_string();
    let given =
        json!([{ "environmentId": "local", "cwd": root, "runtimeWorkspaceRoots": [root, "/"] }]);
    let params = json!({
        "environments": given, "input": [{ "type": "text", "text": "hi" }],
    });
    scripted.call("turn/start", params).await;
    let told = scripted.server.wait_for("thread/settings/updated").await;
    let settings = told.unwrap()["params"]["threadSettings"].clone();
    scripted.server.wait_for("turn/completed").await.unwrap();
    assert_eq!(
        [&settings["cwd"], &settings["environments"]],
        [&json!(root), &given]
    );
    let request = scripted.model.request(1).await.json();
    assert!(
        tools(&request).contains(&"view_image"),
        "{:?}",
        tools(&request)
    );
    let last = request["input"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .nth(1)
        .unwrap();
    assert!(last.to_string().contains(&root), "{last}");

    // A folder of the thread beside one of the environment: commands run in the latter.
    let both = json!({ "cwd": "/", "environments": [{ "environmentId": "local", "cwd": root }] });
    scripted.call(update, both).await;
    let told = scripted.server.wait_for("thread/settings/updated").await;
    let settings = told.unwrap()["params"]["threadSettings"].clone();
    assert_eq!(
        [&settings["cwd"], &settings["environments"][0]["cwd"]],
        ["/", &*root]
    );
    for wrong in [
        json!([{ "environmentId": "x", "cwd": root }]),
        json!([{ "environmentId": "local", "cwd": "relative" }]),
        json!([{ "environmentId": "local", "cwd": root, "runtimeWorkspaceRoots": ["relative"] }]),
    ] {
        let refused = scripted
            .call(update, json!({ "environments": wrong }))
            .await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
    }
    scripted.server.finish().await.unwrap();
}
