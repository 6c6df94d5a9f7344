//! Messages that the engine writes itself.

use codex_protocol::{ContentItem, ResponseItem};

/// A message of role `user`, one part for each text.
pub fn user_message(texts: impl IntoIterator<Item = String>) -> ResponseItem {
    message("user", texts)
}

/// A developer message, one part for each text.
pub fn developer_message(texts: impl IntoIterator<Item = String>) -> ResponseItem {
    message("developer", texts)
}

fn message(role: &str, texts: impl IntoIterator<Item = String>) -> ResponseItem {
    ResponseItem::Message {
        role: role.to_owned(),
        content: texts
            .into_iter()
            .map(|text| ContentItem::InputText { text })
            .collect(),
        end_turn: None,
        phase: None,
        id: None,
    }
}
