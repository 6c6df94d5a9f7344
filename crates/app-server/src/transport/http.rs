//! The listener before a connection is a websocket: probes, refusals, the upgrade (HTTP/1.1).
//!
//! `GET /readyz` and `GET /healthz` answer 200. Every other path is a place to connect to. Whoever comes
//! from a web page is refused: browsers say so in `Origin`, and no web page has business here.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

use super::admission::Admission;
use super::peer::Peer;

/// The longest head of a request.
const HEAD_LIMIT: usize = 16 * 1024;

/// How many headers a request may have.
const HEADERS: usize = 64;

/// What RFC 6455 has a server append to a client's key.
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The head of a request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    method: String,
    path: String,
    /// Their names in lower case.
    headers: Vec<(String, Vec<u8>)>,
}

/// The reply to a request.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: &'static str,
}

/// Answers requests until one of them makes the connection a websocket. False if none does.
pub(super) async fn upgrade(
    input: &mut (impl AsyncBufRead + Unpin),
    output: &mut (impl AsyncWrite + Unpin),
    admission: &Admission,
    peer: Peer,
) -> io::Result<bool> {
    while let Some(head) = read_head(input).await? {
        let (reply, next) = match Request::parse(&head) {
            Some(request) => {
                let reply = reply(&request, admission, peer).await;
                let next = reply.next(&request);
                (reply, next)
            }
            None => (Reply::refusal("400 Bad Request", "not HTTP"), Next::Close),
        };
        output.write_all(&reply.to_bytes(next)).await?;
        output.flush().await?;
        match next {
            Next::Upgraded => return Ok(true),
            Next::Close => break,
            Next::Request => {}
        }
    }
    output.shutdown().await?;
    Ok(false)
}

/// What follows a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Upgraded,
    Request,
    Close,
}

/// The bytes up to the blank line, without reading past it. Nothing at the end of the input.
async fn read_head(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(None);
        }
        // A line at a time, because the blank one may stand across two reads.
        let end = memchr::memchr(b'\n', available).map(|end| end + 1);
        let taken = end.unwrap_or(available.len());
        head.extend_from_slice(&available[..taken]);
        input.consume(taken);
        if head.len() > HEAD_LIMIT {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the head of the request is too long",
            ));
        }
        if head.ends_with(b"\r\n\r\n") || head.ends_with(b"\n\n") {
            return Ok(Some(head));
        }
    }
}

async fn reply(request: &Request, admission: &Admission, peer: Peer) -> Reply {
    if request.header("origin").is_some() {
        return Reply::refusal("403 Forbidden", "");
    }
    if matches!(request.path.as_str(), "/readyz" | "/healthz") {
        return match request.method.as_str() {
            "GET" | "HEAD" => Reply::refusal("200 OK", ""),
            _ => {
                let mut refusal = Reply::refusal("405 Method Not Allowed", "");
                refusal.headers.push(("allow", "GET,HEAD".to_owned()));
                refusal
            }
        };
    }
    let key = match upgrade_key(request) {
        Ok(key) => key,
        Err(reason) => return Reply::refusal("400 Bad Request", reason),
    };
    let (host, authorization) = (request.header("host"), request.header("authorization"));
    if let Err(refusal) = admission.check(peer, host, authorization).await {
        return Reply::refusal(refusal.status, refusal.reason);
    }
    Reply {
        status: "101 Switching Protocols",
        headers: vec![
            ("connection", "upgrade".to_owned()),
            ("upgrade", "websocket".to_owned()),
            ("sec-websocket-accept", accept(key)),
        ],
        body: "",
    }
}

/// The key of a well-formed request for an upgrade.
fn upgrade_key(request: &Request) -> Result<&[u8], &'static str> {
    if request.method != "GET" {
        return Err("a websocket is asked for with GET");
    }
    if !request.has_token("connection", "upgrade") {
        return Err("`Connection` does not say `upgrade`");
    }
    if !request.has_token("upgrade", "websocket") {
        return Err("`Upgrade` does not say `websocket`");
    }
    if request.header("sec-websocket-version") != Some(b"13") {
        return Err("`Sec-WebSocket-Version` is not 13");
    }
    request
        .header("sec-websocket-key")
        .ok_or("`Sec-WebSocket-Key` is missing")
}

fn accept(key: &[u8]) -> String {
    let mut digest = sha1_smol::Sha1::new();
    digest.update(key);
    digest.update(KEY_SUFFIX.as_bytes());
    BASE64.encode(digest.digest().bytes())
}

impl Request {
    fn parse(head: &[u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        if !parsed.parse(head).ok()?.is_complete() {
            return None;
        }
        let target = parsed.path?;
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        Some(Self {
            method: parsed.method?.to_owned(),
            path: path.to_owned(),
            headers: parsed
                .headers
                .iter()
                .map(|header| (header.name.to_ascii_lowercase(), header.value.to_vec()))
                .collect(),
        })
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }

    /// Whether a list in a header has this word.
    fn has_token(&self, name: &str, token: &str) -> bool {
        let values = self.headers.iter().filter(|(known, _)| known == name);
        values
            .flat_map(|(_, value)| value.split(|byte| *byte == b','))
            .any(|word| word.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    }

    fn has_body(&self) -> bool {
        let length = self.header("content-length");
        length.is_some_and(|length| length != b"0") || self.header("transfer-encoding").is_some()
    }
}

impl Reply {
    fn refusal(status: &'static str, body: &'static str) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
        }
    }

    /// A body that came with the request is not read: no second request can follow it.
    fn next(&self, request: &Request) -> Next {
        if self.status.starts_with("101") {
            Next::Upgraded
        } else if request.has_token("connection", "close") || request.has_body() {
            Next::Close
        } else {
            Next::Request
        }
    }

    fn to_bytes(&self, next: Next) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() {
            head.push_str("content-type: text/plain; charset=utf-8\r\n");
        }
        if next != Next::Upgraded {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        if next == Next::Close {
            head.push_str("connection: close\r\n");
        }
        head.push_str("\r\n");
        head.push_str(self.body);
        head.into_bytes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::transport::auth::{Auth, Secret};

    const UPGRADE: &str = "GET /any HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n\
        Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

    /// What a listener that wants the token `open sesame` answers.
    async fn answer(request: &str) -> (bool, String) {
        let auth = Auth::Capability(Secret::new("open sesame"));
        let mut output = Vec::new();
        let mut input = request.as_bytes();
        let admission = Admission::new(Some(auth));
        let upgraded = upgrade(&mut input, &mut output, &admission, Peer::Trusted).await;
        (upgraded.unwrap(), String::from_utf8(output).unwrap())
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
        assert_eq!(
            replies.matches("200 OK\r\ncontent-length: 0\r\n").count(),
            2
        );
    }

    #[tokio::test]
    async fn a_web_page_is_refused_everywhere() {
        let page = "Origin: https://example.org\r\n\r\n";
        check(&format!("GET /readyz HTTP/1.1\r\n{page}"), "HTTP/1.1 403").await;
        check(&format!("{UPGRADE}{page}"), "HTTP/1.1 403").await;
    }

    #[tokio::test]
    async fn what_asks_for_no_websocket_is_refused() {
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
