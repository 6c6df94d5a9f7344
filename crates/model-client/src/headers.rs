//! Builds request headers and reads reply headers.

use codex_http::Environment;
use codex_http::non_blank;
use codex_protocol::Provider;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::credential::Authorization;
use crate::event::ModelEvent;
use crate::identity::ClientIdentity;
use crate::rate_limits;
use crate::rate_limits::text;
use crate::request::RequestContext;
use crate::stream::Events;

const TURN_STATE: &str = "x-codex-turn-state";

/// Collects headers; invalid ones are omitted.
#[derive(Debug, Default)]
pub(crate) struct HeaderBuilder(HeaderMap);

impl HeaderBuilder {
    /// The headers of every request to a provider.
    pub(crate) fn common(
        provider: &Provider,
        environment: &dyn Environment,
        identity: &ClientIdentity,
        authorization: &Authorization,
    ) -> Self {
        let mut headers = Self::default();
        // Any configured header may contain a key, so all are treated as secrets.
        for (name, value) in &provider.http_headers {
            headers.set_secret(name, value);
        }
        for (name, variable) in &provider.env_http_headers {
            if let Some(value) = non_blank(environment, variable) {
                headers.set_secret(name, &value);
            }
        }
        headers.set("originator", &identity.originator);
        headers.set("user-agent", &identity.user_agent);
        if let Some(token) = authorization.bearer() {
            headers.set_secret("authorization", &format!("Bearer {}", token.reveal()));
        }
        for (name, value) in authorization.account_headers() {
            headers.set(name, value);
        }
        headers
    }

    /// Adds the headers that say what a request belongs to.
    pub(crate) fn add_context(&mut self, context: &RequestContext) {
        self.set("session_id", &context.thread_id);
        self.set_if("x-openai-subagent", context.subagent.as_deref());
        if context.us_residency {
            self.set("x-openai-internal-codex-residency", "us");
        }
        for (name, value) in &context.trace_headers {
            self.set(name, value);
        }
    }

    /// Adds the headers of turn requests.
    pub(crate) fn add_turn(&mut self, context: &RequestContext) {
        self.set("x-client-request-id", &context.thread_id);
        self.set_if("x-codex-turn-metadata", context.turn_metadata.as_deref());
        self.set_if(TURN_STATE, context.turn_state.get());
        if !context.beta_features.is_empty() {
            self.set("x-codex-beta-features", &context.beta_features.join(","));
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.insert(name, value, false);
    }

    /// Adds a header that is hidden in logs and errors.
    fn set_secret(&mut self, name: &str, value: &str) {
        self.insert(name, value, true);
    }

    fn insert(&mut self, name: &str, value: &str, is_sensitive: bool) {
        let (Ok(name), Ok(mut value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(value),
        ) else {
            tracing::warn!(name, "leaving out a header that cannot be sent");
            return;
        };
        value.set_sensitive(is_sensitive);
        self.0.insert(name, value);
    }

    pub(crate) fn set_if(&mut self, name: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.set(name, value.as_ref());
        }
    }

    pub(crate) fn into_map(self) -> HeaderMap {
        self.0
    }
}

/// The events from reply headers, in order.
pub(crate) fn reply_events(headers: &HeaderMap, context: &RequestContext) -> Events {
    let mut events = Events::new();
    events.extend(server_model(headers).map(ModelEvent::ServerModel));
    events.extend(
        rate_limits::snapshots(headers)
            .into_iter()
            .map(ModelEvent::RateLimits),
    );
    let etag = text(headers, "x-models-etag").map(str::to_owned);
    events.extend(etag.map(ModelEvent::ModelsEtag));
    if headers.contains_key("x-reasoning-included") {
        events.push_back(ModelEvent::ReasoningIncluded);
    }
    if let Some(state) = text(headers, TURN_STATE) {
        context.turn_state.remember(state);
    }
    events
}

/// The model named in reply headers.
pub(crate) fn server_model(headers: &HeaderMap) -> Option<String> {
    text(headers, "openai-model").map(str::to_owned)
}
