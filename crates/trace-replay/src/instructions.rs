//! Instruction files in a recorded request.

use codex_core::{folder_instructions_in, instructions_in};
use serde_json::Value;

use crate::skills::texts;

/// What a request says last that the instruction files of the working folder say.
pub(crate) fn instructions_of(request: &Value) -> Option<String> {
    let told = texts(request).filter_map(instructions_in);
    told.last().map(str::to_owned)
}

/// The folders below the working folder whose instruction files a request has, with the last text of each.
pub(crate) fn folder_instructions_of(request: &Value) -> Vec<(String, String)> {
    let mut told: Vec<(String, String)> = Vec::new();
    for (folder, text) in texts(request).filter_map(folder_instructions_in) {
        told.retain(|(known, _)| known != folder);
        told.push((folder.to_owned(), text.to_owned()));
    }
    told
}
