//! MCP servers of different revisions: with a handshake, and without one since 2026-07-28.

use std::fs;
use std::sync::Arc;

use codex_test_support::{AppServer, ModelServer};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::setup::{scripted_home, server};

const NEWEST_REVISION: &str = "2026-07-28";
const UNSUPPORTED_REVISION: i64 = -32022;

/// How a server with a handshake refuses a request before it.
#[derive(Clone, Debug)]
enum Refusal {
    Status(u16, &'static str),
    /// A reply with an error.
    Error(i64),
    /// A reply with an error and a session that does not exist.
    ErrorWithSession,
    /// It names the revisions that it knows.
    Versions,
    Silence,
}

/// A server behind HTTP.
#[derive(Clone)]
enum Web {
    WithHandshake(Refusal),
    /// Its tool asks this many times before it has a result.
    Stateless {
        questions: usize,
    },
}

#[derive(Default)]
struct Seen {
    messages: Mutex<Vec<(Value, Request)>>,
}

struct WebServer {
    web: Web,
    seen: Arc<Seen>,
}

fn answer(id: &Value, result: &Value) -> ResponseTemplate {
    let reply = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    ResponseTemplate::new(200).set_body_json(reply)
}

fn error(status: u16, id: &Value, code: i64, data: &Value) -> ResponseTemplate {
    let error = json!({ "code": code, "message": "refused", "data": data });
    let reply = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    ResponseTemplate::new(status).set_body_json(reply)
}

impl Refusal {
    fn reply(&self, id: &Value) -> ResponseTemplate {
        match self {
            Self::Status(status, text) => ResponseTemplate::new(*status).set_body_string(*text),
            Self::Error(code) => error(200, id, *code, &Value::Null),
            Self::ErrorWithSession => {
                error(200, id, -32601, &Value::Null).insert_header("mcp-session-id", "of nothing")
            }
            Self::Versions => error(
                400,
                id,
                UNSUPPORTED_REVISION,
                &json!({ "supported": ["2025-06-18"], "requested": NEWEST_REVISION }),
            ),
            Self::Silence => ResponseTemplate::new(202),
        }
    }
}

fn tools() -> Value {
    json!({ "tools": [
        { "name": "place", "inputSchema": { "type": "object", "properties": {
            "city": { "type": "string", "x-mcp-header": "City" } } } },
        { "name": "broken", "inputSchema": { "type": "object", "properties": {
            "city": { "type": "string", "x-mcp-header": "a b" } } } },
    ] })
}

impl WebServer {
    fn with_handshake(
        &self,
        refusal: &Refusal,
        message: &Value,
        request: &Request,
    ) -> ResponseTemplate {
        let id = &message["id"];
        match message["method"].as_str().unwrap_or_default() {
            "initialize" if !request.headers.contains_key("mcp-session-id") => answer(
                id,
                &json!({ "protocolVersion": "2024-11-05", "capabilities": {} }),
            )
            .insert_header("mcp-session-id", "session"),
            "server/discover" => refusal.reply(id),
            _ if request
                .headers
                .get("mcp-session-id")
                .is_none_or(|it| it != "session") =>
            {
                ResponseTemplate::new(400)
            }
            "tools/list" => answer(id, &tools()),
            "tools/call" => answer(id, &json!({ "content": [] })),
            _ => ResponseTemplate::new(202),
        }
    }

    fn stateless(questions: usize, message: &Value) -> ResponseTemplate {
        let id = &message["id"];
        let complete = |mut result: Value| {
            result["resultType"] = json!("complete");
            answer(id, &result)
        };
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => complete(
                json!({ "supportedVersions": [NEWEST_REVISION], "capabilities": {},
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "web", "version": "1" } } }),
            ),
            "tools/list" => complete(tools()),
            "tools/call" => {
                let round = message["params"]["requestState"]
                    .as_u64()
                    .unwrap_or_default();
                let round = usize::try_from(round).unwrap();
                if round >= questions {
                    let given = &message["params"]["inputResponses"];
                    let text = json!({ "type": "text", "text": given.to_string() });
                    return complete(json!({ "content": [text] }));
                }
                let schema =
                    json!({ "type": "object", "properties": { "name": { "type": "string" } } });
                let question = json!({ "method": "elicitation/create", "params": {
                    "mode": "form", "message": "Who?", "requestedSchema": schema } });
                answer(
                    id,
                    &json!({ "resultType": "input_required", "requestState": round + 1,
                    "inputRequests": { "who": question } }),
                )
            }
            "resources/list" => complete(json!({ "resources": [] })),
            "resources/templates/list" => complete(json!({ "resourceTemplates": [] })),
            _ => error(404, id, -32601, &Value::Null),
        }
    }
}

