//! The model and its parameters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_protocol::{
    Personality, Provider, ReasoningEffort, ReasoningSummary, ServiceTier, Verbosity,
};
use serde_json::Value as Json;

use crate::config::LoadRequest;
use crate::config::instructions::read_referenced;
use crate::error::ConfigError;
use crate::features::{Feature, FeatureSet};
use crate::schema::{CompactScope, ConfigFile};

/// The provider if none is configured.
const DEFAULT_PROVIDER: &str = "openai";

/// The model and its parameters. Where one is absent, the model catalogue decides.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// The slug of the model.
    pub model: Option<String>,
    /// The slugs of the models that go on where it cannot.
    pub fallbacks: Vec<String>,
    /// How long a request may wait in all for a usage limit to be reset.
    pub usage_limit_wait: Duration,
    /// The slug of the model for reviews.
    pub review_model: Option<String>,
    /// The id of the provider.
    pub provider_id: String,
    pub provider: Provider,
    /// The reasoning effort.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The reasoning effort in plan mode.
    pub plan_mode_reasoning_effort: Option<ReasoningEffort>,
    /// The form of reasoning summaries.
    pub reasoning_summary: Option<ReasoningSummary>,
    /// Requests reasoning summaries even if the catalogue says that the model has none.
    pub force_reasoning_summaries: bool,
    /// Whether the user is told where a request does not begin like the one before it.
    pub prompt_cache_notices: bool,
    /// The length of answers.
    pub verbosity: Option<Verbosity>,
    /// The size of the context window in tokens.
    pub context_window: Option<i64>,
    /// The number of tokens at which the history is compacted.
    pub auto_compact_token_limit: Option<i64>,
    /// Whether that limit is on what was added since the first response after the start or a compaction.
    pub auto_compact_counts_growth: bool,
    /// The part of the context window, in percent, from which on the history is compacted after a turn.
    pub compact_after_turn_percent: Option<u8>,
    /// How many tokens of a tool's output the model sees.
    pub tool_output_token_limit: Option<u64>,
    /// The service tier.
    pub service_tier: Option<ServiceTier>,
    /// The personality.
    pub personality: Option<Personality>,
    /// Replaces the built-in model catalogue.
    pub catalog: Option<ModelCatalog>,
}

/// A model catalogue from a file, with at least one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCatalog {
    pub path: PathBuf,
    pub json: Json,
}

pub(super) fn resolve(
    file: &ConfigFile,
    request: LoadRequest<'_>,
    providers: &BTreeMap<String, Provider>,
    features: FeatureSet,
) -> Result<ModelSettings, ConfigError> {
    let params = request.params;
    let chosen = params
        .model_provider
        .clone()
        .or_else(|| file.model_provider.clone());
    let provider_id = chosen.unwrap_or_else(|| DEFAULT_PROVIDER.to_owned());
    let provider = providers
        .get(&provider_id)
        .ok_or_else(|| unknown_provider(&provider_id))?
        .clone();
    if provider.base_url.is_none() && file.model_providers.contains_key(&provider_id) {
        return Err(without_address(&provider_id));
    }
    let tier = params
        .service_tier
        .clone()
        .or_else(|| file.service_tier.clone());
    let default_style = features
        .enabled(Feature::Personality)
        .then_some(Personality::Pragmatic);
    Ok(ModelSettings {
        model: params.model.clone().or_else(|| file.model.clone()),
        fallbacks: file.model_fallbacks.clone().unwrap_or_default(),
        usage_limit_wait: Duration::from_secs(file.usage_limit_wait_seconds.unwrap_or(0)),
        review_model: file.review_model.clone(),
        provider_id,
        provider,
        reasoning_effort: file.model_reasoning_effort.clone(),
        plan_mode_reasoning_effort: file.plan_mode_reasoning_effort.clone(),
        reasoning_summary: file.model_reasoning_summary,
        force_reasoning_summaries: file.model_supports_reasoning_summaries == Some(true),
        prompt_cache_notices: file.prompt_cache_notices.unwrap_or(false),
        verbosity: file.model_verbosity,
        context_window: file.model_context_window,
        auto_compact_token_limit: file.model_auto_compact_token_limit,
        auto_compact_counts_growth: file.model_auto_compact_token_limit_scope
            == Some(CompactScope::BodyAfterPrefix),
        compact_after_turn_percent: file.model_post_turn_compact_threshold_percent,
        tool_output_token_limit: file.tool_output_token_limit,
        service_tier: tier.filter(|tier| !tier.is_fast() || features.enabled(Feature::FastMode)),
        personality: params.personality.or(file.personality).or(default_style),
        catalog: file
            .model_catalog_json
            .as_deref()
            .map(read_catalog)
            .transpose()?,
    })
}

/// Requests of a provider without an address would go to the hosted service, which the person may not have meant.
fn without_address(id: &str) -> ConfigError {
    ConfigError::in_table(
        "missing field `base_url`: the address of the model provider, for example \
         \"http://127.0.0.1:8080/v1\""
            .to_owned(),
        Some(format!("model_providers.{id}")),
    )
}

fn unknown_provider(id: &str) -> ConfigError {
    if id == "ollama-chat" {
        return ConfigError::setting(
            "`model_provider = \"ollama-chat\"` is no longer supported. Use `ollama` instead.",
        );
    }
    ConfigError::ProviderNotFound(id.to_owned())
}

fn read_catalog(path: &Path) -> Result<ModelCatalog, ConfigError> {
    let text = read_referenced("model catalog", path)?;
    let json: Json = serde_json::from_str(&text).map_err(|error| {
        let path = path.display();
        ConfigError::setting(format!(
            "model_catalog_json names {path}, which is not a model catalogue: {error}"
        ))
    })?;
    let models = json.get("models").and_then(Json::as_array);
    if models.is_none_or(Vec::is_empty) {
        return Err(ConfigError::setting(format!(
            "model_catalog_json path `{}` must contain at least one model",
            path.display(),
        )));
    }
    Ok(ModelCatalog {
        path: path.to_path_buf(),
        json,
    })
}
