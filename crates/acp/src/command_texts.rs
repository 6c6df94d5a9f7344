//! The texts that slash commands without a turn reply with.

use std::fmt::Write as _;

use agent_client_protocol_schema::v1::Error;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::errors;
use crate::session::AcpSession;

/// Uncommitted changes, without running hooks, filters or diff programs of the repository.
const GIT_DIFF: [&str; 6] = [
    "git",
    "-c",
    "core.fsmonitor=false",
    "diff",
    "--no-ext-diff",
    "--no-textconv",
];

pub(crate) async fn diff(agent: &Agent, session: &AcpSession) -> Result<String, Error> {
    let command: Vec<_> = GIT_DIFF.into_iter().chain(["HEAD"]).collect();
    let params = json!({ "command": command, "cwd": session.cwd(), "sandboxPolicy": { "type": "readOnly" } });
    let run = agent.call("command/exec", &params).await?;
    if run["exitCode"] != 0 {
        let message = run["stderr"].as_str().unwrap_or_default().trim();
        return Err(errors::failed(format!("git failed: {message}")));
    }
    Ok(match run["stdout"].as_str().unwrap_or_default() {
        "" => "Everything is committed.".to_owned(),
        diff => format!("````diff\n{diff}````"),
    })
}

pub(crate) async fn status(agent: &Agent, session: &AcpSession) -> Result<String, Error> {
    let read = agent.call("account/read", &json!({})).await?;
    let account = &read["account"];
    let account = account["email"].as_str().or(account["type"].as_str());
    let state = session.state();
    let mode = state.settings.mode_state().current_mode_id;
    let effort = state
        .settings
        .effort
        .as_deref()
        .unwrap_or("the model's own");
    let mut text = String::new();
    let lines = [
        ("Session", session.thread_id()),
        ("Folder", &state.cwd.to_string_lossy()),
        ("Model", &state.settings.model),
        ("Effort", effort),
        ("Mode", &mode.0),
        ("Account", account.unwrap_or("none")),
    ];
    for (name, value) in lines {
        let _ = writeln!(text, "- {name}: {value}");
    }
    if let Some(tokens) = &state.tokens {
        let (all, input, output) = (
            tokens.total_tokens,
            tokens.input_tokens,
            tokens.output_tokens,
        );
        let _ = writeln!(text, "- Tokens: {all} ({input} in, {output} out)");
    }
    Ok(text)
}

pub(crate) async fn servers(agent: &Agent, session: &AcpSession) -> Result<String, Error> {
    let params = json!({ "threadId": session.thread_id(), "detail": "toolsAndAuthOnly" });
    let list = agent.call("mcpServerStatus/list", &params).await?;
    Ok(of_servers(
        list["data"].as_array().map_or(&[], Vec::as_slice),
    ))
}

fn of_servers(servers: &[Value]) -> String {
    if servers.is_empty() {
        return "There are no MCP servers.".to_owned();
    }
    let mut text = String::new();
    for server in servers {
        let name = server["name"].as_str().unwrap_or_default();
        let names: Vec<_> = server["tools"]
            .as_object()
            .into_iter()
            .flat_map(|tools| tools.keys().cloned())
            .collect();
        let tools = if names.is_empty() {
            "no tools".to_owned()
        } else {
            names.join(", ")
        };
        let _ = writeln!(text, "- {name}: {tools}");
    }
    text
}

pub(crate) fn skills(skills: &[Value]) -> String {
    if skills.is_empty() {
        return "There are no skills.".to_owned();
    }
    let mut text = String::new();
    for skill in skills {
        let name = skill["name"].as_str().unwrap_or_default();
        let what = skill["description"].as_str().unwrap_or_default();
        let _ = writeln!(text, "- ${name}: {what}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_a_line_each() {
        let servers = [
            json!({ "name": "s", "tools": { "a": {}, "b": {} } }),
            json!({ "name": "t" }),
        ];
        assert_eq!(of_servers(&servers), "- s: a, b\n- t: no tools\n");
        assert_eq!(of_servers(&[]), "There are no MCP servers.");
        let one = [json!({ "name": "n", "description": "d" })];
        assert_eq!(skills(&one), "- $n: d\n");
    }
}