impl Respond for WebServer {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        if request.url.path() != "/mcp" {
            return ResponseTemplate::new(404);
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let is_stream = request
            .headers
            .get("accept")
            .is_some_and(|kind| kind == "text/event-stream");
        // Others that get something look for a login.
        if request.method == "POST" || is_stream {
            let mut messages = self.seen.messages.lock();
            messages.push((message.clone(), request.clone()));
        }
        if request.method != "POST" {
            return ResponseTemplate::new(405);
        }
        match &self.web {
            Web::WithHandshake(refusal) => self.with_handshake(refusal, &message, request),
            Web::Stateless { questions } => Self::stateless(*questions, &message),
        }
    }
}

/// An app-server whose threads have a server, and a thread.
struct RevisionTest {
    server: AppServer,
    thread: String,
    _model: ModelServer,
    _home: TempDir,
}

impl RevisionTest {
    async fn start(table: &str) -> Self {
        let model = ModelServer::start([]).await.unwrap();
        let home = scripted_home(&model, "");
        let file = home.path().join("config.toml");
        fs::write(&file, fs::read_to_string(&file).unwrap() + table).unwrap();
        let mut server = server(&home).await;
        let thread = server.start_thread().await;
        Self {
            server,
            thread,
            _model: model,
            _home: home,
        }
    }

    /// The same, with a server behind HTTP and what it has seen.
    async fn with_web(web: Web) -> (Self, Arc<Seen>, MockServer) {
        let seen = Arc::<Seen>::default();
        let mock = MockServer::start().await;
        let responder = WebServer {
            web,
            seen: Arc::clone(&seen),
        };
        Mock::given(any())
            .respond_with(responder)
            .mount(&mock)
            .await;
        let table = format!("[mcp_servers.web]\nurl = \"{}/mcp\"\n", mock.uri());
        (Self::start(&table).await, seen, mock)
    }

    fn call_params(&self, tool: &str) -> Value {
        json!({ "threadId": self.thread, "server": "web", "tool": tool,
            "arguments": { "city": " Z\u{fc}rich" } })
    }
}

impl Seen {
    fn methods(&self) -> Vec<String> {
        let messages = self.messages.lock();
        let methods = messages.iter().map(|(message, request)| {
            let method = message["method"].as_str();
            method.map_or_else(|| request.method.to_string(), str::to_owned)
        });
        methods.collect()
    }
}

#[tokio::test]
async fn stateless_server_gets_all_metadata_with_every_request() {
    let (mut setup, seen, _web) = RevisionTest::with_web(Web::Stateless { questions: 0 }).await;
    let params = setup.call_params("place");
    setup.server.result("mcpServer/tool/call", params).await;
    let params = setup.call_params("broken");
    let (_, refused) = setup.server.refusal("mcpServer/tool/call", params).await;
    assert!(refused.contains("an invalid name"), "{refused}");
    let listed = setup.server.result("mcpServerStatus/list", json!({})).await;
    let tools = listed["data"][0]["tools"].as_object().unwrap();
    assert_eq!(tools.keys().collect::<Vec<_>>(), ["place"]);
    setup.server.finish().await.unwrap();
    let methods = seen.methods();
    assert!(
        !methods.iter().any(|method| {
            ["initialize", "notifications/initialized", "GET", "DELETE"].contains(&method.as_str())
        }),
        "{methods:?}"
    );
    for (message, request) in seen.messages.lock().iter() {
        let header = |name: &str| {
            request
                .headers
                .get(name)
                .map(|value| value.to_str().unwrap())
        };
        assert_eq!(
            header("mcp-protocol-version"),
            Some(NEWEST_REVISION),
            "{message}"
        );
        assert_eq!(header("mcp-method"), message["method"].as_str());
        assert_eq!(header("mcp-session-id"), None);
        let meta = &message["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            NEWEST_REVISION
        );
        let capabilities = &meta["io.modelcontextprotocol/clientCapabilities"];
        if capabilities["elicitation"].is_null() {
            // It looks for a login.
            assert_eq!(message["method"], "server/discover");
            continue;
        }
        assert!(capabilities["elicitation"]["form"].is_object(), "{message}");
        assert_eq!(
            meta["io.modelcontextprotocol/clientInfo"]["name"],
            "codex-mcp-client"
        );
        if message["method"] == "tools/call" {
            assert_eq!(header("mcp-name"), Some("place"));
            assert_eq!(header("mcp-param-city"), Some("=?base64?IFrDvHJpY2g=?="));
        }
    }
}

