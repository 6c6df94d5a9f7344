//! The client against an independent HTTP server, which tolerates less than the scripted one.

#![allow(clippy::unwrap_used)] // The lint does not see that these are tests.

mod support;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;

use codex_model_client::{HttpModelClient, ModelClient, ModelEvent, Provider};
use codex_test_support::sse;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::support::{Setup, drain, request};

/// What a server received.
type Received = (Parts, Value);

/// A server that answers one request with a stream.
async fn serve_one(stream: Vec<u8>) -> (SocketAddr, oneshot::Receiver<Received>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = oneshot::channel();
    tokio::spawn(async move {
        let (connection, _) = listener.accept().await.unwrap();
        let only = Mutex::new(Some((stream, sender)));
        let answer = service_fn(move |request: Request<Incoming>| {
            let (stream, sender) = only.lock().take().unwrap();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let body = serde_json::from_slice(&body).unwrap();
                sender.send((parts, body)).unwrap();
                let reply = Response::builder()
                    .header("content-type", "text/event-stream")
                    .body(Full::new(Bytes::from(stream)));
                Ok::<_, Infallible>(reply.unwrap())
            }
        });
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(connection), answer)
            .await;
    });
    (address, received)
}

#[tokio::test]
async fn a_request_is_well_formed_and_its_stream_is_read() {
    let (address, received) = serve_one(sse::frames(&sse::text("hello")).into()).await;
    let mut provider = Provider::new("Test", Some(format!("http://{address}/v1")));
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

    let (parts, body) = received.await.unwrap();
    assert_eq!(parts.method, "POST");
    assert_eq!(parts.uri.to_string(), "/v1/responses?api-version=7");
    for (name, value) in [
        ("accept", "text/event-stream"),
        ("content-type", "application/json"),
        ("authorization", "Bearer from-env"),
        ("x-team", "tools"),
    ] {
        assert_eq!(parts.headers[name], value);
    }
    assert_eq!(body["model"], "m");
    assert_eq!(body["stream"], true);
    assert_eq!(body["store"], false);
}
