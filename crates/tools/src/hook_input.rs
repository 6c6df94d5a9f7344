//! Calls of tools as hooks see them: commands under one name, whatever tool runs them.

use codex_hooks::ToolUse;
use codex_protocol::{EDITOR_TERMINAL, LocalShellAction};
use codex_shell_command::quote_command;
use serde_json::{Value, json};

use super::call::{ToolCall, ToolPayload, full_name};

/// The name of all tools that run a command.
pub const COMMAND_TOOL: &str = "Bash";
/// The tool that types into a running command.
const TYPING_TOOL: &str = "write_stdin";
/// The name of the patch tool.
const PATCH_TOOL: &str = "apply_patch";
/// The names by which hooks for other agents know tools that write files.
const PATCH_ALIASES: &[&str] = &["Edit", "Write"];

/// Whether a tool of the client, or a call with its namespace, runs a command in a terminal of the editor.
pub(crate) fn is_editor_terminal(name: &str) -> bool {
    name == EDITOR_TERMINAL
        || name
            .strip_suffix(EDITOR_TERMINAL)
            .is_some_and(|namespace| namespace.ends_with(':'))
}

/// The running command that a call types into. Typed text is a command like any other; a call without text only waits.
pub fn typed_into(call: &ToolCall) -> Option<i32> {
    if call.name != TYPING_TOOL {
        return None;
    }
    let arguments = arguments_of(call);
    let types = arguments["chars"]
        .as_str()
        .is_some_and(|text| !text.is_empty());
    let id = arguments["session_id"].as_i64();
    types.then(|| id.and_then(|id| i32::try_from(id).ok()))?
}

/// The member of the arguments that has the command.
fn command_member(call: &ToolCall) -> Option<&'static str> {
    match call.name.as_str() {
        "exec_command" => Some("cmd"),
        "shell_command" | "shell" | "container.exec" | "local_shell" => Some("command"),
        name if is_editor_terminal(name) => Some("command"),
        _ if typed_into(call).is_some() => Some("chars"),
        _ => None,
    }
}

/// Whether a call of a tool for commands has no command. It fails without asking hooks.
pub fn lacks_command(call: &ToolCall) -> bool {
    command_member(call).is_some_and(|member| {
        let arguments = arguments_of(call);
        !matches!(arguments[member], Value::String(_) | Value::Array(_))
    })
}

/// Describes a call for hooks. `line` is what was typed already, for a call that types.
pub fn tool_use(call: &ToolCall, line: &str) -> ToolUse {
    let arguments = arguments_of(call);
    let (name, aliases, input) = if let Some(member) = command_member(call) {
        let command = match &arguments[member] {
            Value::Array(words) => {
                let words = words.iter().map(|word| word.as_str().unwrap_or_default());
                quote_command(&words.map(str::to_owned).collect::<Vec<_>>())
            }
            command => command.as_str().unwrap_or_default().to_owned(),
        };
        let (command, aliases) = match call.name.as_str() {
            TYPING_TOOL => (format!("{line}{command}"), &[TYPING_TOOL][..]),
            _ => (command, &[][..]),
        };
        let input = json!({ "command": command });
        (COMMAND_TOOL.to_owned(), aliases, input)
    } else if call.name == PATCH_TOOL {
        let patch = match &arguments {
            Value::String(patch) => patch.as_str(),
            arguments => arguments["input"].as_str().unwrap_or_default(),
        };
        let input = json!({ "command": patch });
        (PATCH_TOOL.to_owned(), PATCH_ALIASES, input)
    } else {
        (full_name(&call.name), &[][..], arguments)
    };
    ToolUse {
        call_id: call.id.clone(),
        name,
        aliases,
        input,
    }
}

/// Why the input of a hook cannot take the place of the arguments of a call, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableInput(pub String);

/// The call with other arguments, in the form in which hooks see them. `line` is as for [`tool_use`].
///
/// # Errors
/// The arguments do not have this form; the text is for the model.
pub fn with_updated_input(
    call: &ToolCall,
    line: &str,
    input: Value,
) -> Result<ToolCall, UnusableInput> {
    let payload = updated_payload(call, line, input).map_err(UnusableInput)?;
    Ok(ToolCall {
        payload,
        ..call.clone()
    })
}

fn updated_payload(call: &ToolCall, line: &str, input: Value) -> Result<ToolPayload, String> {
    let command = || {
        let command = input["command"].as_str();
        let command = command.ok_or("hook returned updatedInput without string field `command`")?;
        let rest = match call.name.as_str() {
            TYPING_TOOL => command.strip_prefix(line),
            _ => Some(command),
        };
        let rest = rest.ok_or("hook returned updatedInput that changes what was typed already")?;
        Ok::<_, String>(rest.to_owned())
    };
    Ok(if let Some(member) = command_member(call) {
        let command = command()?;
        let mut arguments = arguments_of(call);
        arguments[member] = match &arguments[member] {
            // The program of the model is replaced by a script.
            Value::Array(_) => json!(["/bin/sh", "-c", command]),
            _ => json!(command),
        };
        match &call.payload {
            ToolPayload::LocalShell(LocalShellAction::Exec(action)) => {
                let mut action = action.clone();
                action.command = vec!["/bin/sh".to_owned(), "-c".to_owned(), command];
                ToolPayload::LocalShell(LocalShellAction::Exec(action))
            }
            _ => ToolPayload::Function(arguments.to_string()),
        }
    } else if call.name == PATCH_TOOL {
        let patch = command()?;
        match call.payload {
            ToolPayload::Custom(_) => ToolPayload::Custom(patch),
            _ => ToolPayload::Function(json!({ "input": patch }).to_string()),
        }
    } else {
        match &call.payload {
            ToolPayload::Custom(_) => {
                let text = input.as_str();
                let text = text.ok_or("hook returned updatedInput that is no string")?;
                ToolPayload::Custom(text.to_owned())
            }
            ToolPayload::ToolSearch(_) => ToolPayload::ToolSearch(input),
            _ => ToolPayload::Function(input.to_string()),
        }
    })
}

