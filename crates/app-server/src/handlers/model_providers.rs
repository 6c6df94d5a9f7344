//! `modelProvider/*`: the providers of the configuration.

use codex_app_server_protocol::v2::{
    GatewayAuth, ModelProviderCapabilitiesReadParams, ModelProviderCapabilitiesReadResponse,
    ModelProviderConfigWriteParams, ModelProviderListParams, ModelProviderListResponse,
    ModelProviderSummary, ProviderSettings,
};

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;

const OPENAI: &str = "openai";

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    _: ModelProviderListParams,
) -> Result<ModelProviderListResponse, Failure> {
    blocking(move || {
        let config = server.host().configuration().without_projects();
        let config = config.map_err(|error| Failure::internal(error.to_string()))?;
        let selected = &config.model.provider_id;
        let others = [selected.as_str(), OPENAI];
        let mut data = Vec::new();
        for (id, provider) in &config.providers {
            // The other built-in providers are servers on this machine, which may not run.
            let is_shown = others.contains(&id.as_str()) || !is_built_in(id);
            if is_shown {
                data.push(ModelProviderSummary {
                    id: id.clone(),
                    name: provider.name.clone(),
                    can_edit: false,
                    base_url: provider.base_url.clone().filter(|_| id != OPENAI),
                    settings: settings(id, provider.env_key.clone()),
                });
            }
        }
        Ok(ModelProviderListResponse {
            data,
            default_provider_id: selected.clone(),
            can_change_default: true,
        })
    })
    .await
}

fn is_built_in(id: &str) -> bool {
    matches!(id, "ollama" | "lmstudio" | OPENAI)
}

fn settings(id: &str, env_key: Option<String>) -> ProviderSettings {
    if id == OPENAI {
        return ProviderSettings::Openai;
    }
    let auth = match env_key {
        Some(env_key) => GatewayAuth::EnvironmentVariable { env_key },
        None => GatewayAuth::None,
    };
    ProviderSettings::CustomGateway { auth }
}

/// Images and searches are sent to any provider.
pub(super) async fn capabilities(
    _: RequestContext,
    _: ModelProviderCapabilitiesReadParams,
) -> Result<ModelProviderCapabilitiesReadResponse, Failure> {
    Ok(ModelProviderCapabilitiesReadResponse {
        image_generation: true,
        web_search: true,
    })
}

pub(super) async fn write(_: RequestContext, _: ModelProviderConfigWriteParams) -> Failure {
    Failure::invalid("model providers are changed in config.toml or with `config/batchWrite`")
}
