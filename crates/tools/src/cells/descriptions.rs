//! What the model is told about scripts.

use codex_model_client::ToolSpec;

use super::nested::NestedTools;

const EXEC_DESCRIPTION: &str = "\
Runs JavaScript that calls tools. Use it when a task needs several calls, calls at the same time, or work on their results \
before you read them.

The script is an async module in a fresh engine: `await` works at the top level. It has no files, no network, no console and \
no Node; imports are refused. Only what you print reaches you. Write the script itself as input, without quotes, JSON or a \
code fence.

The first line may be `// @exec: {\"yield_time_ms\": 10000, \"max_output_tokens\": 10000}`. After yield_time_ms (default 10000) \
a script that still runs goes on in the background, and you get its cell ID for `wait`. max_output_tokens (default 10000) \
limits the output.

Globals:
- tools: an object with one async function for each tool. It takes the arguments as an object, or text for tools that take \
text, and resolves to the result; a call that fails rejects with the reason as text. Await every call: what is not awaited at \
the end is stopped.
- ALL_TOOLS: an array of { name, description } of all tools, also of those that are not described to you.
- text(value): prints a value; objects as JSON.
- image(value, detail?): prints an image: a URL, { image_url, detail? }, or an image block of an MCP result. detail is auto, \
low, high or original.
- generatedImage({ image_url, output_hint? }): prints an image with a hint.
- store(key, value), load(key): keep JSON values for later scripts of this thread.
- notify(value): gives you a text at once, while the script goes on.
- yield_control(): gives you what was printed so far, while the script goes on.
- exit(): ends the script successfully.
- setTimeout(callback, milliseconds), clearTimeout(id).";

/// The description of `exec`. `documents_tools` adds those of all tools, if the model sees them nowhere else.
pub(crate) fn exec_description(tools: &NestedTools, documents_tools: bool) -> String {
    let mut description = EXEC_DESCRIPTION.to_owned();
    if documents_tools {
        description.push_str("\n\nTools:");
        for tool in tools.listed().iter() {
            description.push_str(&format!("\n\n### {}\n{}", tool.name, tool.description));
        }
    }
    description
}

/// Adds how scripts call a tool to its description.
pub(crate) fn with_declaration(spec: &mut ToolSpec, tools: &NestedTools) {
    let (ToolSpec::Function {
        name, description, ..
    }
    | ToolSpec::Custom {
        name, description, ..
    }) = spec
    else {
        return;
    };
    if let Some(declared) = tools.description_of(name) {
        declared.clone_into(description);
    }
}
