//! The history of a thread: what the model is sent, in order.
//!
//! It is well-formed at every moment in this sense: no output without its call ever gets in, and
//! before a request is built every call without an output gets one. Items are written as JSON once,
//! when they are recorded; requests and the rollout share that text, so a request costs the same
//! however often its items were sent before.

mod contextual;
mod entry;
mod rebuild;
mod rollback;
pub(crate) mod truncate;

use std::collections::HashMap;
use std::sync::Arc;

use codex_model_client::Encoded;
use codex_protocol::{
    ContentItem, FunctionCallOutputContentItem, GhostCommit, ResponseItem, TruncationPolicy,
};

pub use contextual::first_user_text;
pub(crate) use contextual::is_contextual;
pub(crate) use entry::{Entry, Kind};
use entry::{Link, aborted_output};
pub(crate) use rebuild::rebuild;

/// What stands for an image when the model cannot see.
const NO_IMAGES: &str = "image content omitted because you do not support image input";

/// The history of a thread.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<Arc<Entry>>,
    /// Calls that wait for their output, and how many times: models repeat ids.
    open: HashMap<Link, usize>,
}

impl History {
    /// Records an item. Answers the entry, or none if the item has no place here.
    pub(crate) fn record(
        &mut self,
        item: ResponseItem,
        policy: TruncationPolicy,
    ) -> Option<Arc<Entry>> {
        let item = cut(item, policy);
        let entry = Arc::new(Entry::of(item)?);
        self.push(entry).cloned()
    }

    fn push(&mut self, entry: Arc<Entry>) -> Option<&Arc<Entry>> {
        match &entry.kind {
            Kind::Call(link) => *self.open.entry(link.clone()).or_default() += 1,
            Kind::Output(link) => {
                let waiting = self.open.get_mut(link)?;
                *waiting -= 1;
                if *waiting == 0 {
                    self.open.remove(link);
                }
            }
            _ => {}
        }
        self.entries.push(entry);
        self.entries.last()
    }

    /// Gives every call that still waits an output, right behind it.
    pub(crate) fn close_calls(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let mut open = std::mem::take(&mut self.open);
        let mut closed = Vec::with_capacity(self.entries.len() + open.len());
        // From the end: of calls with the same id, the last ones are those without output.
        for entry in std::mem::take(&mut self.entries).into_iter().rev() {
            if let Kind::Call(link) = &entry.kind
                && let Some(waiting) = open.get_mut(link)
                && *waiting > 0
            {
                *waiting -= 1;
                closed.extend(Entry::of(aborted_output(link)).map(Arc::new));
            }
            closed.push(entry);
        }
        closed.reverse();
        self.entries = closed;
    }

    /// What a request carries.
    pub(crate) fn prompt(&mut self, images: bool) -> Vec<Encoded<ResponseItem>> {
        self.close_calls();
        let sent = self
            .entries
            .iter()
            .filter(|entry| entry.kind != Kind::Ghost);
        sent.map(|entry| match entry.has_images && !images {
            true => without_images(entry).unwrap_or_else(|| entry.input.clone()),
            false => entry.input.clone(),
        })
        .collect()
    }

    pub(crate) fn latest_snapshot(&self) -> Option<GhostCommit> {
        match self.entries[self.index_of_snapshot()?].item() {
            ResponseItem::GhostSnapshot { ghost_commit } => Some(ghost_commit.clone()),
            _ => None,
        }
    }

    /// Takes the latest snapshot out. Answers where it was.
    pub(crate) fn forget_snapshot(&mut self) -> Option<usize> {
        let index = self.index_of_snapshot()?;
        self.entries.remove(index);
        Some(index)
    }

    fn index_of_snapshot(&self) -> Option<usize> {
        let is_snapshot = |entry: &Arc<Entry>| entry.kind == Kind::Ghost;
        self.entries.iter().rposition(is_snapshot)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// Goes back to an earlier length.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.entries.truncate(length);
        self.reopen();
    }

    /// Puts other items in place of all.
    pub(crate) fn replace(&mut self, items: impl IntoIterator<Item = ResponseItem>) {
        self.entries = items
            .into_iter()
            .filter_map(Entry::of)
            .map(Arc::new)
            .collect();
        self.reopen();
    }

    /// An estimate of all of it.
    pub(crate) fn tokens(&self) -> usize {
        self.entries.iter().map(|entry| entry.tokens).sum()
    }

    /// An estimate of what was recorded since the model last said something.
    pub(crate) fn tokens_since_model(&self) -> usize {
        let newer = self
            .entries
            .iter()
            .rev()
            .take_while(|entry| !entry.is_from_model());
        newer.map(|entry| entry.tokens).sum()
    }

    /// An estimate of the reasoning before the last thing a person said.
    pub(crate) fn past_reasoning_tokens(&self) -> usize {
        let last = self
            .entries
            .iter()
            .rposition(|entry| entry.kind == Kind::UserTurn);
        let past = self.entries[..last.unwrap_or(0)].iter();
        past.filter(|entry| entry.kind == Kind::Reasoning)
            .map(|entry| entry.tokens)
            .sum()
    }

    /// Replaces the images of the newest tool output; false if a person's message comes first.
    pub(crate) fn drop_newest_tool_images(&mut self) -> bool {
        let newest = self.entries.iter().rposition(|entry| {
            matches!(entry.kind, Kind::UserTurn | Kind::Output(_)) && entry.has_images
        });
        let Some(index) = newest else {
            return false;
        };
        let entry = &self.entries[index];
        if entry.kind == Kind::UserTurn {
            return false;
        }
        let replaced = replace_images(entry.item().clone(), "Invalid image");
        match Entry::of(replaced) {
            Some(entry) => {
                self.entries[index] = Arc::new(entry);
                true
            }
            None => false,
        }
    }

    /// Counts anew which calls wait, and drops outputs that lost their call.
    fn reopen(&mut self) {
        self.open.clear();
        for entry in std::mem::take(&mut self.entries) {
            self.push(entry);
        }
    }
}

/// Cuts what is too long in an item.
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

fn without_images(entry: &Entry) -> Option<Encoded<ResponseItem>> {
    let item = replace_images(entry.item().clone(), NO_IMAGES);
    Entry::of(item).map(|entry| entry.input)
}

/// The item with a text in place of each image.
pub(crate) fn replace_images(mut item: ResponseItem, text: &str) -> ResponseItem {
    match &mut item {
        ResponseItem::Message { content, .. } => {
            for part in content {
                if matches!(part, ContentItem::InputImage { .. }) {
                    *part = ContentItem::InputText {
                        text: text.to_owned(),
                    };
                }
            }
        }
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => {
            if let codex_protocol::FunctionCallOutputBody::Content(parts) = output {
                for part in parts {
                    if matches!(part, FunctionCallOutputContentItem::InputImage { .. }) {
                        *part = FunctionCallOutputContentItem::InputText {
                            text: text.to_owned(),
                        };
                    }
                }
            }
        }
        ResponseItem::ImageGenerationCall { result, .. } => result.clear(),
        _ => {}
    }
    item
}

#[cfg(test)]
mod tests;
