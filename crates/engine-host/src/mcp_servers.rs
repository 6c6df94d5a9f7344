//! Converts configured MCP servers for the engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use codex_apps::APPS_SERVER;
use codex_config::schema::{
    McpCredentialsStore, McpServer as Configured, McpTransport, ToolApprovalMode,
};
use codex_config::{
    Config, ConfigEdit, EditRequest, KeyPath, LayerStack, Overrides, edit_user_config,
};
use codex_core::{ApprovalNotStored, McpApprovals, McpServer, ToolApproval};
use codex_mcp_client::{
    McpLoginSettings, McpLoginStore, McpRegisteredClient, McpServerConfig, McpServerTransport,
    ProgramElsewhere, ProgramGuard,
};
use codex_protocol::Secret;

use crate::environment::variable;
use crate::wiring::{self, non_blank};

const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The servers to start.
pub fn enabled(config: &Config) -> Vec<McpServer> {
    let all = config.mcp.servers.iter();
    // The name of the server of apps is taken.
    let enabled = all.filter(|(name, configured)| configured.enabled && *name != APPS_SERVER);
    enabled
        .map(|(name, configured)| McpServer {
            plugins: config.mcp.plugins.get(name).cloned().unwrap_or_default(),
            plugin_id: config.mcp.plugin_ids.get(name).cloned(),
            ..server_from_config(name, configured)
        })
        .collect()
}

/// The disabled servers.
pub fn disabled(config: &Config) -> Vec<McpServerConfig> {
    let all = config.mcp.servers.iter();
    let disabled = all.filter(|(_, configured)| !configured.enabled);
    disabled
        .map(|(name, configured)| server(name, configured))
        .collect()
}

/// Converts a server, enabled or not.
pub fn server(name: &str, configured: &Configured) -> McpServerConfig {
    McpServerConfig {
        name: name.to_owned(),
        transport: transport(&configured.transport, configured.scopes.clone()),
        startup_timeout: configured.startup_timeout.unwrap_or(STARTUP_TIMEOUT),
        request_timeout: configured.tool_timeout.unwrap_or(REQUEST_TIMEOUT),
        enabled_tools: configured.enabled_tools.clone(),
        disabled_tools: configured.disabled_tools.clone().unwrap_or_default(),
        guard: ProgramGuard::default(),
    }
}

/// The settings for logins to servers.
pub fn logins(config: &Config) -> McpLoginSettings {
    McpLoginSettings {
        store: match config.mcp.credentials_store {
            McpCredentialsStore::Auto | McpCredentialsStore::File => McpLoginStore::File,
            McpCredentialsStore::Keyring => McpLoginStore::Keyring,
        },
        callback_port: config.mcp.oauth_callback_port,
        callback_url: config.mcp.oauth_callback_url.clone(),
    }
}

fn server_from_config(name: &str, configured: &Configured) -> McpServer {
    let approval = configured.tools.iter().filter_map(|(tool, settings)| {
        Some((tool.clone(), approval_mode(settings.approval_mode?)))
    });
    let default = configured.default_tools_approval_mode;
    McpServer {
        server: server(name, configured),
        required: configured.required,
        approval: approval.collect(),
        default_approval: default.map(approval_mode).unwrap_or_default(),
        plugins: Vec::new(),
        plugin_id: None,
        apps: None,
    }
}

fn approval_mode(mode: ToolApprovalMode) -> ToolApproval {
    match mode {
        ToolApprovalMode::Auto => ToolApproval::Auto,
        ToolApprovalMode::Prompt => ToolApproval::Prompt,
        ToolApprovalMode::Approve => ToolApproval::Approve,
    }
}

fn transport(configured: &McpTransport, scopes: Option<Vec<String>>) -> McpServerTransport {
    match configured.clone() {
        McpTransport::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
            environment: Some(environment),
        } => McpServerTransport::Elsewhere(ProgramElsewhere {
            environment,
            command,
            arguments: args,
            variables: env,
            inherited_variables: env_vars,
            cwd: cwd.unwrap_or_default(),
        }),
        McpTransport::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
            environment: None,
        } => McpServerTransport::Program {
            command,
            arguments: args,
            variables: env,
            inherited_variables: env_vars,
            cwd: cwd.map(PathBuf::from),
        },
        McpTransport::Http {
            url,
            bearer_token_env_var,
            http_headers,
            env_http_headers,
            oauth_resource,
            oauth,
        } => McpServerTransport::Http {
            client: oauth.map(|oauth| McpRegisteredClient {
                id: oauth.client_id,
                secret: oauth.client_secret.map(Secret::from),
                callback_url: oauth.callback_url,
            }),
            url,
            other_url: None,
            bearer_token_variable: bearer_token_env_var,
            headers: http_headers,
            headers_from_variables: env_http_headers,
            scopes,
            resource: oauth_resource,
            login: None,
        },
    }
}

/// Why a server cannot be started, as far as this can be checked without starting it.
pub fn problem(configured: &McpServer) -> Option<String> {
    let server = &configured.server;
    let problem = match &server.transport {
        McpServerTransport::Program {
            command, variables, ..
        } => {
            let path = variables.get("PATH").cloned().or_else(|| variable("PATH"));
            let is_found = codex_exec::has_program(command, path.unwrap_or_default().as_ref());
            (!is_found).then(|| format!("there is no program `{command}`"))
        }
        McpServerTransport::Http {
            bearer_token_variable: Some(name),
            ..
        } => non_blank(name)
            .is_none()
            .then(|| format!("the variable `{name}` for its token is not set")),
        McpServerTransport::Elsewhere(_) | McpServerTransport::Http { .. } => None,
    };
    Some(format!("{}: {}", server.name, problem?))
}

/// Stores approvals of tools in the user's settings file.
#[derive(Debug)]
pub struct StoredApprovals {
    flags: Overrides,
}

impl StoredApprovals {
    pub fn new(flags: Overrides) -> Self {
        Self { flags }
    }

    /// Refuses servers that are configured in another file, which would become incomplete entries in the user's.
    fn check_server(&self, server: &str) -> anyhow::Result<()> {
        let stack = LayerStack::load(&wiring::config_environment()?, None, &self.flags)?;
        let user = stack.user().map(|layer| &layer.table);
        let servers = user.and_then(|table| table.get("mcp_servers"));
        let known = servers.and_then(|servers| servers.get(server)).is_some();
        anyhow::ensure!(known, "the user's file does not have the server");
        Ok(())
    }

    /// Approves a tool of the entry `owner` of the table `kind`.
    fn write(&self, kind: &str, owner: &str, tool: &str) -> anyhow::Result<()> {
        let env = wiring::config_environment()?;
        let path = [kind, owner, "tools", tool, "approval_mode"];
        let path = KeyPath::from_segments(path).context("the key of the tool")?;
        edit_user_config(EditRequest {
            env: &env,
            flags: &self.flags,
            host_features: &BTreeMap::new(),
            file: None,
            expected_version: None,
            edits: &[ConfigEdit::set(path, "approve")],
        })?;
        Ok(())
    }
}

impl McpApprovals for StoredApprovals {
    fn approve(&self, server: &str, tool: &str) -> Result<(), ApprovalNotStored> {
        let checked = self.check_server(server);
        checked
            .and_then(|()| self.write("mcp_servers", server, tool))
            .map_err(|error| ApprovalNotStored(format!("{error:#}")))
    }

    fn approve_app(&self, app: &str, tool: &str) -> Result<(), ApprovalNotStored> {
        self.write("apps", app, tool)
            .map_err(|error| ApprovalNotStored(format!("{error:#}")))
    }
}
