//! The history of a thread: what the model is sent, in order.
//!
//! It is well-formed at every moment in this sense: no output without its call ever gets in, and
//! before a request is built every call without an output gets one. Items are written as JSON once,
//! when they are recorded, and what a turn asks about the history is kept up to date, so that a turn
//! costs the same however many there were before, but for the bytes that its request has.

mod contextual;
mod entry;
mod rebuild;
mod rollback;
pub(crate) mod truncate;

use std::collections::HashMap;
use std::sync::Arc;

use codex_model_client::Prompt;
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
    entries: Vec<Entry>,
    /// Calls that wait for their output, and how many times: models repeat ids.
    open: HashMap<Link, usize>,
    /// What a request carries: all entries but the snapshots.
    prompt: Prompt,
    sums: Sums,
}

/// What would otherwise be added up in every turn.
#[derive(Debug, Default)]
struct Sums {
    /// An estimate of the reasoning.
    reasoning: usize,
    /// The same of the reasoning before the last thing a person said.
    past_reasoning: usize,
    with_images: usize,
}

impl Sums {
    fn add(&mut self, entry: &Entry) {
        match entry.kind {
            Kind::Reasoning => self.reasoning += entry.tokens,
            Kind::UserTurn => self.past_reasoning = self.reasoning,
            _ => {}
        }
        self.with_images += usize::from(entry.has_images);
    }
}

impl History {
    /// Records an item. Answers its JSON, or none if the item has no place here.
    pub(crate) fn record(
        &mut self,
        item: ResponseItem,
        policy: TruncationPolicy,
    ) -> Option<String> {
        self.push(Arc::new(cut(item, policy)))
    }

    fn push(&mut self, item: Arc<ResponseItem>) -> Option<String> {
        let kind = Kind::of(&item)?;
        self.pair(&kind)?;
        let json = match kind {
            Kind::Ghost => serde_json::to_string(&*item).ok()?,
            _ => self.prompt.push(Arc::clone(&item))?,
        };
        let entry = Entry::new(kind, item, json.len());
        self.sums.add(&entry);
        self.entries.push(entry);
        Some(json)
    }

    /// Notes that a call waits for its output or has it; none for an output without a call.
    fn pair(&mut self, kind: &Kind) -> Option<()> {
        match kind {
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
        Some(())
    }

    /// Puts other items in place of all.
    pub(crate) fn replace(&mut self, items: impl IntoIterator<Item = Arc<ResponseItem>>) {
        *self = Self::default();
        for item in items {
            self.push(item);
        }
    }

    /// Gives every call that still waits an output, right behind it.
    pub(crate) fn close_calls(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let mut open = std::mem::take(&mut self.open);
        let mut closed = Vec::with_capacity(self.entries.len() + open.len());
        // From the end: of calls with the same id, the last ones are those without output.
        for entry in self.entries.drain(..).rev() {
            if let Kind::Call(link) = &entry.kind
                && let Some(waiting) = open.get_mut(link)
                && *waiting > 0
            {
                *waiting -= 1;
                closed.push(Arc::new(aborted_output(link)));
            }
            closed.push(entry.item);
        }
        self.replace(closed.into_iter().rev());
    }

    /// What a request carries.
    pub(crate) fn prompt(&mut self, images: bool) -> Prompt {
        self.close_calls();
        if images || self.sums.with_images == 0 {
            return self.prompt.clone();
        }
        let sent = self
            .entries
            .iter()
            .filter(|entry| entry.kind != Kind::Ghost);
        sent.map(|entry| match entry.has_images {
            true => Arc::new(replace_images(entry.item().clone(), NO_IMAGES)),
            false => Arc::clone(&entry.item),
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
        let is_snapshot = |entry: &Entry| entry.kind == Kind::Ghost;
        self.entries.iter().rposition(is_snapshot)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Goes back to an earlier length.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.entries.truncate(length);
        self.open.clear();
        self.sums = Sums::default();
        let mut sent = 0;
        for entry in std::mem::take(&mut self.entries) {
            self.pair(&entry.kind);
            self.sums.add(&entry);
            sent += usize::from(entry.kind != Kind::Ghost);
            self.entries.push(entry);
        }
        self.prompt.truncate(sent);
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
        self.sums.past_reasoning
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
        let replaced = Arc::new(replace_images(entry.item().clone(), "Invalid image"));
        let mut items: Vec<_> = self.entries.drain(..).map(|entry| entry.item).collect();
        items[index] = replaced;
        self.replace(items);
        true
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
