//! The server's questions to a client about commands, file changes and permissions, with the
//! client's answers; and the notice that a question is settled.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{
    AbsolutePathBuf, ExecPolicyAmendment, MacOsAutomationPermission, MacOsContactsPermission,
    MacOsPreferencesPermission, NetworkPolicyAmendment, PermissionGrantScope, mark_members,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rpc::RequestId;
use crate::v2::CommandAction;
use crate::v2::FileSystemSandboxEntry;

/// Params of `item/commandExecution/requestApproval`: may this command, or connection, go ahead?
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct CommandExecutionRequestApprovalParams {
    /// Thread that asks.
    pub thread_id: String,
    /// Turn that waits for the answer.
    pub turn_id: String,
    /// Id of the `commandExecution` item, or a made-up id for a network connection.
    pub item_id: String,
    /// What the command is; absent from older servers.
    #[since("0.169")]
    pub kind: Option<CommandExecutionApprovalKind>,
    /// Machine that the command would run on; absent from older servers.
    #[since("0.169")]
    pub environment_id: Option<String>,
    /// When it was asked, in Unix milliseconds.
    #[since("0.140")]
    pub started_at_ms: Option<i64>,
    /// Tells apart several questions of one item; absent if the whole command is in question.
    pub approval_id: Option<String>,
    /// Why approval is needed, from the agent or a rule; absent without a reason. It begins with `engineNotice` if the command
    /// leaves the sandbox or contains what does not show; the words of the agent are then in quotation marks.
    pub reason: Option<String>,
    /// What the engine says about the command: whether it leaves the sandbox. Never a text of the agent; absent from older
    /// servers.
    #[since("own")]
    pub engine_notice: Option<String>,
    /// What the agent says, as one line with escapes for what does not show; absent if it says nothing.
    #[since("own")]
    pub justification: Option<String>,
    /// Connection to be approved; absent if the question is about a command.
    pub network_approval_context: Option<NetworkApprovalContext>,
    /// Whole command line, quoted for a shell; absent if the question is about a connection.
    pub command: Option<String>,
    /// Directory that the command would run in; absent with `command`.
    pub cwd: Option<String>,
    /// What the command appears to do, for display; absent with `command`.
    pub command_actions: Option<Vec<CommandAction>>,
    /// Access beyond the sandbox that the command would get; absent if none.
    #[experimental("item/commandExecution/requestApproval.additionalPermissions")]
    pub additional_permissions: Option<AdditionalPermissionProfile>,
    /// Skill whose script is to run; absent if no skill is involved.
    #[experimental("item/commandExecution/requestApproval.skillMetadata")]
    #[until("0.117")]
    pub skill_metadata: Option<CommandExecutionRequestApprovalSkillMetadata>,
    /// Command prefix that a client may offer to allow for good; absent if none is proposed.
    pub proposed_execpolicy_amendment: Option<ExecPolicyAmendment>,
    /// Lasting rules for the host that a client may offer; absent if none are proposed.
    pub proposed_network_policy_amendments: Option<Vec<NetworkPolicyAmendment>>,
    /// Answers to offer, in order; without it a client picks from those it knows.
    #[experimental("item/commandExecution/requestApproval.availableDecisions")]
    pub available_decisions: Option<Vec<CommandExecutionApprovalDecision>>,
}

/// What a command is that is to be approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandExecutionApprovalKind {
    /// Command of the agent.
    Command,
    /// Command of the user.
    HumanCommand,
    /// Input to a command that runs.
    WriteStdin,
}

/// Skill that a command stems from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionRequestApprovalSkillMetadata {
    /// Path of the skill's `SKILL.md`.
    pub path_to_skills_md: String,
}

/// A network connection that a command tries to open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkApprovalContext {
    /// Host name or address, without a port.
    pub host: String,
    /// Protocol that the connection uses.
    pub protocol: NetworkApprovalProtocol,
}

/// Protocol of a connection through the managed proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NetworkApprovalProtocol {
    /// Plain HTTP.
    Http,
    /// HTTPS, as a tunnel.
    Https,
    /// TCP by way of SOCKS5.
    Socks5Tcp,
    /// UDP by way of SOCKS5.
    Socks5Udp,
}

/// Reply to `item/commandExecution/requestApproval`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionRequestApprovalResponse {
    /// What the user decided; anything unreadable counts as `decline`.
    pub decision: CommandExecutionApprovalDecision,
}

/// What the user decided about a command or connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandExecutionApprovalDecision {
    /// Go ahead this once.
    Accept,
    /// Go ahead, and do not ask again for the same until the session ends.
    AcceptForSession,
    /// Go ahead, and store a rule that allows commands of this kind from now on.
    AcceptWithExecpolicyAmendment {
        /// Leading words of the commands to allow.
        execpolicy_amendment: ExecPolicyAmendment,
    },
    /// Store a rule for the host; it also answers this question.
    ApplyNetworkPolicyAmendment {
        /// Rule to store, allowing or denying the host.
        network_policy_amendment: NetworkPolicyAmendment,
    },
    /// Do not do it; the agent is told, and the turn goes on.
    Decline,
    /// Do not do it, and interrupt the turn.
    Cancel,
}

