//! Failures of connections and servers, and how the client handles them.

mod support;

use std::time::Duration;

use codex_model_client::{ModelClient, ModelError, Provider, RetryPolicy, WireApi};
use codex_protocol::CodexErrorInfo;
use codex_test_support::{HttpReply, Latch, ModelServer, sse};
use futures::StreamExt;
use serde_json::{Value, json};
use support::{Setup, is_complete, request, text};

fn hello() -> HttpReply {
    HttpReply::stream(&sse::text("hello"))
}

fn milliseconds(waits: &[u64]) -> Vec<Duration> {
    waits.iter().copied().map(Duration::from_millis).collect()
}

/// Checks the error and the number of requests if every request gets this reply.
async fn check(reply: HttpReply, start: &str, info: CodexErrorInfo, retryable: bool, times: usize) {
    let setup = Setup::new([]).await;
    setup.server.always(reply);
    let error = setup.error().await;
    let text = error.to_string();
    assert!(text.starts_with(start), "{text}");
    assert_eq!(error.codex_error_info(), info, "{text}");
    assert_eq!(error.is_retryable(), retryable, "{text}");
    assert_eq!(setup.server.requests().len(), times, "{text}");
}

fn error_body(status: u16, error: Value) -> HttpReply {
    HttpReply::json(status, &json!({ "error": error }))
}

#[tokio::test]
async fn every_status_has_its_error() {
    use CodexErrorInfo::*;

    let image = "The image data you provided does not represent a valid image. Try another.";
    let image = error_body(400, json!({ "message": image }));
    check(
        image,
        "The model could not read an image",
        BadRequest,
        false,
        1,
    )
    .await;
    let refused = HttpReply::status(400).body("why");
    check(refused, "why", BadRequest, false, 1).await;
    let limit = error_body(
        429,
        json!({"type": "usage_limit_reached", "plan_type": "plus"}),
    );
    check(
        limit,
        "You've hit your usage limit.",
        UsageLimitExceeded,
        false,
        1,
    )
    .await;
    let not_included = error_body(429, json!({"type": "usage_not_included"}));
    check(
        not_included,
        "Your plan does not include",
        UsageLimitExceeded,
        false,
        1,
    )
    .await;
    let many = ResponseTooManyFailedAttempts {
        http_status_code: Some(429),
    };
    let text = "exceeded retry limit, last status: 429 Too Many Requests, request id: r";
    let reply = HttpReply::status(429).header("x-request-id", "r");
    check(reply, text, many, false, 1).await;
    let text = "The model's server reports an internal error";
    check(HttpReply::status(500), text, InternalServerError, true, 5).await;
    let busy = error_body(503, json!({"code": "server_is_overloaded"}));
    check(
        busy,
        "Selected model is at capacity.",
        ServerOverloaded,
        false,
        5,
    )
    .await;
    let failed = |status| HttpConnectionFailed {
        http_status_code: Some(status),
    };
    let text = "unexpected status 502 Bad Gateway: Unknown error, url: http://";
    check(HttpReply::status(502), text, failed(502), true, 5).await;
    let text = "unexpected status 401 Unauthorized: no";
    check(
        HttpReply::status(401).body("no"),
        text,
        Unauthorized,
        false,
        1,
    )
    .await;
    let text = "unexpected status 404 Not Found: no";
    check(
        HttpReply::status(404).body("no"),
        text,
        failed(404),
        false,
        1,
    )
    .await;
    let blocked = HttpReply::status(403).body("Cloudflare: blocked");
    check(
        blocked,
        "The model's server cannot be reached",
        failed(403),
        false,
        1,
    )
    .await;
}

