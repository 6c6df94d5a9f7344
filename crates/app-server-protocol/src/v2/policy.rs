//! When the agent asks and what its commands may touch: approval policy, reviewer, sandbox mode and
//! sandbox policy as they stand on the wire.

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use codex_protocol::{AbsolutePathBuf, NetworkAccess, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::enabled;

/// When to ask before an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = mark_members::<Self>)]
pub enum AskForApproval {
    /// Ask for every command except those known to be harmless.
    #[serde(alias = "unlessTrusted")]
    Untrusted,
    /// Run in the sandbox, and ask only to retry outside it. Deprecated.
    #[serde(alias = "onFailure")]
    #[until("0.140")]
    OnFailure,
    /// Run in the sandbox, and ask where the agent requests more or a command looks dangerous.
    #[serde(alias = "onRequest")]
    OnRequest,
    /// Never ask; what would need approval is refused or fails.
    Never,
    /// Like `on-request`, with some kinds of question refused without asking.
    #[experimental("askForApproval.granular")]
    Granular {
        /// Whether questions about leaving the sandbox are asked, of commands and patches.
        sandbox_approval: bool,
        /// Whether questions that a rule calls for are asked.
        rules: bool,
        /// Whether questions about scripts of skills are asked; false by default.
        #[serde(default)]
        skill_approval: bool,
        /// Whether the agent's requests for more access are asked; false by default.
        #[serde(default)]
        request_permissions: bool,
        /// Whether questions from MCP servers are asked.
        mcp_elicitations: bool,
    },
}

/// Who answers the approval requests of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = mark_members::<Self>)]
pub enum ApprovalsReviewer {
    /// The user, by way of a client.
    User,
    /// An agent that judges the risk, where the policy is `on-request`; the first name.
    GuardianSubagent,
    /// The same, by its later name.
    #[since("0.140")]
    AutoReview,
}

/// Kind of sandbox to put commands into, without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Reading is allowed; writing and the network are not.
    #[serde(alias = "readOnly")]
    ReadOnly,
    /// Writing is allowed in the working directory and in configured places.
    #[serde(alias = "workspaceWrite")]
    WorkspaceWrite,
    /// No sandbox at all.
    #[serde(alias = "dangerFullAccess")]
    DangerFullAccess,
}

/// What commands may touch.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum SandboxPolicy {
    /// Everything; no sandbox is used.
    DangerFullAccess,
    /// Files can be read, but not written.
    ReadOnly {
        /// Which files can be read; all by default.
        #[serde(default)]
        #[until("0.117")]
        access: ReadOnlyAccess,
        /// Whether the network can be used; false by default.
        #[serde(default)]
        network_access: bool,
    },
    /// Everything, as the server already runs in a sandbox that others set up.
    ExternalSandbox {
        /// What to tell the agent about the network; restricted by default.
        #[serde(default)]
        network_access: NetworkAccess,
    },
    /// Files can be written in some places and read elsewhere.
    WorkspaceWrite {
        /// Absolute directories to write in, besides the working directory; none by default.
        #[serde(default)]
        writable_roots: Vec<AbsolutePathBuf>,
        /// Which files can be read outside those places; all by default.
        #[serde(default)]
        #[until("0.117")]
        read_only_access: ReadOnlyAccess,
        /// Whether the network can be used; false by default.
        #[serde(default)]
        network_access: bool,
        /// Whether the directory in `TMPDIR` stays closed to writing; false by default.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Whether `/tmp` stays closed to writing; false by default.
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

/// Which files a sandboxed command can read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ReadOnlyAccess {
    /// Those named here, besides the working directory and writable places.
    Restricted {
        /// Whether the system's programs and libraries are readable; true by default.
        #[serde(default = "enabled")]
        include_platform_defaults: bool,
        /// Absolute directories that can be read; none by default.
        #[serde(default)]
        readable_roots: Vec<AbsolutePathBuf>,
    },
    /// Every file that the server's user can read.
    #[default]
    FullAccess,
}

/// Params of `permissionProfile/list`: which permissions a thread can be given by name.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfileListParams {
    /// Folder whose configuration counts; the server's own if absent.
    pub cwd: Option<String>,
    /// `nextCursor` of the page before; absent for the first page.
    pub cursor: Option<String>,
    /// Most of them to return, at least 1; all of them by default.
    pub limit: Option<u32>,
}

/// Reply to `permissionProfile/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfileListResponse {
    /// The built-in ones first.
    pub data: Vec<PermissionProfileSummary>,
    /// Where the next page begins; null if this is the last one.
    pub next_cursor: Option<String>,
}

/// Permissions that have a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PermissionProfileSummary {
    /// The name; those that are built in begin with a colon.
    pub id: String,
    /// What they are for; null if that is not said.
    pub description: Option<String>,
    /// Whether the administrator allows them.
    #[since("0.169")]
    pub allowed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_the_specification_are_read_and_not_written() {
        for (read, written) in [
            ("unlessTrusted", "untrusted"),
            ("onRequest", "on-request"),
            ("onFailure", "on-failure"),
        ] {
            let policy: AskForApproval = serde_json::from_value(read.into()).unwrap();
            assert_eq!(serde_json::to_value(&policy).unwrap(), written);
        }
        for (read, written) in [
            ("readOnly", "read-only"),
            ("workspaceWrite", "workspace-write"),
            ("dangerFullAccess", "danger-full-access"),
        ] {
            let mode: SandboxMode = serde_json::from_value(read.into()).unwrap();
            assert_eq!(serde_json::to_value(mode).unwrap(), written);
        }
    }
}
