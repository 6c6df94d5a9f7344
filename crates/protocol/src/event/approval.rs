//! Events by which the engine asks: for approval, permissions or an answer.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{
    ExecPolicyAmendment, FileChange, NetworkPolicyAmendment, ParsedCommand, ReviewDecision,
};
use crate::mark_members;
use crate::policy::{PermissionProfile, RequestPermissionProfile};
use crate::session::RequestId;

/// A request for approval of a command.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecApprovalRequestEvent {
    pub call_id: String,
    /// The id for the answer, if it differs from the call id.
    pub approval_id: Option<String>,
    #[serde(default)]
    pub turn_id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working folder of the command.
    pub cwd: String,
    /// The reason to show to the user.
    pub reason: Option<String>,
    /// What the engine says about the question, never a text of the model.
    pub engine_notice: Option<String>,
    /// What the model says, with escapes for what does not show.
    pub justification: Option<String>,
    /// The connection, if the request is about network access and not about the command.
    pub network_approval_context: Option<NetworkApprovalContext>,
    /// The command prefix that a new rule would allow.
    pub proposed_execpolicy_amendment: Option<ExecPolicyAmendment>,
    /// Network rules to offer.
    pub proposed_network_policy_amendments: Option<Vec<NetworkPolicyAmendment>>,
    /// The permissions that the command would get beyond those of the sandbox.
    pub additional_permissions: Option<PermissionProfile>,
    /// The skill that contains the command.
    pub skill_metadata: Option<ExecApprovalSkillMetadata>,
    /// The decisions to offer, in order of display.
    pub available_decisions: Option<Vec<ReviewDecision>>,
    /// The commands in the script, parsed for display.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// The other machine that it would run on; none for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}

/// A request for approval that needs no answer any more, because what it was about has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecApprovalWithdrawnEvent {
    pub call_id: String,
    pub turn_id: String,
}

/// The skill that contains a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecApprovalSkillMetadata {
    /// The path of its `SKILL.md`.
    pub path_to_skills_md: String,
}

/// A network connection that needs an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkApprovalContext {
    pub host: String,
    pub protocol: NetworkApprovalProtocol,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkApprovalProtocol {
    Http,
    /// HTTPS.
    Https,
    /// TCP through SOCKS 5.
    Socks5Tcp,
    /// UDP through SOCKS 5.
    Socks5Udp,
}

/// A request for approval of a patch.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplyPatchApprovalRequestEvent {
    pub call_id: String,
    #[serde(default)]
    pub turn_id: String,
    /// The changes by file path.
    pub changes: BTreeMap<String, FileChange>,
    /// The reason to show to the user.
    pub reason: Option<String>,
    /// What the engine says about the question, never a text of the model.
    pub engine_notice: Option<String>,
    /// A folder to make writable for the rest of the session.
    pub grant_root: Option<String>,
}

/// A request of the model for permissions.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPermissionsEvent {
    pub call_id: String,
    #[serde(default)]
    pub turn_id: String,
    /// The reason to show to the user, with the purpose that the model states.
    pub reason: Option<String>,
    /// What the engine says about the question, never a text of the model.
    pub engine_notice: Option<String>,
    /// What the model says, with escapes for what does not show.
    pub justification: Option<String>,
    pub permissions: RequestPermissionProfile,
}

/// The model asks the user questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInputEvent {
    pub call_id: String,
    /// The id of the turn. The answer contains it.
    #[serde(default)]
    pub turn_id: String,
    pub questions: Vec<RequestUserInputQuestion>,
}

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInputQuestion {
    /// The key of the answer.
    pub id: String,
    /// A short title.
    pub header: String,
    pub question: String,
    /// Whether the user may enter an answer that is not among the options.
    #[serde(default, rename = "isOther")]
    pub is_other: bool,
    /// Whether to hide the answer during input.
    #[serde(default, rename = "isSecret")]
    pub is_secret: bool,
    /// The options; absent for a free answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<RequestUserInputOption>>,
}

/// An option of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInputOption {
    /// The text of the option, which is also the answer.
    pub label: String,
    /// The consequences of this choice.
    pub description: String,
}

/// An elicitation request of an MCP server.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitationRequestEvent {
    /// The active turn, if any.
    pub turn_id: Option<String>,
    pub server_name: String,
    /// The id of the server's request. The answer contains it.
    pub id: RequestId,
    /// The content of the request.
    pub request: ElicitationRequest,
}

/// The content of an elicitation request.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum ElicitationRequest {
    /// The user fills in a form.
    Form {
        /// The `_meta` object of the server.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
        /// The message to the user.
        message: String,
        /// The fields of the form, as a JSON Schema.
        requested_schema: Value,
    },
    /// The user fills in a form of which only the client knows how it is shown.
    #[serde(rename = "openai/form")]
    OpenaiForm {
        /// The `_meta` object of the server.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
        /// The message to the user.
        message: String,
        /// What the form asks for.
        requested_schema: Value,
    },
    /// The user visits a page.
    Url {
        /// The `_meta` object of the server.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
        /// The message to the user.
        message: String,
        /// The address of the page.
        url: String,
        /// The server's id of this elicitation.
        elicitation_id: String,
    },
}

/// Progress of the automatic review of an approval request.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardianAssessmentEvent {
    /// The id of the reviewed tool call.
    pub id: String,
    #[serde(default)]
    pub turn_id: String,
    /// The status of the review.
    pub status: GuardianAssessmentStatus,
    pub risk_score: Option<u8>,
    /// The risk as a category.
    pub risk_level: Option<GuardianRiskLevel>,
    /// How far the user asked for the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_authorization: Option<GuardianUserAuthorization>,
    pub rationale: Option<String>,
    /// A summary of the action under review.
    pub action: Option<Value>,
    /// The id of the review.
    pub review_id: Option<String>,
    /// When the review began, in Unix milliseconds.
    pub started_at_ms: Option<i64>,
    /// When the review ended, in Unix milliseconds.
    pub completed_at_ms: Option<i64>,
}

/// The status of an automatic review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardianAssessmentStatus {
    /// The review is running.
    InProgress,
    Approved,
    Denied,
    /// The review was aborted before a decision.
    Aborted,
}

/// How far the user asked for a reviewed action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardianUserAuthorization {
    Unknown,
    Low,
    Medium,
    High,
}

/// How risky a reviewer finds an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = mark_members::<Self>)]
pub enum GuardianRiskLevel {
    /// Little can go wrong.
    Low,
    /// Some harm is possible.
    Medium,
    /// Serious harm is possible; also assumed when a review fails.
    High,
    /// Harm that cannot be undone is likely.
    #[since("0.140")]
    Critical,
}
