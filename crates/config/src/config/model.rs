//! The model and how it is asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use codex_protocol::Personality;
use codex_protocol::Provider;
use codex_protocol::ReasoningEffort;
use codex_protocol::ReasoningSummary;
use codex_protocol::ServiceTier;
use codex_protocol::Verbosity;
use serde_json::Value as Json;

use crate::config::LoadRequest;
use crate::config::instructions::read_referenced;
use crate::error::ConfigError;
use crate::features::Feature;
use crate::features::FeatureSet;
use crate::schema::ConfigFile;

/// Id of the provider when nothing is said.
const DEFAULT_PROVIDER: &str = "openai";

/// The model and how it is asked. What is absent, the model's own data settle.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// Its slug.
    pub model: Option<String>,
    /// Slug of the model that reviews.
    pub review_model: Option<String>,
    /// Id of the provider.
    pub provider_id: String,
    /// The provider.
    pub provider: Provider,
    /// How hard it thinks.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How hard it thinks in plan mode.
    pub plan_mode_reasoning_effort: Option<ReasoningEffort>,
    /// How it sums up its reasoning.
    pub reasoning_summary: Option<ReasoningSummary>,
    /// Whether it is taken to sum up its reasoning whatever its data say.
    pub force_reasoning_summaries: bool,
    /// How long its answers are.
    pub verbosity: Option<Verbosity>,
    /// Size of its context.
    pub context_window: Option<i64>,
    /// Size of the context at which history is compacted.
    pub auto_compact_token_limit: Option<i64>,
    /// How much of the output of a tool it sees.
    pub tool_output_token_limit: Option<u64>,
    /// The class of service.
    pub service_tier: Option<ServiceTier>,
    /// Its style.
    pub personality: Option<Personality>,
    /// The models there are, in place of the built-in list.
    pub catalog: Option<ModelCatalog>,
}

/// A list of models from a file; there is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCatalog {
    /// The file.
    pub path: PathBuf,
    /// Its content.
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
    let tier = params
        .service_tier
        .clone()
        .or_else(|| file.service_tier.clone());
    let default_style = features
        .enabled(Feature::Personality)
        .then_some(Personality::Pragmatic);
    Ok(ModelSettings {
        model: params.model.clone().or_else(|| file.model.clone()),
        review_model: file.review_model.clone(),
        provider_id,
        provider,
        reasoning_effort: file.model_reasoning_effort.clone(),
        plan_mode_reasoning_effort: file.plan_mode_reasoning_effort.clone(),
        reasoning_summary: file.model_reasoning_summary,
        force_reasoning_summaries: file.model_supports_reasoning_summaries == Some(true),
        verbosity: file.model_verbosity,
        context_window: file.model_context_window,
        auto_compact_token_limit: file.model_auto_compact_token_limit,
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
