//! Builds the facts of a thread from the lines of its rollout.
//!
//! Most lines contain no facts. They are recognized by their first bytes and not parsed as JSON.

use std::borrow::Cow;

use codex_protocol::{
    GitInfo, LEGACY_HISTORY, LineStart, RawRolloutLine, SessionSource, ThreadId, TurnItem,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::record::ThreadFacts;

/// The heading before the user's request when a client puts context in front of it.
const REQUEST_HEADING: &str = "## My request for Codex:";
/// The preview of a message without text.
const IMAGE: &str = "[Image]";
/// How the ids of calls begin whose output is the objective of a goal. It is the preview of a thread that
/// nobody has written to.
pub const GOAL_CALL: &str = "goal_objective_";
/// The type of the line about a change of the goal, as other engines write it.
pub const GOAL_UPDATED: &str = "thread_goal_updated";

/// Reads lines and updates `facts`.
pub(crate) struct FactsBuilder<'a> {
    pub(crate) thread: &'a ThreadId,
    pub(crate) facts: ThreadFacts,
    /// Whether the metadata line was read.
    pub(crate) has_meta: bool,
}

impl FactsBuilder<'_> {
    /// Whether everything from the head of a file is known.
    pub(crate) fn has_head(&self) -> bool {
        self.has_meta && self.facts.preview.is_some()
    }

    pub(crate) fn line(&mut self, line: &[u8]) {
        match kind_of(line) {
            LineType::Meta => self.read_payload(line, Self::meta),
            LineType::Context => self.read_payload(line, Self::context),
            LineType::Settings => self.read_payload(line, Self::settings),
            LineType::UserMessage if self.wants_message() => {
                self.read_payload(line, Self::user_message)
            }
            LineType::Item if self.wants_message() => self.read_payload(line, Self::item),
            LineType::CallOutput if self.facts.preview.is_none() => {
                self.read_payload(line, Self::call_output);
            }
            LineType::Name => self.read_payload(line, Self::name),
            LineType::InheritedEnds => self.inherited_ends(),
            LineType::Goal if self.facts.preview.is_none() => self.read_payload(line, Self::goal),
            LineType::UserMessage
            | LineType::Item
            | LineType::CallOutput
            | LineType::Goal
            | LineType::Other => {}
        }
    }

    fn read_payload<'l, P: Deserialize<'l>>(&mut self, line: &'l [u8], take: fn(&mut Self, P)) {
        if let Ok(LinePayload { payload }) = serde_json::from_slice(line) {
            take(self, payload);
        }
    }

    fn meta(&mut self, meta: MetaPayload) {
        let is_own = meta.id == *self.thread;
        if self.has_meta {
            // Later metadata lines of the same thread update its git facts. Other ids come with forks.
            if is_own {
                self.facts.git = meta.git;
            }
            return;
        }
        self.has_meta = true;
        let created: Option<Timestamp> = meta.timestamp.parse().ok();
        let facts = &mut self.facts;
        facts.created_at = created.map_or(0, Timestamp::as_second);
        facts.cwd = meta.cwd;
        facts.originator = meta.originator;
        facts.cli_version = meta.cli_version;
        facts.source = match meta.source {
            None => SessionSource::default(),
            Some(source) => serde_json::from_value(source).unwrap_or(SessionSource::Unknown),
        };
        facts.nickname = meta.agent_nickname;
        facts.role = meta.agent_role;
        facts.is_side_thread = meta.attached_thread;
        facts.has_legacy_history = meta.history_mode.as_deref() == Some(LEGACY_HISTORY);
        facts.forked_from = meta.forked_from_id;
        facts.provider = meta.model_provider;
        facts.git = meta.git;
    }

    fn context(&mut self, context: ContextPayload) {
        self.facts.model = Some(context.model);
        self.facts.effort = context.effort;
    }

    /// The settings changed without a turn.
    fn settings(&mut self, applied: SettingsPayload) {
        self.facts.model = Some(applied.thread_settings.model);
        self.facts.effort = applied.thread_settings.reasoning_effort;
        self.facts.changed_cwd = applied.thread_settings.cwd;
    }

    fn user_message(&mut self, message: UserMessagePayload<'_>) {
        let by_url = message.images.as_ref().map_or(0, Vec::len);
        let images = by_url + message.local_images.len() + message.image_files.len();
        self.add_message(&message.message, images);
    }

    /// Some engines store messages as items.
    fn item(&mut self, completed: ItemPayload) {
        if let TurnItem::UserMessage(message) = completed.item {
            let (text, images) = message.text_and_image_count();
            self.add_message(&text, images);
        }
    }

    fn call_output(&mut self, output: CallOutputPayload<'_>) {
        if output.call_id.starts_with(GOAL_CALL)
            && let Some(objective) = output.output.as_str()
        {
            self.add_message(objective, 0);
        }
    }

    /// The goal changed. Of a thread that nobody has written to, the objective is the preview.
    fn goal(&mut self, updated: GoalPayload) {
        self.add_message(&updated.goal.objective, 0);
    }

    /// What an agent took over is not its own. Its messages come from other agents and have no preview.
    fn inherited_ends(&mut self) {
        if matches!(self.facts.source, SessionSource::SubAgent(_)) {
            self.facts.preview = Some(String::new());
            self.facts.title = None;
        }
    }

    fn add_message(&mut self, text: &str, images: usize) {
        let Some(shown) = preview_of(text, images) else {
            return;
        };
        match &self.facts.preview {
            None => self.facts.preview = Some(shown.to_owned()),
            Some(_) if shown != IMAGE => self.facts.title = Some(shown.to_owned()),
            Some(_) => {}
        }
    }

    /// Whether there was no message yet, or only messages without text.
    fn wants_message(&self) -> bool {
        let preview = self.facts.preview.as_deref();
        preview.is_none_or(|shown| shown == IMAGE && self.facts.title.is_none())
    }

    fn name(&mut self, name: NamePayload) {
        if name.thread_id == *self.thread {
            self.facts.logged_name = name.thread_name;
        }
    }
}

