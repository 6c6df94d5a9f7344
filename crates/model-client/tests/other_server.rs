//! The client against an independent HTTP server, which tolerates less than the scripted one.

mod support;

use std::collections::BTreeMap;

use codex_model_client::{HttpModelClient, ModelClient, ModelEvent, Provider};
use codex_test_support::sse;
use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{Setup, drain, request};

#[tokio::test]
async fn request_is_well_formed_and_stream_read() {
    let server = MockServer::start().await;
    let stream = sse::frames(&sse::text("hello"));
    let reply = ResponseTemplate::new(200).set_body_raw(stream, "text/event-stream");
    Mock::given(any()).respond_with(reply).mount(&server).await;
    let mut provider = Provider::new("Test", Some(format!("{}/v1", server.uri())));
    provider.env_key = Some("TEST_KEY".to_owned());
    provider.query_params = BTreeMap::from([("api-version".to_owned(), "7".to_owned())]);
    provider.http_headers = BTreeMap::from([("x-team".to_owned(), "tools".to_owned())]);
    let setup = Setup::new([]).await;
    let client = HttpModelClient::new(provider, setup.dependencies.clone());
    let (events, error) = drain(client.stream(&request()).await.unwrap()).await;

    assert_eq!(error, None);
    assert!(
        events.contains(&ModelEvent::TextDelta("hello".to_owned())),
        "{events:?}"
    );
    assert!(matches!(events.last(), Some(ModelEvent::Completed(_))));

    let received = server.received_requests().await.unwrap();
    let [received] = &*received else {
        panic!("there is one request: {received:?}");
    };
    assert_eq!(received.method, "POST");
    assert_eq!(received.url.path(), "/v1/responses");
    assert_eq!(received.url.query(), Some("api-version=7"));
    for (name, value) in [
        ("accept", "text/event-stream"),
        ("content-type", "application/json"),
        ("authorization", "Bearer from-env"),
        ("x-team", "tools"),
    ] {
        assert_eq!(received.headers[name], value);
    }
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["model"], "m");
    assert_eq!(body["stream"], true);
    assert_eq!(body["store"], false);
}
