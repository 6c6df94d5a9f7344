//! Formats MCP servers: as JSON for programs, as tables and lists for people. Secrets are hidden.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use codex_config::schema::{McpServer, McpTransport};
use codex_mcp_client::McpAuthorization;
use serde_json::{Value, json};

const NO_VALUE: &str = "-";
const HIDDEN_VALUE: &str = "*****";

/// A server to be shown.
pub(super) struct ServerEntry<'a> {
    pub(super) name: &'a str,
    pub(super) configured: &'a McpServer,
    /// Why the server is disabled by requirements.
    pub(super) disabled_reason: Option<String>,
    /// How requests to the server are authorised, if that was determined.
    pub(super) authorization: Option<McpAuthorization>,
}

/// All servers as JSON.
pub(super) fn as_json(entries: &[ServerEntry<'_>]) -> String {
    let all = Value::Array(entries.iter().map(to_json).collect());
    format!("{all:#}\n")
}

/// One server as JSON: in a list with its authorisation, else with its tools.
pub(super) fn to_json(entry: &ServerEntry<'_>) -> Value {
    let configured = entry.configured;
    let mut json = json!({
        "name": entry.name,
        "enabled": configured.enabled,
        "disabled_reason": entry.disabled_reason,
        "transport": transport(&configured.transport),
    });
    if entry.authorization.is_none() {
        json["enabled_tools"] = json!(configured.enabled_tools);
        json["disabled_tools"] = json!(configured.disabled_tools);
    }
    json["startup_timeout_sec"] = json!(configured.startup_timeout.map(|time| time.as_secs_f64()));
    json["tool_timeout_sec"] = json!(configured.tool_timeout.map(|time| time.as_secs_f64()));
    if let Some(authorization) = entry.authorization {
        json["auth_status"] = match authorization {
            McpAuthorization::Unsupported => "unsupported",
            McpAuthorization::NotLoggedIn => "not_logged_in",
            McpAuthorization::BearerToken => "bearer_token",
            McpAuthorization::Login => "o_auth",
        }
        .into();
    }
    json
}

fn transport(transport: &McpTransport) -> Value {
    let some = |map: &BTreeMap<String, String>| (!map.is_empty()).then(|| map.clone());
    // The values may be secrets, and output may be stored or shown. The configuration file has them.
    let hidden = |map: &BTreeMap<String, String>| {
        let hidden = map
            .keys()
            .map(|name| (name.clone(), HIDDEN_VALUE.to_owned()));
        some(&hidden.collect())
    };
    match transport {
        McpTransport::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
            environment,
        } => {
            let mut shown = json!({
                "type": "stdio", "command": command, "args": args, "env": hidden(env),
                "env_vars": env_vars, "cwd": cwd,
            });
            if let Some(environment) = environment {
                shown["environment_id"] = environment.as_str().into();
            }
            shown
        }
        McpTransport::Http {
            url,
            bearer_token_env_var,
            http_headers,
            env_http_headers,
            ..
        } => json!({
            "type": "streamable_http", "url": url, "bearer_token_env_var": bearer_token_env_var,
            "http_headers": hidden(http_headers), "env_http_headers": some(env_http_headers),
        }),
    }
}

/// All servers as tables: local programs first, then HTTP servers.
pub(super) fn as_tables(entries: &[ServerEntry<'_>]) -> String {
    let mut programs =
        vec![["Name", "Command", "Args", "Env", "Cwd", "Status", "Auth"].map(str::to_owned)];
    let mut addresses =
        vec![["Name", "Url", "Bearer Token Env Var", "Status", "Auth"].map(str::to_owned)];
    for entry in entries {
        let (name, status) = (entry.name.to_owned(), status(entry));
        let authorization = authorization(entry.authorization);
        match &entry.configured.transport {
            McpTransport::Stdio {
                command,
                args,
                env,
                env_vars,
                cwd,
                environment: _,
            } => programs.push([
                name,
                command.clone(),
                or_nothing(args.join(" ")),
                variables(env, env_vars),
                cwd.clone().unwrap_or_else(|| NO_VALUE.to_owned()),
                status,
                authorization,
            ]),
            McpTransport::Http {
                url,
                bearer_token_env_var,
                ..
            } => addresses.push([
                name,
                url.clone(),
                or_nothing(bearer_token_env_var.clone().unwrap_or_default()),
                status,
                authorization,
            ]),
        }
    }
    let tables = [table(&programs), table(&addresses)];
    let shown: Vec<_> = tables.into_iter().flatten().collect();
    if shown.is_empty() {
        "There are no MCP servers yet. Add one: codex mcp add NAME -- COMMAND\n".to_owned()
    } else {
        shown.join("\n")
    }
}

/// Formats rows in columns. None if there is only the header row.
fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> Option<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..COLUMNS)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let line = |row: &[String; COLUMNS]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    };
    (rows.len() > 1).then(|| rows.iter().map(line).collect())
}

