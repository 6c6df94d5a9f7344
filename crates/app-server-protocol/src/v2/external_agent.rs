//! Taking over settings of another coding agent: finding what can be taken over, and doing it for
//! the items the user chose. Both are safe to repeat: what is already there is left alone.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Looks for settings to take over; changes nothing.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[unread(
    "0.169",
    "maxSessionAgeDays",
    "maxSessions",
    "migrationSource",
    "source"
)]
pub struct ExternalAgentConfigDetectParams {
    /// Also look in the user's home folder.
    #[serde(default)]
    pub include_home: bool,
    /// Folders whose repositories to look in; null means none, missing ones are skipped.
    pub cwds: Option<Vec<String>>,
}

/// One thing that can be taken over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigMigrationItem {
    /// What it is; with `cwd` this alone decides what an import does.
    pub item_type: ExternalAgentConfigMigrationItemType,
    /// Text for the user naming source and target; ignored on import.
    pub description: String,
    /// Root of the repository it is in; null means the home folder.
    pub cwd: Option<String>,
}

/// Kinds of things that can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ExternalAgentConfigMigrationItemType {
    /// Instructions for agents, copied to an `AGENTS.md` that is missing or blank.
    AgentsMd,
    /// Settings, translated into keys that `config.toml` does not have yet.
    Config,
    /// Skill folders, copied where none of the same name exists.
    Skills,
    /// Definitions of MCP servers; never offered, and passed over on import.
    McpServerConfig,
}

/// Takes over the given items in order and stops at the first that fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[unread("0.169", "migrationSource", "providerId", "source")]
pub struct ExternalAgentConfigImportParams {
    /// Items of a detection; each is checked again against what is on disk now.
    pub migration_items: Vec<ExternalAgentConfigMigrationItem>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ExternalAgentConfigDetectResponse {
    /// Home first, then a repository after the other; empty when there is nothing to gain.
    pub items: Vec<ExternalAgentConfigMigrationItem>,
    /// Apps that the other agent uses; none are looked for.
    #[serde(default)]
    #[since("0.169")]
    pub connectors: Vec<ExternalAgentDetectedConnectorCandidate>,
}

/// An app that another agent uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentDetectedConnectorCandidate {
    /// Its name.
    pub name: String,
    /// In how many sessions it was used.
    pub session_count: i64,
    /// Where it was found.
    pub source: ExternalAgentDetectedConnectorSource,
}

/// Where an app of another agent was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExternalAgentDetectedConnectorSource {
    /// In its settings.
    RemoteMcpServersConfig,
    /// In its sessions.
    SessionToolUse,
}

/// All items are taken over, or there was nothing left to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ExternalAgentConfigImportResponse {
    /// Tells this import from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub import_id: Option<String>,
}
