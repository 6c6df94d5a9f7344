//! The settings of a thread, which last from turn to turn until they are changed.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use codex_model_client::TurnState;
use codex_protocol::{
    AskForApproval, CollaborationMode, ModeKind, OverrideTurnContext, Personality,
    ReasoningSummary, SandboxPolicy, ServiceTier, Settings, UserTurn,
};
use serde_json::Value;

use super::Services;
use crate::config::SessionConfig;
use crate::ports::ModelInfo;
use crate::tools::{McpTools, ToolSet};
use crate::turn::{TurnSettings, TurnTools};

/// The settings of a thread.
#[derive(Clone, Debug)]
pub(crate) struct ThreadSettings {
    pub(crate) cwd: PathBuf,
    pub(crate) approval_policy: AskForApproval,
    pub(crate) sandbox_policy: SandboxPolicy,
    pub(crate) mode: CollaborationMode,
    pub(crate) summary: Option<ReasoningSummary>,
    pub(crate) service_tier: Option<ServiceTier>,
    pub(crate) personality: Option<Personality>,
}

/// What one turn brings along for itself alone.
#[derive(Debug, Default)]
pub(crate) struct ForTurn {
    /// The JSON Schema that the answer should follow.
    pub(crate) schema: Option<Value>,
    /// The class of service, instead of that of the thread.
    pub(crate) service_tier: Option<ServiceTier>,
}

impl ThreadSettings {
    pub(crate) fn of(config: &SessionConfig) -> Self {
        Self {
            cwd: config.cwd.clone(),
            approval_policy: config.approval_policy,
            sandbox_policy: config.sandbox_policy.clone(),
            mode: default_mode(config.model.clone(), config.effort.clone()),
            summary: config.summary,
            service_tier: config.service_tier.clone(),
            personality: config.personality,
        }
    }

    /// Takes what a user turn brings along.
    pub(crate) fn take_turn(&mut self, turn: &UserTurn) {
        self.cwd = self.cwd.join(&turn.cwd);
        self.approval_policy = turn.approval_policy;
        self.sandbox_policy = turn.sandbox_policy.clone();
        self.mode = match &turn.collaboration_mode {
            Some(mode) => mode.clone(),
            None => default_mode(turn.model.clone(), turn.effort.clone()),
        };
        self.summary = turn.summary.or(self.summary);
        turn.service_tier.clone().apply(&mut self.service_tier);
        self.personality = turn.personality.or(self.personality);
    }

    /// Takes changes.
    pub(crate) fn take_override(&mut self, change: OverrideTurnContext) {
        if let Some(cwd) = change.cwd {
            self.cwd = self.cwd.join(cwd);
        }
        self.approval_policy = change.approval_policy.unwrap_or(self.approval_policy);
        if let Some(policy) = change.sandbox_policy {
            self.sandbox_policy = policy;
        }
        match change.collaboration_mode {
            Some(mode) => self.mode = mode,
            None => {
                let settings = &mut self.mode.settings;
                if let Some(model) = change.model {
                    settings.model = model;
                }
                change.effort.apply(&mut settings.reasoning_effort);
            }
        }
        self.summary = change.summary.or(self.summary);
        change.service_tier.apply(&mut self.service_tier);
        self.personality = change.personality.or(self.personality);
    }

    /// The settings of a turn that starts now.
    pub(crate) fn for_turn(
        &self,
        id: &str,
        own: ForTurn,
        services: &Services,
        tools: &mut ToolCache,
    ) -> TurnSettings {
        let config = &services.config;
        let name = &self.mode.settings.model;
        let (model, tools) = tools.get(name, &self.sandbox_policy, services);
        let zone = services.clock.zone();
        let now = services.clock.now().to_zoned(zone.clone());
        TurnSettings {
            id: Arc::from(id),
            cwd: self.cwd.clone(),
            approval_policy: self.approval_policy,
            sandbox_policy: self.sandbox_policy.clone(),
            summary: self.summary.unwrap_or(model.default_summary),
            verbosity: model
                .default_verbosity
                .map(|own| config.verbosity.unwrap_or(own)),
            model,
            mode: self.mode.clone(),
            service_tier: own.service_tier.or_else(|| self.service_tier.clone()),
            personality: self.personality,
            output_schema: own.schema.map(Arc::new),
            date: now.strftime("%Y-%m-%d").to_string(),
            timezone: zone.iana_name().unwrap_or("Etc/UTC").to_owned(),
            shell: config.shell.clone(),
            instructions: Arc::clone(&services.instructions),
            user_instructions: services.user_instructions.clone(),
            developer_instructions: services.developer_instructions.clone(),
            tools: TurnTools::new(tools),
            turn_state: TurnState::default(),
            skills: OnceLock::new(),
        }
    }
}

pub(super) fn default_mode(
    model: String,
    reasoning_effort: Option<codex_protocol::ReasoningEffort>,
) -> CollaborationMode {
    let settings = Settings {
        model,
        reasoning_effort,
        developer_instructions: None,
    };
    CollaborationMode {
        mode: ModeKind::Default,
        settings,
    }
}

/// The model of the last turn with its tools, which the next turn mostly needs again.
#[derive(Debug, Default)]
pub(crate) struct ToolCache(Option<CachedTools>);

#[derive(Debug)]
struct CachedTools {
    model: Arc<ModelInfo>,
    policy: SandboxPolicy,
    tools: Arc<ToolSet>,
}

impl ToolCache {
    fn get(
        &mut self,
        model: &str,
        policy: &SandboxPolicy,
        services: &Services,
    ) -> (Arc<ModelInfo>, Arc<ToolSet>) {
        if let Some(CachedTools {
            model: known,
            policy: made_for,
            tools,
        }) = &self.0
            && known.slug == model
            && made_for == policy
        {
            return (Arc::clone(known), Arc::clone(tools));
        }
        let model = with_overrides(services.model.info(model), &services.config);
        let tools = ToolSet::new(services, &McpTools::default(), &model, policy);
        let tools = Arc::new(tools);
        self.0 = Some(CachedTools {
            model: Arc::clone(&model),
            policy: policy.clone(),
            tools: Arc::clone(&tools),
        });
        (model, tools)
    }
}

/// What the configuration knows better about a model.
fn with_overrides(model: Arc<ModelInfo>, config: &SessionConfig) -> Arc<ModelInfo> {
    let mut changed = (*model).clone();
    changed.context_window = config.context_window.or(changed.context_window);
    changed.auto_compact_limit = match (config.auto_compact_limit, changed.auto_compact_limit) {
        (Some(ours), Some(own)) => Some(ours.min(own)),
        (ours, own) => ours.or(own),
    };
    if let Some(tokens) = config.tool_output_tokens {
        changed.truncation.limit = match changed.truncation.mode {
            codex_protocol::TruncationMode::Bytes => tokens.saturating_mul(4),
            codex_protocol::TruncationMode::Tokens => tokens,
        };
    }
    if changed == *model {
        model
    } else {
        Arc::new(changed)
    }
}
