//! What reading a response costs: the parser alone, and everything up to typed events.
//!
//! `cargo bench -p codex-model-client --bench sse`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures and prints"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codex_http::{HttpPool, HttpSettings, SseParser};
use codex_model_client::{
    ClientDependencies, ClientIdentity, FixedCredential, HttpModelClient, ModelClient,
    ModelRequest, Platform, Provider, SystemClock,
};
use codex_protocol::ResponseItem;
use codex_test_support::{HttpReply, ModelServer, sse};
use futures::StreamExt;
use tokio::runtime::Builder;

const CHUNK: usize = 1400;
const BIG_EVENT_BYTES: usize = 8 * 1024 * 1024;
const DELTAS: usize = 50_000;

fn main() {
    let big = sse::frame(&sse::done(&sse::message(&"x".repeat(BIG_EVENT_BYTES))));
    let time = best(|| parse(&big));
    println!("parser: one event of 8 MB in chunks of 1,400 bytes: {time:.2?} (limit 30 ms)");

    let small = sse::frame(&sse::delta(" tok")).repeat(DELTAS);
    let time = best(|| parse(&small));
    println!("parser: {DELTAS} deltas: {:.3?} each", time / DELTAS as u32);

    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(responses(&big, &small));
    runtime.block_on(request_bodies());
}

fn parse(stream: &str) -> usize {
    let mut parser = SseParser::default();
    let mut events = 0;
    for mut chunk in stream.as_bytes().chunks(CHUNK) {
        while let Some(event) = parser.next(&mut chunk) {
            black_box(event.unwrap());
            events += 1;
        }
    }
    events
}

/// The fastest of five runs, which other load affects least.
fn best<T>(mut run: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    (0..5).map(time).min().unwrap()
}

fn client(server: &ModelServer) -> HttpModelClient {
    let platform = Platform {
        os: "Linux",
        os_version: "6",
        architecture: "x86_64",
        terminal: "term",
    };
    let dependencies = ClientDependencies {
        identity: ClientIdentity::new("bench", "1.0.0", platform, None),
        environment: Arc::new(|_: &str| None),
        credentials: Arc::new(FixedCredential::default()),
        clock: Arc::new(SystemClock),
        http: Arc::new(HttpPool::new(HttpSettings::default())),
    };
    HttpModelClient::new(
        Provider::new("Bench", Some(server.base_url())),
        dependencies,
    )
}

/// Reads whole responses from a server on the same thread, whose cost is in the figures.
async fn responses(big: &str, small: &str) {
    let server = ModelServer::start([]).await.unwrap();
    let client = client(&server);
    let tail = sse::frame(&sse::completed("r"));
    for (name, body, count) in [("8 MB event", big, 1), ("delta", small, DELTAS as u32)] {
        server.always(HttpReply::status(200).body(format!("{body}{tail}")));
        let mut times = Vec::new();
        for _ in 0..5 {
            let start = Instant::now();
            let stream = client.stream(&ModelRequest::default()).await.unwrap();
            assert!(stream.count().await > count as usize);
            times.push(start.elapsed());
        }
        let time = times.into_iter().min().unwrap();
        println!("response over HTTP: {:.3?} per {name}", time / count);
    }
    let hello = HttpReply::stream(&sse::text("hello"));
    server.always(hello);
    let start = Instant::now();
    for _ in 0..1000 {
        let stream = client.stream(&ModelRequest::default()).await.unwrap();
        black_box(stream.count().await);
    }
    let connections = server.connections();
    println!(
        "request and short response: {:.2?} each, {connections} connections for 1,010",
        start.elapsed() / 1000
    );
}

/// Sends a long conversation again and again, as every turn does.
async fn request_bodies() {
    let server = ModelServer::start([]).await.unwrap();
    let client = client(&server);
    server.always(HttpReply::stream(&sse::text("hello")));
    let message: ResponseItem = serde_json::from_value(sse::message(&"word ".repeat(40))).unwrap();
    for turns in [1, 100, 1000] {
        let request = ModelRequest {
            input: (0..turns * 2).map(|_| &message).collect(),
            ..ModelRequest::default()
        };
        let mut times = Vec::new();
        for _ in 0..20 {
            let start = Instant::now();
            let stream = client.stream(&request).await.unwrap();
            black_box(stream.count().await);
            times.push(start.elapsed());
        }
        let time = times.into_iter().min().unwrap();
        println!("request of {turns} turns: {time:.2?}");
    }
}
