//! What scripts can call: the tools of a turn under the names of functions.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use codex_code_mode::{ScriptTool, declaration, identifier, scoped_name};
use codex_model_client::ToolSpec;
use serde_json::Value;

use crate::agent_tool_names::manages_agents;
use crate::call::{ToolCall, ToolPayload};

/// The tools for scripts, sorted by name.
#[derive(Debug)]
pub struct NestedTools {
    tools: BTreeMap<String, NestedTool>,
    listed: Arc<[ScriptTool]>,
}

/// A tool for scripts.
#[derive(Clone, Debug)]
pub struct NestedTool {
    pub namespace: Option<String>,
    /// The name within the namespace.
    pub name: String,
    is_freeform: bool,
    description: String,
}

impl NestedTools {
    /// Of what a turn has, and of what it accepts without offering it.
    pub fn new(
        offered: &[ToolSpec],
        deferred: &[(Option<String>, ToolSpec)],
        context: NestedScope<'_>,
    ) -> Self {
        let mut tools = BTreeMap::new();
        for spec in offered {
            add(&mut tools, None, spec, context);
        }
        for (namespace, spec) in deferred {
            add(&mut tools, namespace.as_deref(), spec, context);
        }
        let listed = tools.iter().map(|(name, tool)| ScriptTool {
            name: name.clone(),
            description: tool.description.clone(),
            freeform: tool.is_freeform,
        });
        Self {
            listed: listed.collect(),
            tools,
        }
    }

    pub fn listed(&self) -> &Arc<[ScriptTool]> {
        &self.listed
    }

    /// The description with the declaration of a tool without a namespace.
    pub fn description_of(&self, name: &str) -> Option<&str> {
        let mut tools = self.tools.values();
        let tool = tools.find(|tool| tool.namespace.is_none() && tool.name == name);
        tool.map(|tool| tool.description.as_str())
    }

    pub fn find(&self, name: &str) -> Option<&NestedTool> {
        self.tools.get(name)
    }
}

impl NestedTool {
    /// The call of this tool, as if the model had made it.
    pub fn call(&self, id: String, input: Value) -> ToolCall {
        let payload = match input {
            Value::String(text) if self.is_freeform => ToolPayload::Custom(text),
            other => ToolPayload::Function(other.to_string()),
        };
        let name = match &self.namespace {
            Some(namespace) => format!("{namespace}:{}", self.name),
            None => self.name.clone(),
        };
        ToolCall {
            id,
            name,
            payload,
            script: None,
        }
    }
}

/// How tools become tools for scripts.
#[derive(Clone, Copy, Debug)]
pub struct NestedScope<'s> {
    /// The namespaces that scripts do not see.
    pub excluded: &'s [String],
    /// The tools of a recorded session: their descriptions may have the declaration already.
    pub recorded: &'s HashSet<String>,
}

fn add(
    tools: &mut BTreeMap<String, NestedTool>,
    namespace: Option<&str>,
    spec: &ToolSpec,
    context: NestedScope<'_>,
) {
    let (name, description, schema) = match spec {
        ToolSpec::Function {
            name,
            description,
            parameters,
            ..
        } if !is_direct_only(name) => (name, description, Some(parameters)),
        ToolSpec::Custom {
            name, description, ..
        } if !is_direct_only(name) => (name, description, None),
        ToolSpec::Namespace {
            name,
            tools: functions,
            ..
        } => {
            for function in functions {
                add(tools, Some(name), function, context);
            }
            return;
        }
        _ => return,
    };
    let scope = namespace.or(manages_agents_or_waits(name).then_some("multi_agent_v1"));
    if context.excluded.iter().any(|one| is_in(one, scope, name)) {
        return;
    }
    let function = identifier(&scoped_name(scope, name));
    let is_declared =
        context.recorded.contains(name) && description.contains("declare const tools: { ");
    let description = if is_declared {
        description.clone()
    } else {
        let declared = declaration(&function, schema, output_type(name));
        format!("{description}\n\n{declared}")
    };
    let tool = NestedTool {
        namespace: namespace.map(str::to_owned),
        name: name.clone(),
        is_freeform: schema.is_none(),
        description,
    };
    tools.entry(function).or_insert(tool);
}

/// Whether a tool is in a namespace. That of an MCP server is part of the names of its tools.
fn is_in(namespace: &str, scope: Option<&str>, name: &str) -> bool {
    let of_server = || {
        let rest = name.strip_prefix(namespace);
        namespace.starts_with("mcp__") && rest.is_some_and(|rest| rest.starts_with("__"))
    };
    scope == Some(namespace) || of_server()
}

/// Scripts know the tools for agents by the namespace in which some models call them.
fn manages_agents_or_waits(name: &str) -> bool {
    name == "wait_agent" || manages_agents(name)
}

/// Tools that only the model itself calls.
pub(crate) fn is_direct_only(name: &str) -> bool {
    matches!(
        name,
        "request_user_input" | "exec" | "wait" | "js_repl" | "js_repl_reset"
    )
}

/// The type of what a tool resolves to, where it is known.
fn output_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "exec_command" | "write_stdin" => {
            "{ chunk_id?: string; wall_time_seconds: number; exit_code?: number; session_id?: number; \
             original_token_count?: number; output: string; }"
        }
        "update_plan" | "apply_patch" => "{}",
        "view_image" => "{ image_url: string; detail: string | null; }",
        "shell" | "shell_command" => "string",
        name if name.starts_with("mcp__") => {
            "{ content: Array<unknown>; structuredContent?: unknown; isError?: boolean; _meta?: unknown; }"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_have_the_names_of_functions() {
        let function = |name: &str| ToolSpec::Function {
            name: name.to_owned(),
            description: "Does it.".to_owned(),
            strict: false,
            defer_loading: None,
            parameters: json!({"type": "object", "additionalProperties": false}),
        };
        let namespace = |name: &str| ToolSpec::Namespace {
            name: name.to_owned(),
            description: String::new(),
            tools: vec![function("find")],
        };
        let offered = [
            function("b"),
            function("mcp__a-b__c"),
            function("mcp__no__c"),
            function("spawn_agent"),
            function("request_user_input"),
            ToolSpec::Function {
                name: "recorded".to_owned(),
                description: "Does it.\n\ndeclare const tools: { recorded(): 1; };".to_owned(),
                strict: false,
                defer_loading: None,
                parameters: json!({}),
            },
            namespace("crm"),
            namespace("left_out"),
            ToolSpec::LocalShell,
        ];
        let deferred = [(Some("crm".to_owned()), function("late"))];
        let excluded = ["left_out", "mcp__no", "multi_agent_v1"].map(str::to_owned);
        let recorded = HashSet::from(["recorded".to_owned()]);
        let context = NestedScope {
            excluded: &excluded,
            recorded: &recorded,
        };
        let tools = NestedTools::new(&offered, &deferred, context);
        let names: Vec<&str> = tools.listed().iter().map(|tool| &*tool.name).collect();
        assert_eq!(
            names,
            ["b", "crm__find", "crm__late", "mcp__a_b__c", "recorded"]
        );
        assert_eq!(
            tools.description_of("recorded"),
            Some("Does it.\n\ndeclare const tools: { recorded(): 1; };")
        );
        let call = tools
            .find("crm__find")
            .unwrap()
            .call("1".to_owned(), json!({}));
        assert_eq!(call.name, "crm:find");
        assert_eq!(
            tools.listed()[0].description,
            "Does it.\n\ndeclare const tools: { b(args: {}): Promise<unknown>; };"
        );
    }
}
