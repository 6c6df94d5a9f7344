//! From an item of a request or response to what is kept of it.
//!
//! Pure: one JSON value in, one item or fault out.

use sha2::{Digest, Sha256};

use super::fault::{Fault, NO_CONTENT};
use crate::format::Schema;
use crate::ids::{CallId, PayloadId, ResponseItemId};
use crate::json::{Json, JsonString, Scanner, compact};
use crate::model::{AgentMessage, Body, Channel, ItemKind, Part, Role};
use crate::payload_files::UNRECORDED_KEY;

/// A JSON summary holds this many bytes.
const SUMMARY_BYTES: usize = 240;

/// An item as the model saw it, before it is known whether it was seen before.
#[derive(Debug, Clone)]
pub(super) struct Normalised {
    pub(super) role: Role,
    pub(super) channel: Option<Channel>,
    pub(super) kind: ItemKind,
    pub(super) agent_message: Option<AgentMessage>,
    pub(super) body: Body,
    pub(super) call_id: Option<CallId>,
    /// In schema 2, where the item has one.
    pub(super) response_item_id: Option<ResponseItemId>,
}

impl Normalised {
    fn new(role: Role, channel: Channel, kind: ItemKind, parts: Vec<Part>) -> Self {
        Self {
            role,
            channel: Some(channel),
            kind,
            agent_message: None,
            body: Body { parts },
            call_id: None,
            response_item_id: None,
        }
    }

    fn called(mut self, item: &Json<'_>) -> Self {
        self.call_id = item.get_str("call_id").map(CallId::from);
        self
    }
}

/// Reads the items of one payload.
#[derive(Clone, Copy)]
pub(super) struct Normaliser<'r> {
    pub(super) schema: Schema,
    pub(super) from: &'r PayloadId,
}

impl Normaliser<'_> {
    /// Reads one item; none for what is no part of the conversation.
    pub(super) fn item(self, item: &Json<'_>) -> Result<Option<Normalised>, Fault> {
        let is_new = self.schema.has_ids();
        if is_new && item.get_str("type") == Some("additional_tools") {
            return Ok(None);
        }
        if is_new && unrecorded(item).is_some() {
            return Ok(None);
        }
        let mut normalised = normalise(item, self)?;
        if is_new {
            normalised.response_item_id = item.get_str("id").map(ResponseItemId::from);
        }
        Ok(Some(normalised))
    }
}

fn normalise(
    item: &Json<'_>,
    Normaliser { schema, from }: Normaliser<'_>,
) -> Result<Normalised, Fault> {
    let reader = Reader { item, from, schema };
    let Some(kind) = item.get_str("type") else {
        return Err(Fault::ItemType(from.clone()));
    };
    let call = |kind, parts| Normalised::new(Role::Assistant, Channel::Commentary, kind, parts);
    let output = |kind, parts| Normalised::new(Role::Tool, Channel::Commentary, kind, parts);
    let normalised = match kind {
        "message" => reader.message()?,
        "agent_message" => reader.agent_message()?,
        "reasoning" => reader.reasoning()?,
        "compaction" | "compaction_summary" | "context_compaction" => reader.compaction()?,
        "function_call" => call(ItemKind::FunctionCall, vec![reader.arguments()]).called(item),
        "custom_tool_call" => {
            call(ItemKind::CustomToolCall, vec![reader.custom_input()]).called(item)
        }
        "function_call_output" => {
            output(ItemKind::FunctionCallOutput, reader.output()).called(item)
        }
        "custom_tool_call_output" => {
            output(ItemKind::CustomToolCallOutput, reader.output()).called(item)
        }
        "tool_search_call" | "web_search_call" | "image_generation_call" | "local_shell_call" => {
            call(ItemKind::FunctionCall, vec![reader.json(item)]).called(item)
        }
        "tool_search_output" | "mcp_tool_call_output" => {
            output(ItemKind::FunctionCallOutput, vec![reader.json(item)]).called(item)
        }
        other => {
            return Err(Fault::UnknownItem {
                kind: other.to_owned(),
                payload: from.clone(),
            });
        }
    };
    Ok(normalised)
}

