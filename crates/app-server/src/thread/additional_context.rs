//! Additional context of a client: sent to the model before the input, and again only when it changes.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2::{AdditionalContextEntry, AdditionalContextKind};
use codex_protocol::{ContentItem, ResponseItem};

/// The context that the model got last, by name.
#[derive(Debug, Default)]
pub(super) struct AdditionalContext(BTreeMap<String, AdditionalContextEntry>);

impl AdditionalContext {
    /// Updates the context for a turn. Returns the entries that the model does not have yet.
    pub(super) fn take(
        &mut self,
        entries: BTreeMap<String, AdditionalContextEntry>,
    ) -> Vec<ResponseItem> {
        let is_new = |(name, entry): &(&String, &_)| self.0.get(*name) != Some(*entry);
        let items = entries.iter().filter(is_new).map(shown).collect();
        self.0.extend(entries);
        items
    }
}

/// Only trusted entries get the developer role.
fn shown((name, entry): (&String, &AdditionalContextEntry)) -> ResponseItem {
    let value = &entry.value;
    let (role, text) = match entry.kind {
        AdditionalContextKind::Application => ("developer", format!("<{name}>{value}</{name}>")),
        AdditionalContextKind::Untrusted => {
            let opening = format!("<untrusted_context name=\"{name}\">");
            ("user", format!("{opening}{value}</untrusted_context>"))
        }
    };
    ResponseItem::Message {
        role: role.to_owned(),
        content: vec![ContentItem::InputText { text }],
        end_turn: None,
        phase: None,
        id: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_additional_context_is_not_repeated() {
        let entry = |value: &str| AdditionalContextEntry {
            kind: AdditionalContextKind::Application,
            value: value.to_owned(),
        };
        let mut context = AdditionalContext::default();
        let mut shown = |value: &str| {
            let entries = [("file".to_owned(), entry(value))];
            context.take(BTreeMap::from(entries)).len()
        };
        assert_eq!(
            [shown("a"), shown("a"), shown("b"), shown("a")],
            [1, 0, 1, 1]
        );
    }
}
