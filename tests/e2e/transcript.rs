//! Transcripts of turns, for snapshots: each message of the server and each answer on a line, without what differs
//! from run to run.

use std::path::Path;

use codex_test_support::AppServer;
use serde_json::{Map, Value, json};

/// Members that differ from run to run, or repeat what other lines say.
const LEFT_OUT: [&str; 17] = [
    "id",
    "threadId",
    "turnId",
    "checkpointId",
    "rootTurnId",
    "itemId",
    "approvalId",
    "requestId",
    "processId",
    "startedAt",
    "startedAtMs",
    "completedAt",
    "completedAtMs",
    "durationMs",
    "usage",
    "itemsView",
    "memoryCitation",
];

/// Notifications that come beside a command that runs, sooner or later. The output of a command is also in its item.
const SKIPPED: [&str; 3] = [
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
    /// Texts to replace, such as paths.
    replaced: Vec<(String, &'static str)>,
    /// The method, the item and the text of the deltas that came last: they are shown as one.
    delta: Option<(String, Value, String)>,
}

impl Transcript {
    /// Paths below `folder` are shown as `[folder]/…`.
    pub(crate) fn of(folder: &Path) -> Self {
        let canonical = folder.canonicalize().unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        Self {
            replaced: vec![(text(&canonical), "[folder]"), (text(folder), "[folder]")],
            ..Self::default()
        }
    }

    /// Records until a turn has ended. `answer` gives the result for each request of the server.
    pub(crate) async fn record_turn(
        &mut self,
        server: &mut AppServer,
        mut answer: impl FnMut(&str) -> Value,
    ) {
        loop {
            let message = server.receive().await.unwrap();
            let Some(method) = message["method"].as_str() else {
                continue;
            };
            self.add(method, &message["params"]);
            if message.get("id").is_some() {
                let result = answer(method);
                self.push(format!("  <- {}", self.shown(&result)));
                let reply = json!({ "id": message["id"], "result": result });
                server.send(&reply).await.unwrap();
            }
            if method == "turn/completed" {
                return;
            }
        }
    }

    /// Adds a line of the test itself.
    pub(crate) fn push(&mut self, line: String) {
        self.end_delta();
        self.lines.push(line);
    }

    fn add(&mut self, method: &str, params: &Value) {
        if SKIPPED.contains(&method) {
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
        if let Some(items) = params["turn"]["items"].as_array() {
            // The items were shown one by one.
            params["turn"]["items"] = items.iter().map(|item| item["type"].clone()).collect();
        }
        let line = format!("{method} {}", self.shown(&params));
        // The same diff may be sent more than once.
        if method != "turn/diff/updated" || !self.lines.contains(&line) {
            self.push(line);
        }
    }

    fn end_delta(&mut self) {
        if let Some((method, _, text)) = self.delta.take() {
            let text = self.shown(&json!(text));
            self.lines.push(format!("{method} {text}"));
        }
    }

    /// A value in the notation of JSON, without quotes around names and without members that say nothing.
    fn shown(&self, value: &Value) -> String {
        match value {
            Value::Null => String::new(),
            Value::String(text) => json!(self.stable(text)).to_string(),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.shown(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(members) => self.shown_members(members),
            _ => value.to_string(),
        }
    }

    fn shown_members(&self, members: &Map<String, Value>) -> String {
        let is_shown = |name: &str, value: &Value| {
            let is_empty = value.is_null() || *value == json!([]) || *value == json!({});
            !is_empty && !LEFT_OUT.contains(&name)
        };
        let shown: Vec<_> = (members.iter())
            .filter(|(name, value)| is_shown(name, value))
            .map(|(name, value)| format!("{name}: {}", self.shown(value)))
            .collect();
        format!("{{{}}}", shown.join(", "))
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
