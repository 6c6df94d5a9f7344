//! The messages of exec servers, as both sides write and read them: JSON-RPC without the member `jsonrpc`.
//!
//! `P` is a path: text on the side of the client, where it means nothing, and a path of the machine on the side of the server. On
//! the wire it is a `file://` URI.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes, as base64 on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

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

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    pub client_name: String,
    /// The session to go on with after a lost connection.
    pub resume_session_id: Option<String>,
}

/// A command to start.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(
    deserialize = "P: Deserialize<'de>, S: Deserialize<'de>",
    serialize = "P: Serialize, S: Serialize"
))]
pub struct ProcessStart<P, S = Sandbox<P>> {
    pub process_id: String,
    pub argv: Vec<String>,
    pub cwd: P,
    pub env: BTreeMap<String, String>,
    pub tty: bool,
    #[serde(default)]
    pub pipe_stdin: bool,
    pub arg0: Option<String>,
    pub env_policy: Option<VariablePolicy>,
    pub sandbox: Option<S>,
    #[serde(default)]
    pub enforce_managed_network: bool,
    pub managed_network: Option<serde_json::Value>,
    pub network_proxy: Option<serde_json::Value>,
}

/// Which variables of the server a command gets.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VariablePolicy {
    pub inherit: InheritedVariables,
    pub ignore_default_excludes: bool,
    pub exclude: Vec<String>,
    pub set: BTreeMap<String, String>,
    pub include_only: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InheritedVariables {
    #[default]
    All,
    Core,
    None,
}

/// What is kept read-only in each folder that may be written.
pub const PROTECTED: [&str; 4] = [".git", ".agents", ".codex", ".aws"];

/// The sandbox of a request, by meaning: it is resolved where it is enforced. A server enforces all of it or refuses, so forms
/// that it does not know are errors.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox<P> {
    pub permissions: Permissions<P>,
    /// The folder that the policy was made for. A command may run in another one.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<P>,
    pub workspace_roots: Vec<P>,
    #[serde(default, rename = "windowsSandboxLevel")]
    pub windows_level: WindowsLevel,
    #[serde(default, rename = "windowsSandboxProxySettingsMode")]
    pub windows_proxy_settings: WindowsProxySettings,
    #[serde(default)]
    pub use_legacy_landlock: bool,
}

impl<P> Sandbox<P> {
    /// A sandbox with these entries, and nothing else.
    pub fn of_entries(
        entries: Vec<AccessEntry<P>>,
        network: SandboxNetwork,
        cwd: P,
        workspace_roots: Vec<P>,
    ) -> Self {
        Self {
            permissions: Permissions::Managed {
                file_system: FileSystemAccess::Restricted { entries },
                network,
            },
            cwd: Some(cwd),
            workspace_roots,
            windows_level: WindowsLevel::Disabled,
            windows_proxy_settings: WindowsProxySettings::Reconcile,
            use_legacy_landlock: false,
        }
    }
}

/// Which sandbox of Windows is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowsLevel {
    #[default]
    Disabled,
    #[serde(untagged)]
    Other(String),
}

