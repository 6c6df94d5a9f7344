//! `[mcp_servers.<name>]`: how to connect to an MCP server, and which of its tools are used.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ToolApprovalMode;

/// One MCP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "McpServerForm", into = "McpServerForm")]
pub struct McpServer {
    /// How to connect to it.
    pub transport: McpTransport,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether a session fails to start without it.
    pub required: bool,
    /// The time limit for its start.
    pub startup_timeout: Option<Duration>,
    /// The time limit of a tool call.
    pub tool_timeout: Option<Duration>,
    /// The only tools that are used; all if absent.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that are not used.
    pub disabled_tools: Option<Vec<String>>,
    /// How calls of tools without a mode of their own are approved.
    pub default_tools_approval_mode: Option<ToolApprovalMode>,
    /// Settings of single tools.
    pub tools: BTreeMap<String, McpTool>,
    /// The scopes to request at a login.
    pub scopes: Option<Vec<String>>,
}

/// `[mcp_servers.<name>.oauth]`: how this program is registered at the authorization server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpOAuthFile {
    /// The id that the authorization server knows; without one, this program registers itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret that belongs to the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The address that browsers come back to, as it is registered. A port of this machine may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_url: Option<String>,
}

impl fmt::Debug for McpOAuthFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpOAuthFile")
            .field("client_id", &self.client_id)
            .field("callback_url", &self.callback_url)
            .finish_non_exhaustive()
    }
}

/// How to connect to an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A program with the protocol on its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables to set.
        env: BTreeMap<String, String>,
        /// Environment variables to pass on.
        env_vars: Vec<String>,
        /// The working folder.
        cwd: Option<String>,
        /// The machine that it runs on, if not this one. It has a working folder then.
        environment: Option<String>,
    },
    /// Over HTTP.
    Http {
        /// The URL.
        url: String,
        /// The environment variable with the bearer token.
        bearer_token_env_var: Option<String>,
        /// Headers of every request.
        http_headers: BTreeMap<String, String>,
        /// Headers whose values are in environment variables.
        env_http_headers: BTreeMap<String, String>,
        /// The resource to request at a login.
        oauth_resource: Option<String>,
        /// How this program is registered at the authorization server.
        oauth: Option<McpOAuthFile>,
    },
}

/// `[mcp_servers.<name>.tools.<tool>]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpTool {
    /// How calls of the tool are approved.
    pub approval_mode: Option<ToolApprovalMode>,
}

/// The keys as written, before validation.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct McpServerForm {
    /// The program of the server, which speaks the protocol on its standard streams. Either this or `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The arguments of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Vec<String>>,
    /// Environment variables that the program gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<BTreeMap<String, String>>,
    /// Names of environment variables that are passed on to the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    env_vars: Option<Vec<String>>,
    /// The folder that the program runs in. Default: that of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// The environment that the program runs in. It has an absolute `cwd` there then. Default: this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-since" = "0.169"))]
    environment_id: Option<String>,
    /// The address of a server over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Refused: a token belongs into an environment variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    bearer_token: Option<String>,
    /// The environment variable with the bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    bearer_token_env_var: Option<String>,
    /// Headers of every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    http_headers: Option<BTreeMap<String, String>>,
    /// Headers whose values are in environment variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    env_http_headers: Option<BTreeMap<String, String>>,
    /// The resource that a login asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    oauth_resource: Option<String>,
    /// How this program is registered at the authorization server.
    #[serde(skip_serializing_if = "Option::is_none")]
    oauth: Option<McpOAuthFile>,
    /// Whether the server is used. Default: true.
    enabled: Option<bool>,
    /// Whether a thread fails to start without the server. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
    /// How long its start may take, in seconds. Default: 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    startup_timeout_sec: Option<f64>,
    /// An older form of `startup_timeout_sec`, in milliseconds.
    #[serde(skip_serializing)]
    startup_timeout_ms: Option<u64>,
    /// How long a call may take, in seconds. Default: 120.
    tool_timeout_sec: Option<f64>,
    /// The only tools that are used. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled_tools: Option<Vec<String>>,
    /// Tools that are not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_tools: Option<Vec<String>>,
    /// The scopes that a login asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
    /// How calls are approved of tools without a mode of their own. Default: `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_tools_approval_mode: Option<ToolApprovalMode>,
    /// Settings of single tools, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tools: BTreeMap<String, McpTool>,
    /// Accepted and ignored.
    #[serde(skip_serializing)]
    name: Option<String>,
}

