//! The settings of a thread: the session owns them, and everybody else watches.

use std::sync::{Arc, OnceLock};

use codex_model_client::TurnState;
use codex_protocol::{SandboxPolicy, ServiceTier, ThreadSettings, ThreadSettingsPatch};
use serde_json::Value;

use super::{Services, Session};
use crate::config::SessionConfig;
use crate::ports::ModelInfo;
use crate::tools::{McpTools, ToolSet};
use crate::turn::{TurnSettings, TurnTools};

/// Why settings stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// An administrator does not allow others; the sentence says which.
    #[error("{0}")]
    Forbidden(String),
    /// The thread is closed.
    #[error("internal error; agent loop died unexpectedly")]
    Closed,
}

/// What one turn brings along for itself alone.
#[derive(Debug, Default)]
pub(crate) struct TurnOverrides {
    /// The JSON Schema that the answer should follow.
    pub(crate) schema: Option<Value>,
    /// The class of service, instead of that of the thread.
    pub(crate) service_tier: Option<ServiceTier>,
    /// Why it runs with other settings than it was to.
    pub(crate) refused: Option<String>,
}

impl Session {
    /// The settings now.
    pub(crate) fn settings(&self) -> Arc<ThreadSettings> {
        Arc::clone(&self.settings.borrow())
    }

    /// Changes settings, all that the patch names or, if the administrator forbids one, none.
    pub(super) fn change_settings(
        &mut self,
        patch: ThreadSettingsPatch,
    ) -> Result<Arc<ThreadSettings>, SettingsError> {
        let before = self.settings();
        let after = before.apply(patch, &before.cwd);
        if after == *before {
            return Ok(before);
        }
        if let Some(limits) = &self.services.config.limits {
            let checked = limits.check(after.approval_policy, &after.sandbox_policy);
            checked.map_err(SettingsError::Forbidden)?;
        }
        let after = Arc::new(after);
        self.settings.send_replace(Arc::clone(&after));
        Ok(after)
    }

    /// The settings of a turn that starts now.
    pub(crate) fn turn_settings(&mut self, id: &str, own: TurnOverrides) -> TurnSettings {
        let settings = self.settings();
        for_turn(&settings, id, own, &self.services, &mut self.tools)
    }
}

/// The settings of a turn of a thread with these settings.
pub(super) fn for_turn(
    settings: &ThreadSettings,
    id: &str,
    own: TurnOverrides,
    services: &Services,
    tools: &mut ToolCache,
) -> TurnSettings {
    let config = &services.config;
    let (model, tools) = tools.get(&settings.model, &settings.sandbox_policy, services);
    let zone = services.clock.zone();
    let now = services.clock.now().to_zoned(zone.clone());
    TurnSettings {
        id: Arc::from(id),
        cwd: settings.cwd.clone(),
        approval_policy: settings.approval_policy,
        sandbox_policy: settings.sandbox_policy.clone(),
        summary: settings.summary.unwrap_or(model.default_summary),
        verbosity: model
            .default_verbosity
            .map(|own| config.verbosity.unwrap_or(own)),
        model,
        mode: settings.collaboration_mode(),
        service_tier: own.service_tier.or_else(|| settings.service_tier.clone()),
        personality: settings.personality,
        output_schema: own.schema.map(Arc::new),
        refused: own.refused,
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
    changed.reasoning |= config.reasoning_summaries;
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
