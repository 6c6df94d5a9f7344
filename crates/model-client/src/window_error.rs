//! How servers say that a request is longer than the window of their model: most have words of their own for it, and some say
//! how long the window is.

use serde_json::Value;

use crate::error::ModelError;

/// What the messages of servers contain, in lower case. Most are followed by the length of the window.
const PHRASES: [&str; 7] = [
    // OpenAI, vLLM, LiteLLM in front of them, Ollama.
    "maximum context length",
    // llama.cpp.
    "available context size",
    // LM Studio.
    "context length of only",
    "greater than the context length",
    // Ollama.
    "exceeds the context length",
    "exceeds the context window",
    // LiteLLM.
    "contextwindowexceedederror",
];
/// How far after such words the length may be.
const DISTANCE: usize = 8;
/// The shortest window that is believed. In a shorter one not even the instructions have room.
const MIN_WINDOW_TOKENS: i64 = 2048;

/// The error, if it is about the window. `message` is what the server says to people.
pub(crate) fn window_error(error: &Value, message: &str) -> Option<ModelError> {
    let is_named = [
        ("code", "context_length_exceeded"),
        ("type", "exceed_context_size_error"),
    ];
    let is_named = is_named
        .iter()
        .any(|(member, name)| error[*member] == *name);
    let message = message.to_ascii_lowercase();
    let mut ends = PHRASES.iter().filter_map(|phrase| {
        let start = message.find(phrase)?;
        Some(&message[start + phrase.len()..])
    });
    let first = ends.next();
    if !is_named && first.is_none() {
        return None;
    }
    let told = first.into_iter().chain(ends).find_map(number_after);
    let window = error["n_ctx"].as_i64().or(told);
    Some(ModelError::ContextWindowExceeded {
        window: window.filter(|window| *window >= MIN_WINDOW_TOKENS),
    })
}

/// The number near the beginning of a text.
fn number_after(text: &str) -> Option<i64> {
    let start = text
        .bytes()
        .take(DISTANCE)
        .position(|byte| byte.is_ascii_digit())?;
    let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
    text[start..start + digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn window(error: Value) -> Option<Option<i64>> {
        let message = error["message"].as_str().or(error.as_str());
        match window_error(&error, message.unwrap_or_default()) {
            Some(ModelError::ContextWindowExceeded { window }) => Some(window),
            _ => None,
        }
    }

    #[test]
    fn window_errors_of_servers_are_known() {
        let told = Some(Some(4096));
        for error in [
            json!({"code": 400, "message": "the request exceeds the available context size, try increasing it",
                   "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}),
            json!({"message": "request (5000 tokens) exceeds the available context size (4096 tokens)"}),
            json!({"message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
                   "type": "BadRequestError", "code": 400}),
            json!({"message": "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This \
                   model's maximum context length is 4096 tokens.", "code": "400"}),
            json!(
                "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with \
                   context length of only 4096 tokens, which is not enough."
            ),
        ] {
            assert_eq!(window(error.clone()), told, "{error}");
        }
    }

    #[test]
    fn window_may_be_untold_or_unbelievable() {
        for error in [
            json!({"code": "context_length_exceeded", "message": "too long"}),
            json!({"message": "the input length exceeds the context length"}),
            json!({"type": "exceed_context_size_error", "n_ctx": 16}),
            json!({"type": "exceed_context_size_error", "n_ctx": -1}),
            json!({"message": "maximum context length is 99999999999999999999999 tokens"}),
        ] {
            assert_eq!(window(error.clone()), Some(None), "{error}");
        }
    }

    #[test]
    fn other_errors_are_not_about_the_window() {
        for error in [
            json!({"message": "max_tokens is too large: 5000", "code": 400}),
            json!({"message": "messages: text must be non-empty"}),
            json!({}),
            json!(null),
        ] {
            assert_eq!(window(error.clone()), None, "{error}");
        }
    }
}
