//! The params and results of the tools. Pure.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The arguments of `codex`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct StartParams {
    pub(crate) prompt: String,
    model: Option<String>,
    profile: Option<String>,
    cwd: Option<String>,
    approval_policy: Option<String>,
    sandbox: Option<String>,
    config: Option<Map<String, Value>>,
    base_instructions: Option<String>,
    developer_instructions: Option<String>,
    compact_prompt: Option<String>,
}

impl StartParams {
    /// The params of `thread/start`.
    pub(crate) fn thread(&self) -> Value {
        let mut config = self.config.clone().unwrap_or_default();
        let settings = [
            ("profile", &self.profile),
            ("compact_prompt", &self.compact_prompt),
        ];
        for (name, value) in settings {
            if let Some(value) = value {
                config.insert(name.to_owned(), json!(value));
            }
        }
        let mut params = json!({ "config": config });
        let given = [
            ("model", &self.model),
            ("cwd", &self.cwd),
            ("approvalPolicy", &self.approval_policy),
            ("sandbox", &self.sandbox),
            ("baseInstructions", &self.base_instructions),
            ("developerInstructions", &self.developer_instructions),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                params[name] = json!(value);
            }
        }
        params
    }
}

/// The arguments of `codex-reply`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplyParams {
    thread_id: Option<String>,
    /// The older name of `threadId`.
    conversation_id: Option<String>,
    pub(crate) prompt: String,
}

impl ReplyParams {
    pub(crate) fn thread(&self) -> Option<&str> {
        self.thread_id
            .as_deref()
            .or(self.conversation_id.as_deref())
    }
}

/// The result of a call.
pub(crate) fn result(thread: Option<&str>, text: &str, is_error: bool) -> Value {
    let mut result = json!({ "content": [{ "type": "text", "text": text }] });
    if let Some(thread) = thread {
        result["structuredContent"] = json!({ "threadId": thread, "content": text });
    }
    if is_error {
        result["isError"] = json!(true);
    }
    result
}

/// The answer to `tools/list`.
pub(crate) fn list() -> Value {
    json!({ "tools": [
        {
            "name": "codex",
            "title": "Codex",
            "description": "Start a coding agent on a task in a folder and wait until it is done. \
                            It reads and changes files and runs commands in a sandbox.",
            "inputSchema": begin_schema(),
            "outputSchema": output_schema(),
        },
        {
            "name": "codex-reply",
            "title": "Codex Reply",
            "description": "Say more to an agent that was started before, by the id of its thread.",
            "inputSchema": reply_schema(),
            "outputSchema": output_schema(),
        },
    ] })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn choice(description: &str, choices: &[&str]) -> Value {
    json!({ "type": "string", "description": description, "enum": choices })
}

fn begin_schema() -> Value {
    let policies = ["untrusted", "on-failure", "on-request", "never"];
    let sandboxes = ["read-only", "workspace-write", "danger-full-access"];
    json!({
        "type": "object",
        "properties": {
            "prompt": text("What to do."),
            "model": text("The model to use, in place of the configured one."),
            "profile": text("The profile of the configuration to use."),
            "cwd": text("The folder to work in; a relative one begins at that of the server."),
            "approval-policy": choice("When to ask before a command runs.", &policies),
            "sandbox": choice("What commands may touch.", &sandboxes),
            "config": {
                "type": "object",
                "description": "Settings in place of those in config.toml.",
                "additionalProperties": true,
            },
            "base-instructions": text("Instructions in place of the usual ones."),
            "developer-instructions": text("Instructions besides the usual ones."),
            "compact-prompt": text("How to summarise a conversation that has grown too long."),
        },
        "required": ["prompt"],
    })
}

fn reply_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "threadId": text("The id of the thread."),
            "conversationId": text("The older name of `threadId`."),
            "prompt": text("What to say."),
        },
        "required": ["prompt"],
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "threadId": { "type": "string" }, "content": { "type": "string" } },
        "required": ["threadId", "content"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_arguments_configure_the_thread() {
        let begin: StartParams = serde_json::from_value(json!({
            "prompt": "p", "approval-policy": "never", "sandbox": "read-only", "profile": "x",
            "config": { "a.b": 1 }, "base-instructions": "b",
        }))
        .unwrap();
        let expected = json!({ "config": { "a.b": 1, "profile": "x" }, "approvalPolicy": "never",
                               "sandbox": "read-only", "baseInstructions": "b" });
        assert_eq!(begin.thread(), expected);
    }

    #[test]
    fn the_older_name_of_a_thread_is_known() {
        let reply = |value: Value| serde_json::from_value::<ReplyParams>(value).unwrap();
        let older = reply(json!({ "conversationId": "t", "prompt": "p" }));
        assert_eq!(older.thread(), Some("t"));
        assert_eq!(reply(json!({ "prompt": "p" })).thread(), None);
    }
}