/// What becomes of proxy settings in the sandbox of Windows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowsProxySettings {
    #[default]
    Reconcile,
    #[serde(untagged)]
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Permissions<P> {
    Managed {
        file_system: FileSystemAccess<P>,
        network: SandboxNetwork,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileSystemAccess<P> {
    Restricted { entries: Vec<AccessEntry<P>> },
    Unrestricted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxNetwork {
    Restricted,
    Enabled,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AccessEntry<P> {
    pub path: SandboxPlace<P>,
    pub access: AccessMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_path_behavior: Option<MissingPath>,
}

impl<P> AccessEntry<P> {
    /// An entry about a special place.
    pub fn special(kind: PlaceKind, subpath: Option<String>, access: AccessMode) -> Self {
        Self {
            path: SandboxPlace::Special {
                value: SpecialPlace { kind, subpath },
            },
            access,
            missing_path_behavior: None,
        }
    }
}

/// What becomes of an entry about a path that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingPath {
    Skip,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SandboxPlace<P> {
    Special { value: SpecialPlace },
    Path { path: P },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SpecialPlace {
    pub kind: PlaceKind,
    /// A path below the place, with `/` between its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subpath: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    Root,
    Minimal,
    ProjectRoots,
    SlashTmp,
    Tmpdir,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    Read,
    Write,
    #[serde(alias = "none")]
    Deny,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWrite {
    pub process_id: String,
    pub chunk: Base64,
    /// What is written under an id that came before is not written again.
    pub write_id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessRead {
    pub process_id: String,
    pub after_seq: Option<u64>,
    pub max_bytes: Option<u64>,
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSignal {
    pub process_id: String,
    pub signal: SignalName,
}

/// The only signal that there is.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SignalName {
    Interrupt,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessTerminate {
    pub process_id: String,
}

/// A path.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AtPath<P> {
    pub path: P,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFile<P> {
    pub path: P,
    pub data_base64: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CreateDirectory<P> {
    pub path: P,
    pub recursive: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Remove<P> {
    pub path: P,
    pub recursive: Option<bool>,
    pub force: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CopyParams<P> {
    pub source_path: P,
    pub destination_path: P,
    #[serde(default)]
    pub recursive: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct WalkParams<P> {
    pub path: P,
    pub options: WalkOptions,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WalkOptions {
    pub max_depth: usize,
    pub max_directories: usize,
    pub max_entries: usize,
    #[serde(default)]
    pub follow_directory_symlinks: bool,
    #[serde(default)]
    pub prune_hidden_directories: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(
    deserialize = "P: Deserialize<'de>, S: Deserialize<'de>",
    serialize = "P: Serialize, S: Serialize"
))]
pub struct OpenFile<P, S = Sandbox<P>> {
    pub handle_id: String,
    pub path: P,
    #[serde(default)]
    pub mode: OpenMode,
    pub sandbox: Option<S>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OpenMode {
    #[default]
    Read,
    Replace,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadBlock {
    pub handle_id: String,
    pub offset: u64,
    pub len: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteBlock {
    pub handle_id: String,
    pub offset: u64,
    pub chunk: Base64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CloseFile {
    pub handle_id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchMissing<P> {
    pub watch_id: serde_json::Value,
    pub missing: Vec<P>,
}

/// The answer to `initialize`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BegunSession<I> {
    pub session_id: String,
    pub environment_info: I,
}

/// The answer to `process/start`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedProcess {
    pub process_id: String,
    /// What confines it: `none`, or the name of a means of the system.
    #[serde(default)]
    pub sandbox_type: Option<String>,
}

impl StartedProcess {
    /// Whether the server says that it confines the command.
    #[must_use]
    pub fn is_confined(&self) -> bool {
        self.sandbox_type
            .as_deref()
            .is_some_and(|means| means != "none")
    }
}

/// The answer to `process/write`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct WrittenInput {
    /// Anything but [`WrittenInput::ACCEPTED`] says why nothing was written.
    pub status: String,
}

impl WrittenInput {
    pub const ACCEPTED: &str = "accepted";
}

/// The answer to `process/read`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadOutput {
    pub chunks: Vec<OutputPart>,
    pub next_seq: u64,
    pub exited: bool,
    pub exit_code: Option<i32>,
    pub closed: bool,
    #[serde(default)]
    pub failure: Option<String>,
    #[serde(default)]
    pub sandbox_denied: bool,
}

/// A numbered part of the output of a command.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct OutputPart {
    pub seq: u64,
    pub stream: OutputOrigin,
    pub chunk: Base64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OutputOrigin {
    Stdout,
    Stderr,
    Pty,
}

/// `process/output`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputNotification {
    pub process_id: String,
    pub seq: u64,
    pub stream: OutputOrigin,
    pub chunk: Base64,
}

/// `process/exited`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitedNotification {
    pub process_id: String,
    pub seq: u64,
    pub exit_code: i32,
    #[serde(default)]
    pub sandbox_denied: bool,
}

/// `process/closed`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClosedNotification {
    pub process_id: String,
    pub seq: u64,
}

/// The answer to `fs/getMetadata`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFacts {
    pub is_directory: bool,
    pub is_file: bool,
    pub is_symlink: bool,
    #[serde(default)]
    pub size: u64,
    #[serde(default)]
    pub created_at_ms: i64,
    #[serde(default)]
    pub modified_at_ms: i64,
}

/// The answer to `fs/readFile`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileContent {
    pub data_base64: Base64,
}

/// The answer to `fs/readBlock`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FileBlock {
    pub chunk: Base64,
    pub eof: bool,
}

/// The codes of refusals.
pub mod code {
    pub const REFUSED: i64 = -32600;
    pub const UNKNOWN_METHOD: i64 = -32601;
    pub const WRONG_PARAMS: i64 = -32602;
    pub const FAILED: i64 = -32603;
    pub const NOT_FOUND: i64 = -32004;
    pub const SESSION_IN_USE: i64 = -32010;
}
