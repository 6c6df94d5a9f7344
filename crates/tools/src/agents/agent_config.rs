//! The configuration of a new agent: role, model and effort that the model wishes for.

use std::fmt::Write;

use codex_model_client::{ModelInfo, Visibility};
use codex_protocol::ReasoningEffort;
use codex_session_base::config::{
    AgentRole, AgentSettings, DEFAULT_ROLE, SessionConfig, all_roles, find_role,
};
use codex_session_base::derived_sessions::take_policies;

use crate::tool::{ToolContext, ToolFailure};

/// What the model wishes for an agent.
#[derive(Debug, Default)]
pub(crate) struct AgentWishes {
    pub role: Option<String>,
    pub model: Option<String>,
    pub reasoning_effort: Option<ReasoningEffort>,
}

impl AgentWishes {
    /// The role, if there is one.
    pub(crate) fn role(&self) -> Option<String> {
        let name = self.role.as_deref().map(str::trim);
        name.filter(|name| !name.is_empty()).map(str::to_owned)
    }
}

/// The description of the roles for the model.
pub(crate) fn role_description(settings: &AgentSettings) -> String {
    let mut text = "What kind; `default` unless given:".to_owned();
    for known in all_roles(settings) {
        let _ = write!(text, "\n- {}: {}", known.name, known.description.trim());
    }
    text
}

/// So many models are described. The user may name any other.
const DESCRIBED_MODELS: usize = 3;

/// The description of the models for the model.
pub(crate) fn model_description(models: &[&ModelInfo]) -> String {
    let mut text =
        "Another model than yours, if the user wants one or a smaller one will do; among others:"
            .to_owned();
    let listed = models
        .iter()
        .filter(|known| known.visibility == Visibility::List);
    let described = listed.filter_map(|known| Some((&known.slug, known.description.as_ref()?)));
    for (slug, description) in described.take(DESCRIBED_MODELS) {
        let _ = write!(text, "\n- {slug}: {description}");
    }
    text
}

/// The configuration of an agent with the wishes, and its role.
pub(crate) async fn config_of(
    context: &ToolContext,
    wishes: &AgentWishes,
) -> Result<(SessionConfig, AgentRole), ToolFailure> {
    let (own, services) = (&context.session.config, &context.services);
    let settings = own.options.agents.clone().unwrap_or_default();
    let mut config = own.for_agent(&context.settings, services.agent_depth);
    choose_model(&mut config, wishes, &services.model.choices()).map_err(ToolFailure::Model)?;
    let name = wishes.role();
    let role = find_role(&settings, name.as_deref().unwrap_or(DEFAULT_ROLE)).ok_or_else(|| {
        ToolFailure::Model(format!("unknown agent_type '{}'", name.unwrap_or_default()))
    })?;
    let preparing = tokio::task::spawn_blocking(move || {
        config.read_instructions();
        config
    });
    let (Ok(mut config), Ok(changes)) = (preparing.await, role.settings.clone()) else {
        let refusal = "agent type is currently not available";
        return Err(ToolFailure::Model(refusal.to_owned()));
    };
    changes.apply(&mut config.options);
    take_policies(&mut config.options, &context.settings);
    Ok((config, role))
}

/// Applies the requested model and effort, if they are known.
fn choose_model(
    config: &mut SessionConfig,
    asked: &AgentWishes,
    known: &[&ModelInfo],
) -> Result<(), String> {
    if let Some(name) = &asked.model {
        let chosen = known.iter().find(|model| model.slug == *name);
        if chosen.is_none() && !known.is_empty() {
            let known: Vec<&str> = known.iter().map(|model| model.slug.as_str()).collect();
            let known = known.join(", ");
            return Err(format!(
                "Unknown model `{name}` for spawn_agent. Available models: {known}"
            ));
        }
        config.options.settings.model.clone_from(name);
        config.options.settings.effort =
            chosen.and_then(|model| model.default_reasoning_level.clone());
    }
    let Some(effort) = &asked.reasoning_effort else {
        return Ok(());
    };
    let model = known
        .iter()
        .find(|model| model.slug == config.options.settings.model);
    let efforts = |model: &&&ModelInfo| {
        let levels = model.supported_reasoning_levels.iter();
        levels.map(|level| level.effort.clone()).collect::<Vec<_>>()
    };
    if let Some(model) = model.filter(|model| !efforts(model).contains(effort)) {
        let known = efforts(&model);
        let known: Vec<&str> = known.iter().map(ReasoningEffort::as_str).collect();
        return Err(format!(
            "Reasoning effort `{}` is not supported for model `{}`. Supported reasoning efforts: {}",
            effort.as_str(),
            model.slug,
            known.join(", ")
        ));
    }
    config.options.settings.effort = Some(effort.clone());
    Ok(())
}
