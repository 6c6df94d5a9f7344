//! The model service: whether it can be reached, with which login, and whether it has the model.

use std::sync::Arc;

use codex_config::Config;
use codex_engine_host::environment::variable;
use codex_engine_host::resources::EngineResources;
use codex_engine_host::wiring;
use codex_http::without_secrets;
use codex_login::Login;
use codex_model_client::{FixedCredential, ModelError, ModelList};
use codex_protocol::{AuthMode, Provider};
use jiff::Timestamp;

use crate::finding::{Finding, FindingState};

/// How many models are named.
const MODELS_NAMED: usize = 20;

pub(crate) async fn check(config: &Config) -> Vec<Finding> {
    let resources = EngineResources::without_tightening(wiring::login_settings(config));
    let provider = &config.model.provider;
    let stored = resources.accounts().login();
    let login = login(&resources, stored.as_ref(), provider);
    let can_ask = login.state == FindingState::Ok;
    let model = if can_ask {
        // Not the accounts, which renew a login.
        let credential = stored.map(|login| login.credential());
        service(&resources, FixedCredential(credential), config).await
    } else {
        let message = format!(
            "{} was not asked: its key or login is missing or has expired",
            place(provider)
        );
        Finding::new("model", FindingState::Ok, message)
    };
    let model = model
        .fact("provider", config.model.provider_id.as_str())
        .fact(
            "base_url",
            provider.base_url.as_deref().map(without_secrets),
        )
        .fact("model", config.model.model.as_deref());
    vec![login, model]
}

/// The key or the login that requests carry.
fn login(resources: &EngineResources, stored: Option<&Login>, provider: &Provider) -> Finding {
    let found = |message: &str| Finding::new("login", FindingState::Ok, message);
    let missing = |message: String| Finding::new("login", FindingState::Warning, message);
    if let Some(name) = &provider.env_key {
        let is_set = variable(name).is_some_and(|key| !key.trim().is_empty());
        if is_set {
            return found(&format!("the key is in {name}")).fact("variable", name.as_str());
        }
        let advice = provider.env_key_instructions.clone();
        return missing(format!("{name}, which has the key, is not set"))
            .fact("variable", name.as_str())
            .advise(advice.unwrap_or_else(|| format!("Set {name}.")));
    }
    if provider.bearer_token.is_some() {
        return found("the token is in the settings");
    }
    if !provider.requires_openai_auth {
        return found("the settings of the provider name none");
    }
    match stored {
        Some(login) => logged_in(login),
        None => {
            let problem = resources.accounts().problem();
            let message = problem.unwrap_or_else(|| "nobody is logged in".to_owned());
            missing(message).advise(
                "Run `codex login`, or `codex login --with-api-key`; `model_provider` in config.toml chooses another service.",
            )
        }
    }
}

fn logged_in(login: &Login) -> Finding {
    let kind = match login.mode() {
        AuthMode::Apikey => "an API key",
        AuthMode::PersonalAccessToken => "a personal access token",
        _ => "a ChatGPT account",
    };
    let mut message = kind.to_owned();
    if let Some(email) = login.email() {
        message = format!("{message}, {email}");
    }
    let until = login.valid_until();
    let is_over = until.is_some_and(|until| until <= Timestamp::now());
    if let Some(until) = &until {
        let so_far = if is_over { "was" } else { "is" };
        message = format!("{message}; the token {so_far} valid until {until}");
    }
    let finding = match (is_over, login.is_renewed()) {
        (false, _) => Finding::new("login", FindingState::Ok, message),
        (true, true) => Finding::new("login", FindingState::Warning, message)
            .advise("The next turn renews it. If it cannot, run `codex login`."),
        (true, false) => {
            Finding::new("login", FindingState::Warning, message).advise("Run `codex login`.")
        }
    };
    finding
        .fact(
            "mode",
            serde_json::to_value(login.mode()).unwrap_or_default(),
        )
        .fact("valid_until", until.map(|until| until.to_string()))
}

/// What the service says when it is asked for its models.
async fn service(
    resources: &EngineResources,
    credential: FixedCredential,
    config: &Config,
) -> Finding {
    let provider = &config.model.provider;
    let identity = wiring::identity(wiring::ORIGINATOR, None);
    let provider_of_requests = wiring::provider(provider);
    let client = resources.client_with(provider_of_requests, identity, Arc::new(credential));
    let place = place(provider);
    match client.models().await {
        Ok(list) => listed(&place, &list, config.model.model.as_deref()),
        // Not every server has a list.
        Err(ModelError::UnexpectedStatus(status)) if matches!(status.status, 404 | 405) => {
            let message = format!("{place} answers, and does not list its models");
            Finding::new("model", FindingState::Ok, message)
        }
        Err(error) => Finding::new("model", FindingState::Error, format!("{place}: {error}"))
            .advise("Start the server, or correct `base_url`, the key or the proxy."),
    }
}

fn listed(place: &str, list: &ModelList, chosen: Option<&str>) -> Finding {
    let names: Vec<&str> = list
        .models
        .iter()
        .map(|model| model.slug.as_str())
        .collect();
    let answers = format!("{place} answers and lists {} models", names.len());
    let finding = match chosen {
        Some(model) if names.contains(&model) => {
            let message = format!("{answers}, `{model}` among them");
            Finding::new("model", FindingState::Ok, message)
        }
        Some(model) => {
            let message = format!("{answers}; `{model}` is not among them");
            let shown = names
                .iter()
                .take(MODELS_NAMED)
                .map(|name| (*name).to_owned());
            Finding::new("model", FindingState::Warning, message)
                .advise("Set `model` in config.toml to one of them, if the name is not an alias.")
                .with_details(shown)
        }
        None => Finding::new(
            "model",
            FindingState::Ok,
            format!("{answers}; the settings name none"),
        ),
    };
    finding.fact("models", names)
}

fn place(provider: &Provider) -> String {
    match &provider.base_url {
        Some(url) => without_secrets(url),
        None => provider.name.clone(),
    }
}
