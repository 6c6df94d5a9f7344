//! The arguments of a call, and the schema of a function.

use codex_model_client::ToolSpec;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::ToolPayload;
use super::tool::{ToolContext, ToolFailure};

/// Parses the arguments of a function call.
pub(crate) fn arguments<T: DeserializeOwned>(context: &ToolContext) -> Result<T, ToolFailure> {
    let ToolPayload::Function(arguments) = &context.call.payload else {
        return Err(incompatible(context));
    };
    serde_json::from_str(arguments)
        .map_err(|error| ToolFailure::Model(format!("failed to parse function arguments: {error}")))
}

/// The error for a call of the wrong type.
pub(crate) fn incompatible(context: &ToolContext) -> ToolFailure {
    let name = &context.call.name;
    ToolFailure::Model(format!("tool {name} invoked with incompatible payload"))
}

/// The entry of a function among the tools of a request.
pub(crate) fn function(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
) -> ToolSpec {
    ToolSpec::Function {
        name: name.to_owned(),
        description: description.to_owned(),
        strict: false,
        defer_loading: None,
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}
