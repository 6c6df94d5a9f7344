//! The params of methods.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codex_exec::{EnvironmentPolicy, InheritMode, NamePattern};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::file_uri::FileUri;
use crate::policy::RequestedSandbox;

/// Bytes, as base64 on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base64(pub(crate) Vec<u8>);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        STANDARD.encode(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD
            .decode(text)
            .map(Self)
            .map_err(|error| de::Error::custom(format!("no base64: {error}")))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    #[serde(rename = "clientName")]
    pub(crate) _client_name: String,
    pub(crate) resume_session_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessStart {
    pub(crate) process_id: String,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: FileUri,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) tty: bool,
    #[serde(default)]
    pub(crate) pipe_stdin: bool,
    pub(crate) arg0: Option<String>,
    pub(crate) env_policy: Option<RequestedEnvironment>,
    pub(crate) sandbox: Option<RequestedSandbox>,
    #[serde(default)]
    pub(crate) enforce_managed_network: bool,
    pub(crate) managed_network: Option<serde_json::Value>,
    pub(crate) network_proxy: Option<serde_json::Value>,
}

/// Which variables of the server a command gets.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RequestedEnvironment {
    inherit: Inherit,
    ignore_default_excludes: bool,
    exclude: Vec<String>,
    set: BTreeMap<String, String>,
    include_only: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Inherit {
    #[default]
    All,
    Core,
    None,
}

impl RequestedEnvironment {
    pub(crate) fn policy(self) -> EnvironmentPolicy {
        let patterns = |texts: Vec<String>| texts.iter().map(|it| NamePattern::new(it)).collect();
        EnvironmentPolicy {
            inherit: match self.inherit {
                Inherit::All => InheritMode::All,
                Inherit::Core => InheritMode::Core,
                Inherit::None => InheritMode::None,
            },
            default_excludes: !self.ignore_default_excludes,
            exclude: patterns(self.exclude),
            set: (self.set.into_iter())
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            include_only: patterns(self.include_only),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessWrite {
    pub(crate) process_id: String,
    pub(crate) chunk: Base64,
    pub(crate) write_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessRead {
    pub(crate) process_id: String,
    pub(crate) after_seq: Option<u64>,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) wait_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessSignal {
    pub(crate) process_id: String,
    #[serde(rename = "signal")]
    pub(crate) _signal: Signal,
}

/// The only signal that there is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Signal {
    Interrupt,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessTerminate {
    pub(crate) process_id: String,
}

/// A path, and the limits in which it is used.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct AtPath {
    pub(crate) path: FileUri,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WriteFile {
    pub(crate) path: FileUri,
    pub(crate) data_base64: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct CreateDirectory {
    pub(crate) path: FileUri,
    pub(crate) recursive: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Remove {
    pub(crate) path: FileUri,
    pub(crate) recursive: Option<bool>,
    pub(crate) force: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Copy {
    pub(crate) source_path: FileUri,
    pub(crate) destination_path: FileUri,
    #[serde(default)]
    pub(crate) recursive: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct WalkParams {
    pub(crate) path: FileUri,
    pub(crate) options: WalkOptions,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WalkOptions {
    pub(crate) max_depth: usize,
    pub(crate) max_directories: usize,
    pub(crate) max_entries: usize,
    #[serde(default)]
    pub(crate) follow_directory_symlinks: bool,
    #[serde(default)]
    pub(crate) prune_hidden_directories: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenFile {
    pub(crate) handle_id: String,
    pub(crate) path: FileUri,
    #[serde(default)]
    pub(crate) mode: OpenMode,
    pub(crate) sandbox: Option<RequestedSandbox>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum OpenMode {
    #[default]
    Read,
    Replace,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadBlock {
    pub(crate) handle_id: String,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// A block of a file by its path, for a confined process.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ReadBlockOfPath {
    pub(crate) path: FileUri,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WriteBlock {
    pub(crate) handle_id: String,
    pub(crate) offset: u64,
    pub(crate) chunk: Base64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloseFile {
    pub(crate) handle_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WatchMissing {
    pub(crate) watch_id: serde_json::Value,
    pub(crate) missing: Vec<FileUri>,
}
