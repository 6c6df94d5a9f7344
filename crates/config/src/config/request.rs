//! The parameters of loading the configuration.

use std::collections::BTreeMap;
use std::path::Path;

use codex_protocol::{ApprovalsReviewer, AskForApproval, Personality, ServiceTier};

use crate::environment::Environment;
use crate::features::Feature;
use crate::overrides::Overrides;
use crate::schema::SandboxMode;

/// The parameters of a request that override settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestParams {
    /// The model.
    pub model: Option<String>,
    /// The id of the provider.
    pub model_provider: Option<String>,
    /// The approval policy.
    pub approval_policy: Option<AskForApproval>,
    /// Who reviews approvals.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// The sandbox mode.
    pub sandbox_mode: Option<SandboxMode>,
    /// The name of permissions, built-in or configured. Takes precedence over a mode.
    pub permissions: Option<String>,
    /// The service tier.
    pub service_tier: Option<ServiceTier>,
    /// The personality of the model.
    pub personality: Option<Personality>,
    /// Replaces the built-in instructions.
    pub base_instructions: Option<String>,
    /// Additional instructions.
    pub developer_instructions: Option<String>,
    /// Replaces the instructions for compaction.
    pub compact_prompt: Option<String>,
    /// Whether commands that may write the workspace may not write the folder of the memories, as some clients expect.
    pub protects_memories: bool,
}

/// What to load the configuration for.
#[derive(Clone, Copy, Debug)]
pub struct LoadRequest<'a> {
    pub env: &'a Environment,
    /// The working folder, as an absolute path.
    pub cwd: Option<&'a Path>,
    /// Command line flags, followed by the settings of the request.
    pub flags: &'a Overrides,
    /// Parameters of the request.
    pub params: &'a RequestParams,
    /// Features that the host application switched at run time. Settings take precedence.
    pub host_features: &'a BTreeMap<Feature, bool>,
}
