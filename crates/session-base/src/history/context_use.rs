//! What the context of a thread is made of: the parts of a request, in estimated tokens.
//!
//! A pure function over what a request has, so a thread that was loaded again has the same parts as before. The
//! estimate is the one that compaction uses, scaled by what the server counted in the last request.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_model_client::{Encoded, Prompt, PromptItem, ToolSpec};
use codex_protocol::{
    ContentItem, FunctionCallOutputBody, FunctionCallOutputContentItem, ResponseItem, TokenUsage,
};

use super::contextual::{folder_instructions_in, instructions_in, is_context_text, is_pin};
use super::entry::{EntryKind, HistoryEntry, IMAGE_BYTES};
use super::summary::is_summary;
use super::truncate::tokens_of;

/// What a part of the context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContextPartKind {
    /// The instructions of the model.
    Instructions,
    /// The definitions of tools.
    Tools,
    /// Files with instructions, such as AGENTS.md.
    ProjectInstructions,
    /// The list of skills, and the texts of those in use.
    Skills,
    /// What is remembered of earlier threads.
    Memories,
    /// Permissions, modes, the environment and other messages of the engine.
    Settings,
    /// What the user has pinned.
    Pins,
    /// Summaries of compactions.
    Summaries,
    /// What the user wrote.
    UserMessages,
    /// What the model and other agents wrote.
    AgentMessages,
    /// The reasoning of the model.
    Reasoning,
    /// Calls of tools.
    ToolCalls,
    /// Outputs of tools.
    ToolOutputs,
    /// Images.
    Images,
}

impl ContextPartKind {
    /// The kind as words in a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Instructions => "instructions of the model",
            Self::Tools => "tools",
            Self::ProjectInstructions => "AGENTS.md",
            Self::Skills => "skills",
            Self::Memories => "memories",
            Self::Settings => "settings and environment",
            Self::Pins => "pinned text",
            Self::Summaries => "summary of a compaction",
            Self::UserMessages => "message of the user",
            Self::AgentMessages => "answer",
            Self::Reasoning => "reasoning",
            Self::ToolCalls => "call of a tool",
            Self::ToolOutputs => "output of a tool",
            Self::Images => "image",
        }
    }
}

/// A part of the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartUse {
    /// The estimated tokens.
    pub tokens: u64,
    /// How many of them the server had in its cache at the last request.
    pub cached_tokens: u64,
    /// The number of tools, items or sections.
    pub count: u64,
}

/// What the next request would have, as far as it is known.
#[derive(Clone, Debug)]
pub struct ContextSnapshot {
    /// The model.
    pub model: String,
    /// The window that the model may use; none if it is not known.
    pub window: Option<i64>,
    /// Whether servers of tools have not been asked for their tools yet.
    pub lacks_server_tools: bool,
    pub takes_images: bool,
    pub instructions: Arc<str>,
    pub tools: Encoded<Vec<ToolSpec>>,
    pub prompt: Prompt,
    pub usage: Option<TokenUsage>,
}

/// The parts of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextUse {
    /// By kind, without those that are empty.
    pub parts: BTreeMap<ContextPartKind, PartUse>,
    /// The tools by name, the largest first.
    pub tools: Vec<(String, PartUse)>,
    /// The input of the last request, as the server counted it; none if no server did.
    pub last_input_tokens: Option<u64>,
    /// How much of that the server had in its cache.
    pub last_cached_tokens: Option<u64>,
}

impl ContextUse {
    /// The tokens of all parts.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.parts.values().map(|part| part.tokens).sum()
    }
}

/// Limits on the factor between the estimate and what a server counted: a server may say anything.
const FACTORS: (f64, f64) = (0.2, 5.0);

/// A piece of the request, in bytes of text or already in tokens.
struct Piece {
    kind: ContextPartKind,
    tool: Option<usize>,
    tokens: usize,
    /// Whether it begins a tool, an item or a section.
    counts: bool,
}

