//! Why a request does not begin like the one before it, and what the server has to read again because of that.
//!
//! Servers keep the beginnings of requests, so what is sent again is cheap as long as nothing before it changes. A request
//! shares its instructions, tools and blocks of history with the one before it, so to keep that one takes no room, and
//! where nothing has changed a comparison is one of pointers and of the last block.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use codex_model_client::{Encoded, ModelRequest, Prompt, PromptItem, ToolSpec};
use codex_protocol::{ReasoningEffort, TokenUsage};
use serde_json::Value;

use super::context_use::{part_of_item, token_factor};
use super::entry::{EntryKind, HistoryEntry};
use super::truncate::tokens_of;
use crate::ports::{PrefixBreak, PrefixChange};

/// What a server may have kept of a request.
#[derive(Clone, Debug)]
pub struct SentPrefix {
    model: String,
    effort: Option<ReasoningEffort>,
    output_schema: Option<Value>,
    instructions: Arc<str>,
    tools: Encoded<Vec<ToolSpec>>,
    input: Prompt,
}

impl SentPrefix {
    /// That of a request that is about to be sent.
    #[must_use]
    pub fn new(request: &ModelRequest) -> Self {
        let effort = request.reasoning.as_ref();
        Self {
            model: request.model.clone(),
            effort: effort.and_then(|reasoning| reasoning.effort.clone()),
            output_schema: request.output_schema.clone(),
            instructions: Arc::clone(&request.instructions),
            tools: request.tools.clone(),
            input: request.input.clone(),
        }
    }

    /// How this one breaks with the one before it, of which the server counted `usage`. A history that only lost its end
    /// is no break: nothing of it is sent again.
    #[must_use]
    pub fn break_with(&self, before: &Self, usage: Option<TokenUsage>) -> Option<PrefixBreak> {
        let mut changes = self.changes_before_items(before);
        let common = self.input.common_length(&before.input);
        if changes.is_empty() && common == before.input.len() {
            return None;
        }
        let common_tokens = self.input.items().take(common).map(item_tokens);
        let common_tokens: usize = common_tokens.sum();
        let is_from_start = !changes.is_empty();
        let moved_tokens = self.moved_tokens(before, common);
        // A history that lost its end alone, as by a rollback, has no changed item.
        let changed = before.input.items().nth(common);
        if let Some(item) = changed.filter(|_| moved_tokens > 0) {
            let kind = part_of_item(item).words().to_owned();
            let index = common;
            changes.push(PrefixChange::Item { index, kind });
        }
        if changes.is_empty() {
            return None;
        }
        let (kept, lost) = if is_from_start {
            let head = self.head_tokens(Some(before));
            (0, head + common_tokens + moved_tokens)
        } else {
            (self.head_tokens(None) + common_tokens, moved_tokens)
        };
        let factor = before.token_factor(usage);
        let scaled = |tokens: usize| (tokens as f64 * factor).round() as u64;
        Some(PrefixBreak {
            changes,
            lost_tokens: scaled(lost),
            kept_tokens: scaled(kept),
        })
    }

    /// The tokens of the items after the common ones that the request before had too, later or in another order.
    fn moved_tokens(&self, before: &Self, common: usize) -> usize {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for item in before.input.items().skip(common) {
            *counts.entry(item.json).or_default() += 1;
        }
        let mut tokens = 0;
        for item in self.input.items().skip(common) {
            if let Some(count) = counts.get_mut(item.json).filter(|count| **count > 0) {
                *count -= 1;
                tokens += item_tokens(item);
            }
        }
        tokens
    }

    fn changes_before_items(&self, before: &Self) -> Vec<PrefixChange> {
        let mut changes = Vec::new();
        if self.model != before.model {
            changes.push(PrefixChange::Model {
                before: before.model.clone(),
                after: self.model.clone(),
            });
        }
        if self.effort != before.effort {
            changes.push(PrefixChange::Effort {
                before: before.effort.clone(),
                after: self.effort.clone(),
            });
        }
        if self.output_schema != before.output_schema {
            changes.push(PrefixChange::OutputSchema);
        }
        let is_same = Arc::ptr_eq(&self.instructions, &before.instructions);
        if !is_same && self.instructions != before.instructions {
            changes.push(PrefixChange::Instructions);
        }
        if self.tools != before.tools {
            changes.push(changed_tools(&before.tools, &self.tools));
        }
        changes
    }

    /// The tokens of the instructions and tools; of those that another one has too, if there is one.
    fn head_tokens(&self, other: Option<&Self>) -> usize {
        let is_sent = other.is_none_or(|other| other.instructions == self.instructions);
        let instructions = if is_sent { self.instructions.len() } else { 0 };
        let tools = self.tools.iter();
        let tools = tools.filter(|tool| other.is_none_or(|other| other.tools.contains(tool)));
        let tools = tools.map(|tool| serde_json::to_string(tool).map_or(0, |json| json.len()));
        tokens_of(instructions) + tools.map(tokens_of).sum::<usize>()
    }