#[tokio::test]
async fn reply_questions_are_answered_by_the_repeated_request() {
    let (mut setup, seen, _web) = RevisionTest::with_web(Web::Stateless { questions: 2 }).await;
    let params = setup.call_params("place");
    let call = setup
        .server
        .begin("mcpServer/tool/call", params)
        .await
        .unwrap();
    for name in ["Ada", "Grace"] {
        let question = setup
            .server
            .wait_for("mcpServer/elicitation/request")
            .await
            .unwrap();
        assert_eq!(question["params"]["message"], "Who?");
        let result = json!({ "action": "accept", "content": { "name": name } });
        setup
            .server
            .send(&json!({ "id": question["id"], "result": result }))
            .await
            .unwrap();
    }
    let reply = setup.server.reply_to(call).await.unwrap();
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    let given: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        given,
        json!({ "who": { "action": "accept", "content": { "name": "Grace" } } })
    );
    let ids: Vec<Value> = seen
        .messages
        .lock()
        .iter()
        .filter(|(message, _)| message["method"] == "tools/call")
        .map(|(message, _)| message["id"].clone())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    setup.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_given_up() {
    let (mut setup, _seen, _web) = RevisionTest::with_web(Web::Stateless {
        questions: usize::MAX,
    })
    .await;
    let params = setup.call_params("place");
    let call = setup
        .server
        .begin("mcpServer/tool/call", params)
        .await
        .unwrap();
    let reply = loop {
        let message = setup.server.receive().await.unwrap();
        if message["method"] == "mcpServer/elicitation/request" {
            let result = json!({ "action": "decline" });
            setup
                .server
                .send(&json!({ "id": message["id"], "result": result }))
                .await
                .unwrap();
        } else if message["id"] == call && message.get("method").is_none() {
            break message;
        }
    };
    let error = reply["error"]["message"].as_str().unwrap();
    assert!(error.contains("have no end"), "{error}");
    setup.server.finish().await.unwrap();
}

#[tokio::test]
async fn older_mcp_servers_get_a_handshake_after_any_refusal() {
    let table = [
        Refusal::Status(400, "Bad Request: Server not initialized"),
        Refusal::Status(404, ""),
        Refusal::Status(405, ""),
        Refusal::Status(500, "<html>"),
        Refusal::Status(200, "<html>"),
        Refusal::Error(-32601),
        Refusal::Error(-32600),
        Refusal::ErrorWithSession,
        Refusal::Versions,
        Refusal::Silence,
    ];
    for refusal in table {
        let web = Web::WithHandshake(refusal.clone());
        let (mut setup, seen, _web) = RevisionTest::with_web(web).await;
        for tool in ["place", "broken"] {
            let params = setup.call_params(tool);
            setup.server.result("mcpServer/tool/call", params).await;
        }
        setup.server.finish().await.unwrap();
        let methods = seen.methods();
        assert_eq!(
            methods[..2],
            ["server/discover", "initialize"],
            "{refusal:?}"
        );
        for (message, request) in seen.messages.lock().iter().skip(1) {
            assert!(!request.headers.contains_key("mcp-method"), "{message}");
            let meta = &message["params"]["_meta"];
            assert!(
                meta["io.modelcontextprotocol/protocolVersion"].is_null(),
                "{message}"
            );
        }
    }
}

