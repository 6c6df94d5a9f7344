//! The settings of one turn. They are fixed when it starts; changes hold for the next one.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use codex_model_client::TurnState;
use codex_protocol::{
    AskForApproval, CollaborationMode, Personality, ReasoningSummary, SandboxPolicy, ServiceTier,
    Verbosity,
};
use codex_skills::Skills;
use serde_json::Value;

use crate::ports::ModelInfo;
use crate::tools::ToolSet;

/// The settings of one turn.
#[derive(Debug)]
pub(crate) struct TurnSettings {
    pub(crate) id: Arc<str>,
    pub(crate) cwd: PathBuf,
    pub(crate) approval_policy: AskForApproval,
    pub(crate) sandbox_policy: SandboxPolicy,
    pub(crate) model: Arc<ModelInfo>,
    pub(crate) mode: CollaborationMode,
    pub(crate) summary: ReasoningSummary,
    pub(crate) service_tier: Option<ServiceTier>,
    pub(crate) verbosity: Option<Verbosity>,
    pub(crate) personality: Option<Personality>,
    pub(crate) output_schema: Option<Arc<Value>>,
    /// Why it runs with other settings than it was to; it fails with that.
    pub(crate) refused: Option<String>,
    /// The local date.
    pub(crate) date: String,
    /// The name of the time zone.
    pub(crate) timezone: String,
    pub(crate) shell: PathBuf,
    /// The `instructions` of every request.
    pub(crate) instructions: Arc<str>,
    pub(crate) user_instructions: Option<Arc<str>>,
    pub(crate) developer_instructions: Option<Arc<str>>,
    pub(crate) tools: TurnTools,
    /// Where the provider wants the requests of this turn.
    pub(crate) turn_state: TurnState,
    /// The skills as they were when the turn began, once that is known.
    pub(crate) skills: OnceLock<Arc<Skills>>,
}

/// The tools of a turn: those of MCP servers come on top once the servers have started.
#[derive(Debug)]
pub(crate) struct TurnTools {
    own: Arc<ToolSet>,
    all: OnceLock<Arc<ToolSet>>,
}

impl TurnTools {
    pub(crate) fn new(own: Arc<ToolSet>) -> Self {
        let all = OnceLock::new();
        Self { own, all }
    }

    /// From now on the turn has these.
    pub(crate) fn complete(&self, all: Arc<ToolSet>) {
        let _ = self.all.set(all);
    }
}

impl Deref for TurnTools {
    type Target = ToolSet;

    fn deref(&self) -> &ToolSet {
        self.all.get().unwrap_or(&self.own)
    }
}

impl TurnSettings {
    /// A path as the model means it.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        match path {
            "" => self.cwd.clone(),
            path => self.cwd.join(path),
        }
    }
}
