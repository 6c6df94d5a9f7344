//! The client against an HTTP server that is not ours: what our own scripted server would forgive,
//! this one does not.

#![allow(clippy::unwrap_used)] // The lint does not see that these are tests.

mod support;

use std::collections::BTreeMap;

use codex_model_client::HttpModelClient;
use codex_model_client::ModelClient;
use codex_model_client::ModelEvent;
use codex_model_client::Provider;
use codex_test_support::sse;
use serde_json::json;
use wiremock::Mock;
use wiremock::MockServer;
use wiremock::ResponseTemplate;
use wiremock::matchers::body_partial_json;
use wiremock::matchers::header;
use wiremock::matchers::method;
use wiremock::matchers::path;
use wiremock::matchers::query_param;

use crate::support::Setup;
use crate::support::drain;
use crate::support::request;

#[tokio::test]
async fn a_request_is_well_formed_and_its_stream_is_read() {
    let server = MockServer::start().await;
    let stream = sse::frames(&sse::text("hello"));
    Mock::given(method("POST"))
        .and(path("/v1/responses"))
        .and(query_param("api-version", "7"))
        .and(header("accept", "text/event-stream"))
        .and(header("content-type", "application/json"))
        .and(header("authorization", "Bearer from-env"))
        .and(header("x-team", "tools"))
        .and(body_partial_json(
            json!({ "model": "m", "stream": true, "store": false }),
        ))
        .respond_with(ResponseTemplate::new(200).set_body_raw(stream, "text/event-stream"))
        .expect(1)
        .mount(&server)
        .await;

    let mut provider = Provider::new("Test", format!("{}/v1", server.uri()));
    provider.env_key = Some("TEST_KEY".to_owned());
    provider.query_params = BTreeMap::from([("api-version".to_owned(), "7".to_owned())]);
    provider.http_headers = BTreeMap::from([("x-team".to_owned(), "tools".to_owned())]);
    let setup = Setup::new([]).await;
    let client = HttpModelClient::new(provider, setup.surroundings.clone());
    let (events, error) = drain(client.stream(&request()).await.unwrap()).await;

    assert_eq!(error, None);
    assert!(
        events.contains(&ModelEvent::TextDelta("hello".to_owned())),
        "{events:?}"
    );
    assert!(matches!(events.last(), Some(ModelEvent::Completed(_))));
}
