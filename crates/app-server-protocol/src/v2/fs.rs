//! Files of the machine the server runs on, for clients that have no access of their own: direct
//! operations with the server's rights, outside sandbox and approvals. Also notifications of
//! changes.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{AbsolutePathBuf, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reads a whole file of at most 512 MiB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FsReadFileParams {
    /// The file; symbolic links are followed.
    pub path: AbsolutePathBuf,
}

/// Writes a whole file, made anew or emptied first; its folder must exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FsWriteFileParams {
    /// The file; symbolic links are followed.
    pub path: AbsolutePathBuf,
    /// The new content, in base64.
    pub data_base64: String,
}

/// Makes a folder.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FsCreateDirectoryParams {
    /// The folder to make.
    pub path: AbsolutePathBuf,
    /// Make missing parents and accept an existing folder; null means true.
    pub recursive: Option<bool>,
}

/// Asks what is at a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FsGetMetadataParams {
    /// The file or folder; symbolic links are followed.
    pub path: AbsolutePathBuf,
}

/// Lists the direct children of a folder, hidden ones included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FsReadDirectoryParams {
    /// The folder; symbolic links are followed.
    pub path: AbsolutePathBuf,
}

/// Deletes a file, a folder or a symbolic link, never what a link points to.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FsRemoveParams {
    /// What to delete.
    pub path: AbsolutePathBuf,
    /// Delete a folder with its content; null means true, false refuses one that is not empty.
    pub recursive: Option<bool>,
    /// Accept that nothing is there; null means true.
    pub force: Option<bool>,
}

/// Copies a file, a folder or a symbolic link; the destination's parent must exist.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FsCopyParams {
    /// What to copy; a link is copied as a link.
    pub source_path: AbsolutePathBuf,
    /// Final name of the copy: a file is replaced, a folder is merged into.
    pub destination_path: AbsolutePathBuf,
    /// Required for folders; without it only files and links are copied.
    #[serde(default)]
    pub recursive: bool,
}

/// Watches a path for this connection, until told otherwise or the connection ends.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct FsWatchParams {
    /// A file, or a folder whose direct children count; it may be missing as yet.
    pub path: AbsolutePathBuf,
    /// Id by which notifications name the watch; absent has the server choose one.
    #[since("0.140")]
    pub watch_id: Option<String>,
}

/// Ends a watch; an unknown one is no error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FsUnwatchParams {
    /// Id from the reply that began the watch.
    pub watch_id: String,
}

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsReadFileResponse {
    /// The whole content, in base64.
    pub data_base64: String,
}

/// The content is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FsWriteFileResponse {}

/// The folder exists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FsCreateDirectoryResponse {}

/// What is at the path; a device or a socket is neither folder nor file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct FsGetMetadataResponse {
    /// Whether it is a folder, or a link to one.
    pub is_directory: bool,
    /// Whether it is a regular file, or a link to one.
    pub is_file: bool,
    /// Whether the path itself is a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub is_symlink: Option<bool>,
    /// Birth time in Unix milliseconds; 0 where the file system keeps none.
    pub created_at_ms: i64,
    /// Last change of the content in Unix milliseconds; 0 where the file system keeps none.
    pub modified_at_ms: i64,
}

/// One child of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsReadDirectoryEntry {
    /// Name within the folder, not a path.
    pub file_name: String,
    /// Whether it is a folder, or a link to one.
    pub is_directory: bool,
    /// Whether it is a regular file, or a link to one.
    pub is_file: bool,
}

/// The children of the folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsReadDirectoryResponse {
    /// One for each child, without `.` and `..`.
    pub entries: Vec<FsReadDirectoryEntry>,
}

/// Nothing is at the path any more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FsRemoveResponse {}

/// The copy is complete.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FsCopyResponse {}

/// The watch has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct FsWatchResponse {
    /// Id by which notifications name the watch: the client's, or else a UUID.
    #[until("0.117")]
    pub watch_id: String,
    /// The watched path, with `.` and `..` resolved.
    pub path: AbsolutePathBuf,
}

/// No more notifications come for the watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FsUnwatchResponse {}

/// Something changed; sent to the watching connection, bursts within 200 ms as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsChangedNotification {
    /// The watch that saw it.
    pub watch_id: String,
    /// What was made, changed or removed, each path once and in order.
    pub changed_paths: Vec<AbsolutePathBuf>,
}