/// Why the keys of a server are invalid.
#[derive(Debug, thiserror::Error)]
enum McpFormError {
    #[error("invalid transport")]
    NoTransport,
    #[error("a program of another environment needs an absolute cwd there")]
    NoFolder,
    #[error("{0} is not supported for {1}")]
    Unsupported(&'static str, &'static str),
    #[error("{0} must be a non-negative number of seconds")]
    Timeout(&'static str),
}

impl TryFrom<McpServerForm> for McpServer {
    type Error = McpFormError;

    fn try_from(form: McpServerForm) -> Result<Self, McpFormError> {
        let startup_timeout = match form.startup_timeout_sec {
            Some(_) => seconds("startup_timeout_sec", form.startup_timeout_sec)?,
            None => form.startup_timeout_ms.map(Duration::from_millis),
        };
        let tool_timeout = seconds("tool_timeout_sec", form.tool_timeout_sec)?;
        Ok(Self {
            transport: transport_of(&form)?,
            enabled: form.enabled.unwrap_or(true),
            required: form.required.unwrap_or(false),
            startup_timeout,
            tool_timeout,
            enabled_tools: form.enabled_tools,
            disabled_tools: form.disabled_tools,
            default_tools_approval_mode: form.default_tools_approval_mode,
            tools: form.tools,
            scopes: form.scopes,
        })
    }
}

fn transport_of(form: &McpServerForm) -> Result<McpTransport, McpFormError> {
    if let Some(command) = &form.command {
        let foreign = [
            ("url", form.url.is_some()),
            ("bearer_token_env_var", form.bearer_token_env_var.is_some()),
            ("bearer_token", form.bearer_token.is_some()),
            ("http_headers", form.http_headers.is_some()),
            ("env_http_headers", form.env_http_headers.is_some()),
            ("oauth_resource", form.oauth_resource.is_some()),
            ("oauth", form.oauth.is_some()),
        ];
        refuse(&foreign, "stdio")?;
        let environment = form.environment_id.clone();
        let environment = environment.filter(|id| id != codex_protocol::LOCAL_ENVIRONMENT);
        let has_folder = (form.cwd.as_deref()).is_some_and(|cwd| cwd.starts_with('/'));
        if environment.is_some() && !has_folder {
            return Err(McpFormError::NoFolder);
        }
        return Ok(McpTransport::Stdio {
            command: command.clone(),
            args: form.args.clone().unwrap_or_default(),
            env: form.env.clone().unwrap_or_default(),
            env_vars: form.env_vars.clone().unwrap_or_default(),
            cwd: form.cwd.clone(),
            environment,
        });
    }
    let url = form.url.clone().ok_or(McpFormError::NoTransport)?;
    let foreign = [
        ("args", form.args.is_some()),
        ("env", form.env.is_some()),
        ("env_vars", form.env_vars.is_some()),
        ("cwd", form.cwd.is_some()),
        ("environment_id", form.environment_id.is_some()),
        ("bearer_token", form.bearer_token.is_some()),
    ];
    refuse(&foreign, "streamable_http")?;
    Ok(McpTransport::Http {
        url,
        bearer_token_env_var: form.bearer_token_env_var.clone(),
        http_headers: form.http_headers.clone().unwrap_or_default(),
        env_http_headers: form.env_http_headers.clone().unwrap_or_default(),
        oauth_resource: form.oauth_resource.clone(),
        oauth: form.oauth.clone(),
    })
}

fn refuse(foreign: &[(&'static str, bool)], transport: &'static str) -> Result<(), McpFormError> {
    match foreign.iter().find(|(_, present)| *present) {
        Some((key, _)) => Err(McpFormError::Unsupported(key, transport)),
        None => Ok(()),
    }
}

fn seconds(key: &'static str, value: Option<f64>) -> Result<Option<Duration>, McpFormError> {
    let Some(value) = value else { return Ok(None) };
    match Duration::try_from_secs_f64(value) {
        Ok(duration) => Ok(Some(duration)),
        Err(_) => Err(McpFormError::Timeout(key)),
    }
}

impl From<McpServer> for McpServerForm {
    fn from(server: McpServer) -> Self {
        let mut form = Self {
            enabled: Some(server.enabled),
            required: server.required.then_some(true),
            startup_timeout_sec: server.startup_timeout.map(|d| d.as_secs_f64()),
            tool_timeout_sec: server.tool_timeout.map(|d| d.as_secs_f64()),
            enabled_tools: server.enabled_tools,
            disabled_tools: server.disabled_tools,
            default_tools_approval_mode: server.default_tools_approval_mode,
            tools: server.tools,
            scopes: server.scopes,
            ..Self::default()
        };
        match server.transport {
            McpTransport::Stdio {
                command,
                args,
                env,
                env_vars,
                cwd,
                environment,
            } => {
                form.environment_id = environment;
                form.command = Some(command);
                form.args = Some(args);
                form.env = (!env.is_empty()).then_some(env);
                form.env_vars = (!env_vars.is_empty()).then_some(env_vars);
                form.cwd = cwd;
            }
            McpTransport::Http {
                url,
                bearer_token_env_var,
                http_headers,
                env_http_headers,
                oauth_resource,
                oauth,
            } => {
                form.url = Some(url);
                form.bearer_token_env_var = bearer_token_env_var;
                form.http_headers = (!http_headers.is_empty()).then_some(http_headers);
                form.env_http_headers = (!env_http_headers.is_empty()).then_some(env_http_headers);
                form.oauth_resource = oauth_resource;
                form.oauth = oauth;
            }
        }
        form
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(text: &str) -> Result<McpServer, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn mcp_server_settings_round_trip() {
        let stdio =
            server("command = 'c'\nstartup_timeout_ms = 1500\ntool_timeout_sec = 2").unwrap();
        assert_eq!(
            serde_json::to_value(&stdio).unwrap(),
            json!({
                "command": "c", "args": [], "enabled": true,
                "startup_timeout_sec": 1.5, "tool_timeout_sec": 2.0,
            }),
        );
        let http = server("url = 'http://x'\nrequired = true\ntools.t.approval_mode = 'prompt'");
        assert_eq!(
            serde_json::to_value(http.unwrap()).unwrap(),
            json!({
                "url": "http://x", "enabled": true, "required": true, "tool_timeout_sec": null,
                "tools": {"t": {"approval_mode": "prompt"}},
            }),
        );
    }

    #[test]
    fn keys_of_the_other_transport_are_refused() {
        let table = [
            ("enabled = true", "invalid transport"),
            ("command = 'c'\nurl = 'u'", "url is not supported for stdio"),
            (
                "command = 'c'\nhttp_headers = {}",
                "http_headers is not supported for stdio",
            ),
            (
                "url = 'u'\nargs = []",
                "args is not supported for streamable_http",
            ),
            (
                "url = 'u'\nbearer_token = 'x'",
                "bearer_token is not supported for streamable_http",
            ),
            (
                "url = 'u'\ntool_timeout_sec = -1",
                "tool_timeout_sec must be a non-negative number of seconds",
            ),
            (
                "url = 'u'\nstartup_timeout_sec = inf",
                "startup_timeout_sec must be a non-negative number of seconds",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(server(text).unwrap_err(), expected, "{text}");
        }
    }
}