/// The preview of a message with this many images; none if it is empty.
#[must_use]
pub fn preview_of(message: &str, images: usize) -> Option<&str> {
    let text = message.split_once(REQUEST_HEADING);
    let text = text.map_or(message, |(_, request)| request).trim();
    let image = (images > 0).then_some(IMAGE);
    if text.is_empty() { image } else { Some(text) }
}

#[derive(Deserialize)]
struct LinePayload<P> {
    payload: P,
}

#[derive(Deserialize)]
struct MetaPayload {
    id: ThreadId,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    cli_version: String,
    originator: Option<String>,
    source: Option<Value>,
    agent_nickname: Option<String>,
    #[serde(alias = "agent_type")]
    agent_role: Option<String>,
    forked_from_id: Option<ThreadId>,
    #[serde(default)]
    attached_thread: bool,
    history_mode: Option<String>,
    model_provider: Option<String>,
    git: Option<GitInfo>,
}

#[derive(Deserialize)]
struct ContextPayload {
    model: String,
    effort: Option<String>,
}

#[derive(Deserialize)]
struct SettingsPayload {
    thread_settings: ChangedSettings,
}

#[derive(Deserialize)]
struct ChangedSettings {
    model: String,
    reasoning_effort: Option<String>,
    cwd: Option<String>,
}

#[derive(Deserialize)]
struct UserMessagePayload<'a> {
    #[serde(borrow)]
    message: Cow<'a, str>,
    images: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    local_images: Vec<IgnoredAny>,
    #[serde(default)]
    image_files: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct ItemPayload {
    item: TurnItem,
}

#[derive(Deserialize)]
struct CallOutputPayload<'a> {
    #[serde(borrow)]
    call_id: Cow<'a, str>,
    output: Value,
}

#[derive(Deserialize)]
struct GoalPayload {
    goal: GoalObjective,
}

#[derive(Deserialize)]
struct GoalObjective {
    objective: String,
}

