//! Providers: where a model is reached, and how requests to it look.
//!
//! A provider is plain values, as they stand in configuration. The built-in ones are made here, from
//! values too. Whether the tables of configuration are allowed to say what they say is decided there;
//! here it is only checked that they do not take the name of a built-in provider.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::environment::Environment;
use crate::environment::non_blank;
use crate::retry::RetryPolicy;
use crate::secret::Secret;

/// The most repeats that configuration can ask for.
const MAX_RETRIES: u32 = 100;
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
const CHATGPT_BASE_URL: &str = "https://chatgpt.com/backend-api/codex";

/// Parts of a host or path by which an Azure endpoint is known.
const AZURE_MARKS: [&str; 6] = [
    "openai.azure.",
    "cognitiveservices.azure.",
    "aoai.azure.",
    "azure-api.",
    "azurefd.",
    "windows.net/openai",
];

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireApi {
    /// The Responses API.
    #[default]
    Responses,
    /// Chat Completions.
    Chat,
}

/// A place where models are reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Provider {
    /// The name for display. `azure`, in any case, marks an Azure endpoint.
    pub name: String,
    /// The address that paths are appended to. Without one it is the hosted API that belongs to the
    /// credential.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The protocol.
    #[serde(default)]
    pub wire_api: WireApi,
    /// The environment variable that holds the bearer token.
    #[serde(default)]
    pub env_key: Option<String>,
    /// What to tell a person in whose environment it is missing.
    #[serde(default)]
    pub env_key_instructions: Option<String>,
    /// A bearer token.
    #[serde(default)]
    pub experimental_bearer_token: Option<Secret>,
    /// Parameters of every URL, not encoded any further.
    #[serde(default)]
    pub query_params: BTreeMap<String, String>,
    /// Headers of every request.
    #[serde(default)]
    pub http_headers: BTreeMap<String, String>,
    /// Headers of every request whose values are in environment variables.
    #[serde(default)]
    pub env_http_headers: BTreeMap<String, String>,
    /// How often a request is repeated before there is any reply.
    #[serde(default)]
    pub request_max_retries: Option<u32>,
    /// How often a request is repeated after its stream failed.
    #[serde(default)]
    pub stream_max_retries: Option<u32>,
    /// After how many milliseconds without an event a stream counts as dead.
    #[serde(default)]
    pub stream_idle_timeout_ms: Option<u64>,
    /// Whether the login of the session is for this provider. Only then is it sent.
    #[serde(default)]
    pub requires_openai_auth: bool,
}