    /// By how much the server counts other than the estimate.
    fn token_factor(&self, usage: Option<TokenUsage>) -> f64 {
        let items = self.input.items().map(item_tokens);
        let estimated = self.head_tokens(None) + items.sum::<usize>();
        token_factor(usage, estimated)
    }
}

fn item_tokens(item: PromptItem<'_>) -> usize {
    let read = item.read();
    let kind = EntryKind::from_item(&read);
    kind.map_or(0, |kind| {
        HistoryEntry::new(kind, &read, item.json.len()).tokens
    })
}

fn changed_tools(before: &[ToolSpec], after: &[ToolSpec]) -> PrefixChange {
    let by_name = |tools| -> BTreeMap<_, _> {
        let tools: &[ToolSpec] = tools;
        tools.iter().map(|tool| (tool.name(), tool)).collect()
    };
    let (before, after) = (by_name(before), by_name(after));
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for (name, tool) in &after {
        match before.get(name) {
            None => added.push((*name).to_owned()),
            Some(before) if before != tool => changed.push((*name).to_owned()),
            Some(_) => {}
        }
    }
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    PrefixChange::Tools {
        added,
        removed: removed.map(|name| (*name).to_owned()).collect(),
        changed,
    }
}

#[cfg(test)]
mod tests {
    use codex_model_client::Reasoning;
    use codex_protocol::ResponseItem;

    use super::*;
    use crate::history::user_message;

    fn tool(name: &str, description: &str) -> ToolSpec {
        ToolSpec::Function {
            name: name.to_owned(),
            description: description.to_owned(),
            strict: false,
            defer_loading: None,
            parameters: Value::Null,
        }
    }

    fn request(tools: Vec<ToolSpec>, texts: &[&str]) -> ModelRequest {
        let items = texts.iter().map(|text| user_message([(*text).to_owned()]));
        let items: Vec<ResponseItem> = items.collect();
        ModelRequest {
            model: "one".to_owned(),
            instructions: Arc::from("x".repeat(4000)),
            input: items.iter().collect(),
            tools: Encoded::from(tools),
            ..ModelRequest::default()
        }
    }

    fn compare(before: &ModelRequest, after: &ModelRequest) -> Option<PrefixBreak> {
        SentPrefix::new(after).break_with(&SentPrefix::new(before), None)
    }

    #[test]
    fn grown_and_shortened_histories_break_nothing() {
        let before = request(vec![tool("a", "")], &["one", "two"]);
        for texts in [
            &["one", "two"][..],
            &["one", "two", "three"],
            &["one"],
            &[],
            &["one", "other"],
        ] {
            let after = request(vec![tool("a", "")], texts);
            assert_eq!(compare(&before, &after), None, "{texts:?}");
        }
    }

    #[test]
    fn changed_item_costs_what_follows_it() {
        let long = "y".repeat(4000);
        let before = request(Vec::new(), &["one", "two", &long, "four"]);
        let after = request(Vec::new(), &["one", "2", &long, "four", "five"]);
        let broken = compare(&before, &after).unwrap();
        let kind = "message of the user".to_owned();
        assert_eq!(broken.changes, [PrefixChange::Item { index: 1, kind }]);
        assert!((1000..1100).contains(&broken.lost_tokens), "{broken:?}");
        assert!((1000..1100).contains(&broken.kept_tokens), "{broken:?}");
        let told = broken.to_string();
        let expected = "item 2 of the history has changed (message of the user).";
        assert!(told.ends_with(expected), "{told}");
    }

    #[test]
    fn changed_tools_cost_the_whole_request() {
        let before = request(vec![tool("a", ""), tool("b", ""), tool("c", "")], &["one"]);
        let tools = vec![tool("b", "other"), tool("d", ""), tool("a", "")];
        let broken = compare(&before, &request(tools, &["one", "two"])).unwrap();
        let names = |name: &str| vec![name.to_owned()];
        let expected = PrefixChange::Tools {
            added: names("d"),
            removed: names("c"),
            changed: names("b"),
        };
        assert_eq!(broken.changes, [expected]);
        assert!((1000..1200).contains(&broken.lost_tokens), "{broken:?}");
        assert_eq!(broken.kept_tokens, 0);
        let told = broken.to_string();
        let expected = "tools were added (d), removed (c), changed (b).";
        assert!(told.ends_with(expected), "{told}");
        let reordered = request(vec![tool("b", ""), tool("a", ""), tool("c", "")], &["one"]);
        let told = compare(&before, &reordered).unwrap().to_string();
        assert!(
            told.ends_with("the order of the tools has changed."),
            "{told}"
        );
    }

    #[test]
    fn tokens_are_as_the_server_counts_them() {
        let before = request(Vec::new(), &["one"]);
        let effort = Some(ReasoningEffort::High);
        let after = ModelRequest {
            reasoning: Some(Reasoning {
                effort,
                summary: None,
            }),
            ..before.clone()
        };
        let before = SentPrefix::new(&before);
        let after = SentPrefix::new(&after);
        let usage = TokenUsage {
            input_tokens: 4321,
            ..TokenUsage::default()
        };
        let broken = after.break_with(&before, Some(usage)).unwrap();
        assert_eq!(broken.lost_tokens, 4321);
    }
}