#[tokio::test]
async fn every_failure_in_the_stream_has_its_error() {
    use CodexErrorInfo::*;

    let failed = |code: &str| HttpReply::stream(&[sse::failed(code, "why")]).stall();
    let window = "Codex ran out of room in the model's context window. \
                  Start a new thread or clear earlier history before retrying.";
    check(
        failed("context_length_exceeded"),
        window,
        ContextWindowExceeded,
        false,
        1,
    )
    .await;
    let quota = "Quota exceeded. Check your plan and billing details.";
    check(
        failed("insufficient_quota"),
        quota,
        UsageLimitExceeded,
        false,
        1,
    )
    .await;
    check(
        failed("usage_not_included"),
        "Your plan",
        UsageLimitExceeded,
        false,
        1,
    )
    .await;
    check(failed("invalid_prompt"), "why", BadRequest, false, 1).await;
    check(
        failed("slow_down"),
        "Selected model is at",
        ServerOverloaded,
        false,
        1,
    )
    .await;
    let cut = "stream disconnected before completion: why";
    check(failed("new"), cut, Other, true, 1).await;
}

#[tokio::test]
async fn a_failing_server_is_asked_again_with_growing_waits() {
    let setup = Setup::new([HttpReply::status(500), HttpReply::hang_up(), hello()]).await;
    let (events, error) = setup.ask(&request()).await;
    assert_eq!((text(&events).as_str(), error), ("hello", None));
    assert_eq!(setup.clock.slept(), milliseconds(&[200, 400]));
}

#[tokio::test]
async fn a_repeat_of_the_stream_layer_is_not_multiplied() {
    let setup = Setup::new([]).await;
    setup.server.always(HttpReply::status(500));
    let mut request = request();
    request.context.attempt = 1;
    assert!(setup.ask(&request).await.1.is_some());
    assert_eq!(setup.server.requests().len(), 1);
}

#[tokio::test]
async fn retry_waits_for_the_time_of_the_server() {
    let late = |status, seconds| HttpReply::status(status).header("retry-after", seconds);
    let setup = Setup::new([late(503, "2"), late(429, "7"), hello()]).await;
    assert_eq!(setup.ask(&request()).await.1, None);
    assert_eq!(setup.clock.slept(), milliseconds(&[2000, 7000]));

    let setup = Setup::new([late(503, "120")]).await;
    let error = setup.error().await;
    assert_eq!(setup.clock.slept(), [], "too long to wait in silence");
    let retries = RetryPolicy::new(setup.provider.stream_max_retries);
    let wait = retries.next(&error, 1, &*setup.clock);
    assert_eq!(wait, Some(Duration::from_secs(120)));
}

#[tokio::test]
async fn absent_server_of_this_machine_is_asked_once_more() {
    let mut setup = Setup::new([]).await;
    // A port that was free a moment ago.
    let server = ModelServer::start([]).await.unwrap();
    setup.provider = Provider::new("Gone", Some(server.base_url()));
    drop(server);
    setup.provider.request_max_retries = 4;
    let error = setup.error().await;
    let text = error.to_string();
    assert!(text.starts_with("No server answers at http://"), "{text}");
    let info = CodexErrorInfo::ResponseStreamConnectionFailed {
        http_status_code: None,
    };
    assert_eq!(error.codex_error_info(), info);
    assert!(!error.is_retryable());
    assert_eq!(setup.clock.slept().len(), 1);
}

#[tokio::test]
async fn hosted_service_is_asked_for_nothing_without_a_login() {
    let mut setup = Setup::new([]).await;
    setup.provider = Provider {
        requires_openai_auth: true,
        ..Provider::new("OpenAI", None)
    };
    let error = setup.error().await;
    assert_eq!(error, ModelError::NotLoggedIn);
    assert_eq!(error.codex_error_info(), CodexErrorInfo::Unauthorized);
    assert!(!error.is_retryable());
    assert_eq!(setup.clock.slept(), []);
}

#[tokio::test]
async fn an_address_that_is_none_is_not_tried() {
    let mut setup = Setup::new([]).await;
    setup.provider = Provider::new("Odd", Some("http://[".to_owned()));
    let error = setup.error().await;
    assert!(matches!(error, ModelError::Unsendable(_)), "{error:?}");
    assert_eq!(setup.clock.slept(), []);
}

