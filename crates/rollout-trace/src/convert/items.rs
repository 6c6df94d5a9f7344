//! The items of payloads, changed in place.

use crate::format::PayloadKind;
use crate::json::{Json, JsonString, Object, Scanner, compact};

/// The lists of items in a payload of a kind.
pub(super) fn lists(kind: PayloadKind) -> &'static [&'static str] {
    match kind {
        PayloadKind::InferenceRequest | PayloadKind::CompactionRequest => &["input"],
        PayloadKind::InferenceResponse | PayloadKind::CompactionResponse => &["output_items"],
        PayloadKind::CompactionCheckpoint => &["input_history", "replacement_history"],
        _ => &[],
    }
}

/// Changes a payload that is a JSON object; any other stays as it is.
pub(super) fn edit(text: &[u8], change: impl FnOnce(&mut Object<'_>)) -> Option<Vec<u8>> {
    let Ok(Json::Object(mut object)) = Scanner::parse(text) else {
        return None;
    };
    change(&mut object);
    Some(compact(&Json::Object(object)).into_bytes())
}

/// The items of a list of a payload.
pub(super) fn items<'p, 'a>(
    payload: &'p mut Object<'a>,
    list: &str,
) -> Option<&'p mut Vec<Json<'a>>> {
    match payload.get_mut(list)? {
        Json::Array(items) => Some(items),
        _ => None,
    }
}

/// A text as a value.
pub(super) fn text<'a>(text: impl Into<String>) -> Json<'a> {
    Json::String(JsonString::from(text.into()))
}
