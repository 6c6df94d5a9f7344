//! HTTP/1.1 requests before the websocket: probes, refusals, the upgrade.
//!
//! `GET /readyz` and `GET /healthz` return 200. All other paths can be upgraded. Requests with an `Origin` header
//! come from web pages and are refused.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use codex_http::{HttpRequest, ServerOptions, serve_http_until_upgrade};
use http_body_util::Full;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tungstenite::handshake::server::create_response_with_body;

use super::admission::Admission;
use super::peer::Peer;

/// The time until the upgrade is limited for the connection as a whole.
const OPTIONS: ServerOptions = ServerOptions {
    head_limit: 16 * 1024,
    head_time: None,
    half_close: true,
};

type HttpReply = Response<Full<Bytes>>;

/// Replies to requests until one upgrades the connection. Returns the stream, and the bytes that were read ahead.
pub(super) async fn upgrade<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    admission: &Admission,
    peer: Peer,
) -> io::Result<Option<(S, Bytes)>> {
    let is_upgraded = AtomicBool::new(false);
    let reply = async |request: HttpRequest| {
        let reply = reply(&request, admission, peer).await;
        let is_upgrade = reply.status() == StatusCode::SWITCHING_PROTOCOLS;
        is_upgraded.store(is_upgrade, Ordering::Relaxed);
        Ok::<_, Infallible>(reply)
    };
    let served = serve_http_until_upgrade(stream, OPTIONS, reply).await;
    let (mut stream, begun) = served.map_err(io::Error::other)?;
    if is_upgraded.into_inner() {
        return Ok(Some((stream, begun)));
    }
    stream.shutdown().await?;
    Ok(None)
}

async fn reply(request: &HttpRequest, admission: &Admission, peer: Peer) -> HttpReply {
    if request.headers().contains_key(header::ORIGIN) {
        return refusal(StatusCode::FORBIDDEN, "");
    }
    if matches!(request.uri().path(), "/readyz" | "/healthz") {
        return probe(request.method());
    }
    let upgrade = match create_response_with_body(request, Full::default) {
        Ok(upgrade) => upgrade,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, error.to_string()),
    };
    let header = |name: HeaderName| request.headers().get(name).map(HeaderValue::as_bytes);
    let (host, authorization) = (header(header::HOST), header(header::AUTHORIZATION));
    match admission.check(peer, host, authorization).await {
        Ok(()) => upgrade,
        Err(refused) => refusal(refused.status, refused.reason),
    }
}

fn probe(method: &Method) -> HttpReply {
    if matches!(*method, Method::GET | Method::HEAD) {
        return refusal(StatusCode::OK, "");
    }
    let mut reply = refusal(StatusCode::METHOD_NOT_ALLOWED, "");
    let allowed = HeaderValue::from_static("GET,HEAD");
    reply.headers_mut().insert(header::ALLOW, allowed);
    reply
}

/// A reply without an upgrade.
fn refusal(status: StatusCode, reason: impl Into<Bytes>) -> HttpReply {
    let reason = reason.into();
    let has_reason = !reason.is_empty();
    let mut reply = Response::new(Full::from(reason));
    *reply.status_mut() = status;
    if has_reason {
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        reply.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    reply
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::auth::{Auth, Secret};

    const UPGRADE: &str = "GET /any HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n\
        Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

    /// The reply of a listener with the token `open sesame`.
    async fn answer(request: &str) -> (bool, String) {
        let auth = Auth::Capability(Secret::new("open sesame"));
        let admission = Admission::new(Some(auth));
        let (mut client, server) = tokio::io::duplex(64 * 1024);
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let upgraded = upgrade(server, &admission, Peer::Trusted).await;
        // Invalid HTTP gets a reply too.
        let is_upgraded = upgraded.is_ok_and(|upgraded| upgraded.is_some());
        let mut reply = String::new();
        client.read_to_string(&mut reply).await.unwrap();
        (is_upgraded, reply)
    }

    async fn check(request: &str, status: &str) {
        let (upgraded, reply) = answer(request).await;
        assert!(!upgraded, "{request}");
        assert!(reply.starts_with(status), "{request}: {reply}");
    }

    #[tokio::test]
    async fn probes_are_answered_one_after_the_other() {
        let (_, replies) = answer(
            "GET /readyz HTTP/1.1\r\n\r\nGET /healthz?x HTTP/1.1\r\nconnection: close\r\n\r\n",
        )
        .await;
        assert_eq!(replies.matches("HTTP/1.1 200 OK\r\n").count(), 2);
        assert_eq!(replies.matches("content-length: 0\r\n").count(), 2);
    }

    #[tokio::test]
    async fn a_web_page_is_refused_everywhere() {
        let page = "Origin: https://example.org\r\n\r\n";
        check(&format!("GET /readyz HTTP/1.1\r\n{page}"), "HTTP/1.1 403").await;
        check(&format!("{UPGRADE}{page}"), "HTTP/1.1 403").await;
    }

    #[tokio::test]
    async fn requests_without_upgrade_are_refused() {
        check("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400").await;
        check("POST /readyz HTTP/1.1\r\n\r\n", "HTTP/1.1 405").await;
        check("\u{1}\r\n\r\n", "HTTP/1.1 400").await;
        let older = UPGRADE.replace("13", "8");
        check(&format!("{older}\r\n"), "HTTP/1.1 400").await;
    }

    #[tokio::test]
    async fn the_upgrade_needs_the_token() {
        check(&format!("{UPGRADE}\r\n"), "HTTP/1.1 401").await;
        let (upgraded, reply) = answer(&format!(
            "{UPGRADE}Authorization: bearer open sesame\r\n\r\n"
        ))
        .await;
        assert!(upgraded, "{reply}");
        // The example of RFC 6455.
        assert!(reply.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
        assert!(reply.ends_with("\r\n\r\n"));
    }
}
