//! The tools of MCP servers in a recorded request.

use codex_model_client::ToolSpec;
use serde_json::{Value, json};

/// What stands before the declarations of tools in the description of `exec`, if it is the only tool.
const LIST: &str = "\n\nTools:";
const HEADING: &str = "\n\n### ";
const DECLARATION: &str = "\n\ndeclare const tools: { ";

/// The tools of MCP servers that a request offers, each as the model saw it.
pub(crate) fn mcp_tools_of(request: &Value) -> Vec<ToolSpec> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let mut found = Vec::new();
    for tool in tools {
        let is_of_server = || text(&tool["name"]).starts_with("mcp__");
        if tool["type"] == "tool_search" {
            found.push(ToolSpec::ToolSearch {
                execution: text(&tool["execution"]),
                description: text(&tool["description"]),
                parameters: tool["parameters"].clone(),
            });
        } else if tool["type"] == "custom" && tool["name"] == "exec" {
            found.extend(described_tools(
                tool["description"].as_str().unwrap_or_default(),
            ));
        } else if tool["type"] == "namespace" && is_of_server() {
            let functions = tool["tools"].as_array().into_iter().flatten();
            found.push(ToolSpec::Namespace {
                name: text(&tool["name"]),
                description: text(&tool["description"]),
                tools: functions.map(function_of).collect(),
            });
        } else if is_of_server() {
            found.push(function_of(tool));
        }
    }
    found
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn function_of(tool: &Value) -> ToolSpec {
    ToolSpec::Function {
        name: text(&tool["name"]),
        description: text(&tool["description"]),
        strict: tool["strict"] == true,
        defer_loading: tool["defer_loading"].as_bool(),
        parameters: tool["parameters"].clone(),
    }
}

/// The tools in the description of `exec`. A description may contain headings, so a tool ends with its declaration.
fn described_tools(description: &str) -> Vec<ToolSpec> {
    let Some((_, list)) = description.split_once(LIST) else {
        return Vec::new();
    };
    let mut tools = Vec::new();
    let mut sections = list.split(HEADING).skip(1);
    while let Some(section) = sections.next() {
        let Some((name, rest)) = section.split_once('\n') else {
            continue;
        };
        let declaration = format!("{DECLARATION}{name}(");
        let mut text = rest.to_owned();
        while !text.contains(&declaration) {
            let Some(more) = sections.next() else {
                break;
            };
            text = text + HEADING + more;
        }
        if name.starts_with("mcp__") {
            tools.push(ToolSpec::Function {
                name: name.to_owned(),
                description: text,
                strict: false,
                defer_loading: None,
                parameters: json!({}),
            });
        }
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_in_the_description_of_exec() {
        let description = "Runs.\n\nTools:\n\n### a\nA.\n\ndeclare const tools: { a(): 1; };\n\n### mcp__s__b\nB.\n\n\
            ### mcp__no\nmore\n\ndeclare const tools: { mcp__s__b(): 1; };\n\n### z\nZ.\n\ndeclare const tools: { z(): 1; };";
        let request = json!({ "tools": [
            { "type": "custom", "name": "exec", "description": description },
            { "type": "namespace", "name": "mcp__t", "description": "T.", "tools": [{ "type": "function", "name": "c" }] },
            { "type": "function", "name": "mcp__u__d", "description": "D.", "strict": true },
            { "type": "function", "name": "other" },
        ] });
        let tools = mcp_tools_of(&request);
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| match tool {
                ToolSpec::Function { name, .. } | ToolSpec::Namespace { name, .. } => name.as_str(),
                _ => "",
            })
            .collect();
        assert_eq!(names, ["mcp__s__b", "mcp__t", "mcp__u__d"]);
        let ToolSpec::Function { description, .. } = &tools[0] else {
            panic!("{:?}", tools[0]);
        };
        assert_eq!(
            description,
            "B.\n\n### mcp__no\nmore\n\ndeclare const tools: { mcp__s__b(): 1; };"
        );
    }
}