impl ContextSnapshot {
    /// The parts.
    #[must_use]
    pub fn parts(&self) -> ContextUse {
        let mut pieces = vec![Piece {
            kind: ContextPartKind::Instructions,
            tool: None,
            tokens: tokens_of(self.instructions.len()),
            counts: !self.instructions.is_empty(),
        }];
        let mut tools = Vec::new();
        for spec in self.tools.iter() {
            let length = serde_json::to_string(spec).map_or(0, |json| json.len());
            pieces.push(Piece {
                kind: ContextPartKind::Tools,
                tool: Some(tools.len()),
                tokens: tokens_of(length),
                counts: true,
            });
            tools.push((spec.name().to_owned(), PartUse::default()));
        }
        // The pieces of the last request end where the last response begins.
        let mut sent = pieces.len();
        let mut in_response = false;
        for item in self.prompt.items() {
            let item = (item.read(), item);
            let Some(kind) = EntryKind::from_item(&item.0) else {
                continue;
            };
            let entry = HistoryEntry::new(kind, &item.0, item.1.json.len());
            if entry.is_from_model() && !in_response {
                sent = pieces.len();
            }
            in_response = entry.is_from_model();
            self.add_item(&mut pieces, &item.0, item.1, &entry);
        }
        let mut used = ContextUse::default();
        let usage = self.usage.filter(|usage| usage.input_tokens > 0);
        let count = |tokens: i64| u64::try_from(tokens).unwrap_or(0);
        used.last_input_tokens = usage.map(|usage| count(usage.input_tokens));
        used.last_cached_tokens =
            usage.map(|usage| count(usage.cached_input_tokens).min(count(usage.input_tokens)));
        let estimated: usize = pieces[..sent].iter().map(|piece| piece.tokens).sum();
        let factor = token_factor(usage, estimated);
        let mut cached = used.last_cached_tokens.unwrap_or(0);
        for (index, piece) in pieces.iter().enumerate() {
            let tokens = (piece.tokens as f64 * factor).round() as u64;
            let from_cache = if index < sent { tokens.min(cached) } else { 0 };
            cached -= from_cache;
            let add = |part: &mut PartUse| {
                part.tokens += tokens;
                part.cached_tokens += from_cache;
                part.count += u64::from(piece.counts);
            };
            if tokens > 0 || piece.counts {
                add(used.parts.entry(piece.kind).or_default());
            }
            if let Some(tool) = piece.tool.and_then(|tool| tools.get_mut(tool)) {
                add(&mut tool.1);
            }
        }
        tools.sort_by(|a, b| b.1.tokens.cmp(&a.1.tokens).then_with(|| a.0.cmp(&b.0)));
        used.tools = tools;
        used
    }

    fn add_item(
        &self,
        pieces: &mut Vec<Piece>,
        item: &ResponseItem,
        json: PromptItem<'_>,
        entry: &HistoryEntry,
    ) {
        let mut left = entry.tokens;
        let mut add = |kind, tokens: usize, counts| {
            let tokens = tokens.min(left);
            left -= tokens;
            pieces.push(Piece {
                kind,
                tool: None,
                tokens,
                counts,
            });
        };
        let image = |url: &str| {
            if self.takes_images {
                tokens_of(IMAGE_BYTES)
            } else {
                tokens_of(url.len().min(json.json.len()).min(80))
            }
        };
        match item {
            ResponseItem::Message { content, .. } => {
                let whole = part_of_entry(&entry.kind);
                let mut last = whole;
                for part in content {
                    match part {
                        ContentItem::InputText { text } | ContentItem::OutputText { text } => {
                            last = part_of_text(&entry.kind, text);
                            add(last, tokens_of(text.len()), true);
                        }
                        ContentItem::InputImage { image_url, .. } => {
                            add(ContextPartKind::Images, image(image_url), true);
                        }
                    }
                }
                // What surrounds the texts.
                if self.takes_images || !entry.has_images {
                    add(last, usize::MAX, false);
                }
            }
            ResponseItem::FunctionCallOutput { output, .. }
            | ResponseItem::CustomToolCallOutput { output, .. } => {
                if let FunctionCallOutputBody::Content(parts) = output {
                    for part in parts {
                        if let FunctionCallOutputContentItem::InputImage { image_url, .. } = part {
                            add(ContextPartKind::Images, image(image_url), true);
                        }
                    }
                }
                if self.takes_images || !entry.has_images {
                    add(ContextPartKind::ToolOutputs, usize::MAX, true);
                } else {
                    let texts = json.json.len().saturating_sub(image_bytes(output));
                    add(ContextPartKind::ToolOutputs, tokens_of(texts), true);
                }
            }
            ResponseItem::ImageGenerationCall { .. } => {
                add(ContextPartKind::Images, usize::MAX, true);
            }
            _ => add(part_of_entry(&entry.kind), usize::MAX, true),
        }
    }
}

