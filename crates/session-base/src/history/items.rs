//! The items of a history, in order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use codex_model_client::{Prompt, PromptItem};
use codex_protocol::{ResponseItem, TruncationPolicy};
use serde_json::Value;

use super::contextual;
use super::entry::{CallLink, EntryKind, HistoryEntry, aborted_output};
use super::images::replace_images;
use super::truncate;

/// Replaces an image if the model cannot see images.
const NO_IMAGES: &str = "image content omitted because you do not support image input";

/// The history of a thread.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<HistoryEntry>,
    /// Which entries are messages of the context.
    contexts: Vec<usize>,
    /// Calls without an output, and how many: models repeat ids.
    open: HashMap<CallLink, usize>,
    /// The items of a request.
    prompt: Prompt,
    sums: TokenSums,
}

/// Sums that would otherwise be computed in every turn.
#[derive(Debug, Default)]
struct TokenSums {
    /// The estimated tokens of reasoning.
    reasoning: usize,
    /// The reasoning before the last message of the user.
    past_reasoning: usize,
    with_images: usize,
}

impl TokenSums {
    fn add(&mut self, entry: &HistoryEntry) {
        match entry.kind {
            EntryKind::Reasoning => self.reasoning += entry.tokens,
            EntryKind::UserTurn => self.past_reasoning = self.reasoning,
            _ => {}
        }
        self.with_images += usize::from(entry.has_images);
    }
}

impl History {
    /// Records an item. Returns its JSON, or none if the item is not kept.
    pub fn record(&mut self, item: ResponseItem, policy: TruncationPolicy) -> Option<String> {
        self.push(cut(item, policy))
    }

    fn push(&mut self, item: ResponseItem) -> Option<String> {
        let kind = EntryKind::from_item(&item)?;
        self.pair(&kind)?;
        let json = self.prompt.push(&item)?;
        let entry = HistoryEntry::new(kind, &item, json.len());
        self.sums.add(&entry);
        if entry.kind == EntryKind::UserContext {
            self.contexts.push(self.entries.len());
        }
        self.entries.push(entry);
        Some(json)
    }