impl Provider {
    /// A provider with a name and an address, and nothing else out of the ordinary.
    pub fn new(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            base_url: Some(base_url.into()),
            ..Self::named(name.into())
        }
    }

    fn named(name: String) -> Self {
        Self {
            name,
            base_url: None,
            wire_api: WireApi::Responses,
            env_key: None,
            env_key_instructions: None,
            experimental_bearer_token: None,
            query_params: BTreeMap::new(),
            http_headers: BTreeMap::new(),
            env_http_headers: BTreeMap::new(),
            request_max_retries: None,
            stream_max_retries: None,
            stream_idle_timeout_ms: None,
            requires_openai_auth: false,
        }
    }

    /// The hosted API. `base_url` is what configuration says in place of its usual address.
    pub fn openai(
        base_url: Option<&str>,
        client_version: &str,
        environment: &dyn Environment,
    ) -> Self {
        let headers = [("version", client_version)];
        let environment_headers = [
            ("OpenAI-Organization", "OPENAI_ORGANIZATION"),
            ("OpenAI-Project", "OPENAI_PROJECT"),
        ];
        Self {
            base_url: base_url
                .map(str::to_owned)
                .or_else(|| non_blank(environment, "OPENAI_BASE_URL")),
            http_headers: owned(&headers),
            env_http_headers: owned(&environment_headers),
            requires_openai_auth: true,
            ..Self::named("OpenAI".to_owned())
        }
    }

    /// A local server, on a port of its own unless the environment says where it is.
    fn local(default_port: u16, environment: &dyn Environment) -> Self {
        let url = non_blank(environment, "CODEX_OSS_BASE_URL").unwrap_or_else(|| {
            let port = environment
                .variable("CODEX_OSS_PORT")
                .and_then(|port| port.trim().parse().ok())
                .unwrap_or(default_port);
            format!("http://localhost:{port}/v1")
        });
        Self::new("gpt-oss", url)
    }

    /// How often, and after which waits, a request is repeated before there is any reply.
    pub fn request_retries(&self) -> RetryPolicy {
        RetryPolicy::new(self.request_max_retries.unwrap_or(4).min(MAX_RETRIES))
    }

    /// How often, and after which waits, a request is repeated after its stream failed.
    pub fn stream_retries(&self) -> RetryPolicy {
        RetryPolicy::new(self.stream_max_retries.unwrap_or(5).min(MAX_RETRIES))
    }

    /// After how long without an event a stream counts as dead.
    pub fn stream_idle_timeout(&self) -> Duration {
        Duration::from_millis(self.stream_idle_timeout_ms.unwrap_or(300_000))
    }

    /// Whether it is an Azure endpoint, which stores responses and wants item ids back.
    pub fn is_azure(&self) -> bool {
        self.name.eq_ignore_ascii_case("azure")
            || self.base_url.as_ref().is_some_and(|url| {
                let url = url.to_ascii_lowercase();
                AZURE_MARKS.iter().any(|mark| url.contains(mark))
            })
    }

    /// The URL of a path, for a session that is logged in with ChatGPT or is not.
    pub(crate) fn url(&self, path: &str, chatgpt: bool, query: &[(&str, &str)]) -> String {
        let base = match &self.base_url {
            Some(url) => url.as_str(),
            None if chatgpt => CHATGPT_BASE_URL,
            None => OPENAI_BASE_URL,
        };
        let mut url = format!("{}/{path}", base.trim_end_matches('/'));
        let configured = self
            .query_params
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        for (index, (key, value)) in configured.chain(query.iter().copied()).enumerate() {
            url.push(if index == 0 { '?' } else { '&' });
            url.push_str(key);
            url.push('=');
            url.push_str(value);
        }
        url
    }
}

fn owned(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

/// A set of providers that cannot be, or one that is not in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Configuration redefines built-in providers.
    #[error(
        "model_providers contains reserved built-in provider IDs: {}. \
         Give the provider another name.",
        .0.join(", ")
    )]
    ReservedIds(Vec<String>),
    /// There is no such provider.
    #[error("Model provider `{0}` not found")]
    NotFound(String),
    /// The name that the local provider had when it spoke Chat Completions.
    #[error("Model provider `ollama-chat` is no longer there: use `ollama`")]
    OllamaChat,
}

/// All providers that a session can choose from, by id.
#[derive(Clone, Debug)]
pub struct Providers(BTreeMap<String, Provider>);

impl Providers {
    /// The configured providers and the built-in ones.
    pub fn new(
        configured: BTreeMap<String, Provider>,
        openai: Provider,
        environment: &dyn Environment,
    ) -> Result<Self, ProviderError> {
        let built_in = [
            ("openai", openai),
            ("ollama", Provider::local(11434, environment)),
            ("lmstudio", Provider::local(1234, environment)),
        ];
        let reserved = |(id, _): &(&str, Provider)| configured.contains_key(*id);
        let taken: Vec<String> = built_in
            .iter()
            .filter(|entry| reserved(entry))
            .map(|(id, _)| (*id).to_owned())
            .collect();
        if !taken.is_empty() {
            return Err(ProviderError::ReservedIds(taken));
        }
        let mut providers = configured;
        providers.extend(built_in.map(|(id, provider)| (id.to_owned(), provider)));
        Ok(Self(providers))
    }

