//! How servers say that they do not have a model: most have words of their own for it.

use serde_json::Value;

/// What messages of servers contain besides the name of the model, in lower case.
const PHRASES: [&[&str]; 5] = [
    // LiteLLM.
    &["invalid model name passed in model="],
    // LM Studio.
    &["invalid model identifier"],
    // OpenAI and vLLM.
    &["the model `", "` does not exist"],
    // Ollama, in two versions.
    &["model '", "' not found"],
    &["model \"", "\" not found"],
];

/// Whether an error reply with the status 400 or 404 is about the model. `message` is what the server says to people.
pub(crate) fn is_unknown_model(error: &Value, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    error["code"] == "model_not_found" || PHRASES.iter().any(|parts| has_in_order(&message, parts))
}

fn has_in_order(text: &str, parts: &[&str]) -> bool {
    let mut rest = text;
    let mut is_first = true;
    parts.iter().all(|part| {
        let Some((between, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
        // Between two parts is a name.
        std::mem::take(&mut is_first) || !between.contains(['\'', '"', '`'])
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_of_servers_for_an_unknown_model_are_known() {
        for message in [
            "/responses: Invalid model name passed in model=wrong. Call `/v1/models` to view available models for your key.",
            "Invalid model identifier \"wrong\". Please specify a valid downloaded model.",
            "The model `wrong` does not exist.",
            "The model `wrong` does not exist or you do not have access to it.",
            "model 'wrong' not found",
            "model \"wrong\" not found, try pulling it first",
        ] {
            assert!(is_unknown_model(&json!({}), message), "{message}");
        }
        assert!(is_unknown_model(&json!({ "code": "model_not_found" }), ""));
        for message in [
            "Not Found",
            "the model cannot read the image",
            "no such file: model 'a'",
            "model 'a': function 'b' not found",
        ] {
            assert!(!is_unknown_model(&json!({}), message), "{message}");
        }
    }
}