struct Reader<'r, 'a> {
    item: &'r Json<'a>,
    from: &'r PayloadId,
    schema: Schema,
}

impl Reader<'_, '_> {
    fn message(&self) -> Result<Normalised, Fault> {
        let Some(role) = self.item.get_str("role") else {
            return Err(Fault::NoRole(self.from.clone()));
        };
        let role = Role::named(role).ok_or_else(|| Fault::UnknownRole {
            role: role.to_owned(),
            payload: self.from.clone(),
        })?;
        let channel = match self.item.get_str("phase") {
            Some("commentary") => Some(Channel::Commentary),
            Some("final_answer") => Some(Channel::Final),
            Some("summary") => Some(Channel::Summary),
            _ => None,
        };
        Ok(Normalised {
            role,
            channel,
            kind: ItemKind::Message,
            agent_message: None,
            body: Body {
                parts: self.content(self.item.get("content")),
            },
            call_id: None,
            response_item_id: None,
        })
    }

    fn agent_message(&self) -> Result<Normalised, Fault> {
        let wrong = |wrong| Fault::Item {
            item: "agent_message",
            payload: self.from.clone(),
            wrong,
        };
        let text = |key, fault| {
            self.item
                .get_str(key)
                .map(str::to_owned)
                .ok_or_else(|| wrong(fault))
        };
        let id = self.item.get("id");
        if self.schema.has_ids() && id.is_some_and(|id| !id.is_null() && id.as_str().is_none()) {
            return Err(wrong("had an id that is no string"));
        }
        let author = text("author", "did not contain a string author")?;
        let recipient = text("recipient", "did not contain a string recipient")?;
        let entries = self
            .item
            .get("content")
            .and_then(Json::as_array)
            .filter(|entries| !entries.is_empty())
            .ok_or_else(|| wrong("did not contain content"))?;
        let part = |entry: &Json<'_>| {
            let part = match entry.get_str("type")? {
                "input_text" => text_part(entry.get_string("text")?),
                "encrypted_content" => encoded(entry.get_string("encrypted_content")?),
                _ => return None,
            };
            Some(part)
        };
        let parts = entries
            .iter()
            .map(part)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| wrong("had unsupported content"))?;
        let mut item =
            Normalised::new(Role::Assistant, Channel::Analysis, ItemKind::Message, parts);
        item.agent_message = Some(AgentMessage { author, recipient });
        Ok(item)
    }

    fn reasoning(&self) -> Result<Normalised, Fault> {
        let wrong = |wrong| Fault::Item {
            item: "reasoning",
            payload: self.from.clone(),
            wrong,
        };
        let mut parts = Vec::new();
        match self.item.get("content") {
            None | Some(Json::Null) => {}
            Some(Json::Array(entries)) => {
                for entry in entries {
                    let text = typed_text(entry, &["reasoning_text", "text"])
                        .ok_or_else(|| wrong("had unsupported content"))?;
                    parts.push(text_part(text));
                }
            }
            Some(_) => return Err(wrong("had non-array content")),
        }
        match self.item.get("summary") {
            None => {}
            Some(Json::Array(entries)) => {
                for entry in entries {
                    let text = typed_text(entry, &["summary_text"])
                        .ok_or_else(|| wrong("had an unsupported summary"))?;
                    parts.push(Part::Summary { text: text.into() });
                }
            }
            Some(_) => return Err(wrong("had a non-array summary")),
        }
        match self.item.get("encrypted_content") {
            None | Some(Json::Null) => {}
            Some(Json::String(value)) => parts.push(encoded(value)),
            Some(_) => return Err(wrong("had non-string encrypted_content")),
        }
        if parts.is_empty() {
            return Err(wrong(NO_CONTENT));
        }
        Ok(Normalised::new(
            Role::Assistant,
            Channel::Analysis,
            ItemKind::Reasoning,
            parts,
        ))
    }

    fn compaction(&self) -> Result<Normalised, Fault> {
        let value = self
            .item
            .get_string("encrypted_content")
            .ok_or_else(|| Fault::Item {
                item: "compaction",
                payload: self.from.clone(),
                wrong: "did not contain string encrypted_content",
            })?;
        Ok(Normalised::new(
            Role::Assistant,
            Channel::Summary,
            ItemKind::Message,
            vec![encoded(value)],
        ))
    }

    fn arguments(&self) -> Part {
        match self.item.get("arguments") {
            None => self.payload_ref("payload"),
            Some(Json::String(text)) => match Scanner::parse(text.as_bytes()) {
                Ok(value) => self.json(&value),
                Err(_) => text_part(text),
            },
            Some(value) => self.json(value),
        }
    }

    fn custom_input(&self) -> Part {
        match self.item.get_string("input") {
            None => self.json(self.item),
            Some(source) if self.item.get_str("name") == Some("exec") => Part::Code {
                language: "javascript".into(),
                source: source.into(),
            },
            Some(text) => text_part(text),
        }
    }

    fn output(&self) -> Vec<Part> {
        match self.item.get("output") {
            None => vec![self.payload_ref("tool_output")],
            Some(Json::String(text)) => vec![text_part(text)],
            Some(content @ Json::Array(_)) => self.content(Some(content)),
            Some(value) => vec![self.json(value)],
        }
    }

    fn content(&self, content: Option<&Json<'_>>) -> Vec<Part> {
        let Some(Json::Array(entries)) = content else {
            return vec![self.payload_ref("content")];
        };
        let part = |entry: &Json<'_>| match entry.get_str("type") {
            Some("input_text" | "output_text" | "text") => match entry.get("text") {
                Some(Json::String(text)) => Some(text_part(text)),
                Some(other) => Some(Part::PayloadRef {
                    label: "text".into(),
                    raw_payload_id: unrecorded(other)?,
                    content_sha256: None,
                }),
                None => None,
            },
            Some(other) => Some(self.entry_ref(other, entry)),
            None => Some(self.entry_ref("content", entry)),
        };
        let mut parts: Vec<Part> = entries.iter().filter_map(part).collect();
        if parts.is_empty() && self.schema == Schema::One {
            parts.push(self.payload_ref("empty_content"));
        }
        parts
    }

    fn json(&self, value: &Json<'_>) -> Part {
        Part::Json {
            summary: summary(value),
            raw_payload_id: self.from.clone(),
        }
    }

    fn payload_ref(&self, label: &str) -> Part {
        Part::PayloadRef {
            label: label.into(),
            raw_payload_id: self.from.clone(),
            content_sha256: None,
        }
    }

    /// A reference to an entry of a list, which schema 2 knows by its content.
    fn entry_ref(&self, label: &str, entry: &Json<'_>) -> Part {
        let content_sha256 = (self.schema.has_ids()).then(|| content_hash(entry));
        Part::PayloadRef {
            label: label.into(),
            raw_payload_id: self.from.clone(),
            content_sha256,
        }
    }
}

/// The payload in whose place a value stands.
fn unrecorded(value: &Json<'_>) -> Option<PayloadId> {
    value.get_str(UNRECORDED_KEY).map(PayloadId::from)
}

/// The hash of a value whatever the order of its keys.
fn content_hash(value: &Json<'_>) -> String {
    let digest = Sha256::digest(compact(&value.sorted()));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text_part(text: &JsonString<'_>) -> Part {
    Part::Text { text: text.into() }
}

fn encoded(value: &JsonString<'_>) -> Part {
    Part::Encoded {
        label: "encrypted_content".into(),
        value: value.into(),
    }
}

fn typed_text<'j, 'a>(entry: &'j Json<'a>, types: &[&str]) -> Option<&'j JsonString<'a>> {
    entry
        .get_str("type")
        .filter(|kind| types.contains(kind))
        .and_then(|_| entry.get_string("text"))
}

fn summary(value: &Json<'_>) -> String {
    let mut text = compact(value);
    if text.len() > SUMMARY_BYTES {
        text.truncate(text.floor_char_boundary(SUMMARY_BYTES));
        text.push_str("...");
    }
    text
}