    /// The provider with this id.
    pub fn get(&self, id: &str) -> Result<&Provider, ProviderError> {
        match self.0.get(id) {
            Some(provider) => Ok(provider),
            None if id == "ollama-chat" => Err(ProviderError::OllamaChat),
            None => Err(ProviderError::NotFound(id.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    fn openai() -> Provider {
        Provider::openai(None, "1.2.3", &nothing)
    }

    fn providers(environment: &dyn Environment) -> Providers {
        Providers::new(BTreeMap::new(), openai(), environment).unwrap()
    }

    #[test]
    fn a_table_of_configuration_reads_with_its_defaults() {
        let provider: Provider = serde_json::from_value(serde_json::json!({
            "name": "Mine", "base_url": "http://x/v1/", "wire_api": "chat", "unknown": 1,
            "request_max_retries": 1000,
        }))
        .unwrap();
        assert_eq!(provider.wire_api, WireApi::Chat);
        assert_eq!(provider.request_retries().max_retries(), 100);
        assert_eq!(provider.stream_retries().max_retries(), 5);
        assert_eq!(provider.stream_idle_timeout(), Duration::from_secs(300));
        assert_eq!(
            provider.url("responses", false, &[]),
            "http://x/v1/responses"
        );
        assert!(serde_json::from_str::<Provider>(r#"{"name":"x","wire_api":"soap"}"#).is_err());
    }

    #[test]
    fn query_parameters_are_appended_as_they_are() {
        let mut provider = Provider::new("Mine", "http://x");
        provider.query_params = owned(&[("a", "1 2"), ("b", "é")]);
        assert_eq!(
            provider.url("models", false, &[("c", "3")]),
            "http://x/models?a=1 2&b=é&c=3"
        );
    }

    #[test]
    fn the_default_address_depends_on_the_login() {
        assert_eq!(openai().url("r", false, &[]), "https://api.openai.com/v1/r");
        assert_eq!(
            openai().url("r", true, &[]),
            "https://chatgpt.com/backend-api/codex/r"
        );
        let variable = |name: &str| (name == "OPENAI_BASE_URL").then(|| "http://env".to_owned());
        let from_environment = Provider::openai(None, "1", &variable);
        assert_eq!(from_environment.url("r", true, &[]), "http://env/r");
        let from_config = Provider::openai(Some("http://config"), "1", &variable);
        assert_eq!(from_config.url("r", true, &[]), "http://config/r");
    }

    #[test]
    fn local_providers_follow_the_environment() {
        let url = |id, environment: &dyn Environment| {
            providers(environment).get(id).unwrap().url("r", false, &[])
        };
        assert_eq!(url("ollama", &nothing), "http://localhost:11434/v1/r");
        assert_eq!(url("lmstudio", &nothing), "http://localhost:1234/v1/r");
        let port = |name: &str| (name == "CODEX_OSS_PORT").then(|| "99".to_owned());
        assert_eq!(url("ollama", &port), "http://localhost:99/v1/r");
        let odd_port = |name: &str| (name == "CODEX_OSS_PORT").then(|| "99999".to_owned());
        assert_eq!(url("ollama", &odd_port), "http://localhost:11434/v1/r");
        let base = |name: &str| (name == "CODEX_OSS_BASE_URL").then(|| "http://o".to_owned());
        assert_eq!(url("lmstudio", &base), "http://o/r");
    }

    #[test]
    fn built_in_names_are_reserved_and_unknown_ones_refused() {
        let configured = BTreeMap::from([
            ("openai".to_owned(), openai()),
            ("mine".to_owned(), openai()),
        ]);
        let error = Providers::new(configured, openai(), &nothing).unwrap_err();
        assert_eq!(error, ProviderError::ReservedIds(vec!["openai".to_owned()]));
        let providers = providers(&nothing);
        let error = providers.get("x").unwrap_err();
        assert_eq!(error.to_string(), "Model provider `x` not found");
        assert_eq!(providers.get("ollama-chat"), Err(ProviderError::OllamaChat));
    }

    #[test]
    fn azure_is_known_by_name_and_by_address() {
        assert!(Provider::new("AZURE", "http://x").is_azure());
        assert!(Provider::new("x", "https://a.openai.AZURE.com/openai").is_azure());
        assert!(!Provider::new("x", "https://api.openai.com").is_azure());
    }

    #[test]
    fn tokens_are_not_printed() {
        let mut provider = Provider::new("Mine", "http://x");
        provider.experimental_bearer_token = Some(Secret::from("hunter2"));
        assert!(!format!("{provider:?}").contains("hunter2"));
    }
}
