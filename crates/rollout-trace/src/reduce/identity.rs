//! When two items are the same.
//!
//! The content decides it, by keys: 128-bit hashes of exactly what the rule compares. In schema 2 two items that both
//! have an id must have the same one, too; that is no equivalence and is left to who compares. The hash is not cryptographic; a bundle made to collide fools only its own graph.

use xxhash_rust::xxh3::xxh3_128;

use super::normalise::{Normalised, Normaliser};
use crate::format::Schema;
use crate::ids::PayloadId;
use crate::json::Json;
use crate::model::{Channel, ItemKind, Part, Role};

/// What an item is the same by, within one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ItemKey(u128);

/// The bytes of an item in a payload. Equal bytes need not be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawForm {
    pub(super) len: u32,
    hash: u128,
}

impl RawForm {
    /// None for an item too large to be remembered.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            len: u32::try_from(bytes.len()).ok()?,
            hash: xxh3_128(bytes),
        })
    }

    /// The end of this form in `bytes` at `start`, if it is there.
    ///
    /// The form is a whole JSON object, and no object is the beginning of another, so the value there is this one.
    pub(super) fn end_at(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let end = start.checked_add(self.len as usize)?;
        let there = bytes.get(start..end)?;
        (there.last() == Some(&b'}') && xxh3_128(there) == self.hash).then_some(end)
    }
}

/// What an item is the same by whatever its id; none for one that cannot be read.
pub(crate) fn item_key(item: &Json<'_>, payload: &PayloadId) -> Option<u128> {
    let normaliser = Normaliser {
        schema: Schema::Two,
        from: payload,
    };
    let item = normaliser.item(item).ok().flatten()?;
    Some(KeyWriter::item(&item).0)
}

/// Hashes fields without running them together.
#[derive(Default)]
pub(super) struct KeyWriter(Vec<u8>);

impl KeyWriter {
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(&(text.len() as u64).to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// The key of a text's content.
    pub(super) fn content(&mut self, key: u128) -> &mut Self {
        self.0.extend_from_slice(&key.to_le_bytes());
        self
    }

    fn tag(&mut self, tag: u8) -> &mut Self {
        self.0.push(tag);
        self
    }

    pub(super) fn finish(&self) -> u128 {
        xxh3_128(&self.0)
    }

    /// The key of an item. Two reasoning items with the same encrypted text are the same, whatever is readable.
    pub(super) fn item(item: &Normalised) -> ItemKey {
        let mut writer = Self::default();
        if item.kind == ItemKind::Reasoning {
            let encrypted = item.body.parts.iter().find_map(|part| match part {
                Part::Encoded { value, .. } => Some(value),
                _ => None,
            });
            if let Some(encrypted) = encrypted {
                return ItemKey(writer.tag(b'R').content(encrypted.key()).finish());
            }
        }
        writer.tag(b'I').header(item);
        for part in &item.body.parts {
            writer.part(part);
        }
        ItemKey(writer.finish())
    }

    fn header(&mut self, item: &Normalised) {
        self.tag(role_tag(item.role))
            .tag(channel_tag(item.channel))
            .tag(kind_tag(item.kind));
        match &item.agent_message {
            Some(message) => self.tag(1).text(&message.author).text(&message.recipient),
            None => self.tag(0),
        };
        match &item.call_id {
            Some(call) => self.tag(1).text(call.as_str()),
            None => self.tag(0),
        };
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text { text } => self.tag(b't').content(text.key()),
            Part::Summary { text } => self.tag(b's').content(text.key()),
            Part::Encoded { label, value } => self.tag(b'e').text(label).content(value.key()),
            Part::Json { summary, .. } => self.tag(b'j').text(summary),
            Part::Code { language, source } => self.tag(b'c').text(language).content(source.key()),
            Part::PayloadRef {
                label,
                content_sha256: Some(hash),
                ..
            } => self.tag(b'h').text(label).text(hash),
            Part::PayloadRef {
                label,
                raw_payload_id,
                content_sha256: None,
            } => self.tag(b'p').text(label).text(raw_payload_id.as_str()),
        };
    }
}

/// Whether two bodies are the same but for the payloads that their unread parts lie in.
pub(super) fn same_but_for_payload(left: &[Part], right: &[Part]) -> bool {
    let same = |(left, right): (&Part, &Part)| match (left, right) {
        (Part::PayloadRef { label: left, .. }, Part::PayloadRef { label: right, .. })
        | (Part::Json { summary: left, .. }, Part::Json { summary: right, .. }) => left == right,
        _ => left == right,
    };
    left.len() == right.len() && left.iter().zip(right).all(same)
}

fn role_tag(role: Role) -> u8 {
    match role {
        Role::System => 0,
        Role::Developer => 1,
        Role::User => 2,
        Role::Assistant => 3,
        Role::Tool => 4,
    }
}

fn channel_tag(channel: Option<Channel>) -> u8 {
    match channel {
        None => 0,
        Some(Channel::Analysis) => 1,
        Some(Channel::Commentary) => 2,
        Some(Channel::Final) => 3,
        Some(Channel::Summary) => 4,
    }
}

fn kind_tag(kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Message => 0,
        ItemKind::Reasoning => 1,
        ItemKind::FunctionCall => 2,
        ItemKind::FunctionCallOutput => 3,
        ItemKind::CustomToolCall => 4,
        ItemKind::CustomToolCallOutput => 5,
        ItemKind::CompactionMarker => 6,
    }
}
