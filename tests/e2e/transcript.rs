//! Transcripts of turns, for snapshots: each message of the server and each answer on a line, without what differs
//! from run to run. An id is shown as what it is the id of and a number: equal ids as the same, different ones as others.

use std::collections::HashMap;
use std::path::Path;

use codex_test_support::AppServer;
use serde_json::{Map, Value, json};

/// Members that differ from run to run, or repeat what other lines say.
const LEFT_OUT: [&str; 8] = [
    "startedAt",
    "startedAtMs",
    "completedAt",
    "completedAtMs",
    "durationMs",
    "usage",
    "itemsView",
    "memoryCitation",
];

/// Members with an id, beside `id`.
const ID_MEMBERS: [&str; 10] = [
    "threadId",
    "sessionId",
    "reviewThreadId",
    "turnId",
    "rootTurnId",
    "itemId",
    "requestId",
    "approvalId",
    "processId",
    "checkpointId",
];

/// Members of a thread that say when and where it was stored, and by which version.
const OF_STORED_THREADS: [&str; 5] = ["createdAt", "updatedAt", "recencyAt", "path", "cliVersion"];

/// Notifications that come beside a command that runs, sooner or later. The output of a command is also in its item.
const SKIPPED_METHODS: [&str; 3] = [
    "account/rateLimits/updated",
    "item/commandExecution/outputDelta",
    "thread/tokenUsage/updated",
];

/// Longer texts are cut in the middle.
const MAX_CHARACTERS: usize = 160;

/// The lines so far.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    lines: Vec<String>,
    /// Whether the texts of deltas and items are left out.
    pub(crate) leaves_out_text: bool,
    /// What is shown in place of each id.
    ids: HashMap<String, String>,
    /// Texts to replace, such as paths.
    replaced: Vec<(String, &'static str)>,
    /// The method, the item and the text of the deltas that came last: they are shown as one.
    delta: Option<(String, Value, String)>,
}

impl Transcript {
    /// Paths below `folder` are shown as `[folder]/…`, the id of the thread as that of the first one.
    pub(crate) fn new(folder: &Path, thread: &str) -> Self {
        let canonical = folder.canonicalize().unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        Self {
            ids: HashMap::from([(json!(thread).to_string(), "thread-1".to_owned())]),
            replaced: vec![(text(&canonical), "[folder]"), (text(folder), "[folder]")],
            ..Self::default()
        }
    }

    /// Records until a turn has ended. `answer` gives the result for each request of the server.
    pub(crate) async fn record_turn(
        &mut self,
        server: &mut AppServer,
        answer: impl FnMut(&str) -> Value,
    ) {
        self.record_until("turn/completed", server, answer).await;
    }

    /// Records until a message with this method.
    pub(crate) async fn record_until(
        &mut self,
        last: &str,
        server: &mut AppServer,
        mut answer: impl FnMut(&str) -> Value,
    ) {
        loop {
            let (method, request) = self.record_message(server).await;
            if let Some(id) = request {
                let result = answer(&method);
                self.answer(server, &id, &result).await;
            }
            if method == last {
                return;
            }
        }
    }

    /// Records until a request of the server with this method, and returns its id.
    pub(crate) async fn record_request(&mut self, method: &str, server: &mut AppServer) -> Value {
        loop {
            let (received, request) = self.record_message(server).await;
            if received == method {
                return request.unwrap();
            }
        }
    }

    /// Answers a request of the server.
    pub(crate) async fn answer(&mut self, server: &mut AppServer, id: &Value, result: &Value) {
        let shown = self.shown(result, "answer");
        self.push(format!("  <- {shown}"));
        let reply = json!({ "id": id, "result": result });
        server.send(&reply).await.unwrap();
    }

    /// Records a notification or a request. Returns its method, and the id of a request.
    async fn record_message(&mut self, server: &mut AppServer) -> (String, Option<Value>) {
        loop {
            let message = server.receive().await.unwrap();
            let Some(method) = message["method"].as_str() else {
                continue;
            };
            let request = message.get("id").cloned();
            match &request {
                Some(id) => {
                    let request = self.shown_id("request", id);
                    self.add(&format!("{method} {request}"), &message["params"]);
                }
                None => self.add(method, &message["params"]),
            }
            return (method.to_owned(), request);
        }
    }

