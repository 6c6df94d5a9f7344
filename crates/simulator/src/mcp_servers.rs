//! Simulated MCP servers: programs that speak the protocol on their standard streams, well or badly.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use codex_core::{ProcessInput, ProcessOwner, RunningProcess};
use codex_exec::{ExitStatus, OutputChunk, OutputStream};
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, watch};

use crate::machine::SeededRandom;
use crate::record::{self, RecordKind};

/// The program of all servers in the settings.
pub(crate) const PROGRAM: &str = "simulated-mcp-server";

/// What is no message.
const NONSENSE: &str = "listening {\"id\": [\n\n{}\n\u{1}\n";

/// What a call of a tool comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallOutcome {
    Result,
    /// The same answer twice.
    Twice,
    /// After what is no message, and in parts.
    Nonsense,
    /// After a question to the user.
    Question,
    /// A result that says that the tool has failed.
    Failure,
    /// What is no result.
    Unreadable,
    Error,
    Never,
    /// The server ends in the middle of its answer.
    Death,
}

/// Starts a server.
pub(crate) fn start(random: SeededRandom) -> RunningProcess {
    let (lines, input) = mpsc::unbounded_channel();
    let (output, printed) = mpsc::unbounded_channel();
    let (end, ended) = watch::channel(None);
    let server = SimulatedServer {
        random: Mutex::new(random),
        output,
        end: end.clone(),
        is_answered: Notify::new(),
    };
    tokio::spawn(Arc::new(server).serve(input));
    let printed = stream::unfold(
        printed,
        |mut printed: mpsc::UnboundedReceiver<Bytes>| async {
            let bytes = printed.recv().await?;
            let stream = OutputStream::Stdout;
            Some((OutputChunk { stream, bytes }, printed))
        },
    );
    let mut until = ended.clone();
    let ends = async move { drop(until.wait_for(Option::is_some).await) };
    RunningProcess {
        owner: Box::new(ServerOwner { end, ended }),
        output: printed.take_until(Box::pin(ends)).boxed(),
        input: Some(Box::new(ServerInput {
            lines,
            begun: Vec::new(),
        })),
    }
}

#[derive(Debug)]
struct SimulatedServer {
    random: Mutex<SeededRandom>,
    output: mpsc::UnboundedSender<Bytes>,
    end: watch::Sender<Option<ExitStatus>>,
    /// A question was answered.
    is_answered: Notify,
}

impl SimulatedServer {
    /// Answers what it reads, each request on its own, until its input ends or it dies.
    async fn serve(self: Arc<Self>, mut input: mpsc::UnboundedReceiver<Vec<u8>>) {
        let is_stubborn = self.random.lock().chance(1, 8);
        while let Some(line) = input.recv().await {
            let message: Value = serde_json::from_slice(&line).unwrap_or_default();
            if message["method"].is_null() {
                self.is_answered.notify_waiters();
            } else if !message["id"].is_null() {
                tokio::spawn(Arc::clone(&self).answer(message));
            }
        }
        if !is_stubborn {
            self.die(ExitStatus::Code(0));
        }
    }

    async fn answer(self: Arc<Self>, request: Value) {
        match request["method"].as_str().unwrap_or_default() {
            "initialize" => self.begin(&request).await,
            "tools/list" => self.list(&request).await,
            "tools/call" => self.call(&request).await,
            _ => self.refuse(&request),
        }
    }

