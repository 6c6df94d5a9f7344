//! A server that cannot be reached, in words that say what to do.

use std::error::Error;
use std::fmt;
use std::io;

use reqwest::Url;

/// No server answered at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// Scheme, host and port.
    address: String,
    reason: UnreachableReason,
    /// Whether the address is on this machine, where waiting changes nothing.
    pub(crate) is_local: bool,
    /// The command that starts the kind of server that usually listens there.
    start: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnreachableReason {
    /// Nothing listens there.
    Refused,
    /// The name of the host is not known.
    UnknownHost,
}

/// What usually listens on a port, and how it is started.
const USUAL_SERVERS: [(u16, &str); 4] = [
    (11434, "ollama serve"),
    (1234, "lms server start"),
    (8000, "vllm serve MODEL"),
    (8080, "llama-server -m MODEL"),
];

impl Unreachable {
    /// None if the request failed in another way.
    pub(crate) fn from_error(error: &reqwest::Error, url: &str) -> Option<Self> {
        if !error.is_connect() {
            return None;
        }
        let reason = reason(error)?;
        let url = Url::parse(url).ok()?;
        let host = url.host_str()?;
        let is_local = is_local(host);
        let port = url.port_or_known_default()?;
        let usual = USUAL_SERVERS.iter().find(|(usual, _)| *usual == port);
        Some(Self {
            address: format!("{}://{host}:{port}", url.scheme()),
            reason,
            is_local,
            start: usual.filter(|_| is_local).map(|(_, start)| *start),
        })
    }
}

/// Reads it from the causes of the error: the client has no kinds for them.
fn reason(error: &reqwest::Error) -> Option<UnreachableReason> {
    let mut cause = error.source();
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return Some(UnreachableReason::Refused);
        }
        if error.to_string() == "dns error" {
            return Some(UnreachableReason::UnknownHost);
        }
        cause = error.source();
    }
    None
}

fn is_local(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || literal
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

impl fmt::Display for Unreachable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = &self.address;
        match (self.reason, self.start) {
            (UnreachableReason::UnknownHost, _) => write!(
                formatter,
                "The host of {address} is not known: look at `base_url` of the model provider, and at the network."
            ),
            (UnreachableReason::Refused, Some(start)) => write!(
                formatter,
                "No server answers at {address}. Start it (`{start}`), or set `base_url` of the model provider."
            ),
            (UnreachableReason::Refused, None) => write!(
                formatter,
                "No server answers at {address}. Start it, or set `base_url` of the model provider."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refused_connection_error_names_address_and_remedy() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let url = format!("http://127.0.0.1:{port}/v1/responses?key=secret");
        let pool = codex_http::HttpPool::new(codex_http::HttpSettings::default());
        let client = pool.client(&url).unwrap();
        let request = client.request(reqwest::Method::GET, &url);
        let error = request.send().await.unwrap_err();
        let found = Unreachable::from_error(&error, &url).unwrap();
        assert!(found.is_local);
        assert_eq!(
            found.to_string(),
            format!(
                "No server answers at http://127.0.0.1:{port}. Start it, or set `base_url` of the model provider."
            )
        );
        let usual = Unreachable {
            start: Some(USUAL_SERVERS[0].1),
            ..found
        };
        assert!(usual.to_string().contains("(`ollama serve`)"), "{usual}");
    }

    #[test]
    fn only_addresses_of_this_machine_are_local() {
        for host in ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["example.org", "10.0.0.1", "localhost.example.org"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
