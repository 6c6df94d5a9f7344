//! The operation by which older clients set up a session. A session that is set up again aborts what
//! it is doing.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};

use crate::policy::{AskForApproval, SandboxPolicy};
use crate::settings::{ReasoningEffort, ReasoningSummary};

/// The settings of a session. What is absent is taken from the configuration.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigureSession {
    /// The provider of the model.
    pub provider: Option<SessionProvider>,
    /// The model.
    pub model: Option<String>,
    /// The reasoning effort.
    pub model_reasoning_effort: Option<ReasoningEffort>,
    /// Which summary of its reasoning the model should give.
    pub model_reasoning_summary: Option<ReasoningSummary>,
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// The approval policy.
    pub approval_policy: Option<AskForApproval>,
    /// The sandbox policy.
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Whether the server should keep no responses.
    #[serde(default)]
    pub disable_response_storage: bool,
    /// A program to start when a turn has ended.
    pub notify: Option<Vec<String>>,
    /// The working directory.
    pub cwd: String,
    /// The file of a thread to go on with.
    pub resume_path: Option<String>,
}

/// The provider of a model, in the spelling of the configuration.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionProvider {
    /// Its name.
    pub name: String,
    /// Where it is reached.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub env_key: Option<String>,
    /// How to come by a key.
    pub env_key_instructions: Option<String>,
    /// The protocol that it speaks.
    pub wire_api: Option<String>,
    /// Parameters to add to every URL.
    #[serde(default)]
    pub query_params: BTreeMap<String, String>,
    /// Headers to add to every request.
    #[serde(default)]
    pub http_headers: BTreeMap<String, String>,
    /// Headers to add to every request, from environment variables.
    #[serde(default)]
    pub env_http_headers: BTreeMap<String, String>,
}
