//! The requests that the client sends: URL, headers, body, credentials, connections.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use codex_model_client::{
    AttemptObserver, Completion, Credential, CredentialError, CredentialSource, FixedCredential,
    ModelClient, ModelError, ModelEvent, Provider, Recovery, Secret,
};
use codex_protocol::{CodexErrorInfo, ResponseItem};
use codex_test_support::{HttpReply, sse};
use parking_lot::Mutex;
use serde_json::json;
use support::{Setup, chatgpt, is_complete, request, text};

fn hello() -> HttpReply {
    HttpReply::stream(&sse::text("hello"))
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

#[tokio::test]
async fn a_plain_request() {
    let setup = Setup::new([hello()]).await;
    let (events, error) = setup.ask(&request()).await;
    assert_eq!(error, None);
    assert_eq!(text(&events), "hello");
    assert!(is_complete(&events));
    assert!(matches!(
        events[..2],
        [ModelEvent::RateLimits(_), ModelEvent::Created]
    ));

    let sent = setup.server.request(0).await;
    assert_eq!((&*sent.method, &*sent.path), ("POST", "/v1/responses"));
    assert_eq!(sent.json()["prompt_cache_key"], "thread-1");
    let expected = [
        ("accept", Some("text/event-stream")),
        ("content-type", Some("application/json")),
        ("originator", Some("test_client")),
        (
            "user-agent",
            Some("test_client/1.2.3 (Linux 6; x86_64) term"),
        ),
        ("session_id", Some("thread-1")),
        ("x-client-request-id", Some("thread-1")),
        ("authorization", None),
        ("accept-encoding", None),
        ("x-codex-turn-state", None),
        ("x-codex-turn-metadata", None),
        ("x-codex-beta-features", None),
        ("x-openai-subagent", None),
    ];
    for (name, value) in expected {
        assert_eq!(sent.header(name), value, "{name}");
    }
}

#[tokio::test]
async fn requests_carry_all_configured_headers_and_parameters() {
    let mut setup = Setup::new([hello().header("x-codex-turn-state", "node-7"), hello()]).await;
    setup.provider.query_params = map(&[("api-version", "1"), ("x", "2")]);
    setup.provider.http_headers = map(&[("X-Static", "s"), ("Originator", "no"), ("b d", "x")]);
    setup.provider.env_http_headers = map(&[("X-Env", "TEST_KEY"), ("X-Unset", "UNSET")]);
    let mut request = request();
    request.context.turn_metadata = Some("{}".to_owned());
    request.context.has_client_metadata = true;
    request.context.beta_features = vec!["a".to_owned(), "b".to_owned()];
    request.context.subagent = Some("review".to_owned());
    request.context.us_residency = true;
    request.context.trace_headers = vec![("traceparent".to_owned(), "00-1".to_owned())];
    assert_eq!(setup.ask(&request).await.1, None);
    assert_eq!(setup.ask(&request).await.1, None);

    let sent = setup.server.requests();
    assert_eq!(sent[0].query, "api-version=1&x=2");
    let expected = [
        ("x-static", Some("s")),
        ("originator", Some("test_client")),
        ("x-env", Some("from-env")),
        ("x-unset", None),
        ("x-codex-turn-metadata", Some("{}")),
        ("x-codex-beta-features", Some("a,b")),
        ("x-openai-subagent", Some("review")),
        ("x-openai-internal-codex-residency", Some("us")),
        ("traceparent", Some("00-1")),
    ];
    for (name, value) in expected {
        assert_eq!(sent[0].header(name), value, "{name}");
    }
    assert_eq!(sent[1].header("x-codex-turn-state"), Some("node-7"));
}

#[tokio::test]
async fn facts_in_the_headers_of_a_reply_come_first() {
    let reply = hello()
        .header("openai-model", "big")
        .header("x-codex-primary-used-percent", "5")
        .header("x-models-etag", "v1")
        .header("x-reasoning-included", "")
        .header("x-request-id", "r1");
    let setup = Setup::new([reply]).await;
    let stream = setup.stream(&request()).await.unwrap();
    assert_eq!(stream.request_id(), Some("r1"));
    let (events, _) = support::drain(stream).await;
    let ModelEvent::RateLimits(limits) = &events[1] else {
        panic!("no limits: {events:?}");
    };
    assert_eq!(limits.primary.map(|window| window.used_percent), Some(5.0));
    assert_eq!(events[0], ModelEvent::ServerModel("big".to_owned()));
    assert_eq!(events[2], ModelEvent::ModelsEtag("v1".to_owned()));
    assert_eq!(events[3], ModelEvent::ReasoningIncluded);
}

#[tokio::test]
async fn the_providers_own_key_comes_first() {
    let mut setup = Setup::new([hello(), hello()]).await;
    let key = Credential::ApiKey(Secret::from("session"));
    setup.dependencies.credentials = Arc::new(FixedCredential(Some(key)));
    setup.provider.requires_openai_auth = true;
    setup.provider.bearer_token = Some(Secret::from("configured"));
    setup.ask(&request()).await;
    setup.provider.env_key = Some("TEST_KEY".to_owned());
    setup.ask(&request()).await;
    let sent = setup.server.requests();
    assert_eq!(sent[0].header("authorization"), Some("Bearer configured"));
    assert_eq!(sent[1].header("authorization"), Some("Bearer from-env"));

    setup.provider.env_key = Some("UNSET".to_owned());
    setup.provider.env_key_instructions = Some("Set it.".to_owned());
    let error = setup.error().await;
    assert_eq!(
        error.to_string(),
        "Missing environment variable: `UNSET`. Set it."
    );
    assert!(!error.is_retryable());
    assert_eq!(setup.server.requests().len(), 2);
}

#[tokio::test]
async fn login_is_sent_only_to_its_provider() {
    let mut setup = Setup::new([hello(), hello()]).await;
    setup.dependencies.credentials = Arc::new(FixedCredential(Some(chatgpt("t"))));
    setup.ask(&request()).await;
    setup.provider.requires_openai_auth = true;
    setup.ask(&request()).await;
    let sent = setup.server.requests();
    assert_eq!(sent[0].header("authorization"), None);
    assert_eq!(sent[0].header("chatgpt-account-id"), None);
    assert_eq!(sent[1].header("authorization"), Some("Bearer t"));
    assert_eq!(sent[1].header("chatgpt-account-id"), Some("account-1"));
}

/// A login whose token changes with every recovery.
#[derive(Debug)]
struct Renewable {
    steps: u32,
    outcome: Result<(), CredentialError>,
    taken: Mutex<u32>,
}

#[async_trait]
impl CredentialSource for Renewable {
    async fn current(&self) -> Option<Credential> {
        Some(chatgpt(&format!("t{}", self.taken.lock())))
    }

    async fn recover(&self, step: u32) -> Result<Recovery, CredentialError> {
        assert_eq!(*self.taken.lock(), step);
        if step == self.steps {
            return self.outcome.clone().map(|()| Recovery::Exhausted);
        }
        *self.taken.lock() += 1;
        Ok(Recovery::Retry)
    }
}

async fn with_login(steps: u32, outcome: Result<(), CredentialError>, refusals: usize) -> Setup {
    let refused = HttpReply::json(401, &json!({"error": {"message": "expired"}}));
    let replies = std::iter::repeat_n(refused.header("x-request-id", "r"), refusals);
    let mut setup = Setup::new(replies.chain([hello()])).await;
    setup.provider.requires_openai_auth = true;
    setup.dependencies.credentials = Arc::new(Renewable {
        steps,
        outcome,
        taken: Mutex::new(0),
    });
    setup
}

#[tokio::test]
async fn a_refused_login_is_renewed_step_by_step() {
    let setup = with_login(2, Ok(()), 2).await;
    let (events, error) = setup.ask(&request()).await;
    assert_eq!((text(&events).as_str(), error), ("hello", None));
    let tokens: Vec<_> = setup
        .server
        .requests()
        .iter()
        .map(|sent| sent.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(tokens, ["Bearer t0", "Bearer t1", "Bearer t2"]);
}

#[tokio::test]
async fn a_login_that_cannot_be_renewed_is_an_error() {
    let setup = with_login(1, Ok(()), 9).await;
    let error = setup.error().await;
    assert_eq!(error.codex_error_info(), CodexErrorInfo::Unauthorized);
    let text = error.to_string();
    assert!(
        text.starts_with("unexpected status 401 Unauthorized: expired, url: "),
        "{text}"
    );
    assert_eq!(setup.server.requests().len(), 2);

    let refused = CredentialError::Refused("Log in again.".to_owned());
    let error = with_login(0, Err(refused), 9).await.error().await;
    assert_eq!(error, ModelError::LoginRefused("Log in again.".to_owned()));
    assert_eq!(error.codex_error_info(), CodexErrorInfo::Unauthorized);

    let failed = CredentialError::Failed("no network".to_owned());
    let error = with_login(0, Err(failed), 9).await.error().await;
    assert!(error.is_retryable());
}

#[derive(Debug, Default)]
struct Evidence(Mutex<Vec<String>>);

impl Evidence {
    fn note(&self, line: String) {
        self.0.lock().push(line);
    }
}

impl AttemptObserver for Evidence {
    fn name(&self) -> Option<String> {
        let lines = self.0.lock();
        Some(format!("attempt-{}", lines.len() + 1))
    }

    fn started(&self, provider: &Provider, body: &Bytes) {
        let body = String::from_utf8_lossy(body);
        self.note(format!("started {} {}", provider.name, &body[..12]));
    }

    fn item(&self, item: &ResponseItem) {
        self.note(format!("item {:?}", item.id()));
    }

    fn completed(&self, request_id: Option<&str>, completion: &Completion) {
        self.note(format!(
            "completed {request_id:?} {}",
            completion.response_id
        ));
    }

    fn failed(&self, request_id: Option<&str>, error: &ModelError) {
        let status = error.http_status();
        self.note(format!("failed {request_id:?} {status:?}"));
    }

    fn dropped(&self, request_id: Option<&str>) {
        self.note(format!("dropped {request_id:?}"));
    }
}

#[tokio::test]
async fn attempts_are_observed_and_silent_repeats_are_not() {
    let setup = with_login(1, Ok(()), 1).await;
    let evidence = Arc::new(Evidence::default());
    let mut request = request();
    request.context.observer = Some(Arc::<Evidence>::clone(&evidence));
    assert_eq!(setup.ask(&request).await.1, None);
    let name = &setup.provider.name;
    let expected = [
        format!("started {name} {{\"model\":\"m\""),
        "failed Some(\"r\") Some(401)".to_owned(),
        format!("started {name} {{\"model\":\"m\""),
        "item Some(\"msg\")".to_owned(),
        "completed None resp".to_owned(),
    ];
    assert_eq!(*evidence.0.lock(), expected);
    let ids: Vec<_> = setup
        .server
        .requests()
        .iter()
        .map(|sent| sent.header("x-codex-inference-call-id").map(str::to_owned))
        .collect();
    assert_eq!(
        ids,
        ["attempt-1", "attempt-3"].map(|id| Some(id.to_owned()))
    );
}

#[tokio::test]
async fn incomplete_response_is_observed() {
    let evidence = Arc::new(Evidence::default());
    let mut request = request();
    request.context.observer = Some(Arc::<Evidence>::clone(&evidence));
    let events = sse::text("hello");
    let cut = HttpReply::stream(&events[..events.len() - 1]).header("x-request-id", "r1");
    let setup = Setup::new([cut, hello().header("x-request-id", "r2")]).await;
    assert!(setup.ask(&request).await.1.is_some());
    drop(setup.stream(&request).await.unwrap());
    let lines = evidence.0.lock().clone();
    assert_eq!(lines[2], "failed Some(\"r1\") None");
    assert_eq!(lines[4], "dropped Some(\"r2\")");
    assert_eq!(lines.len(), 5);
}

#[tokio::test]
async fn connections_are_used_again() {
    let setup = Setup::new([]).await;
    setup.server.always(hello());
    for _ in 0..10 {
        assert_eq!(setup.ask(&request()).await.1, None);
    }
    // A second connection is opened if the previous response has not been read to its end.
    let connections = setup.server.connections();
    assert!(connections <= 2, "{connections}");
}

#[tokio::test]
async fn compaction_has_headers_of_its_own() {
    let item = json!({"type": "compaction", "encrypted_content": "x"});
    let setup = Setup::new([
        HttpReply::json(200, &json!({"output": [item]})),
        HttpReply::json(200, &json!({"wrong": 1})),
    ])
    .await;
    let mut request = request();
    assert_eq!(setup.client().compact(&request).await, Ok(vec![]));
    assert_eq!(setup.server.requests().len(), 0, "nothing to compact");

    let hi = json!({"type": "message", "role": "user", "content": []});
    let hi: codex_protocol::ResponseItem = serde_json::from_value(hi).unwrap();
    request.input = codex_model_client::Prompt::from_iter([&hi]);
    request.context.turn_metadata = Some("{}".to_owned());
    request.context.has_client_metadata = true;
    let output = setup.client().compact(&request).await.unwrap();
    assert_eq!(serde_json::to_value(output).unwrap(), json!([item]));
    let sent = setup.server.request(0).await;
    assert_eq!(sent.path, "/v1/responses/compact");
    assert_eq!(sent.header("session_id"), Some("thread-1"));
    for name in ["x-codex-turn-metadata", "x-client-request-id", "accept"] {
        assert_ne!(sent.header(name), Some("thread-1"), "{name}");
        assert_ne!(sent.header(name), Some("{}"), "{name}");
    }
    let error = setup.client().compact(&request).await.unwrap_err();
    assert!(error.is_retryable());
}

#[tokio::test]
async fn readable_models_are_listed() {
    let setup = Setup::new([]).await;
    let known = codex_model_client::ModelCatalog::bundled();
    let known = serde_json::to_value(&known.models()[0]).unwrap();
    let reply = json!({"models": [known, {"slug": "odd"}]});
    setup
        .server
        .push_for("/models", HttpReply::json(200, &reply).header("etag", "v2"));
    let list = setup.client().models().await.unwrap();
    assert_eq!(list.etag.as_deref(), Some("v2"));
    assert_eq!(list.models.len(), 1);
    let sent = setup.server.request(0).await;
    assert_eq!(
        (&*sent.method, &*sent.query),
        ("GET", "client_version=1.2.3")
    );
}