    async fn begin(&self, request: &Value) {
        let (way, wait) = {
            let mut random = self.random.lock();
            (random.below(32), random.below(12_000))
        };
        match way {
            0 => return,
            1 => return self.die(ExitStatus::Code(1)),
            2 => return self.refuse(request),
            3 => self.print(NONSENSE),
            4 => sleep(wait).await,
            _ => {}
        }
        let facts = json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "simulated", "version": "1" },
        });
        self.reply(request, &facts);
    }

    /// The list is another one each time.
    async fn list(&self, request: &Value) {
        let (way, count) = {
            let mut random = self.random.lock();
            (random.below(32), 1 + random.below(4))
        };
        match way {
            0 => return,
            1 => return self.reply(request, &json!({ "tools": "none" })),
            2 => sleep(5_000).await,
            _ => {}
        }
        let tool = |number: u64| {
            json!({
                "name": format!("tool_{number}"),
                "description": "Does something",
                "inputSchema": { "type": "object", "properties": { "what": { "type": "string" } } },
                "annotations": { "readOnlyHint": number.is_multiple_of(2) },
            })
        };
        let tools: Vec<Value> = (0..count).map(tool).collect();
        self.reply(request, &json!({ "tools": tools }));
    }

    async fn call(&self, request: &Value) {
        let (outcome, wait) = {
            let mut random = self.random.lock();
            let outcome = match random.below(20) {
                0 => CallOutcome::Twice,
                1 => CallOutcome::Nonsense,
                2 | 3 => CallOutcome::Question,
                4 => CallOutcome::Failure,
                5 => CallOutcome::Unreadable,
                6 => CallOutcome::Error,
                7 | 8 => CallOutcome::Never,
                9 | 10 => CallOutcome::Death,
                _ => CallOutcome::Result,
            };
            let scale = random.below(18);
            (outcome, random.below(1 << scale))
        };
        let what = request["params"]["arguments"]["what"].as_str();
        let note = |event: &str| {
            let noted = json!({ "call": what, "event": event });
            record::add(RecordKind::Tool, 0, &noted.to_string());
        };
        note("called");
        sleep(wait).await;
        if outcome == CallOutcome::Question {
            let schema = json!({ "type": "object", "properties": {} });
            let params = json!({ "message": "Which?", "requestedSchema": schema });
            let id = format!("question {}", request["id"]);
            let question = json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params });
            let answered = self.is_answered.notified();
            self.print(&format!("{question}\n"));
            let _ = tokio::time::timeout(Duration::from_secs(300), answered).await;
        }
        // The list may have changed, whatever else happens.
        self.print("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
        let text = json!([{ "type": "text", "text": "done" }]);
        let result = json!({ "content": text, "isError": outcome == CallOutcome::Failure });
        match outcome {
            CallOutcome::Never => return,
            CallOutcome::Death => {
                note("died");
                self.print("{\"jsonrpc\":\"2.0\",\"id\":");
                return self.die(ExitStatus::Signal(9));
            }
            CallOutcome::Error => return self.refuse(request),
            CallOutcome::Unreadable => return self.reply(request, &json!({ "content": 7 })),
            CallOutcome::Nonsense => self.print(NONSENSE),
            CallOutcome::Twice
            | CallOutcome::Question
            | CallOutcome::Failure
            | CallOutcome::Result => {}
        }
        note("answered");
        self.reply(request, &result);
        if outcome == CallOutcome::Twice {
            self.reply(request, &result);
        }
    }

    fn refuse(&self, request: &Value) {
        let error = json!({ "code": -32601, "message": "not here" });
        let reply = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
        self.print(&format!("{reply}\n"));
    }

    fn reply(&self, request: &Value, result: &Value) {
        let reply = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.print(&format!("{reply}\n"));
    }

    /// Prints in two parts.
    fn print(&self, text: &str) {
        let half = text.floor_char_boundary(text.len() / 2);
        for part in [&text[..half], &text[half..]] {
            // Nobody reads any more once it was killed.
            let _ = self.output.send(Bytes::copy_from_slice(part.as_bytes()));
        }
    }

    fn die(&self, status: ExitStatus) {
        self.end
            .send_if_modified(|ended| ended.replace(status).is_none());
    }
}

async fn sleep(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[derive(Debug)]
struct ServerOwner {
    end: watch::Sender<Option<ExitStatus>>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl ProcessOwner for ServerOwner {
    fn ended(&self) -> BoxFuture<'_, ExitStatus> {
        let mut ended = self.ended.clone();
        Box::pin(async move {
            match ended.wait_for(Option::is_some).await {
                Ok(status) => status.unwrap_or(ExitStatus::Code(0)),
                Err(_) => ExitStatus::Code(0),
            }
        })
    }

    fn kill(&mut self) -> BoxFuture<'_, ()> {
        self.end.send_replace(Some(ExitStatus::Signal(9)));
        Box::pin(std::future::ready(()))
    }
}

/// Splits input into lines.
#[derive(Debug)]
struct ServerInput {
    lines: mpsc::UnboundedSender<Vec<u8>>,
    begun: Vec<u8>,
}

impl ProcessInput for ServerInput {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend(part);
            if part.ends_with(b"\n") {
                let _ = self.lines.send(std::mem::take(&mut self.begun));
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