/// The arguments; what is no JSON is a string.
fn arguments_of(call: &ToolCall) -> Value {
    match &call.payload {
        ToolPayload::Function(text) if text.trim().is_empty() => json!({}),
        ToolPayload::Function(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        ToolPayload::Custom(text) => json!(text),
        ToolPayload::LocalShell(LocalShellAction::Exec(action)) => {
            json!({ "command": action.command })
        }
        ToolPayload::ToolSearch(arguments) => arguments.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, payload: ToolPayload) -> ToolCall {
        ToolCall {
            id: "c".to_owned(),
            name: name.to_owned(),
            payload,
            script: None,
        }
    }

    fn function(name: &str, arguments: Value) -> ToolCall {
        call(name, ToolPayload::Function(arguments.to_string()))
    }

    fn check(call: &ToolCall, name: &str, input: Value) {
        let tool_use = tool_use(call, "");
        assert_eq!((tool_use.name.as_str(), tool_use.input), (name, input));
    }

    #[test]
    fn all_tools_are_described() {
        let ls = json!({ "command": "ls" });
        check(
            &function("exec_command", json!({ "cmd": "ls" })),
            "Bash",
            ls.clone(),
        );
        check(
            &function("shell_command", json!({ "command": "ls" })),
            "Bash",
            ls,
        );
        let words = json!({ "command": ["bash", "-lc", "a b"] });
        check(
            &function("shell", words),
            "Bash",
            json!({ "command": "bash -lc 'a b'" }),
        );
        let patch = call("apply_patch", ToolPayload::Custom("*** x".to_owned()));
        check(&patch, "apply_patch", json!({ "command": "*** x" }));
        assert_eq!(tool_use(&patch, "").aliases, ["Edit", "Write"]);
        check(
            &function("mcp__files__:read", json!({ "path": "a" })),
            "mcp__files__read",
            json!({ "path": "a" }),
        );
        check(
            &function("spawn_agent", json!({ "message": "m" })),
            "spawn_agent",
            json!({ "message": "m" }),
        );
        let broken = call("update_plan", ToolPayload::Function("{".to_owned()));
        check(&broken, "update_plan", json!("{"));
    }

    #[test]
    fn terminal_input_is_a_command_for_hooks() {
        let types = |chars: &str| {
            let arguments = json!({ "session_id": 7, "chars": chars, "yield_time_ms": 1 });
            function("write_stdin", arguments)
        };
        let end = types("b\n");
        let seen = tool_use(&end, "a ");
        assert_eq!(
            (seen.name.as_str(), seen.aliases),
            ("Bash", &["write_stdin"][..])
        );
        assert_eq!(seen.input, json!({ "command": "a b\n" }));
        assert_eq!((typed_into(&end), typed_into(&types(""))), (Some(7), None));
        check(
            &function("write_stdin", json!({ "session_id": 7 })),
            "write_stdin",
            json!({ "session_id": 7 }),
        );
        let updated = |command: &str| {
            with_updated_input(&end, "a ", json!({ "command": command })).map(|call| call.payload)
        };
        let Ok(ToolPayload::Function(text)) = updated("a c\n") else {
            panic!("no arguments");
        };
        let arguments: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&arguments["chars"], &arguments["session_id"]),
            (&json!("c\n"), &json!(7))
        );
        assert!(updated("c\n").is_err());
    }

    #[test]
    fn arguments_are_replaced_in_the_form_of_the_tool() {
        let updated =
            |call: &ToolCall, input| match with_updated_input(call, "", input).unwrap().payload {
                ToolPayload::Function(text) | ToolPayload::Custom(text) => text,
                other => format!("{other:?}"),
            };
        let exec = function("exec_command", json!({ "cmd": "ls", "tty": true }));
        assert_eq!(
            updated(&exec, json!({ "command": "pwd" })),
            r#"{"cmd":"pwd","tty":true}"#
        );
        let error = updated_payload(&exec, "", json!({ "cmd": "pwd" })).unwrap_err();
        assert_eq!(
            error,
            "hook returned updatedInput without string field `command`"
        );
        let patch = call("apply_patch", ToolPayload::Custom("a".to_owned()));
        assert_eq!(updated(&patch, json!({ "command": "b" })), "b");
        let plan = function("update_plan", json!({ "plan": [] }));
        assert_eq!(updated(&plan, json!({ "plan": [1] })), r#"{"plan":[1]}"#);
    }
}
