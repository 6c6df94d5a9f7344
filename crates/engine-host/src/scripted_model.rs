//! The scripted model as a provider for the engine.

use anyhow::Context;
use codex_config::Overrides;
use codex_protocol::{Provider, WireApi};
use codex_scenario::{RealtimeProtocol, Scenario, ScenarioServer, Transport};
use serde_json::{Map, Value, json};

/// The model that scripts are written for: one that calls tools itself.
pub const SCRIPTED_MODEL: &str = "gpt-5.3-codex";

/// The name of the provider.
pub const SCRIPTED_PROVIDER: &str = "scenario";

/// A running scripted model. It stops when this is dropped.
#[derive(Debug)]
pub struct ScenarioModel {
    server: ScenarioServer,
    supports_websockets: bool,
}

impl ScenarioModel {
    /// Starts the model. Also returns the settings for a server that uses it.
    pub async fn start(scenario: Scenario) -> anyhow::Result<(Overrides, Self)> {
        let mut settings = settings(&scenario);
        let supports_websockets = scenario.transport == Transport::Websocket;
        let server = ScenarioServer::start(scenario).await;
        let server = server.context("cannot start the scripted model")?;
        let base_url = format!("model_providers.{SCRIPTED_PROVIDER}.base_url");
        settings.insert(base_url, json!(server.base_url()));
        let mut overrides = Overrides::default();
        overrides.add_json(&settings)?;
        let model = Self {
            server,
            supports_websockets,
        };
        Ok((overrides, model))
    }

    /// Replaces a configured provider, so that no request is sent to it.
    pub fn in_place_of(&self, configured: &Provider) -> Provider {
        Provider {
            base_url: Some(self.server.base_url()),
            wire_api: WireApi::Responses,
            env_key: None,
            bearer_token: None,
            query_params: Default::default(),
            http_headers: Default::default(),
            env_http_headers: Default::default(),
            requires_openai_auth: false,
            supports_websockets: self.supports_websockets,
            ..configured.clone()
        }
    }
}

/// The settings of a scenario, with the provider of the model.
fn settings(scenario: &Scenario) -> Map<String, Value> {
    let mut settings = scenario.settings.clone();
    let retries = scenario.retries;
    let given = [
        ("name", Some(json!("Scenario"))),
        ("wire_api", Some(json!("responses"))),
        (
            "supports_websockets",
            Some(json!(scenario.transport == Transport::Websocket)),
        ),
        ("request_max_retries", retries.requests.map(Value::from)),
        ("stream_max_retries", retries.streams.map(Value::from)),
        (
            "stream_idle_timeout_ms",
            retries.idle_timeout_ms.map(Value::from),
        ),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            settings.insert(format!("model_providers.{SCRIPTED_PROVIDER}.{name}"), value);
        }
    }
    settings.insert("model_provider".to_owned(), json!(SCRIPTED_PROVIDER));
    if let Some(realtime) = &scenario.realtime {
        let version = match realtime.version {
            RealtimeProtocol::V1 => "v1",
            RealtimeProtocol::V2 => "v2",
        };
        settings.insert("features.realtime_conversation".to_owned(), json!(true));
        settings.insert("realtime.version".to_owned(), json!(version));
    }
    settings
}
