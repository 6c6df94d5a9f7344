//! Requests that change what is stored about a thread and leave its conversation alone: archiving,
//! its name, its git metadata. Deleting it as a whole stands here too.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{Update, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{Thread, ThreadGoal};

/// Params of `thread/archive`: move a stored thread out of the normal list, unloading it first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchiveParams {
    /// Thread to archive; it needs a rollout file, so at least one user message.
    pub thread_id: String,
}

/// Reply to `thread/archive`: the file is in the archive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadArchiveResponse {}

/// Params of `thread/unarchive`: bring an archived thread back, without loading it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnarchiveParams {
    /// Archived thread to restore.
    pub thread_id: String,
}

/// Reply to `thread/unarchive`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnarchiveResponse {
    /// The restored thread, without turns; its update time is now.
    pub thread: Thread,
}

/// Params of `thread/delete`: remove a stored thread for good, archived or not, unloading it first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeleteParams {
    /// Thread to delete.
    pub thread_id: String,
}

/// Reply to `thread/delete`: the file is gone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadDeleteResponse {}

/// Params of `thread/name/set`: name a thread, loaded or stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSetNameParams {
    /// Thread to name.
    pub thread_id: String,
    /// New name; blanks around it are dropped, and something must remain. Need not be unique.
    pub name: String,
}

/// Reply to `thread/name/set`; `thread/name/updated` tells when the name is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSetNameResponse {}

/// Params of `thread/metadata/update`: edit stored facts of a thread, which may be archived.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadMetadataUpdateParams {
    /// Thread to edit; it must not be ephemeral.
    pub thread_id: String,
    /// Changes to the git state.
    pub git_info: Option<ThreadMetadataGitInfoUpdateParams>,
    /// Project to file the thread under; an empty one takes it out.
    #[experimental("thread/metadata/update.projectId")]
    #[since("0.169")]
    pub project_id: Option<String>,
    /// Accepted without an effect.
    #[experimental("thread/metadata/update.daybreakEnabled")]
    #[since("0.169")]
    pub daybreak_enabled: Option<bool>,
}

/// Changes to the stored git state, at least one of them.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMetadataGitInfoUpdateParams {
    /// Commit id: absent keeps the stored one, null clears it.
    #[serde(default)]
    pub sha: Update<String>,
    /// Branch name: absent keeps the stored one, null clears it.
    #[serde(default)]
    pub branch: Update<String>,
    /// Remote URL: absent keeps the stored one, null clears it.
    #[serde(default)]
    pub origin_url: Update<String>,
}

/// Reply to `thread/metadata/update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMetadataUpdateResponse {
    /// The thread after the change, without turns.
    pub thread: Thread,
}

/// Params of `thread/goal/get`: what a thread works towards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalGetParams {
    /// Thread that is asked about, loaded or stored.
    pub thread_id: String,
}

/// Reply to `thread/goal/get`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalGetResponse {
    /// The goal; null if the thread has none.
    pub goal: Option<ThreadGoal>,
}
