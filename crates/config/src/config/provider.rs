//! Model providers: built-in and configured ones.

use std::collections::BTreeMap;
use std::time::Duration;

use codex_protocol::{Provider, Secret};

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::schema::{ConfigFile, ProviderFile};
use crate::warning::ConfigWarning;

const RETRIES_LIMIT: u64 = 100;

/// Converts a configured provider and clamps its limits.
fn configured(id: &str, file: &ProviderFile) -> Provider {
    let default = Provider::new(file.name.as_deref().unwrap_or(id), None);
    let retries = |value: Option<u64>, default| {
        let value = value.map(|value| value.min(RETRIES_LIMIT));
        value
            .and_then(|value| u32::try_from(value).ok())
            .unwrap_or(default)
    };
    let millis = |value: Option<u64>, default| value.map_or(default, Duration::from_millis);
    Provider {
        base_url: file.base_url.as_deref().and_then(base_url),
        wire_api: file.wire_api,
        env_key: file.env_key.clone(),
        env_key_instructions: file.env_key_instructions.clone(),
        bearer_token: file.experimental_bearer_token.clone().map(Secret::from),
        query_params: file.query_params.clone().unwrap_or_default(),
        http_headers: file.http_headers.clone().unwrap_or_default(),
        env_http_headers: file.env_http_headers.clone().unwrap_or_default(),
        request_max_retries: retries(file.request_max_retries, default.request_max_retries),
        stream_max_retries: retries(file.stream_max_retries, default.stream_max_retries),
        stream_idle_timeout: millis(file.stream_idle_timeout_ms, default.stream_idle_timeout),
        websocket_connect_timeout: millis(
            file.websocket_connect_timeout_ms,
            default.websocket_connect_timeout,
        ),
        requires_openai_auth: file.requires_openai_auth,
        supports_websockets: file.supports_websockets,
        takes_compressed_requests: default.takes_compressed_requests,
        name: default.name,
    }
}

