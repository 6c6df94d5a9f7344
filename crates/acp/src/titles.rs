//! The title of a session: its name, or else the beginning of what was said first. Pure.

use agent_client_protocol_schema::v1::{SessionInfoUpdate, SessionUpdate};
use codex_app_server_protocol::v2::{ThreadItem, UserInput};
use jiff::Timestamp;
use serde_json::Value;

/// The longest title, in characters.
const MAX_CHARS: usize = 200;

/// The title of a thread of the engine; none before its first message.
pub(crate) fn of_thread(thread: &Value) -> Option<String> {
    let name = thread["name"].as_str();
    first_line(name.or(thread["preview"].as_str())?)
}

/// The title that a message gives to a session without one.
pub(crate) fn of_message(item: &ThreadItem) -> Option<String> {
    let ThreadItem::UserMessage { content, .. } = item else {
        return None;
    };
    content.iter().find_map(|input| match input {
        UserInput::Text { text, .. } => first_line(text),
        _ => None,
    })
}

/// The update that shows a title.
pub(crate) fn update(title: String, at: Timestamp) -> SessionUpdate {
    let update = SessionInfoUpdate::new()
        .title(title)
        .updated_at(at.to_string());
    SessionUpdate::SessionInfoUpdate(update)
}

/// The first line, shortened.
fn first_line(text: &str) -> Option<String> {
    let line = text.trim().lines().next()?;
    Some(line.chars().take(MAX_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn title_is_the_name_or_the_first_message_line() {
        let title =
            |name: Value, preview: &str| of_thread(&json!({ "name": name, "preview": preview }));
        assert_eq!(title(json!("named"), "first").as_deref(), Some("named"));
        assert_eq!(
            title(Value::Null, "\nfirst\nsecond").as_deref(),
            Some("first")
        );
        assert_eq!(title(Value::Null, ""), None);
        let long = "x".repeat(MAX_CHARS + 1);
        assert_eq!(title(Value::Null, &long).unwrap().len(), MAX_CHARS);
    }
}
