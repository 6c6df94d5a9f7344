//! Reads from the file of a thread what it used, and finds its agents in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_model_client::ModelPrices;
use codex_protocol::{
    EventMsg, FunctionCallOutputBody, ResponseItem, RolloutItem, RolloutLine, ThreadId,
    TokenUsageInfo,
};
use codex_rollout::ScannedLine;
use jiff::Timestamp;
use serde_json::Value;

use super::shared_use::StoredThreadUse;
use super::used::Used;
use crate::ports::Model;

/// More agents of a tree are not looked at.
const MAX_AGENTS: usize = 10_000;

/// What was used before a thread was loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoredUse {
    pub(super) thread: Used,
    /// With all agents.
    pub(super) tree: Used,
    /// That of the last turn of the thread, if it has not ended.
    pub(super) unfinished_turn: Used,
}

/// Blocks. `loaded` are agents that run or ran in this process, with the lengths of their files before that.
pub(super) fn read_stored_use(
    stored: &StoredThreadUse,
    loaded: &BTreeMap<ThreadId, u64>,
    model: &dyn Model,
) -> StoredUse {
    let mut files: Vec<(PathBuf, u64)> = vec![(stored.path.clone(), stored.length)];
    let mut seen = BTreeSet::new();
    let mut found = StoredUse::default();
    let mut is_first = true;
    while let Some((path, length)) = files.pop() {
        let reader = read_file(&path, length, model);
        found.tree.add(&reader.used);
        if std::mem::take(&mut is_first) {
            found.thread = reader.used;
            found.unfinished_turn = reader.unfinished.unwrap_or_default();
        }
        for agent in reader.agents {
            if seen.len() >= MAX_AGENTS || !seen.insert(agent.clone()) {
                continue;
            }
            let length = loaded.get(&agent).copied().unwrap_or(u64::MAX);
            files.extend(codex_rollout::find(&stored.home, &agent).map(|path| (path, length)));
        }
    }
    found
}

fn read_file<'a>(path: &Path, length: u64, model: &'a dyn Model) -> UseReader<'a> {
    let mut reader = UseReader::new(model);
    let scanned = codex_rollout::scan(path, |line| {
        if line.offset() >= length {
            return ControlFlow::Break(());
        }
        reader.take(line);
        ControlFlow::Continue(())
    });
    if let Err(error) = scanned {
        tracing::warn!(path = %path.display(), %error, "the use of a thread cannot be read");
    }
    reader.end();
    reader
}

/// Reads lines of a file.
struct UseReader<'a> {
    model: &'a dyn Model,
    prices: Option<ModelPrices>,
    last: Option<TokenUsageInfo>,
    used: Used,
    /// The use of the turn that has not ended.
    turn: Used,
    /// The same, at the end of the file.
    unfinished: Option<Used>,
    /// When the turn began that has not ended, and the time of the last line.
    running: Option<Timestamp>,
    now: Option<Timestamp>,
    /// Calls that start an agent and have no output yet.
    spawning: BTreeSet<String>,
    agents: Vec<ThreadId>,
}

impl<'a> UseReader<'a> {
    fn new(model: &'a dyn Model) -> Self {
        Self {
            model,
            prices: None,
            last: None,
            used: Used::default(),
            turn: Used::default(),
            unfinished: None,
            running: None,
            now: None,
            spawning: BTreeSet::new(),
            agents: Vec::new(),
        }
    }

    fn take(&mut self, line: ScannedLine<'_>) {
        let Some((kind, payload)) = line.kind() else {
            return;
        };
        let is_wanted = match (kind.as_ref(), payload.as_deref()) {
            ("turn_context", _) => true,
            ("event_msg", Some(event)) => matches!(
                event,
                "token_count"
                    | "task_started"
                    | "task_complete"
                    | "turn_started"
                    | "turn_complete"
                    | "turn_aborted"
            ),
            ("response_item", Some("function_call")) => {
                memchr::memmem::find(line.bytes(), b"spawn_agent").is_some()
            }
            ("response_item", Some("function_call_output")) => !self.spawning.is_empty(),
            _ => false,
        };
        if self.running.is_some() || is_wanted {
            self.now = time_of(line).or(self.now);
        }
        if is_wanted && let Some(line) = line.read() {
            self.take_line(line);
        }
    }

    fn take_line(&mut self, line: RolloutLine) {
        match line.item {
            RolloutItem::TurnContext(context) => {
                self.prices = self.model.resolve(&context.model).info.prices;
            }
            RolloutItem::EventMsg(EventMsg::TokenCount(count)) => self.take_tokens(count.info),
            RolloutItem::EventMsg(EventMsg::TurnStarted(_)) => {
                self.running = self.now;
                self.turn = Used::default();
            }
            RolloutItem::EventMsg(EventMsg::TurnComplete(ended)) => {
                self.turn_ended(ended.duration_ms)
            }
            RolloutItem::EventMsg(EventMsg::TurnAborted(ended)) => {
                self.turn_ended(ended.duration_ms)
            }
            RolloutItem::ResponseItem(ResponseItem::FunctionCall { name, call_id, .. })
                if name == "spawn_agent" =>
            {
                self.spawning.insert(call_id);
            }
            RolloutItem::ResponseItem(ResponseItem::FunctionCallOutput { call_id, output })
                if self.spawning.remove(&call_id) =>
            {
                self.agents.extend(agent_of(&output));
            }
            _ => {}
        }
    }

    /// Counts the tokens if they are of a response. Estimates have no tokens of a kind.
    fn take_tokens(&mut self, info: Option<TokenUsageInfo>) {
        let Some(info) = info else {
            return;
        };
        let last = info.last_token_usage;
        let is_new = self.last.replace(info) != Some(info);
        if is_new && (last.input_tokens > 0 || last.output_tokens > 0) {
            self.add(&Used::of_request());
            self.add(&Used::of_response(last, self.prices.as_ref()));
        }
    }

    fn add(&mut self, used: &Used) {
        self.used.add(used);
        self.turn.add(used);
    }

    fn turn_ended(&mut self, duration_ms: Option<i64>) {
        let known = duration_ms.and_then(|taken| u64::try_from(taken).ok());
        let taken = known
            .map(Duration::from_millis)
            .or_else(|| self.running_time());
        let time = taken.unwrap_or_default();
        self.add(&Used {
            time,
            ..Used::default()
        });
        self.running = None;
    }

    fn running_time(&self) -> Option<Duration> {
        let between = self.now?.duration_since(self.running?);
        Duration::try_from(between).ok()
    }

    /// A turn that was killed ran until the last line.
    fn end(&mut self) {
        if self.running.is_some() {
            self.turn_ended(None);
            self.unfinished = Some(self.turn);
        }
    }
}

/// When a line was written.
fn time_of(line: ScannedLine<'_>) -> Option<Timestamp> {
    line.start()?.timestamp.parse().ok()
}

/// The agent that a call has started.
fn agent_of(output: &FunctionCallOutputBody) -> Option<ThreadId> {
    let FunctionCallOutputBody::Text(text) = output else {
        return None;
    };
    let output: Value = serde_json::from_str(&text.as_str()).ok()?;
    ThreadId::parse(output.get("agent_id")?.as_str()?).ok()
}
