//! Parses JSON with errors that name the invalid field.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::error::Category;

use crate::json_path::path_at;

/// A string that borrows from the input if possible, which a plain `Cow` does not do.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct BorrowedText<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Why a JSON text is invalid, and at which field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}{reason}", if path.is_empty() { "" } else { ": " })]
pub struct JsonError {
    path: String,
    reason: String,
}

impl JsonError {
    /// The path of the field, for example `op.items[0].text`; empty for the whole text.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Replaces line and column by the path of the invalid field.
    pub(crate) fn locate(text: &str, error: &serde_json::Error) -> Self {
        let (path, reason) = match error.classify() {
            Category::Eof | Category::Io => (String::new(), error.to_string()),
            Category::Syntax => (path_at(text, offset(text, error)), error.to_string()),
            Category::Data => (path_at(text, offset(text, error)), reason(error)),
        };
        let within = reason.strip_prefix(PATH_PREFIX);
        match within.and_then(|told| told.split_once(": ")) {
            Some((inner, cause)) => Self {
                path: join(&path, inner),
                reason: cause.to_owned(),
            },
            None => Self { path, reason },
        }
    }
}

/// The reason without line and column.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    without_place(error.to_string())
}

fn without_place(mut reason: String) -> String {
    if let Some(end) = reason.rfind(" at line ") {
        reason.truncate(end);
    }
    reason
}

/// Begins the reason of an error in a part that was parsed separately; the path in that part follows.
const PATH_PREFIX: &str = "at ";

/// The reason of an error in a member that was parsed separately. The error is located at the enclosing object, and the
/// two paths are joined later.
pub(crate) fn reason_within(name: &str, part: &str, error: &serde_json::Error) -> String {
    let JsonError { path, reason } = JsonError::locate(part, error);
    // A position in the part would be mistaken for one in the whole text.
    wrong_within(&join(name, &path), &without_place(reason))
}

/// Like [`reason_within`], for a path that begins with a member of an object.
pub(crate) fn wrong_within(path: &str, reason: &str) -> String {
    format!("{PATH_PREFIX}{path}: {reason}")
}

fn join(outer: &str, inner: &str) -> String {
    if outer.is_empty() || inner.is_empty() || inner.starts_with('[') {
        format!("{outer}{inner}")
    } else {
        format!("{outer}.{inner}")
    }
}

/// Parses a value from a JSON text.
///
/// The path of an error is determined afterwards from the text. A deserializer that tracks paths would be slower, and every
/// type would be compiled for it a second time.
pub fn from_json<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    serde_json::from_str(text).map_err(|error| JsonError::locate(text, &error))
}

/// The number of bytes read when the error was found.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines_before = error.line().saturating_sub(1);
    let line_start: usize = text
        .split_inclusive('\n')
        .take(lines_before)
        .map(str::len)
        .sum();
    line_start + error.column()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response_item::ResponseItem;
    use crate::submission::Submission;

    #[test]
    fn type_error_has_its_path() {
        let check = |text, path| {
            let error = from_json::<Submission>(text).unwrap_err();
            assert_eq!(error.path(), path, "{error}");
            assert!(error.to_string().starts_with(path));
        };
        check(r#"{"id":1,"op":{"type":"interrupt"}}"#, "id");
        check(
            "{\n  \"id\": {},\n  \"op\": {\"type\": \"interrupt\"}}",
            "id",
        );
        check(
            r#"{"id":"1","op":{"type":"thread_rollback","num_turns":"two"}}"#,
            "op.num_turns",
        );
        check(
            r#"{"id":"1","op":{"type":"user_input","items":[{"type":"text","text":7}]}}"#,
            "op.items[0].text",
        );
        check(r#"{"id":"1","op":{"type":"user_input"}}"#, "op");
        check("{", "");
        check(r#"{"id":"1","op":{"type":"interrupt"}} x"#, "");
    }

    #[test]
    fn error_path_continues_in_separately_read_parts() {
        let check = |output: &str, path| {
            let text =
                format!(r#"{{"type":"function_call_output","call_id":"a","output":{output}}}"#);
            let error = from_json::<ResponseItem>(&text).unwrap_err();
            assert_eq!(error.path(), path, "{error}");
        };
        let text = r#"{"type":"input_text","text":"b"}"#;
        let image = r#"{"type":"input_image","image_url":"c","detail":false}"#;
        check(&format!("[{text},{image}]"), "output[1].detail");
        check(
            &format!(r#"[{text},{{"type":"input_text","text":7}}]"#),
            "output[1].text",
        );
        check("7", "output");
    }

    #[test]
    fn the_path_is_kept_when_the_tag_comes_late() {
        let late = r#"{"id":"1","op":{"num_turns":"two","type":"thread_rollback"}}"#;
        let error = from_json::<Submission>(late).unwrap_err();
        assert!(error.to_string().starts_with("op: num_turns: "), "{error}");
    }
}
