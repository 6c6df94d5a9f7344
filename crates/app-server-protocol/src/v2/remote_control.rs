//! Control of this server from elsewhere.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `remoteControl/client/list`: lists the clients that control this server from elsewhere.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlClientsListParams {
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: String,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
    /// Which way to go.
    pub order: Option<RemoteControlClientsListOrder>,
}

/// Reply to `remoteControl/client/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlClientsListResponse {
    /// Entries of the page, in order.
    pub data: Vec<RemoteControlClient>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Params of `remoteControl/client/revoke`: forgets a client that controls this server from elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlClientsRevokeParams {
    /// Id of a paired client.
    pub client_id: String,
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: String,
}

/// Reply to `remoteControl/client/revoke`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteControlClientsRevokeResponse {}

/// Reply to `remoteControl/disable`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlDisableResponse {
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: Option<String>,
    /// Id of this installation, kept in the home folder.
    pub installation_id: String,
    /// Name of this machine.
    pub server_name: String,
    /// State that it is in.
    pub status: RemoteControlConnectionStatus,
}

/// Reply to `remoteControl/enable`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlEnableResponse {
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: Option<String>,
    /// Id of this installation, kept in the home folder.
    pub installation_id: String,
    /// Name of this machine.
    pub server_name: String,
    /// State that it is in.
    pub status: RemoteControlConnectionStatus,
}

/// Params of `remoteControl/pairing/start`: makes a code that pairs a client.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlPairingStartParams {
    /// Code to type; null if none was asked for.
    #[serde(default)]
    pub manual_code: bool,
}

/// Reply to `remoteControl/pairing/start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlPairingStartResponse {
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: String,
    /// When it expires, in Unix seconds.
    pub expires_at: i64,
    /// Whether a code to type is wanted, or that code.
    pub manual_pairing_code: Option<String>,
    /// Code that pairs a client.
    pub pairing_code: String,
}

/// Params of `remoteControl/pairing/status`: reads whether a code was used.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlPairingStatusParams {
    /// Whether a code to type is wanted, or that code.
    pub manual_pairing_code: Option<String>,
    /// Code that pairs a client.
    pub pairing_code: Option<String>,
}

/// Reply to `remoteControl/pairing/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlPairingStatusResponse {
    /// Whether the code was used.
    pub claimed: bool,
}

/// Payload of `remoteControl/status/changed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlStatusChangedNotification {
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: Option<String>,
    /// Id of this installation, kept in the home folder.
    pub installation_id: String,
    /// Name of this machine.
    pub server_name: String,
    /// State that it is in.
    pub status: RemoteControlConnectionStatus,
}

/// Reply to `remoteControl/status/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlStatusReadResponse {
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: Option<String>,
    /// Id of this installation, kept in the home folder.
    pub installation_id: String,
    /// Name of this machine.
    pub server_name: String,
    /// State that it is in.
    pub status: RemoteControlConnectionStatus,
}

/// A client that controls this server from elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlClient {
    /// Version of the client; null if unknown.
    pub app_version: Option<String>,
    /// Id of a paired client.
    pub client_id: String,
    /// Model of the device; null if unknown.
    pub device_model: Option<String>,
    /// Kind of device; null if unknown.
    pub device_type: Option<String>,
    /// Name for people; null if unknown.
    pub display_name: Option<String>,
    /// When it was last seen, in Unix seconds; null if unknown.
    pub last_seen_at: Option<i64>,
    /// Version of its system; null if unknown.
    pub os_version: Option<String>,
    /// Its system; null if unknown.
    pub platform: Option<String>,
}

/// Which way a list of clients goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RemoteControlClientsListOrder {
    /// Asc.
    Asc,
    /// Desc.
    Desc,
}

/// Whether this server can be controlled from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RemoteControlConnectionStatus {
    /// Connected.
    Connected,
    /// Connecting.
    Connecting,
    /// Disabled.
    Disabled,
    /// Errored.
    Errored,
}

/// None
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlDisableParams {
    /// Whether nothing of it is stored.
    #[serde(default)]
    pub ephemeral: bool,
}

/// None
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteControlEnableParams {
    /// Whether nothing of it is stored.
    #[serde(default)]
    pub ephemeral: bool,
}
