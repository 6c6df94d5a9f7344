//! Skills: folders with a `SKILL.md` that teach the model a task. Owns the lists by working
//! folder, turning single ones on and off, and the notice that files changed.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{AbsolutePathBuf, SkillErrorInfo, SkillScope, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Folders to search in addition, for one working folder and this call only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListExtraRootsForCwd {
    /// The working folder; one that the request does not list is ignored.
    pub cwd: String,
    /// Absolute paths of folders with skills; what is found there has scope `user`.
    pub extra_user_roots: Vec<String>,
}

/// Asks which skills threads in given folders would have.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct SkillsListParams {
    /// Working folders to answer for; empty means the server's own.
    #[serde(default)]
    pub cwds: Vec<String>,
    /// Search the disk again rather than use what is cached for a folder.
    #[serde(default)]
    pub force_reload: bool,
    /// Further folders to search; null means none.
    #[until("0.117")]
    pub per_cwd_extra_user_roots: Option<Vec<SkillsListExtraRootsForCwd>>,
}

/// Sets further folders to search for every working folder, for as long as the process runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct SkillsExtraRootsSetParams {
    /// Absolute paths of folders with skills, in place of the former ones; what is found there has
    /// scope `user`. A folder need not be there.
    pub extra_roots: Vec<AbsolutePathBuf>,
}

/// The folders are set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct SkillsExtraRootsSetResponse {}

/// Turns skills on or off in the user's file; exactly one of path and name is required.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct SkillsConfigWriteParams {
    /// Path of the one `SKILL.md` to switch.
    pub path: Option<AbsolutePathBuf>,
    /// Name of the skills to switch, all that have it.
    pub name: Option<String>,
    /// False adds an entry that turns them off, true removes it.
    pub enabled: bool,
}

/// What a skill needs besides its own folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillDependencies {
    /// Things to have in place before it is used.
    pub tools: Vec<SkillToolDependency>,
}

/// How a skill wants to be shown; an unusable value counts as null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillInterface {
    /// Name to show, at most 64 characters; null means the plain name.
    pub display_name: Option<String>,
    /// One line for lists, at most 1024 characters.
    pub short_description: Option<String>,
    /// Absolute path of the image to show while typing.
    pub icon_small: Option<String>,
    /// Absolute path of the image for lists.
    pub icon_large: Option<String>,
    /// Colour for accents, as `#RRGGBB`.
    pub brand_color: Option<String>,
    /// Request to start with, at most 1024 characters.
    pub default_prompt: Option<String>,
}

/// A skill as found on disk.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct SkillMetadata {
    /// What `$name` in a prompt refers to; plugin skills have their plugin's name and a colon
    /// before.
    pub name: String,
    /// When to use it, in words for the model; at most 1024 characters.
    pub description: String,
    /// Older form of the line for lists; prefer the one in `interface`.
    pub short_description: Option<String>,
    /// How it wants to be shown; absent when it does not say.
    pub interface: Option<SkillInterface>,
    /// What it needs; absent when it needs nothing.
    pub dependencies: Option<SkillDependencies>,
    /// Absolute path of its `SKILL.md`, which tells it from others of the same name.
    pub path: String,
    /// Who put it there.
    pub scope: SkillScope,
    /// Whether threads started now may use it.
    pub enabled: bool,
    /// Id of the plugin that it is of; absent for others.
    #[since("0.169")]
    pub plugin_id: Option<String>,
}

/// One thing a skill needs.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillToolDependency {
    /// What it is: `mcp` for an MCP server, `env_var` for an environment variable.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub value: String,
    /// What it is needed for.
    pub description: Option<String>,
    /// How to reach the MCP server: `stdio` or `streamable_http`, which absence stands for.
    pub transport: Option<String>,
    /// Program of a `stdio` MCP server.
    pub command: Option<String>,
    /// Address of a `streamable_http` MCP server.
    pub url: Option<String>,
}

/// The skills of one working folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListEntry {
    /// The folder as the client gave it.
    pub cwd: String,
    /// By scope, then name; those turned off are included.
    pub skills: Vec<SkillMetadata>,
    /// What could not be read.
    pub errors: Vec<SkillErrorInfo>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListResponse {
    /// One entry for each working folder, in the order they were given.
    pub data: Vec<SkillsListEntry>,
}

/// A skill as a plugin's details name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillSummary {
    /// What `$name` in a prompt refers to.
    pub name: String,
    /// When to use it, in words for the model.
    pub description: String,
    /// Older form of the line for lists; prefer the one in `interface`.
    pub short_description: Option<String>,
    /// How it wants to be shown; null when it does not say.
    pub interface: Option<SkillInterface>,
    /// Path of its `SKILL.md`.
    pub path: String,
    /// Whether the configuration leaves it on.
    pub enabled: bool,
}

/// The user's file is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsConfigWriteResponse {
    /// Whether the skills are on now.
    pub effective_enabled: bool,
}

/// Skill files changed on disk: lists got earlier are out of date.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillsChangedNotification {}