    /// Registers a call or its output. None for an output without a call.
    fn pair(&mut self, kind: &EntryKind) -> Option<()> {
        match kind {
            EntryKind::Call(link) => *self.open.entry(link.clone()).or_default() += 1,
            EntryKind::Output(link) => {
                let waiting = self.open.get_mut(link)?;
                *waiting -= 1;
                if *waiting == 0 {
                    self.open.remove(link);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Replaces all items.
    pub fn replace(&mut self, items: impl IntoIterator<Item = ResponseItem>) {
        *self = Self::default();
        self.extend(items);
    }

    fn extend(&mut self, items: impl IntoIterator<Item = ResponseItem>) {
        for item in items {
            self.push(item);
        }
    }

    /// The items from an index on.
    pub fn items_from(&self, start: usize) -> Vec<ResponseItem> {
        let items = (start..self.len()).filter_map(|at| self.prompt.item(at));
        items.map(PromptItem::read).collect()
    }

    /// The calls from an index on.
    pub fn calls_from(&self, start: usize) -> Vec<ResponseItem> {
        let is_call = |at: &usize| matches!(self.entries[*at].kind, EntryKind::Call(_));
        let calls = (start..self.len()).filter(is_call);
        let calls = calls.filter_map(|at| self.prompt.item(at));
        calls.map(PromptItem::read).collect()
    }

    /// Removes the items from an index on.
    fn split_off(&mut self, start: usize) -> Vec<ResponseItem> {
        let items = self.items_from(start);
        self.truncate(start);
        items
    }

    /// The ids of all calls.
    pub fn call_ids(&self) -> HashSet<Arc<str>> {
        let ids = self.entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Call(link) => Some(Arc::clone(&link.id)),
            _ => None,
        });
        ids.collect()
    }

    /// What the model was told last that the instruction files say.
    pub fn last_instructions(&self) -> Option<String> {
        let mut told =
            self.found_in_context(|text| contextual::instructions_in(text).map(str::to_owned));
        told.next_back()
    }

    /// What the model was told last that the instruction file of each folder below the working folder says.
    pub fn folder_instructions(&self) -> HashMap<String, String> {
        let told = self.found_in_context(|text| {
            let (folder, text) = contextual::folder_instructions_in(text)?;
            Some((folder.to_owned(), text.to_owned()))
        });
        told.collect()
    }

    /// What is found in the texts of the context, at most one for each message.
    fn found_in_context<T>(
        &self,
        find: impl Fn(&str) -> Option<T>,
    ) -> impl DoubleEndedIterator<Item = T> {
        let context = (self.contexts.iter()).filter_map(|at| self.prompt.item(*at));
        context.filter_map(move |item| match item.read() {
            ResponseItem::Message { content, .. } => contextual::texts(&content).find_map(&find),
            _ => None,
        })
    }

    /// The calls that have no output, in order.
    pub fn open_calls(&self) -> Vec<ResponseItem> {
        let mut open = self.open.clone();
        let mut at = HashSet::new();
        // From the end: among calls with the same id, the last ones have no output.
        for (index, entry) in self.entries.iter().enumerate().rev() {
            if let EntryKind::Call(link) = &entry.kind
                && let Some(waiting) = open.get_mut(link)
                && *waiting > 0
            {
                *waiting -= 1;
                at.insert(index);
            }
        }
        let items = self.prompt.items().enumerate();
        let calls = items.filter(|(index, _)| at.contains(index));
        calls.map(|(_, item)| item.read()).collect()
    }

    /// Adds an output behind every call that has none.
    pub fn close_calls(&mut self) {
        let waits = |entry: &HistoryEntry| match &entry.kind {
            EntryKind::Call(link) => self.open.contains_key(link),
            _ => false,
        };
        if self.open.is_empty() {
            return;
        }
        let Some(first) = self.entries.iter().position(waits) else {
            return;
        };
        let mut open = self.open.clone();
        let mut closed = Vec::new();
        // From the end: among calls with the same id, the last ones have no output.
        for item in self.split_off(first).into_iter().rev() {
            if let Some(EntryKind::Call(link)) = EntryKind::from_item(&item)
                && let Some(waiting) = open.get_mut(&link)
                && *waiting > 0
            {
                *waiting -= 1;
                closed.push(aborted_output(&link));
            }
            closed.push(item);
        }
        self.extend(closed.into_iter().rev());
    }

    /// The input of a request.
    pub fn prompt(&mut self, images: bool) -> Prompt {
        self.close_calls();
        if images || self.sums.with_images == 0 {
            return self.prompt.clone();
        }
        let mut prompt = Prompt::default();
        for (entry, item) in self.sent() {
            if entry.has_images {
                prompt.push(&replace_images(item.read(), NO_IMAGES));
            } else {
                prompt.add(item);
            }
        }
        prompt
    }

    /// The items as they are: calls may lack an output, and images are in it.
    pub fn as_it_is(&self) -> Prompt {
        self.prompt.clone()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    /// The entries that requests contain, with their items.
    pub fn sent(&self) -> impl Iterator<Item = (&HistoryEntry, PromptItem<'_>)> {
        self.entries.iter().zip(self.prompt.items())
    }

    /// Truncates to an earlier length.
    pub fn truncate(&mut self, length: usize) {
        self.entries.truncate(length);
        self.contexts.retain(|at| *at < length);
        self.open.clear();
        self.sums = TokenSums::default();
        for entry in std::mem::take(&mut self.entries) {
            self.pair(&entry.kind);
            self.sums.add(&entry);
            self.entries.push(entry);
        }
        self.prompt.truncate(self.entries.len());
    }

    /// The estimated tokens of the history.
    pub fn tokens(&self) -> usize {
        self.entries.iter().map(|entry| entry.tokens).sum()
    }

    /// The estimated tokens since the last item of the model.
    pub fn tokens_since_model(&self) -> usize {
        let newer = self
            .entries
            .iter()
            .rev()
            .take_while(|entry| !entry.is_from_model());
        newer.map(|entry| entry.tokens).sum()
    }

    /// The estimated tokens of the reasoning before the last message of the user.
    pub fn past_reasoning_tokens(&self) -> usize {
        self.sums.past_reasoning
    }

    /// Replaces the images of the newest tool output. Returns false if a message of the user is newer.
    pub fn drop_newest_tool_images(&mut self) -> bool {
        let newest = self.entries.iter().rposition(|entry| {
            matches!(entry.kind, EntryKind::UserTurn | EntryKind::Output(_)) && entry.has_images
        });
        let Some(index) = newest else {
            return false;
        };
        if self.entries[index].kind == EntryKind::UserTurn {
            return false;
        }
        let mut items = self.split_off(index);
        if let Some(newest) = items.first_mut() {
            let item = std::mem::replace(newest, ResponseItem::Other(Value::Null));
            *newest = replace_images(item, "Invalid image");
        }
        self.extend(items);
        true
    }
}

/// Truncates an output that is too long.
fn cut(item: ResponseItem, policy: TruncationPolicy) -> ResponseItem {
    match item {
        ResponseItem::FunctionCallOutput { call_id, output } => {
            let output = truncate::cut_output(output, policy);
            ResponseItem::FunctionCallOutput { call_id, output }
        }
        ResponseItem::CustomToolCallOutput {
            call_id,
            name,
            output,
        } => {
            let output = truncate::cut_output(output, policy);
            ResponseItem::CustomToolCallOutput {
                call_id,
                name,
                output,
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
