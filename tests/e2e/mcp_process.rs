//! An MCP server for the tests of MCP: the test binary, started again.

use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// How the test binary is started as the server.
const ARGUMENTS: [&str; 4] = [
    "mcp_process::scripted_server",
    "--exact",
    "--ignored",
    "--nocapture",
];

/// The settings of a server as JSON.
pub(crate) fn behaviour_of(behaviour: &Value) -> Value {
    json!({
        "command": std::env::current_exe().unwrap(),
        "args": ARGUMENTS,
        "env": { "SCRIPTED_MCP": behaviour.to_string() },
    })
}

/// The table of a configuration that has this server, with more of its keys.
pub(crate) fn configured(name: &str, behaviour: &Value, keys: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let arguments = json!(ARGUMENTS);
    format!(
        "[mcp_servers.{name}]\ncommand = {program:?}\nargs = {arguments}\n\
         env = {{ SCRIPTED_MCP = {:?} }}\n{keys}\n",
        behaviour.to_string()
    )
}

/// Not a test but the server. `SCRIPTED_MCP` tells its behaviour: `log`, a file that gets what it
/// reads; `held`, a pipe that it holds open together with a child; `start`, one of `dies`, `hangs`,
/// `refuses`; `offers`, what it offers beyond the protocol.
#[test]
#[ignore = "an MCP server, which other tests start"]
fn scripted_server() {
    let behaviour = std::env::var("SCRIPTED_MCP").unwrap();
    let behaviour: Value = serde_json::from_str(&behaviour).unwrap();
    let _held = behaviour["held"].as_str().map(|path| {
        let held = OpenOptions::new().write(true).open(path).unwrap();
        let child = Command::new("sleep")
            .arg("600")
            .stdout(held.try_clone().unwrap())
            .spawn();
        (held, child.unwrap())
    });
    // What the harness has printed is on the same line until here.
    println!("\nthis is no message");
    eprintln!("nor is this");
    if behaviour["start"] == "dies" {
        std::process::exit(3);
    }
    let mut server = ScriptedMcpServer {
        behaviour,
        asked: None,
    };
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(file) = server.behaviour["log"].as_str() {
            note(Path::new(file), &message);
        }
        server.answer(&message);
    }
    std::process::exit(0);
}

fn note(file: &Path, message: &Value) {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .unwrap();
    writeln!(file, "{message}").unwrap();
}

fn send(message: &Value) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{message}").unwrap();
    output.flush().unwrap();
}

fn reply(id: &Value, result: &Value) {
    send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

fn refuse(id: &Value, message: &str) {
    let error = json!({ "code": -32000, "message": message });
    send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

struct ScriptedMcpServer {
    behaviour: Value,
    /// The call that waits for an answer of the user.
    asked: Option<Value>,
}

impl ScriptedMcpServer {
    fn answer(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str() {
            Some("initialize") => match self.behaviour["start"].as_str() {
                Some("hangs") => {}
                Some("refuses") => refuse(id, "no thanks"),
                _ => reply(
                    id,
                    &json!({
                        "protocolVersion": params["protocolVersion"],
                        "capabilities": { "experimental": self.behaviour["offers"] },
                        "serverInfo": { "name": "scripted", "version": "1" },
                    }),
                ),
            },
            Some("tools/list") => reply(id, &tools(&params["cursor"])),
            Some("resources/list") => {
                let resource = json!({ "uri": "memo://1", "name": "one" });
                reply(id, &json!({ "resources": [resource] }));
            }
            Some("resources/templates/list") => reply(id, &json!({ "resourceTemplates": [] })),
            Some("resources/read") => {
                let contents = json!({ "uri": params["uri"], "text": "hello" });
                reply(id, &json!({ "contents": [contents] }));
            }
            Some("tools/call") => self.call(id, params),
            Some("codex/sandbox-state/update") => reply(id, &json!({})),
            Some(_) => {}
            None => {
                if let Some(call) = self.asked.take() {
                    reply(&call, &text(&message["result"].to_string()));
                }
            }
        }
    }

    fn call(&mut self, id: &Value, params: &Value) {
        match params["name"].as_str().unwrap() {
            "echo" => reply(id, &text(params["arguments"]["text"].as_str().unwrap())),
            "write" => reply(id, &text("written")),
            "variables" => {
                let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                reply(id, &json!({ "content": [], "structuredContent": names }));
            }
            "fail" => {
                let mut failure = text("it failed");
                failure["isError"] = true.into();
                reply(id, &failure);
            }
            "refuse" => refuse(id, "not today"),
            "die" => std::process::exit(1),
            "ask" => {
                self.asked = Some(id.clone());
                let properties = json!({ "name": { "type": "string" } });
                let schema = json!({ "type": "object", "properties": properties });
                let question = &params["arguments"]["question"];
                let params = if question.is_object() {
                    question.clone()
                } else {
                    json!({ "message": "Who?", "requestedSchema": schema })
                };
                send(
                    &json!({ "jsonrpc": "2.0", "id": "question", "method": "elicitation/create",
                    "params": params }),
                );
            }
            "ask_form" => {
                self.asked = Some(id.clone());
                let meta = json!({ "own": 1, "codex_approval_kind": "mcp_tool_call" });
                let schema = json!({ "any": [1] });
                let params =
                    json!({ "message": "Which?", "requestedSchema": schema, "_meta": meta });
                send(
                    &json!({ "jsonrpc": "2.0", "id": "form", "method": "openai/form",
                    "params": params }),
                );
            }
            // Anything else is never answered.
            _ => {}
        }
    }
}

/// Two pages.
fn tools(cursor: &Value) -> Value {
    let tool = |name: &str| {
        json!({ "name": name, "description": "A tool.", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": name != "write" } })
    };
    match cursor.as_str() {
        None => {
            let tools = ["echo", "write", "fail", "refuse", "die"].map(tool);
            json!({ "tools": tools, "nextCursor": "more" })
        }
        Some(_) => {
            let tools = ["ask", "ask_form", "hang", "variables"].map(tool);
            json!({ "tools": tools })
        }
    }
}