/// Params of `item/fileChange/requestApproval`: may this patch be applied?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct FileChangeRequestApprovalParams {
    /// Thread that asks.
    pub thread_id: String,
    /// Turn that waits for the answer.
    pub turn_id: String,
    /// Id of the `fileChange` item, which holds the changes.
    pub item_id: String,
    /// When it was asked, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub started_at_ms: Option<i64>,
    /// Why approval is needed, in words of the engine; absent without a reason.
    pub reason: Option<String>,
    /// What the engine says about the patch: whether it leaves the sandbox; absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("own")]
    pub engine_notice: Option<String>,
    /// Directory to open for writing until the session ends; absent if only the patch is meant.
    pub grant_root: Option<String>,
}

/// Reply to `item/fileChange/requestApproval`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeRequestApprovalResponse {
    /// What the user decided; anything unreadable counts as `decline`.
    pub decision: FileChangeApprovalDecision,
}

/// What the user decided about a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeApprovalDecision {
    /// Apply it.
    Accept,
    /// Apply it, and do not ask again for these files until the session ends.
    AcceptForSession,
    /// Do not apply it; the agent is told, and the turn goes on.
    Decline,
    /// Do not apply it, and interrupt the turn.
    Cancel,
}

/// Params of `item/permissions/requestApproval`: may the agent have more access?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PermissionsRequestApprovalParams {
    /// Thread that asks.
    pub thread_id: String,
    /// Turn that waits for the answer.
    pub turn_id: String,
    /// Id of the tool call that asks; no item belongs to it.
    pub item_id: String,
    /// When it was asked, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub started_at_ms: Option<i64>,
    /// Machine that the access is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub environment_id: Option<String>,
    /// Working directory of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub cwd: Option<String>,
    /// What the access allows, in words of the engine, and what the agent wants it for, in quotation marks.
    pub reason: Option<String>,
    /// What the engine says about the access. Never a text of the agent; absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("own")]
    pub engine_notice: Option<String>,
    /// What the agent says, as one line with escapes for what does not show; absent if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("own")]
    pub justification: Option<String>,
    /// Access that the agent asks for.
    pub permissions: RequestPermissionProfile,
}

/// Access that an agent asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionProfile {
    /// Network access; null if not asked for.
    pub network: Option<AdditionalNetworkPermissions>,
    /// Paths; null if none are asked for.
    pub file_system: Option<AdditionalFileSystemPermissions>,
}

/// Reply to `item/permissions/requestApproval`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionsRequestApprovalResponse {
    /// Access granted; whatever was not asked for is ignored.
    pub permissions: GrantedPermissionProfile,
    /// How long the grant lasts; the turn by default.
    #[serde(default)]
    pub scope: PermissionGrantScope,
}

/// Access that the user grants; what is left out is denied.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantedPermissionProfile {
    /// Network access; absent denies it.
    pub network: Option<AdditionalNetworkPermissions>,
    /// Paths, each exactly as asked for; absent denies all.
    pub file_system: Option<AdditionalFileSystemPermissions>,
}

/// Access that a command is to have on top of its sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct AdditionalPermissionProfile {
    /// Network access; null if none is added.
    pub network: Option<AdditionalNetworkPermissions>,
    /// Paths; null if none are added.
    pub file_system: Option<AdditionalFileSystemPermissions>,
    /// Access to parts of macOS; null if none is added, as on every other system.
    #[until("0.117")]
    pub macos: Option<AdditionalMacOsPermissions>,
}

/// Network access on top of a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalNetworkPermissions {
    /// Whether the network is opened; null means no.
    pub enabled: Option<bool>,
}

/// Paths opened on top of a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct AdditionalFileSystemPermissions {
    /// Absolute paths opened for reading; null if none.
    pub read: Option<Vec<AbsolutePathBuf>>,
    /// Absolute paths opened for writing; null if none.
    pub write: Option<Vec<AbsolutePathBuf>>,
    /// The same paths, each with its access. In an answer they count beside the other two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub entries: Option<Vec<FileSystemSandboxEntry>>,
}

/// Access to parts of macOS on top of a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalMacOsPermissions {
    /// Access to the preferences of the system and of programs.
    pub preferences: MacOsPreferencesPermission,
    /// Programs that may be controlled by events.
    pub automations: MacOsAutomationPermission,
    /// Whether other programs may be started.
    pub launch_services: bool,
    /// Whether the accessibility interface may be used.
    pub accessibility: bool,
    /// Whether calendars may be used.
    pub calendar: bool,
    /// Whether reminders may be used.
    pub reminders: bool,
    /// Access to the address book.
    pub contacts: MacOsContactsPermission,
}

/// Payload of `serverRequest/resolved`: a question was answered, or is no longer of interest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerRequestResolvedNotification {
    /// Thread that asked.
    pub thread_id: String,
    /// Id of the server's request, which clients can stop showing.
    pub request_id: RequestId,
}
