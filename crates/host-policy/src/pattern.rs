//! What an entry of a list names.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::host::Host;

/// One host, all hosts below a name, or all names; a port can be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    One(Host),
    /// Names that end with a dot and this one, not the name itself.
    Below(String),
    All,
}

/// A pattern that has no meaning here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is neither a host, nor `*.` and the name of a domain, nor `*`, each with or without a port"
)]
pub struct InvalidHostPattern(String);

impl HostPattern {
    /// # Errors
    /// It has no meaning here.
    pub fn parse(text: &str) -> Result<Self, InvalidHostPattern> {
        let invalid = || InvalidHostPattern(text.to_owned());
        let (hosts, port) = split_port(text.trim()).ok_or_else(invalid)?;
        let hosts = if hosts == "*" {
            Hosts::All
        } else if let Some(domain) = hosts.strip_prefix("*.") {
            match Host::parse(domain) {
                Some(Host::Name(name)) => Hosts::Below(name),
                _ => return Err(invalid()),
            }
        } else {
            Hosts::One(Host::parse(hosts).ok_or_else(invalid)?)
        };
        Ok(Self { hosts, port })
    }

    /// For one host.
    #[must_use]
    pub fn host(host: Host, port: Option<u16>) -> Self {
        Self {
            hosts: Hosts::One(host),
            port,
        }
    }

    /// Whether it names the host and the port. Only the address itself names an address, but for `localhost`.
    #[must_use]
    pub fn names(&self, host: &Host, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.names_host(host)
    }

    /// The same for entries that deny: `*` is also about addresses.
    #[must_use]
    pub fn denies(&self, host: &Host, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
            && (self.hosts == Hosts::All || self.names_host(host))
    }

    fn names_host(&self, host: &Host) -> bool {
        match (&self.hosts, host) {
            (Hosts::One(Host::Name(name)), Host::Address(address)) => {
                name == "localhost" && address.is_loopback()
            }
            (Hosts::One(own), host) => own == host,
            (Hosts::Below(domain), Host::Name(name)) => {
                let rest = name.strip_suffix(domain.as_str());
                rest.is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (Hosts::All, Host::Name(_)) => true,
            (Hosts::Below(_) | Hosts::All, Host::Address(_)) => false,
        }
    }
}

/// The host and the port. An IPv6 address has a port only behind brackets.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            let port = port.parse().ok().filter(|port| *port > 0)?;
            Some((host, Some(port)))
        }
        _ => Some((text, None)),
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.hosts, self.port) {
            (Hosts::One(host @ Host::Address(address)), Some(_)) if address.is_ipv6() => {
                write!(formatter, "[{host}]")?;
            }
            (Hosts::One(host), _) => host.fmt(formatter)?,
            (Hosts::Below(domain), _) => write!(formatter, "*.{domain}")?,
            (Hosts::All, _) => formatter.write_str("*")?,
        }
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = InvalidHostPattern;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_pattern_matches_exactly_its_hosts() {
        for (pattern, host, port, expected) in [
            ("a.test", "a.test", 80, true),
            ("A.test.", "a.TEST", 80, true),
            ("a.test", "b.a.test", 80, false),
            ("a.test:443", "a.test", 443, true),
            ("a.test:443", "a.test", 80, false),
            ("*.a.test", "b.a.test", 80, true),
            ("*.a.test", "c.b.a.test", 80, true),
            ("*.a.test", "a.test", 80, false),
            ("*.a.test", "ba.test", 80, false),
            ("*.test", "x.test", 1, true),
            ("*", "a.test", 80, true),
            ("*:443", "a.test", 80, false),
            ("*", "1.2.3.4", 80, false),
            ("1.2.3.4", "1.2.3.4", 80, true),
            ("1.2.3.4", "::ffff:1.2.3.4", 80, true),
            ("[::1]:5", "::1", 5, true),
            ("::1", "::1", 5, true),
            ("localhost", "127.0.0.1", 80, true),
            ("localhost:80", "127.0.0.1", 81, false),
            ("localhost", "::1", 80, true),
            ("localhost", "10.0.0.1", 80, false),
            ("a.test", "93.184.216.40", 80, false),
        ] {
            let host = Host::parse(host).unwrap();
            let pattern = HostPattern::parse(pattern).unwrap();
            assert_eq!(
                pattern.names(&host, port),
                expected,
                "{pattern} {host}:{port}"
            );
        }
        let everything = HostPattern::parse("*").unwrap();
        assert!(everything.denies(&Host::parse("1.2.3.4").unwrap(), 1));
    }

    #[test]
    fn other_patterns_are_errors() {
        for text in [
            "",
            "**",
            "**.a.test",
            "a.*.test",
            "a*",
            "*.1.2.3.4",
            "a.test:0",
            "a.test:x",
            "a.test:99999",
            "http://a",
            "a/b",
            "*.",
        ] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn patterns_are_read_as_they_are_written() {
        for text in [
            "a.test",
            "a.test:5",
            "*.a.test",
            "*.a.test:7",
            "*",
            "*:1",
            "1.2.3.4:5",
            "::1",
            "[::1]:5",
        ] {
            let pattern = HostPattern::parse(text).unwrap();
            assert_eq!(pattern.to_string(), text);
        }
    }
}