#[derive(Deserialize)]
struct NamePayload {
    thread_id: ThreadId,
    thread_name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineType {
    Meta,
    Context,
    Settings,
    UserMessage,
    Item,
    CallOutput,
    Name,
    Goal,
    InheritedEnds,
    Other,
}

impl LineType {
    fn new(kind: &str, event: &str) -> Self {
        match (kind, event) {
            ("session_meta", _) => Self::Meta,
            ("turn_context", _) => Self::Context,
            ("event_msg", "thread_settings_applied") => Self::Settings,
            ("event_msg", "user_message") => Self::UserMessage,
            ("event_msg", "item_completed") => Self::Item,
            ("response_item", "function_call_output") => Self::CallOutput,
            ("event_msg", "thread_name_updated") => Self::Name,
            ("event_msg", GOAL_UPDATED) => Self::Goal,
            ("event_msg", "inherited_history_ends") => Self::InheritedEnds,
            _ => Self::Other,
        }
    }
}

/// The type of a line, from its first bytes if its members have the usual order.
fn kind_of(line: &[u8]) -> LineType {
    if let Some(kind) = usual_kind(line) {
        return kind;
    }
    let raw = std::str::from_utf8(line).ok().map(RawRolloutLine::read);
    match raw {
        Some(Ok(raw)) => LineType::new(&raw.kind, &raw.payload_type().unwrap_or_default()),
        _ => LineType::Other,
    }
}

fn usual_kind(line: &[u8]) -> Option<LineType> {
    let start = LineStart::parse(line)?;
    match start.kind {
        "event_msg" => Some(LineType::new(start.kind, start.payload_type?)),
        kind => Some(LineType::new(kind, start.payload_type.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts_of(lines: &[Value]) -> ThreadFacts {
        let thread = ThreadId("a".to_owned());
        let mut builder = FactsBuilder {
            thread: &thread,
            facts: ThreadFacts::default(),
            has_meta: false,
        };
        for line in lines {
            builder.line(line.to_string().as_bytes());
        }
        builder.facts
    }

    fn line(kind: &str, payload: &Value) -> Value {
        json!({"timestamp": "t", "type": kind, "payload": payload})
    }

    fn meta(id: &str, git: &Value) -> Value {
        let at = "2026-03-01T10:00:00.5Z";
        line(
            "session_meta",
            &json!({"id": id, "timestamp": at, "cwd": "/w", "git": git}),
        )
    }

    fn message(message: &str, images: &[&str]) -> Value {
        line(
            "event_msg",
            &json!({"type": "user_message", "message": message, "images": images}),
        )
    }

    #[test]
    fn the_first_message_is_the_preview() {
        let facts = facts_of(&[
            meta("a", &json!(null)),
            message("  ", &[]),
            message(&format!("context\n{REQUEST_HEADING}\n do it \n"), &[]),
            message("more", &[]),
        ]);
        assert_eq!(facts.preview.as_deref(), Some("do it"));
        assert_eq!((facts.title, facts.created_at), (None, 1_772_359_200));
    }

    #[test]
    fn image_is_the_preview_before_the_first_text() {
        let facts = facts_of(&[
            message("", &["data:"]),
            message("text", &[]),
            message("more", &[]),
        ]);
        assert_eq!(facts.preview.as_deref(), Some(IMAGE));
        assert_eq!(facts.title.as_deref(), Some("text"));
    }

    #[test]
    fn goal_is_the_preview_before_the_first_message() {
        let output = |call: &str, text: &str| {
            let output = json!({"type": "function_call_output", "call_id": call, "output": text});
            line("response_item", &output)
        };
        let goal = output("goal_objective_1", "ship it");
        let facts = facts_of(&[output("call_1", "listing"), goal.clone()]);
        assert_eq!(facts.preview.as_deref(), Some("ship it"));
        let facts = facts_of(&[message("hi", &[]), goal]);
        assert_eq!(facts.preview.as_deref(), Some("hi"));
    }

    #[test]
    fn a_message_may_be_stored_as_an_item() {
        let item = |item: Value| {
            let event = json!({"type": "item_completed", "turn_id": "1", "item": item});
            line("event_msg", &event)
        };
        let content =
            json!([{"type": "text", "text": " hi "}, {"type": "image", "image_url": "data:"}]);
        let facts = facts_of(&[
            meta("a", &json!(null)),
            item(json!({"type": "AgentMessage", "id": "i", "content": []})),
            item(json!({"type": "UserMessage", "id": "i", "content": content})),
        ]);
        assert_eq!(facts.preview.as_deref(), Some("hi"));
    }

    #[test]
    fn later_repository_facts_win() {
        let branch = |name: &str| json!({"branch": name});
        let git = |lines: &[Value]| facts_of(lines).git.and_then(|git| git.branch);
        let first = meta("a", &branch("one"));
        let other = meta("b", &branch("other"));
        assert_eq!(git(&[first.clone(), other]).as_deref(), Some("one"));
        assert_eq!(
            git(&[first.clone(), meta("a", &branch("two"))]).as_deref(),
            Some("two")
        );
        assert_eq!(git(&[first, meta("a", &json!(null))]), None);
    }

    #[test]
    fn line_types_are_read_from_first_bytes_or_parsed() {
        let usual = br#"{"timestamp":"t","type":"event_msg","payload":{"type":"user_message""#;
        assert_eq!(usual_kind(usual), Some(LineType::UserMessage));
        let unusual = br#"{"type":"event_msg","payload":{"message":"m","type":"user_message"},"timestamp":"t"}"#;
        assert_eq!(usual_kind(unusual), None);
        assert_eq!(kind_of(unusual), LineType::UserMessage);
        assert_eq!(kind_of(b"garbage"), LineType::Other);
    }
}