/// The address without trailing slashes; `None` if it is blank.
fn base_url(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('/');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The name of the built-in providers on this machine.
const LOCAL_NAME: &str = "gpt-oss";

/// All providers by id.
pub(super) fn providers(
    file: &ConfigFile,
    env: &Environment,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<BTreeMap<String, Provider>, ConfigError> {
    let mut providers = BTreeMap::from([
        ("openai".to_owned(), openai(file, env, warnings)),
        ("ollama".to_owned(), local(env, 11434)),
        ("lmstudio".to_owned(), local(env, 1234)),
    ]);
    let reserved: Vec<&str> = file
        .model_providers
        .keys()
        .map(String::as_str)
        .filter(|id| providers.contains_key(*id))
        .collect();
    if !reserved.is_empty() {
        return Err(ConfigError::setting(format!(
            "model_providers contains reserved built-in provider IDs: {}. Built-in providers cannot \
             be overridden; give yours another id.",
            reserved.join(", "),
        )));
    }
    // People may have given these names to providers of their own.
    for (id, port) in [("llamacpp", 8080), ("vllm", 8000)] {
        providers.insert(id.to_owned(), local(env, port));
    }
    let own = file.model_providers.iter();
    providers.extend(own.map(|(id, provider)| (id.clone(), configured(id, provider))));
    Ok(providers)
}

fn openai(file: &ConfigFile, env: &Environment, warnings: &mut Vec<ConfigWarning>) -> Provider {
    let configured = file.openai_base_url.as_deref().and_then(base_url);
    let from_variable = env.variables.openai_base_url.as_deref().and_then(base_url);
    if configured.is_none() && from_variable.is_some() {
        warnings.push(ConfigWarning::new(
            "`OPENAI_BASE_URL` is deprecated. Set `openai_base_url` in config.toml instead.",
        ));
    }
    let header = |name: &str, variable: &str| (name.to_owned(), variable.to_owned());
    Provider {
        env_http_headers: BTreeMap::from([
            header("OpenAI-Organization", "OPENAI_ORGANIZATION"),
            header("OpenAI-Project", "OPENAI_PROJECT"),
        ]),
        requires_openai_auth: true,
        supports_websockets: true,
        ..Provider::new("OpenAI", configured.or(from_variable))
    }
}

fn local(env: &Environment, default_port: u16) -> Provider {
    let port = env
        .variables
        .oss_port
        .as_deref()
        .and_then(|port| port.parse().ok());
    let port: u16 = port.unwrap_or(default_port);
    let url = env.variables.oss_base_url.as_deref().and_then(base_url);
    let url = url.unwrap_or_else(|| format!("http://localhost:{port}/v1"));
    Provider::new(LOCAL_NAME, Some(url))
}

/// Whether a provider is a server on this machine that nobody has configured, and that may not run.
#[must_use]
pub fn is_unconfigured_server(provider: &Provider) -> bool {
    provider.name == LOCAL_NAME
}

#[cfg(test)]
mod tests {
    use codex_protocol::WireApi;

    use super::*;

    fn all(text: &str, env: &Environment) -> (BTreeMap<String, Provider>, usize) {
        let mut warnings = Vec::new();
        let file = toml::from_str(text).unwrap();
        let providers = providers(&file, env, &mut warnings).unwrap();
        (providers, warnings.len())
    }

    #[test]
    fn provider_without_a_name_is_called_by_its_id() {
        let text = "[model_providers.mine]\nbase_url = 'http://127.0.0.1:1'";
        let (providers, _) = all(text, &Environment::default());
        assert_eq!(providers["mine"].name, "mine");
    }

    #[test]
    fn provider_address_prefers_settings_to_variables() {
        let mut env = Environment::default();
        let url = |text: &str, env: &Environment, id: &str| {
            let (providers, warnings) = all(text, env);
            (providers[id].base_url.clone(), warnings)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(url("", &env, "openai"), (None, 0));
        assert_eq!(
            url("", &env, "ollama"),
            (some("http://localhost:11434/v1"), 0)
        );
        assert_eq!(
            url("", &env, "llamacpp"),
            (some("http://localhost:8080/v1"), 0)
        );
        let own = "[model_providers.vllm]\nbase_url = 'http://mine/v1'";
        assert_eq!(url(own, &env, "vllm"), (some("http://mine/v1"), 0));
        let (providers, _) = all(own, &env);
        assert!(is_unconfigured_server(&providers["llamacpp"]));
        assert!(!is_unconfigured_server(&providers["vllm"]));
        env.variables.openai_base_url = some("http://e/v1/");
        env.variables.oss_port = some("99");
        assert_eq!(url("", &env, "openai"), (some("http://e/v1"), 1));
        assert_eq!(
            url("openai_base_url = 'http://c/'", &env, "openai"),
            (some("http://c"), 0)
        );
        assert_eq!(
            url("openai_base_url = ' '", &env, "openai"),
            (some("http://e/v1"), 1)
        );
        assert_eq!(
            url("", &env, "lmstudio"),
            (some("http://localhost:99/v1"), 1)
        );
        env.variables.oss_base_url = some("http://oss/v1");
        assert_eq!(url("", &env, "lmstudio"), (some("http://oss/v1"), 1));
    }

    #[test]
    fn settings_have_defaults_and_limits() {
        let (providers, _) = all(
            "[model_providers.x]\nname = 'X'\nrequest_max_retries = 1000\nwire_api = 'chat'",
            &Environment::default(),
        );
        let provider = &providers["x"];
        assert_eq!(provider.request_max_retries, 100);
        assert_eq!(provider.stream_max_retries, 5);
        assert_eq!(provider.stream_idle_timeout, Duration::from_secs(300));
        assert_eq!(provider.wire_api, WireApi::Chat);
    }

    #[test]
    fn built_in_ids_are_reserved() {
        let file = toml::from_str("[model_providers.openai]\nname = 'X'").unwrap();
        let error = providers(&file, &Environment::default(), &mut Vec::new()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("model_providers contains reserved built-in provider IDs: openai"),
        );
    }
}
