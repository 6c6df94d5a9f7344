//! What a working folder has that its remote has not, by an older method for clients that carry
//! local work over to another machine.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Id of a commit, in hex digits.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct GitSha(pub String);

/// Asks for the changes since the nearest commit that a remote has; fails where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct GitDiffToRemoteParams {
    /// Folder in the repository; a relative one is resolved against the server's own.
    pub cwd: String,
}

/// Local changes and the commit they apply to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitDiffToRemoteResponse {
    /// The nearest commit that a remote has.
    pub sha: GitSha,
    /// Unified diff from that commit to the files on disk, untracked ones included.
    pub diff: String,
}
