//! The scripts of a recorded session. A replay does not run them: the answers of `exec` are those of the recording, and what
//! scripts called is not called again.

use std::collections::{HashMap, HashSet};

use codex_protocol::{FunctionCallOutputBody, ResponseItem};
use serde_json::Value;

/// What is known of scripts while a recording is read.
#[derive(Debug, Default)]
pub(crate) struct RecordedCells {
    /// The calls that started them, by thread and number.
    starts: HashMap<(String, String), String>,
    /// The calls that scripts made.
    calls: HashSet<String>,
}

impl RecordedCells {
    /// A cell was started by a call of the model.
    pub(crate) fn start(&mut self, thread: &str, cell: &str, call: &str) {
        let cell = (thread.to_owned(), cell.to_owned());
        self.starts.insert(cell, call.to_owned());
    }

    /// The call that gets the first answer of a cell.
    pub(crate) fn answered(&mut self, thread: &str, cell: &str) -> Option<String> {
        self.starts.remove(&(thread.to_owned(), cell.to_owned()))
    }

    /// A script made a call.
    pub(crate) fn call(&mut self, id: &str) {
        self.calls.insert(id.to_owned());
    }

    /// Whether a call that ends was made by a script.
    pub(crate) fn ends(&mut self, id: &str) -> bool {
        self.calls.remove(id)
    }
}

/// The output of a call in a request that has it. Other outputs of the same call, which its script sent before, have a name.
pub(crate) fn output_in(request: &Value, call: &str) -> Option<FunctionCallOutputBody> {
    let items = request["input"].as_array()?;
    let item = items.iter().find(|item| {
        item["call_id"] == call && item["name"].is_null() && !item["output"].is_null()
    })?;
    // Text of a tool is kept as raw JSON, which needs a parser of its own.
    match serde_json::from_str(&item.to_string()).ok()? {
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => Some(output),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn next_request_has_answer_of_script() {
        let request = json!({ "input": [
            { "type": "custom_tool_call", "call_id": "c", "name": "exec", "input": "1" },
            { "type": "custom_tool_call_output", "call_id": "c", "name": "exec", "output": "soon" },
            { "type": "custom_tool_call_output", "call_id": "c", "output": "end" },
        ] });
        let output = output_in(&request, "c");
        assert!(
            matches!(&output, Some(FunctionCallOutputBody::Text(text)) if text.as_str() == "end"),
            "{output:?}"
        );
        assert!(output_in(&request, "d").is_none());
    }
}
