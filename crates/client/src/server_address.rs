//! Addresses of running servers, as users write them.

use std::net::IpAddr;
use std::path::PathBuf;

use thiserror::Error;
use url::{Host, Url};

/// Where a server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// The socket of the home folder.
    HomeSocket,
    /// A socket that is a file.
    Socket(PathBuf),
    /// A websocket.
    WebSocket(Url),
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// It has another form.
    #[error(
        "`{0}` is no address of a server; use ws://HOST:PORT, wss://HOST:PORT, unix://PATH or unix://"
    )]
    Form(String),
    /// It has a name or a password.
    #[error("the address of a server must not contain a password; use --remote-auth-token-env")]
    Password,
}

impl ServerAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix://") {
            return Ok(match path {
                "" => Self::HomeSocket,
                path => Self::Socket(PathBuf::from(path)),
            });
        }
        let url = Url::parse(text).map_err(|_| AddressError::Form(text.to_owned()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::Password);
        }
        match url.scheme() {
            "ws" | "wss" if url.has_host() => Ok(Self::WebSocket(url)),
            _ => Err(AddressError::Form(text.to_owned())),
        }
    }

    /// Whether the server runs on this machine, so that paths mean the same to it.
    #[must_use]
    pub fn is_on_this_machine(&self) -> bool {
        match self {
            Self::HomeSocket | Self::Socket(_) => true,
            Self::WebSocket(url) => match url.host() {
                Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
                Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
                Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
                None => false,
            },
        }
    }

    /// Whether others on the way could read what is sent.
    pub(crate) fn is_open_to_others(&self) -> bool {
        let is_plain = matches!(self, Self::WebSocket(url) if url.scheme() == "ws");
        is_plain && !self.is_on_this_machine()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let parse = |text| ServerAddress::parse(text).unwrap();
        assert_eq!(parse("unix://"), ServerAddress::HomeSocket);
        assert_eq!(parse("unix:///a/b"), ServerAddress::Socket("/a/b".into()));
        assert!(parse("ws://127.0.0.1:4500").is_on_this_machine());
        assert!(parse("ws://[::1]:4500").is_on_this_machine());
        assert!(!parse("wss://example.org").is_on_this_machine());
        assert!(!parse("wss://example.org").is_open_to_others());
        assert!(parse("ws://localhost.example.org:1").is_open_to_others());
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "127.0.0.1:1", "http://a", "ws:", "stdio://"] {
            let error = ServerAddress::parse(text).unwrap_err();
            assert_eq!(error, AddressError::Form(text.to_owned()));
        }
        let error = ServerAddress::parse("wss://a:b@c").unwrap_err();
        assert_eq!(error, AddressError::Password);
    }
}
