//! Items of a response as steps of a scenario.

use serde_json::{Map, Value, json};

/// The step that has a scripted model emit this item; none for an item without content.
pub(super) fn step(item: &Value) -> Option<Value> {
    match item["type"].as_str()? {
        "message" => texts(&item["content"], "").map(|text| json!({ "message": text })),
        "reasoning" => reasoning(item),
        "function_call" => Some(function_call(item)),
        "custom_tool_call" => Some(custom_call(item)),
        "local_shell_call" => Some(match script(&item["action"]["command"]) {
            Some(script) if has_only(&item["action"], &["type", "command"]) => {
                json!({ "command": script })
            }
            _ => whole(item),
        }),
        _ => Some(whole(item)),
    }
}

/// Reasoning that is only encrypted has nothing to show.
fn reasoning(item: &Value) -> Option<Value> {
    let summary = texts(&item["summary"], "\n\n");
    let raw = texts(&item["content"], "");
    match (summary, raw) {
        (Some(summary), _) => Some(json!({ "reasoning": summary })),
        (None, Some(raw)) => Some(json!({ "raw_reasoning": raw })),
        (None, None) => None,
    }
}

fn function_call(item: &Value) -> Value {
    let arguments = item["arguments"].as_str().unwrap_or_default();
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
        return whole(item);
    };
    if !item["namespace"].is_null() {
        return whole(item);
    }
    let name = item["name"].as_str().unwrap_or_default();
    let arguments = Value::Object(arguments);
    let command = match name {
        "exec_command" if has_only(&arguments, &["cmd"]) => arguments["cmd"].as_str(),
        "shell_command" if has_only(&arguments, &["command"]) => arguments["command"].as_str(),
        "shell" if has_only(&arguments, &["command"]) => script(&arguments["command"]),
        _ => None,
    };
    if let Some(command) = command {
        return json!({ "command": command });
    }
    match name {
        "apply_patch" if has_only(&arguments, &["input"]) => {
            json!({ "patch": arguments["input"] })
        }
        "update_plan" if is_plan(&arguments) => json!({ "plan": arguments["plan"] }),
        _ => json!({ "tool": { "name": name, "arguments": arguments } }),
    }
}

fn custom_call(item: &Value) -> Value {
    let (name, input) = (&item["name"], &item["input"]);
    if name == "apply_patch" {
        json!({ "patch": input })
    } else {
        json!({ "custom_tool": { "name": name, "input": input } })
    }
}

fn is_plan(arguments: &Value) -> bool {
    let is_step = |step: &Value| {
        has_only(step, &["step", "status"])
            && step["step"].is_string()
            && matches!(
                step["status"].as_str(),
                Some("pending" | "in_progress" | "completed")
            )
    };
    let steps = arguments["plan"].as_array();
    has_only(arguments, &["plan"])
        && steps.is_some_and(|steps| !steps.is_empty() && steps.iter().all(is_step))
}

fn has_only(object: &Value, names: &[&str]) -> bool {
    let members = object.as_object();
    members.is_some_and(|members| {
        let mut named = members.iter().filter(|(_, member)| !member.is_null());
        named.all(|(name, _)| names.contains(&name.as_str()))
    })
}

/// The script of a `bash -lc SCRIPT`.
fn script(command: &Value) -> Option<&str> {
    match command.as_array()?.as_slice() {
        [shell, flag, script] if shell == "bash" && flag == "-lc" => script.as_str(),
        _ => None,
    }
}

/// The item itself.
fn whole(item: &Value) -> Value {
    let members = item.as_object().cloned().unwrap_or_default();
    let members: Map<String, Value> = members
        .into_iter()
        .filter(|(_, member)| !member.is_null())
        .collect();
    json!({ "item": members })
}

/// The texts of the parts, joined; none if there is no text.
pub(super) fn texts(parts: &Value, between: &str) -> Option<String> {
    let parts = parts.as_array()?;
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let text = texts.join(between);
    (!text.is_empty()).then_some(text)
}
