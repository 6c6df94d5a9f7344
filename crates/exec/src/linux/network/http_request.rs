//! The head of a plain HTTP request, made anew for a proxy.
//!
//! It is read strictly: what two servers could read in two ways is not passed on. The connection ends after one request.

use codex_host_policy::Host;

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestHead {
    /// It takes more bytes to know.
    Incomplete,
    /// No request that can be made anew; the connection needs a tunnel.
    Other,
    Request(ForwardedRequest),
    /// With a reason for people.
    Refused(&'static str),
}

/// A request for a proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForwardedRequest {
    /// The new head.
    pub(super) head: Vec<u8>,
    /// The length of the head that was read.
    pub(super) read: usize,
    /// The length of the body.
    pub(super) body: u64,
}

/// More than servers accept.
pub(super) const LONGEST_HEAD: usize = 64 * 1024;

/// Headers that are about the connection, or that only a proxy reads.
const DROPPED_HEADERS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
];

/// Headers with which a connection is more than a request and a reply.
const TUNNEL_HEADERS: [&str; 3] = ["transfer-encoding", "upgrade", "expect"];

/// Reads a head. `authorization` is a line for the proxy.
pub(super) fn read(bytes: &[u8], host: &Host, authorization: &str) -> RequestHead {
    let is_method = |byte: &u8| byte.is_ascii_uppercase();
    let method = bytes.iter().take_while(|byte| is_method(byte)).count();
    if method > 16
        || bytes.get(method).is_some_and(|byte| *byte != b' ')
        || bytes.first() == Some(&b' ')
    {
        return RequestHead::Other;
    }
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return if bytes.len() > LONGEST_HEAD {
            RequestHead::Refused("the head of the request is too long")
        } else {
            RequestHead::Incomplete
        };
    };
    let Ok(text) = std::str::from_utf8(&bytes[..end]) else {
        return RequestHead::Refused("the head of the request is malformed");
    };
    match rewrite(text, host, authorization) {
        Ok(Some((head, body))) => RequestHead::Request(ForwardedRequest {
            head: head.into_bytes(),
            read: end + 4,
            body,
        }),
        Ok(None) => RequestHead::Other,
        Err(reason) => RequestHead::Refused(reason),
    }
}

/// The new head and the length of the body; none if the connection needs a tunnel.
fn rewrite(
    text: &str,
    host: &Host,
    authorization: &str,
) -> Result<Option<(String, u64)>, &'static str> {
    const MALFORMED_HEAD: &str = "the head of the request is malformed";
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(path), Some("HTTP/1.0" | "HTTP/1.1"), None) =
        (method, path, version, words.next())
    else {
        return Ok(None);
    };
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    if !path.starts_with('/') || !path.bytes().all(is_plain) {
        return Err("the request is none for a server");
    }
    let mut head = format!("{method} http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n");
    let (mut named, mut body) = (false, None);
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(MALFORMED_HEAD)?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'|^`+%$#&".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) || line.contains(['\r', '\n', '\0']) {
            return Err(MALFORMED_HEAD);
        }
        let (lower, value) = (name.to_ascii_lowercase(), value.trim());
        if TUNNEL_HEADERS.contains(&lower.as_str()) {
            return Ok(None);
        }
        match lower.as_str() {
            "host" => {
                let bare = value.strip_suffix(":80").unwrap_or(value);
                if named || Host::parse(bare).as_ref() != Some(host) {
                    return Err("the request names another host");
                }
                named = true;
            }
            "content-length" => {
                let is_number =
                    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                if body.is_some() || !is_number {
                    return Err(MALFORMED_HEAD);
                }
                body = Some(value.parse().map_err(|_| MALFORMED_HEAD)?);
                head.push_str(&format!("Content-Length: {value}\r\n"));
            }
            name if DROPPED_HEADERS.contains(&name) => {}
            _ => head.push_str(&format!("{name}: {value}\r\n")),
        }
    }
    head.push_str(authorization);
    head.push_str("Connection: close\r\n\r\n");
    Ok(Some((head, body.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(text: &str) -> RequestHead {
        read(text.as_bytes(), &Host::Name("a.test".to_owned()), "")
    }

    #[test]
    fn a_request_is_made_anew_for_a_proxy() {
        let text = "POST /x?y HTTP/1.1\r\nHost: A.test:80\r\nX-Own: 1\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabcGET /";
        let RequestHead::Request(request) = read_as(text) else {
            panic!("no request");
        };
        let head = String::from_utf8(request.head).unwrap();
        assert_eq!(
            head,
            "POST http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nX-Own: 1\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(request.body, 3);
        assert_eq!(&text[request.read..], "abcGET /");
        for cut in 0..request.read {
            assert_eq!(read_as(&text[..cut]), RequestHead::Incomplete, "{cut}");
        }
    }

    #[test]
    fn ambiguous_http_requests_are_refused() {
        for text in [
            "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test:81\r\n\r\n",
            "GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET /\tx HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\n X: folded\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nX : 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nX: 1\nHost: b.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: +1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nno header\r\n\r\n",
        ] {
            assert!(matches!(read_as(text), RequestHead::Refused(_)), "{text}");
        }
    }

    #[test]
    fn other_protocols_need_a_tunnel() {
        for text in [
            "SSH-2.0-x\r\n",
            "\u{16}\u{3}\u{1}",
            "get / HTTP/1.1\r\n\r\n",
            "GET / HTTP/2\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n\r\n",
        ] {
            assert_eq!(read_as(text), RequestHead::Other, "{text}");
        }
    }
}
