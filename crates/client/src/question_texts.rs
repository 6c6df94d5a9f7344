//! The texts that a question about a command, a patch or permissions shows. Pure.

use codex_visible_text::{length, quoted};

/// What the engine says comes first. The words of the model are in quotation marks, with their length.
pub fn question_texts(
    notice: Option<&str>,
    reason: Option<&str>,
    justification: Option<&str>,
) -> Vec<String> {
    let notice = notice.unwrap_or_default();
    match reason {
        Some(reason) if !notice.is_empty() && reason.starts_with(notice) => vec![reason.to_owned()],
        Some(reason) => {
            let is_of_model = notice.is_empty() || justification == Some(reason);
            let reason = if is_of_model {
                format!(
                    "The model's reason ({}): {}",
                    length(reason),
                    quoted(reason)
                )
            } else {
                reason.to_owned()
            };
            let notice = Some(notice.to_owned()).filter(|notice| !notice.is_empty());
            notice.into_iter().chain([reason]).collect()
        }
        None if notice.is_empty() => Vec::new(),
        None => vec![notice.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_speaks_first_and_the_model_is_quoted() {
        let texts = question_texts(Some("In the sandbox."), Some("need it"), Some("need it"));
        assert_eq!(
            texts,
            [
                "In the sandbox.",
                "The model's reason (7 characters): “need it”"
            ]
        );
        let whole = "Without it. The model's reason (1 character): “x”";
        assert_eq!(
            question_texts(Some("Without it."), Some(whole), Some("x")),
            [whole]
        );
        let by_rule = question_texts(Some("In the sandbox."), Some("a rule"), Some("x"));
        assert_eq!(by_rule, ["In the sandbox.", "a rule"]);
        assert_eq!(
            question_texts(Some("In the sandbox."), None, None),
            ["In the sandbox."]
        );
        let older = question_texts(None, Some("x"), None);
        assert_eq!(older, ["The model's reason (1 character): “x”"]);
        assert_eq!(question_texts(None, None, None), [""; 0]);
    }
}