#[tokio::test]
async fn torn_stream_gives_its_events_and_an_error() {
    let events = [sse::created("r"), sse::delta("he")];
    let torn = [
        HttpReply::stream(&events).cut(),
        HttpReply::stream(&events).body("data: {\"type\"").cut(),
        HttpReply::stream(&events),
    ];
    for reply in torn {
        let setup = Setup::new([reply]).await;
        let (events, error) = setup.ask(&request()).await;
        assert_eq!(text(&events), "he");
        assert!(!is_complete(&events));
        let error = error.unwrap();
        assert!(error.is_retryable(), "{error}");
        assert_eq!(setup.server.requests().len(), 1);
    }
    let setup = Setup::new([HttpReply::stream(&events)]).await;
    let error = setup.error().await;
    assert_eq!(
        error.to_string(),
        "stream disconnected before completion: stream closed before response.completed"
    );
}

/// With paused time, which advances only when all tasks wait.
#[tokio::test(start_paused = true)]
async fn a_stalled_stream_is_cut_at_the_idle_timeout() {
    let reply = HttpReply::stream(&[sse::delta("he")])
        .body(": still here\n\n")
        .stall();
    let mut setup = Setup::new([reply]).await;
    setup.provider.stream_idle_timeout = Duration::from_secs(60);
    let (events, error) = setup.ask(&request()).await;
    assert_eq!(text(&events), "he");
    let error = error.unwrap();
    let expected = "timed out waiting for the next event of the stream after 60s";
    assert_eq!(error.to_string(), expected);
    assert!(error.is_retryable());
    setup.server.disconnected().await;
}

#[tokio::test(start_paused = true)]
async fn silent_server_times_out() {
    let mut setup = Setup::new([]).await;
    setup.server.always(HttpReply::silence());
    setup.provider.request_max_retries = 1;
    let error = setup.error().await;
    assert!(matches!(error, ModelError::TimedOut { .. }), "{error:?}");
    assert_eq!(setup.server.requests().len(), 2);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let reply = HttpReply::stream(&[sse::delta("he")]).stall();
    let setup = Setup::new([reply]).await;
    let mut stream = setup.stream(&request()).await.unwrap();
    while !matches!(
        stream.next().await,
        Some(Ok(codex_model_client::ModelEvent::TextDelta(_)))
    ) {}
    drop(stream);
    setup.server.disconnected().await;
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    let latch = Latch::new();
    let setup = Setup::new([HttpReply::default().wait(&latch)]).await;
    let (client, request) = (setup.client(), request());
    tokio::select! {
        outcome = client.stream(&request) => panic!("{outcome:?}"),
        () = latch.reached() => {}
    }
    setup.server.disconnected().await;
}

#[tokio::test]
async fn events_after_completion_are_ignored() {
    let mut events = sse::text("hello");
    events.push(sse::failed("new", "why"));
    let setup = Setup::new([HttpReply::stream(&events).stall()]).await;
    let (events, error) = setup.ask(&request()).await;
    assert!(is_complete(&events));
    assert_eq!(error, None);
}

#[tokio::test]
async fn chat_completions_are_asked_and_read() {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c1", "choices": [choice]}))
    };
    let call = json!({"tool_calls": [{"index": 0, "id": "1", "type": "function",
                      "function": {"name": "f", "arguments": "{}"}}]});
    let reply = HttpReply::status(200)
        .body(chunk(json!({"content": "hel"}), Value::Null))
        .body(chunk(json!({"content": "lo"}), Value::Null))
        .body(chunk(call, json!("tool_calls")))
        .body("data: [DONE]\n\n");
    let window = error_body(400, json!({"code": "context_length_exceeded"}));
    let mut setup = Setup::new([reply, window]).await;
    setup.provider.wire_api = WireApi::Chat;
    let (events, error) = setup.ask(&request()).await;
    assert_eq!((text(&events).as_str(), error), ("hello", None));
    assert!(is_complete(&events));
    let sent = setup.server.request(0).await;
    assert_eq!(sent.path, "/v1/chat/completions");
    assert_eq!(sent.json()["messages"][0]["content"], "do");
    assert_eq!(
        setup.error().await,
        ModelError::ContextWindowExceeded { window: None }
    );
}