/// A program that knows no handshake. It refuses one in the way that it is told.
const PROGRAM: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    meta = params.get("_meta", {})
    if meta.get("io.modelcontextprotocol/protocolVersion") != "2026-07-28":
        reply["error"] = {"code": int(sys.argv[1]), "message": "no", "data": {"supported": ["2026-07-28"]}}
    elif method == "server/discover":
        reply["result"] = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}
    elif method == "tools/list":
        reply["result"] = {"resultType": "complete", "tools": [{"name": "place", "inputSchema": {"type": "object"}}]}
    else:
        reply["result"] = {"resultType": "complete", "content": [{"type": "text", "text": "here"}]}
    print(json.dumps(reply), flush=True)
"#;

#[tokio::test]
async fn a_program_without_a_handshake_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server.py");
    fs::write(&script, PROGRAM).unwrap();
    for code in ["-32022", "-32601"] {
        let table = format!(
            "[mcp_servers.web]\ncommand = \"python3\"\nargs = [\"{}\", \"{code}\"]\n",
            script.display()
        );
        let mut setup = RevisionTest::start(&table).await;
        let params = setup.call_params("place");
        let result = setup.server.result("mcpServer/tool/call", params).await;
        assert_eq!(result["content"][0]["text"], "here");
        setup.server.finish().await.unwrap();
    }
}

/// A server of 2024-11-05: messages are posted at one address, all replies come on a stream. It says where messages go.
const OLD_SERVER: &str = r#"
import json, queue, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
replies = queue.Queue()
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass
    def do_GET(self):
        if self.path != "/mcp":
            return self.end(404)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        event = "event: endpoint\ndata: " + sys.argv[1] + "\n\n"
        while event:
            self.wfile.write(event.encode())
            self.wfile.flush()
            reply = replies.get()
            event = reply and "event: message\ndata: " + json.dumps(reply) + "\n\n"
    def end(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/messages?session=1":
            return self.end(405)
        self.end(202)
        if "id" not in message:
            return
        method = message["method"]
        if method == "initialize":
            result = {"protocolVersion": "2024-11-05", "capabilities": {}}
        elif method == "tools/list":
            result = {"tools": [{"name": "place", "inputSchema": {"type": "object"}}, {"name": "leave", "inputSchema": {"type": "object"}}]}
        elif message["params"].get("name") == "leave":
            return replies.put(None)
        else:
            result = {"content": [{"type": "text", "text": "here"}]}
        replies.put({"jsonrpc": "2.0", "id": message["id"], "result": result})
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

/// A server of 2024-11-05 that names this address for messages, and where it is.
async fn old_server(endpoint: &str) -> (tokio::process::Child, String) {
    let mut server = tokio::process::Command::new("python3")
        .args(["-c", OLD_SERVER, endpoint])
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let port = lines.next_line().await.unwrap().unwrap();
    (server, format!("http://127.0.0.1:{port}"))
}

#[tokio::test]
async fn replies_on_a_separate_stream_are_read() {
    let (_old, address) = old_server("/messages?session=1").await;
    let mut test =
        RevisionTest::start(&format!("[mcp_servers.web]\nurl = \"{address}/mcp\"\n")).await;
    let params = test.call_params("place");
    let result = test.server.result("mcpServer/tool/call", params).await;
    assert_eq!(result["content"][0]["text"], "here");
    // The end of the stream is the end of the server, and of the call that waits for it.
    let params = test.call_params("leave");
    let (_, error) = test.server.refusal("mcpServer/tool/call", params).await;
    assert!(error.contains("Transport closed"), "{error}");
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn mcp_messages_go_only_to_the_configured_server() {
    let other = MockServer::start().await;
    let (_old, address) = old_server(&format!("{}/messages", other.uri())).await;
    let table = format!(
        "[mcp_servers.web]\nurl = \"{address}/mcp\"\nhttp_headers = {{ X-Key = \"secret\" }}\n"
    );
    let mut test = RevisionTest::start(&table).await;
    let status = loop {
        let status = test
            .server
            .wait_for("mcpServer/startupStatus/updated")
            .await
            .unwrap();
        if status["params"]["status"] != "starting" {
            break status["params"].clone();
        }
    };
    assert_eq!(status["status"], "failed");
    let error = status["error"].as_str().unwrap();
    assert!(error.contains("an address of another one"), "{error}");
    assert!(other.received_requests().await.unwrap().is_empty());
    test.server.finish().await.unwrap();
}