/// By how much a server counts other than an estimate of the same request.
pub(super) fn token_factor(usage: Option<TokenUsage>, estimated: usize) -> f64 {
    match usage {
        Some(usage) if usage.input_tokens > 0 && estimated > 0 => {
            (usage.input_tokens as f64 / estimated as f64).clamp(FACTORS.0, FACTORS.1)
        }
        _ => 1.0,
    }
}

fn image_bytes(output: &FunctionCallOutputBody) -> usize {
    let FunctionCallOutputBody::Content(parts) = output else {
        return 0;
    };
    let lengths = parts.iter().map(|part| match part {
        FunctionCallOutputContentItem::InputImage { image_url, .. } => image_url.len(),
        _ => 0,
    });
    lengths.sum()
}

pub(super) fn part_of_entry(kind: &EntryKind) -> ContextPartKind {
    match kind {
        EntryKind::UserTurn => ContextPartKind::UserMessages,
        EntryKind::UserContext | EntryKind::Developer { .. } => ContextPartKind::Settings,
        EntryKind::Assistant | EntryKind::AgentMessage => ContextPartKind::AgentMessages,
        EntryKind::Reasoning => ContextPartKind::Reasoning,
        EntryKind::Call(_) | EntryKind::Hosted => ContextPartKind::ToolCalls,
        EntryKind::Output(_) => ContextPartKind::ToolOutputs,
        EntryKind::Compaction => ContextPartKind::Summaries,
    }
}

/// The part that an item of the history belongs to by its first text.
pub(super) fn part_of_item(item: PromptItem<'_>) -> ContextPartKind {
    let item = item.read();
    let Some(kind) = EntryKind::from_item(&item) else {
        return ContextPartKind::Settings;
    };
    let ResponseItem::Message { content, .. } = &item else {
        return part_of_entry(&kind);
    };
    let text = content.iter().find_map(|part| match part {
        ContentItem::InputText { text } | ContentItem::OutputText { text } => Some(text),
        ContentItem::InputImage { .. } => None,
    });
    text.map_or(ContextPartKind::Images, |text| part_of_text(&kind, text))
}

