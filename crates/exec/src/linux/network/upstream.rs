//! The proxy of this machine, through which connections of commands go if the settings allow it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use base64::Engine as _;
use codex_host_policy::Host;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long the proxy may take to connect, and to answer.
const PROXY_LIMIT: Duration = Duration::from_secs(30);

/// The longest head of an answer.
const LONGEST_HEAD: usize = 16 * 1024;

/// The proxies that variables name.
#[derive(Debug, Clone, Default)]
pub(crate) struct UpstreamProxies {
    http: Option<String>,
    others: Option<String>,
    /// What is reached without a proxy.
    direct: Vec<String>,
}

/// A proxy that speaks HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProxyAddress {
    host: String,
    port: u16,
    /// The value of a header.
    authorization: Option<String>,
}

impl UpstreamProxies {
    /// What the variables of a command name.
    pub(crate) fn from_variables<'a>(
        variables: impl Iterator<Item = (&'a OsString, &'a OsString)> + Clone,
    ) -> Self {
        let value = |name: &str| {
            let named =
                |(own, _): &(&OsString, &OsString)| own.eq_ignore_ascii_case(OsStr::new(name));
            let (_, value) = variables.clone().find(named)?;
            let value = value.to_str()?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let all = value("ALL_PROXY");
        let direct = value("NO_PROXY").unwrap_or_default();
        Self {
            http: value("HTTP_PROXY").or_else(|| all.clone()),
            others: value("HTTPS_PROXY").or(all),
            direct: direct
                .split(',')
                .map(|name| name.trim().to_owned())
                .collect(),
        }
    }

    /// The proxy for a host; none if it is connected to directly. An error is a reason for people.
    pub(super) fn of_host(&self, host: &Host, port: u16) -> Result<Option<ProxyAddress>, String> {
        let proxy = if port == 80 { &self.http } else { &self.others };
        let Some(proxy) = proxy.as_ref().filter(|_| !self.is_direct(host)) else {
            return Ok(None);
        };
        let unknown = || "the proxy of this machine is of a kind that is not supported".to_owned();
        ProxyAddress::parse(proxy).map(Some).ok_or_else(unknown)
    }

    fn is_direct(&self, host: &Host) -> bool {
        let host = host.to_string();
        self.direct.iter().any(|name| {
            let name = name.trim_start_matches("*.").trim_start_matches('.');
            let is_below = || {
                host.strip_suffix(name)
                    .is_some_and(|rest| rest.ends_with('.'))
            };
            name == "*" || (!name.is_empty() && (host == name || is_below()))
        })
    }
}

impl ProxyAddress {
    fn parse(text: &str) -> Option<Self> {
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return None,
            None => text,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().ok()?)
            }
            _ => (address, 80),
        };
        let host = host.trim_matches(['[', ']']);
        let authorization = user.map(|user| {
            let user = base64::engine::general_purpose::STANDARD.encode(unescaped(user));
            format!("Basic {user}")
        });
        (!host.is_empty()).then(|| Self {
            host: host.to_owned(),
            port,
            authorization,
        })
    }

    /// The header for a request, with its end of line.
    pub(super) fn authorization_line(&self) -> String {
        let value = self.authorization.as_ref();
        value.map_or(String::new(), |value| {
            format!("Proxy-Authorization: {value}\r\n")
        })
    }

    pub(super) async fn connect(&self) -> Result<TcpStream, String> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        match timeout(PROXY_LIMIT, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(_)) | Err(_) => Err("the proxy of this machine cannot be reached".to_owned()),
        }
    }

    /// A connection to a host through the proxy.
    pub(super) async fn tunnel(&self, host: &Host, port: u16) -> Result<TcpStream, String> {
        let mut stream = self.connect().await?;
        let asking = self.ask_for_tunnel(&mut stream, host, port);
        match timeout(PROXY_LIMIT, asking).await {
            Ok(Ok(true)) => Ok(stream),
            Ok(Ok(false)) => Err("the proxy of this machine refuses it".to_owned()),
            Ok(Err(_)) | Err(_) => Err("the proxy of this machine does not answer".to_owned()),
        }
    }

    async fn ask_for_tunnel(
        &self,
        stream: &mut TcpStream,
        host: &Host,
        port: u16,
    ) -> io::Result<bool> {
        let authority = authority(host, port);
        let authorization = self.authorization_line();
        let request =
            format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{authorization}\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte: what follows the head is of the host.
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
            if head.len() > LONGEST_HEAD {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        let status = head.split(|byte| *byte == b' ').nth(1);
        Ok(head.starts_with(b"HTTP/1.") && status == Some(b"200"))
    }
}

/// A host with a port.
fn authority(host: &Host, port: u16) -> String {
    match host {
        Host::Address(address) if address.is_ipv6() => format!("[{address}]:{port}"),
        host => format!("{host}:{port}"),
    }
}

/// The bytes that escapes stand for.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> UpstreamProxies {
        let variables: Vec<(OsString, OsString)> = (variables.iter())
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        UpstreamProxies::from_variables(variables.iter().map(|(name, value)| (name, value)))
    }

    fn proxy_for(
        variables: &[(&str, &str)],
        host: &str,
        port: u16,
    ) -> Result<Option<String>, String> {
        let host = Host::parse(host).unwrap();
        let found = proxies(variables).of_host(&host, port)?;
        Ok(found.map(|proxy| format!("{}:{}", proxy.host, proxy.port)))
    }

    #[test]
    fn variables_name_the_proxy_of_a_host() {
        let variables = [
            ("http_proxy", "http://p.test:1/"),
            ("HTTPS_PROXY", "q.test:2"),
            ("no_proxy", "127.0.0.1, .direct.test,*.star.test"),
        ];
        for (host, port, expected) in [
            ("a.test", 80, Some("p.test:1")),
            ("a.test", 443, Some("q.test:2")),
            ("a.test", 5432, Some("q.test:2")),
            ("127.0.0.1", 80, None),
            ("direct.test", 80, None),
            ("x.direct.test", 80, None),
            ("xdirect.test", 80, Some("p.test:1")),
            ("x.star.test", 80, None),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(proxy_for(&variables, host, port), Ok(expected), "{host}");
        }
        assert_eq!(proxy_for(&[], "a.test", 80), Ok(None));
        assert!(proxy_for(&[("ALL_PROXY", "socks5h://p.test:1")], "a.test", 80).is_err());
    }

    #[test]
    fn users_of_a_proxy_are_read_with_their_escapes() {
        let proxy = ProxyAddress::parse("http://u:p%40x@[::1]:3128").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("::1", 3128));
        assert_eq!(proxy.authorization.as_deref(), Some("Basic dTpwQHg="));
    }
}
