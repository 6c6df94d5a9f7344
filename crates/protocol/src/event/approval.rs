//! Events by which the engine asks: for approval, permissions or an answer.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Tagged, sparse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{
    ExecPolicyAmendment, FileChange, NetworkPolicyAmendment, ParsedCommand, ReviewDecision,
};
use crate::policy::{PermissionProfile, RequestPermissionProfile};
use crate::session::RequestId;

/// May this command run?
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecApprovalRequestEvent {
    /// The call.
    pub call_id: String,
    /// What to name in the answer, where it is not the call.
    pub approval_id: Option<String>,
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder that it would run in.
    pub cwd: String,
    /// Why it is asked.
    pub reason: Option<String>,
    /// The connection that is asked about, where it is not the command.
    pub network_approval_context: Option<NetworkApprovalContext>,
    /// The words that a new rule could allow.
    pub proposed_execpolicy_amendment: Option<ExecPolicyAmendment>,
    /// The network rules that could be added.
    pub proposed_network_policy_amendments: Option<Vec<NetworkPolicyAmendment>>,
    /// The permissions that the command would have beyond the sandbox.
    pub additional_permissions: Option<PermissionProfile>,
    /// The skill that the command belongs to.
    pub skill_metadata: Option<ExecApprovalSkillMetadata>,
    /// The answers to offer, in this order.
    pub available_decisions: Option<Vec<ReviewDecision>>,
    /// What the parts of the command do.
    pub parsed_cmd: Vec<ParsedCommand>,
}

/// The skill that a command belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecApprovalSkillMetadata {
    /// The path of its `SKILL.md`.
    pub path_to_skills_md: String,
}

/// A connection that approval is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkApprovalContext {
    /// The host.
    pub host: String,
    /// The protocol.
    pub protocol: NetworkApprovalProtocol,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkApprovalProtocol {
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// TCP by way of SOCKS.
    Socks5Tcp,
    /// UDP by way of SOCKS.
    Socks5Udp,
}

/// May this patch be applied?
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplyPatchApprovalRequestEvent {
    /// The call.
    pub call_id: String,
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// What it does, by the path of the file.
    pub changes: BTreeMap<String, FileChange>,
    /// Why it is asked.
    pub reason: Option<String>,
    /// A folder that could be opened for writing until the session ends.
    pub grant_root: Option<String>,
}

/// May the model have these permissions?
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPermissionsEvent {
    /// The call.
    pub call_id: String,
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// What for.
    pub reason: Option<String>,
    /// Which.
    pub permissions: RequestPermissionProfile,
}

/// The model asks the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInputEvent {
    /// The call.
    pub call_id: String,
    /// The turn, which is what the answer names.
    #[serde(default)]
    pub turn_id: String,
    /// The questions.
    pub questions: Vec<RequestUserInputQuestion>,
}

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInputQuestion {
    /// The name that the answer goes under.
    pub id: String,
    /// A few words to stand above it.
    pub header: String,
    /// The question.
    pub question: String,
    /// Whether an answer of the user's own is possible besides the options.
    #[serde(default, rename = "isOther")]
    pub is_other: bool,
    /// Whether the answer should not be shown while it is typed.
    #[serde(default, rename = "isSecret")]
    pub is_secret: bool,
    /// Answers to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<RequestUserInputOption>>,
}

/// An answer to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInputOption {
    /// The answer.
    pub label: String,
    /// What it would mean.
    pub description: String,
}

/// An MCP server asks the user.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitationRequestEvent {
    /// The turn that was running.
    pub turn_id: Option<String>,
    /// The server.
    pub server_name: String,
    /// The server's request, which the answer names.
    pub id: RequestId,
    /// What is asked.
    pub request: ElicitationRequest,
}

/// What an MCP server asks.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum ElicitationRequest {
    /// To fill in a form.
    Form {
        /// What the server adds for clients that know it.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
        /// What to say to the user.
        message: String,
        /// The fields of the form, as a JSON Schema.
        requested_schema: Value,
    },
    /// To visit a page.
    Url {
        /// What the server adds for clients that know it.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
        /// What to say to the user.
        message: String,
        /// The page.
        url: String,
        /// What the server knows the visit by.
        elicitation_id: String,
    },
}

/// How the automatic review of an approval request goes.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardianAssessmentEvent {
    /// What is reviewed: a call.
    pub id: String,
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// How far the review has come.
    pub status: GuardianAssessmentStatus,
    /// The risk, from 0 to 100.
    pub risk_score: Option<u8>,
    /// The risk, roughly.
    pub risk_level: Option<GuardianRiskLevel>,
    /// Why.
    pub rationale: Option<String>,
    /// What is to be done if it is approved, in short.
    pub action: Option<Value>,
}

/// How far an automatic review has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardianAssessmentStatus {
    /// It is under way.
    InProgress,
    /// The action was approved.
    Approved,
    /// The action was denied.
    Denied,
    /// The review did not end.
    Aborted,
}

/// How risky an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardianRiskLevel {
    /// Hardly.
    Low,
    /// Somewhat.
    Medium,
    /// Very.
    High,
}
