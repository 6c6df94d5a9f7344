//! `modelProvider/*`: the providers of the configuration.

use codex_app_server_protocol::v2::{
    ConfigWriteResponse, GatewayAuth, ModelProviderCapabilitiesReadParams,
    ModelProviderCapabilitiesReadResponse, ModelProviderConfigWriteParams,
    ModelProviderConfigWriteResponse, ModelProviderDefaultSetParams, ModelProviderListParams,
    ModelProviderListResponse, ModelProviderSummary, ProviderSettings, ProviderSettingsPatch,
};
use codex_config::is_unconfigured_server;
use codex_protocol::{Provider, Update};
use serde_json::{Value, json};

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
            let is_shown = others.contains(&id.as_str()) || !is_unconfigured_server(provider);
            if is_shown {
                data.push(summary(id, provider));
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

fn summary(id: &str, provider: &Provider) -> ModelProviderSummary {
    ModelProviderSummary {
        id: id.to_owned(),
        name: provider.name.clone(),
        can_edit: !is_built_in(id),
        base_url: provider.base_url.clone().filter(|_| id != OPENAI),
        settings: settings(id, provider.env_key.clone()),
    }
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

/// Images, searches and tools in namespaces are sent to any provider.
pub(super) async fn capabilities(
    _: RequestContext,
    _: ModelProviderCapabilitiesReadParams,
) -> Result<ModelProviderCapabilitiesReadResponse, Failure> {
    Ok(ModelProviderCapabilitiesReadResponse {
        namespace_tools: true,
        image_generation: true,
        web_search: true,
    })
}

/// Adds or changes a custom provider in the user's configuration.
pub(super) async fn write(
    RequestContext { server, .. }: RequestContext,
    params: ModelProviderConfigWriteParams,
) -> Result<ModelProviderConfigWriteResponse, Failure> {
    let ProviderSettingsPatch::CustomGateway {
        base_url,
        env_key,
        name,
        provider_id,
    } = params.settings
    else {
        let message = "only custom providers can be changed; there are no cloud gateways here";
        return Err(invalid(message));
    };
    blocking(move || {
        let config = server.host().configuration().without_projects();
        let config = config.map_err(|error| Failure::internal(error.to_string()))?;
        let is_new = provider_id.is_none();
        let id = match provider_id {
            Some(id) if is_built_in(&id) => {
                return Err(invalid("built-in providers cannot be changed"));
            }
            Some(id) if !config.providers.contains_key(&id) => {
                let failure = Failure::invalid(format!("there is no provider `{id}`"));
                return Err(
                    failure.with_data(json!({ "config_write_error_code": "configPathNotFound" }))
                );
            }
            Some(id) => id,
            None => new_id(name.as_deref(), &base_url, |id| {
                config.providers.contains_key(id)
            })?,
        };
        if let Update::Set(url) = &base_url {
            check_url(url)?;
        }
        let mut edits = Vec::new();
        let mut edit = |key: &str, value: Value| {
            let path = format!("model_providers.{id}.{key}");
            edits.push((path, value));
        };
        if let Some(name) = name
            .as_deref()
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            edit("name", name.into());
        }
        if is_new {
            // What releases before this one would take without it, no server of today has.
            edit("wire_api", "responses".into());
        }
        for (key, change) in [("base_url", base_url), ("env_key", env_key)] {
            match change {
                Update::Leave => {}
                Update::Clear => edit(key, Value::Null),
                Update::Set(value) => edit(key, value.into()),
            }
        }
        super::config::edit_user(&server, edits)?;
        let config = server.host().configuration().without_projects();
        let config = config.map_err(|error| Failure::internal(error.to_string()))?;
        let provider = config.providers.get(&id);
        let provider = provider.ok_or_else(|| invalid("another layer removes the provider"))?;
        Ok(ModelProviderConfigWriteResponse {
            provider: summary(&id, provider),
        })
    })
    .await
}

/// Chooses the provider of new threads in the user's configuration.
pub(super) async fn set_default(
    RequestContext { server, .. }: RequestContext,
    params: ModelProviderDefaultSetParams,
) -> Result<ConfigWriteResponse, Failure> {
    blocking(move || {
        let config = server.host().configuration().without_projects();
        let config = config.map_err(|error| Failure::internal(error.to_string()))?;
        let id = params.provider_id;
        if !config.providers.contains_key(&id) {
            return Err(invalid(&format!("there is no provider `{id}`")));
        }
        super::config::edit_user(&server, vec![("model_provider".to_owned(), id.into())])
    })
    .await
}

fn invalid(message: &str) -> Failure {
    let code = json!({ "config_write_error_code": "configValidationError" });
    Failure::invalid(message).with_data(code)
}

/// The key of a new provider, after its name.
fn new_id(
    name: Option<&str>,
    base_url: &Update<String>,
    is_taken: impl Fn(&str) -> bool,
) -> Result<String, Failure> {
    let name = name.unwrap_or_default().to_lowercase();
    let parts = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let id = parts.join("-");
    if id.is_empty() {
        return Err(invalid(
            "a new provider needs a name with letters or digits",
        ));
    }
    if !matches!(base_url, Update::Set(_)) {
        return Err(invalid("a new provider needs a base URL"));
    }
    if !is_taken(&id) {
        return Ok(id);
    }
    let numbered = (2..).map(|number| format!("{id}-{number}"));
    let mut free = numbered.filter(|id| !is_taken(id));
    Ok(free.next().unwrap_or(id))
}

fn check_url(url: &str) -> Result<(), Failure> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let is_plain = |rest: &str| !rest.is_empty() && !rest.contains(['@', '?', '#', ' ']);
    if rest.is_some_and(is_plain) {
        return Ok(());
    }
    Err(invalid(
        "the base URL must be an HTTP or HTTPS address without a login, a query or a fragment",
    ))
}
