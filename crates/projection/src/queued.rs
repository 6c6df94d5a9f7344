//! Reads queued messages in the form in which other engines store them.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2::UserInput;
use codex_protocol as v1;
use serde::Deserialize;
use serde_json::json;

use super::item::wire_input;

#[derive(Deserialize)]
enum Queued {
    UserInput(QueuedInput),
}

#[derive(Deserialize)]
struct QueuedInput {
    content: Vec<v1::UserInput>,
    client_id: Option<String>,
    responsesapi_client_metadata: Option<BTreeMap<String, String>>,
}

/// The message in our stored form; none if a part of it is unknown here.
pub fn queued_by_others(stored: &str) -> Option<String> {
    let Queued::UserInput(message) = serde_json::from_str(stored).ok()?;
    let input: Vec<UserInput> = message
        .content
        .iter()
        .map(wire_input)
        .collect::<Option<_>>()?;
    let own = json!({
        "input": input,
        "client_user_message_id": message.client_id.unwrap_or_default(),
        "responsesapi_client_metadata": message.responsesapi_client_metadata,
    });
    Some(own.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_queued_input_is_left_out() {
        let stored = |content: &str| {
            format!(
                r#"{{"UserInput":{{"content":[{content}],"client_id":"c","responsesapi_client_metadata":{{"x":"y"}}}}}}"#
            )
        };
        let text = r#"{"type":"text","text":"hi","text_elements":[]}"#;
        let image = r#"{"type":"local_image","path":"/a.png"}"#;
        let own = queued_by_others(&stored(&format!("{text},{image}"))).unwrap();
        let own: serde_json::Value = serde_json::from_str(&own).unwrap();
        assert_eq!(own["input"][0]["text"], "hi");
        assert_eq!(own["input"][1]["type"], "localImage");
        assert_eq!(own["client_user_message_id"], "c");
        assert_eq!(own["responsesapi_client_metadata"]["x"], "y");
        assert_eq!(queued_by_others(&stored(r#"{"type":"hologram"}"#)), None);
        assert_eq!(queued_by_others("{}"), None);
    }
}