/// One server as a list of facts.
pub(super) fn as_facts(entry: &ServerEntry<'_>) -> String {
    let configured = entry.configured;
    let name = entry.name;
    if !configured.enabled {
        let status = status(entry);
        return format!("{name} ({status})\n");
    }
    let mut facts = vec![("enabled", "true".to_owned())];
    let tools = |list: &Vec<String>| {
        if list.is_empty() {
            "[]".to_owned()
        } else {
            list.join(", ")
        }
    };
    facts.extend(
        configured
            .enabled_tools
            .as_ref()
            .map(|list| ("enabled_tools", tools(list))),
    );
    facts.extend(
        configured
            .disabled_tools
            .as_ref()
            .map(|list| ("disabled_tools", tools(list))),
    );
    match &configured.transport {
        McpTransport::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
            environment,
        } => {
            facts.extend([
                ("transport", "stdio".to_owned()),
                ("command", command.clone()),
                ("args", or_nothing(args.join(" "))),
                ("cwd", or_nothing(cwd.clone().unwrap_or_default())),
                ("env", variables(env, env_vars)),
            ]);
            facts.extend(environment.clone().map(|name| ("environment_id", name)));
        }
        McpTransport::Http {
            url,
            bearer_token_env_var,
            http_headers,
            env_http_headers,
            ..
        } => {
            let from_variables = env_http_headers.iter();
            let from_variables =
                from_variables.map(|(name, variable)| format!("{name}={variable}"));
            facts.extend([
                ("transport", "streamable_http".to_owned()),
                ("url", url.clone()),
                (
                    "bearer_token_env_var",
                    or_nothing(bearer_token_env_var.clone().unwrap_or_default()),
                ),
                ("http_headers", variables(http_headers, &[])),
                (
                    "env_http_headers",
                    or_nothing(from_variables.collect::<Vec<_>>().join(", ")),
                ),
            ]);
        }
    }
    let seconds = |time: Duration| time.as_secs_f64().to_string();
    facts.extend(
        configured
            .startup_timeout
            .map(|time| ("startup_timeout_sec", seconds(time))),
    );
    facts.extend(
        configured
            .tool_timeout
            .map(|time| ("tool_timeout_sec", seconds(time))),
    );
    facts.push(("remove", format!("codex mcp remove {name}")));
    let mut text = format!("{name}\n");
    for (fact, value) in facts {
        let _ = writeln!(text, "  {fact}: {value}");
    }
    text
}

fn status(entry: &ServerEntry<'_>) -> String {
    match (entry.configured.enabled, &entry.disabled_reason) {
        (true, _) => "enabled".to_owned(),
        (false, None) => "disabled".to_owned(),
        (false, Some(reason)) => format!("disabled: {reason}"),
    }
}

fn authorization(authorization: Option<McpAuthorization>) -> String {
    match authorization {
        Some(McpAuthorization::Unsupported) => "Unsupported",
        Some(McpAuthorization::NotLoggedIn) => "Not logged in",
        Some(McpAuthorization::BearerToken) => "Bearer token",
        Some(McpAuthorization::Login) => "OAuth",
        None => NO_VALUE,
    }
    .to_owned()
}

/// The names of variables without their values.
fn variables(set: &BTreeMap<String, String>, inherited: &[String]) -> String {
    let names = set.keys().chain(inherited);
    let hidden: Vec<_> = names.map(|name| format!("{name}={HIDDEN_VALUE}")).collect();
    or_nothing(hidden.join(", "))
}

fn or_nothing(text: String) -> String {
    if text.is_empty() {
        NO_VALUE.to_owned()
    } else {
        text
    }
}
