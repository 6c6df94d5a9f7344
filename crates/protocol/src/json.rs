//! Reads JSON and, when it does not fit, says where.

use std::borrow::Cow;

use serde::Deserialize;

/// A string that is borrowed from the input where that is possible, which a plain `Cow` never is.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Why a JSON text could not be read, and at which field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}{reason}", if path.is_empty() { "" } else { ": " })]
pub struct JsonError {
    path: String,
    reason: String,
}

impl JsonError {
    /// The path to the field, for example `op.items[0].text`; empty for the text as a whole.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Reads a value from a JSON text.
///
/// Following the path costs time, so it is only done for a text that is known not to fit.
pub fn from_json<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) => Err(locate::<T>(text).unwrap_or_else(|| JsonError {
            path: String::new(),
            reason: error.to_string(),
        })),
    }
}

fn locate<'de, T: Deserialize<'de>>(text: &'de str) -> Option<JsonError> {
    let deserializer = &mut serde_json::Deserializer::from_str(text);
    let error = serde_path_to_error::deserialize::<_, T>(deserializer).err()?;
    let path = match error.path().to_string() {
        // What the tracker says of the text as a whole, and of what it cannot name.
        path if path == "." || path == "?" => String::new(),
        path => path,
    };
    Some(JsonError {
        path,
        reason: error.into_inner().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::Submission;

    #[test]
    fn a_wrong_type_is_told_with_its_path() {
        let check = |text, path| {
            let error = from_json::<Submission>(text).unwrap_err();
            assert_eq!(error.path(), path, "{error}");
            assert!(error.to_string().starts_with(path));
        };
        check(r#"{"id":1,"op":{"type":"interrupt"}}"#, "id");
        check(
            r#"{"id":"1","op":{"type":"thread_rollback","num_turns":"two"}}"#,
            "op.num_turns",
        );
        check(
            r#"{"id":"1","op":{"type":"user_input","items":[{"type":"text","text":7}]}}"#,
            "op.items[0].text",
        );
        let late = r#"{"id":"1","op":{"num_turns":"two","type":"thread_rollback"}}"#;
        let error = from_json::<Submission>(late).unwrap_err();
        assert!(error.to_string().starts_with("op: num_turns: "), "{error}");
        check("{", "");
        check(r#"{"id":"1","op":{"type":"interrupt"}} x"#, "");
    }
}