    /// Adds what a request of the client is answered with.
    pub(crate) fn reply(&mut self, method: &str, result: &Value) {
        let shown = self.shown(result, "reply");
        self.push(format!("{method} -> {shown}"));
    }

    /// Adds a line of the test itself.
    pub(crate) fn push(&mut self, line: String) {
        self.end_delta();
        self.lines.push(line);
    }

    fn add(&mut self, method: &str, params: &Value) {
        if SKIPPED_METHODS.contains(&method) {
            return;
        }
        if self.leaves_out_text && !params["delta"].is_null() {
            return;
        }
        if let Some(piece) = params["delta"].as_str() {
            match &mut self.delta {
                Some((same, item, text)) if same == method && *item == params["itemId"] => {
                    text.push_str(piece);
                }
                _ => {
                    self.end_delta();
                    let item = params["itemId"].clone();
                    self.delta = Some((method.to_owned(), item, piece.to_owned()));
                }
            }
            return;
        }
        let mut params = params.clone();
        if self.leaves_out_text {
            params.pointer_mut("/item/text").map(Value::take);
        }
        if let Some(items) = params["turn"]["items"].as_array() {
            // The items were shown one by one.
            params["turn"]["items"] = items.iter().map(|item| item["type"].clone()).collect();
        }
        let line = format!("{method} {}", self.shown(&params, method));
        // The same diff may be sent more than once.
        if method != "turn/diff/updated" || !self.lines.contains(&line) {
            self.push(line);
        }
    }

    fn end_delta(&mut self) {
        if let Some((method, item, text)) = self.delta.take() {
            let item = match item {
                Value::Null => String::new(),
                item => self.shown_id("item", &item) + " ",
            };
            let text = self.shown(&json!(text), "delta");
            self.lines.push(format!("{method} {item}{text}"));
        }
    }

    /// A value in the notation of JSON, without quotes around names and without members that say nothing. `owner` is the
    /// name of the member that has it.
    fn shown(&mut self, value: &Value, owner: &str) -> String {
        match value {
            Value::Null => String::new(),
            Value::String(text) => json!(self.stable(text)).to_string(),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.shown(item, owner)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(members) => self.shown_members(members, owner),
            _ => value.to_string(),
        }
    }

    fn shown_members(&mut self, members: &Map<String, Value>, owner: &str) -> String {
        let is_shown = |name: &str, value: &Value| {
            let is_empty = value.is_null() || *value == json!([]) || *value == json!({});
            let is_of_storage = owner == "thread" && OF_STORED_THREADS.contains(&name);
            !is_empty && !is_of_storage && !LEFT_OUT.contains(&name)
        };
        let mut shown = Vec::new();
        for (name, value) in members {
            if !is_shown(name, value) {
                continue;
            }
            let text = if name == "id" {
                self.shown_id(owner, value)
            } else if ID_MEMBERS.contains(&&**name) {
                self.shown_id(name.trim_end_matches("Id"), value)
            } else {
                self.shown(value, name)
            };
            shown.push(format!("{name}: {text}"));
        }
        format!("{{{}}}", shown.join(", "))
    }

    /// What stands for an id. Its kind is that of the first place where it stood.
    fn shown_id(&mut self, kind: &str, id: &Value) -> String {
        let kind = match kind {
            "items" => "item",
            "turns" => "turn",
            kind => kind,
        };
        let next = self
            .ids
            .values()
            .filter(|shown| shown.starts_with(&format!("{kind}-")));
        let next = next.count() + 1;
        let shown = self.ids.entry(id.to_string());
        shown.or_insert_with(|| format!("{kind}-{next}")).clone()
    }

    fn stable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (part, name) in &self.replaced {
            text = text.replace(part, name);
        }
        // The port of the scripted model.
        if let Some((before, after)) = text.split_once("127.0.0.1:") {
            let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
            text = format!("{before}127.0.0.1:[port]{rest}");
        }
        let length = text.chars().count();
        if length <= MAX_CHARACTERS {
            return text;
        }
        let begin: String = text.chars().take(MAX_CHARACTERS / 2).collect();
        let end: String = text.chars().skip(length - MAX_CHARACTERS / 4).collect();
        format!("{begin}[… {length} characters …]{end}")
    }
}

impl std::fmt::Display for Transcript {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        assert!(self.delta.is_none(), "a transcript ends with its turn");
        formatter.write_str(&self.lines.join("\n"))
    }
}
