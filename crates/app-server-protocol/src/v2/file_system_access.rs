//! Access to parts of the file system, as clients read it in questions about permissions.

use codex_app_server_protocol_macros::Tagged;
use codex_protocol::AbsolutePathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may be done with a part of the file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSystemSandboxEntry {
    /// What may be done.
    pub access: FileSystemAccessMode,
    /// The part.
    pub path: FileSystemPath,
}

/// What may be done with a part of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileSystemAccessMode {
    /// Nothing.
    Deny,
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// A part of the file system. This program asks for paths only.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileSystemPath {
    /// A path, with all that is below it.
    Path {
        /// The absolute path.
        path: AbsolutePathBuf,
    },
    /// The paths that a pattern matches.
    GlobPattern {
        /// The pattern.
        pattern: String,
    },
    /// A part with a name.
    Special {
        /// Which part.
        value: FileSystemSpecialPath,
    },
}

/// A part of the file system with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileSystemSpecialPath {
    /// Everything.
    Root,
    /// What every program needs.
    Minimal,
    /// The workspace folders.
    ProjectRoots {
        /// The part of each; absent for all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subpath: Option<String>,
    },
    /// The folder for temporary files.
    Tmpdir,
    /// `/tmp`.
    SlashTmp,
    /// A part that another release knows.
    Unknown {
        /// Its name.
        path: String,
        /// The part of it; absent for all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subpath: Option<String>,
    },
}