/// The part that a text of a message is.
fn part_of_text(kind: &EntryKind, text: &str) -> ContextPartKind {
    match kind {
        EntryKind::UserTurn if is_summary(text) => ContextPartKind::Summaries,
        EntryKind::UserContext
            if instructions_in(text).is_some() || folder_instructions_in(text).is_some() =>
        {
            ContextPartKind::ProjectInstructions
        }
        EntryKind::UserContext if is_pin(text) => ContextPartKind::Pins,
        EntryKind::UserContext if text.starts_with("<restored_message>") => {
            ContextPartKind::UserMessages
        }
        EntryKind::UserContext if text.trim_start().starts_with("<skill>") => {
            ContextPartKind::Skills
        }
        EntryKind::UserContext if !is_context_text(text) => ContextPartKind::UserMessages,
        EntryKind::Developer { .. } if text.starts_with("<skills_instructions>") => {
            ContextPartKind::Skills
        }
        EntryKind::Developer { .. } if text.starts_with("<memories>") => ContextPartKind::Memories,
        _ => part_of_entry(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{developer_message, user_message};

    fn snapshot(items: &[ResponseItem], usage: Option<TokenUsage>) -> ContextSnapshot {
        ContextSnapshot {
            model: "scripted".to_owned(),
            window: None,
            lacks_server_tools: false,
            takes_images: true,
            instructions: Arc::from("x".repeat(400)),
            tools: Encoded::from(vec![ToolSpec::LocalShell]),
            prompt: items.iter().collect(),
            usage,
        }
    }

    fn answer(text: &str) -> ResponseItem {
        ResponseItem::Message {
            role: "assistant".to_owned(),
            content: vec![ContentItem::OutputText {
                text: text.to_owned(),
            }],
            end_turn: None,
            phase: None,
            id: None,
        }
    }

    fn usage(input_tokens: i64, cached_input_tokens: i64) -> Option<TokenUsage> {
        Some(TokenUsage {
            input_tokens,
            cached_input_tokens,
            ..TokenUsage::default()
        })
    }

    #[test]
    fn texts_of_one_message_are_parts_of_their_own() {
        let items = [
            developer_message(
                [
                    "<permissions instructions>a",
                    "<memories>b",
                    "<skills_instructions>c",
                ]
                .map(str::to_owned),
            ),
            user_message([
                "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>"
                    .to_owned(),
                "<environment_context>\n</environment_context>".to_owned(),
            ]),
            user_message(["hello".to_owned()]),
        ];
        let used = snapshot(&items, None).parts();
        use ContextPartKind as Kind;
        for kind in [
            Kind::Instructions,
            Kind::Tools,
            Kind::ProjectInstructions,
            Kind::Skills,
            Kind::Memories,
            Kind::UserMessages,
        ] {
            assert_eq!(used.parts[&kind].count, 1, "{kind:?}");
        }
        assert_eq!(used.parts[&Kind::Settings].count, 2);
        assert_eq!(used.parts[&Kind::Instructions].tokens, 100);
        assert_eq!(used.tools[0].0, "local_shell");
    }

    #[test]
    fn server_token_counts_scale_the_estimate_and_cached_prefix() {
        let items = [user_message(["hello".repeat(80)]), answer("done")];
        let plain = snapshot(&items, None).parts();
        let answered = plain.parts[&ContextPartKind::AgentMessages].tokens;
        let sent = plain.tokens() - answered;
        let told = i64::try_from(sent * 2).unwrap();
        let used = snapshot(&items, usage(told, 250)).parts();
        assert_eq!(used.last_input_tokens, Some(sent * 2));
        let instructions = used.parts[&ContextPartKind::Instructions];
        assert_eq!(
            (instructions.tokens, instructions.cached_tokens),
            (200, 200)
        );
        let cached: u64 = used.parts.values().map(|part| part.cached_tokens).sum();
        assert_eq!(cached, 250);
        assert_eq!(used.parts[&ContextPartKind::AgentMessages].cached_tokens, 0);
    }

    #[test]
    fn wrong_server_counts_are_clamped() {
        let items = [user_message(["hello".to_owned()])];
        for told in [i64::MAX, i64::MIN, 0, 1] {
            let plain = snapshot(&items, None).parts().tokens();
            let used = snapshot(&items, usage(told, i64::MAX)).parts();
            assert!(used.tokens() <= plain * 5 + 3, "{told}");
        }
    }

    #[test]
    fn ten_thousand_items_and_markers_in_outputs_are_counted() {
        let mut items = Vec::new();
        for number in 0..10_000 {
            items.push(user_message([format!("message {number}")]));
        }
        items.push(ResponseItem::FunctionCall {
            name: "shell".to_owned(),
            namespace: None,
            arguments: "{}".to_owned(),
            call_id: "c".to_owned(),
            id: None,
        });
        items.push(ResponseItem::FunctionCallOutput {
            call_id: "c".to_owned(),
            output: FunctionCallOutputBody::Text("<memories>".into()),
        });
        let used = snapshot(&items, None).parts();
        assert_eq!(used.parts[&ContextPartKind::UserMessages].count, 10_000);
        assert_eq!(used.parts[&ContextPartKind::ToolOutputs].count, 1);
        assert!(!used.parts.contains_key(&ContextPartKind::Memories));
    }
}
