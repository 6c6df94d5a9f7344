//! Shared by the tests: a client of a scripted server.
#![allow(dead_code, reason = "each test program uses its part")]
#![expect(
    clippy::unwrap_used,
    reason = "the lint does not see that these are tests"
)]

use std::sync::Arc;

use codex_http::{HttpPool, HttpSettings};
use codex_model_client::{
    ClientDependencies, ClientIdentity, Credential, FixedCredential, HttpModelClient, ModelClient,
    ModelError, ModelEvent, ModelRequest, ModelStream, Platform, Provider, Secret,
};
use codex_test_support::{HttpReply, ModelServer, ScriptedClock};
use futures::StreamExt;

pub(crate) struct Setup {
    pub(crate) server: ModelServer,
    pub(crate) provider: Provider,
    pub(crate) dependencies: ClientDependencies,
    pub(crate) clock: Arc<ScriptedClock>,
}

impl Setup {
    pub(crate) async fn new(replies: impl IntoIterator<Item = HttpReply>) -> Self {
        let server = ModelServer::start(replies).await.unwrap();
        let clock = Arc::new(ScriptedClock::default());
        Self {
            provider: Provider::new("Test", Some(server.base_url())),
            dependencies: dependencies(Arc::clone(&clock)),
            server,
            clock,
        }
    }

    pub(crate) fn client(&self) -> HttpModelClient {
        HttpModelClient::new(self.provider.clone(), self.dependencies.clone())
    }

    pub(crate) async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        self.client().stream(request).await
    }

    /// The events of a response, and the error at its end, if any.
    pub(crate) async fn ask(
        &self,
        request: &ModelRequest,
    ) -> (Vec<ModelEvent>, Option<ModelError>) {
        match self.stream(request).await {
            Ok(stream) => drain(stream).await,
            Err(error) => (Vec::new(), Some(error)),
        }
    }

    /// The error that a request ends with.
    pub(crate) async fn error(&self) -> ModelError {
        self.ask(&request()).await.1.unwrap()
    }
}

fn dependencies(clock: Arc<ScriptedClock>) -> ClientDependencies {
    let platform = Platform {
        os: "Linux",
        os_version: "6",
        architecture: "x86_64",
        terminal: "term",
    };
    ClientDependencies {
        identity: ClientIdentity::new("test_client", "1.2.3", platform, None),
        environment: Arc::new(|name: &str| (name == "TEST_KEY").then(|| "from-env".to_owned())),
        credentials: Arc::new(FixedCredential::default()),
        clock,
        http: Arc::new(HttpPool::new(HttpSettings::default())),
    }
}

pub(crate) async fn drain(mut stream: ModelStream) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert_eq!(stream.next().await, None, "an error is the end");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

pub(crate) fn request() -> ModelRequest {
    let mut request = ModelRequest {
        model: "m".to_owned(),
        instructions: "do".into(),
        ..ModelRequest::default()
    };
    request.context.thread_id = "thread-1".to_owned();
    request
}

pub(crate) fn chatgpt(token: &str) -> Credential {
    Credential::ChatGpt {
        access_token: Secret::from(token),
        account_id: Some("account-1".to_owned()),
        is_fedramp: false,
    }
}

/// The text of all text deltas.
pub(crate) fn text(events: &[ModelEvent]) -> String {
    let delta = |event: &ModelEvent| match event {
        ModelEvent::TextDelta(text) => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

pub(crate) fn is_complete(events: &[ModelEvent]) -> bool {
    matches!(events.last(), Some(ModelEvent::Completed(_)))
}
