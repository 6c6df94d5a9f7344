//! Answers that the model's server cut short.
//!
//! The text is what people read. Clients that show a cut in another way recognise it by its beginning.

use std::fmt;

/// Why an answer ends before the model was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerCut {
    /// A limit on the tokens of an answer.
    Length,
    /// A filter of the server.
    ContentFilter,
    /// Another reason, in the server's word.
    Other(String),
}

const LENGTH: &str = "The answer was cut at the server's limit on output tokens";
const CONTENT_FILTER: &str = "The answer was cut by the server's content filter";

impl AnswerCut {
    /// From the server's word, in one of both protocols.
    #[must_use]
    pub fn from_server(reason: &str) -> Self {
        match reason {
            "length" | "max_output_tokens" | "max_tokens" | "model_length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The server's word.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Length => "max_output_tokens",
            Self::ContentFilter => "content_filter",
            Self::Other(reason) => reason,
        }
    }

    /// The reason that a displayed text names, if it is one of the two known ones.
    #[must_use]
    pub fn known_in_text(text: &str) -> Option<Self> {
        if text.starts_with(LENGTH) {
            return Some(Self::Length);
        }
        text.starts_with(CONTENT_FILTER)
            .then_some(Self::ContentFilter)
    }
}

impl fmt::Display for AnswerCut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(
                formatter,
                "{LENGTH}. What came is kept; ask for the rest, or raise the limit of the server (for example \
                 llama.cpp: `--predict`, vLLM: `max_model_len`)."
            ),
            Self::ContentFilter => write!(formatter, "{CONTENT_FILTER}. What came is kept."),
            Self::Other(reason) if reason == "unknown" => write!(
                formatter,
                "The server cut the answer and does not say why; it may be its limit on output tokens. What came is kept."
            ),
            Self::Other(reason) => write!(
                formatter,
                "The server cut the answer ({reason}). What came is kept."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AnswerCut;

    #[test]
    fn known_reasons_are_found_in_their_texts() {
        for word in [
            "length",
            "max_output_tokens",
            "max_tokens",
            "content_filter",
        ] {
            let cut = AnswerCut::from_server(word);
            assert_eq!(AnswerCut::known_in_text(&cut.to_string()), Some(cut));
        }
        let other = AnswerCut::from_server("a_new_word");
        assert_eq!(other.reason(), "a_new_word");
        assert_eq!(AnswerCut::known_in_text(&other.to_string()), None);
    }
}
