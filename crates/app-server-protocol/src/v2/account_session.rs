//! Logins that are kept beside each other.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `accountSession/list`: lists the logins that are kept beside each other.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct AccountSessionsListParams {
    /// Whether to ask the backend for the workspaces again.
    #[serde(default)]
    pub refresh_workspace_metadata: bool,
}

/// Params of `accountSession/switch`: changes to another login that is kept.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct AccountSessionsSwitchParams {
    /// Account that it concerns.
    pub account_id: String,
    /// Whether a login in the browser may be started.
    #[serde(default)]
    pub allow_browser_login: bool,
    /// Session that it concerns.
    pub session_id: String,
}

/// A login that is kept beside others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountSession {
    /// Name for people; null if unknown.
    pub display_name: Option<String>,
    /// Address of the user; null if unknown.
    pub email: Option<String>,
    /// Address of an image; null if there is none.
    pub image_url: Option<String>,
    /// Whether it is in use.
    pub is_active: bool,
    /// When it was last used, in Unix seconds; null if unknown.
    pub last_used_at: i64,
    /// Workspace in use; null if unknown.
    pub selected_workspace_account_id: Option<String>,
    /// Session that it concerns.
    pub session_id: String,
    /// Id of the user.
    pub user_id: Option<String>,
    /// Workspaces of the session.
    pub workspaces: Vec<AccountSessionWorkspace>,
}

/// A workspace of a login.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountSessionWorkspace {
    /// Account that it concerns.
    pub account_id: String,
    /// Address of an image; null if there is none.
    pub image_url: Option<String>,
    /// Which kind it is.
    pub kind: Option<AccountSessionWorkspaceKind>,
    /// Name for people.
    pub name: Option<String>,
}

/// Kind of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AccountSessionWorkspaceKind {
    /// Personal.
    Personal,
    /// Workspace.
    Workspace,
}

/// Reply to `accountSession/switch`: the sessions after the change, or the login that it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AccountSessionsSwitchResponse {
    /// A login has to be finished first.
    #[serde(rename_all = "snake_case")]
    #[schemars(title = "LoginNeededAccountSessionsSwitchResponse")]
    LoginNeeded {
        /// Address where the user logs in.
        auth_url: String,
        /// Id of the login.
        login_id: String,
    },
    /// The sessions after the change.
    #[serde(rename_all = "camelCase")]
    #[schemars(title = "SwitchedAccountSessionsSwitchResponse")]
    Switched {
        /// Session in use; null if there is none.
        active_session_id: Option<String>,
        /// Known sessions.
        sessions: Vec<AccountSession>,
    },
}

/// Reply to `accountSession/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountSessionsListResponse {
    /// Session in use; null if there is none.
    pub active_session_id: Option<String>,
    /// Known sessions.
    pub sessions: Vec<AccountSession>,
}
