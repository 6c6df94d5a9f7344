//! What turns are made from.

use std::sync::{Arc, OnceLock};

use codex_model_client::TurnState;
use codex_protocol::{SandboxPolicy, ThreadSettings, TruncationMode};

use super::state::TurnOverrides;
use crate::config::SessionConfig;
use crate::input::StopSignal;
use crate::ports::{Model, ModelInfo};
use crate::session_context::SessionContext;
use crate::tools::{McpTools, ToolServices, ToolSet, TurnDiffTracker, TurnTools};
use crate::turn::TurnScope;
use crate::turn_settings::{Instructions, TurnSettings};

/// What the turns of a session share.
#[derive(Clone, Debug)]
pub(crate) struct TurnBase {
    pub(crate) session: Arc<SessionContext>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tool_services: Arc<ToolServices>,
    pub(crate) instructions: Instructions,
}

impl TurnBase {
    /// The scope of a new turn.
    pub(super) fn scope(
        &self,
        settings: &ThreadSettings,
        id: &str,
        overrides: TurnOverrides,
        cache: &mut ToolCache,
    ) -> TurnScope {
        let (model, tools) = cache.get(&settings.model, &settings.sandbox_policy, self);
        TurnScope {
            diff: TurnDiffTracker::new(&settings.cwd),
            settings: Arc::new(self.turn_settings(settings, id, overrides, model)),
            session: Arc::clone(&self.session),
            model: Arc::clone(&self.model),
            tool_services: Arc::clone(&self.tool_services),
            tools: Arc::new(TurnTools::new(tools)),
            input_queue: Arc::default(),
            stop: StopSignal::default(),
        }
    }

    fn turn_settings(
        &self,
        settings: &ThreadSettings,
        id: &str,
        overrides: TurnOverrides,
        model: Arc<ModelInfo>,
    ) -> TurnSettings {
        let config = &self.session.config;
        let zone = self.session.clock.zone();
        let now = self.session.clock.now().to_zoned(zone.clone());
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
            service_tier: overrides
                .service_tier
                .or_else(|| settings.service_tier.clone()),
            personality: settings.personality,
            output_schema: overrides.schema.map(Arc::new),
            refused: overrides.refused,
            date: now.strftime("%Y-%m-%d").to_string(),
            timezone: zone.iana_name().unwrap_or("Etc/UTC").to_owned(),
            shell: config.shell.clone(),
            instructions: self.instructions.clone(),
            turn_state: TurnState::default(),
            skills: OnceLock::new(),
        }
    }
}

/// The model of the last turn with its tools, which the next turn mostly uses again.
#[derive(Debug, Default)]
pub(super) struct ToolCache(Option<CachedTools>);

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
        base: &TurnBase,
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
        let model = with_overrides(base.model.info(model), &base.session.config);
        let tools = ToolSet::new(
            &base.session.config,
            &base.tool_services,
            &McpTools::default(),
            &model,
            policy,
        );
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
            TruncationMode::Bytes => tokens.saturating_mul(4),
            TruncationMode::Tokens => tokens,
        };
    }
    if changed == *model {
        model
    } else {
        Arc::new(changed)
    }
}
