//! What a command connects to: a name or an address.

use std::fmt;
use std::net::IpAddr;

/// A host. Two spellings of the same host are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// In lower case, without a final dot.
    Name(String),
    /// An IPv4 address in the form of IPv6 is the IPv4 address.
    Address(IpAddr),
}

/// The longest name of a host.
const LONGEST_NAME: usize = 253;

impl Host {
    /// A host as programs write it, also an address in brackets. None if it is neither a name nor an address.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Some(Self::from(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_label = |label: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            (1..=63).contains(&label.len()) && label.bytes().all(is_part)
        };
        let is_name = name.len() <= LONGEST_NAME && name.split('.').all(is_label);
        // Programs read names such as `1`, `0x7f.1` and `127.1` as addresses.
        let last = name.rsplit('.').next().unwrap_or_default();
        let looks_like_number = last.bytes().all(|byte| byte.is_ascii_digit())
            || last
                .strip_prefix("0x")
                .or_else(|| last.strip_prefix("0X"))
                .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        (is_name && !looks_like_number).then(|| Self::Name(name.to_ascii_lowercase()))
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(address) => address.fmt(formatter),
        }
    }
}

/// What a port is usually for. It is only a guess about what a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsualProtocol {
    Http,
    Https,
    Tcp,
}

impl UsualProtocol {
    #[must_use]
    pub fn of_port(port: u16) -> Self {
        match port {
            80 => Self::Http,
            443 => Self::Https,
            _ => Self::Tcp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_host_are_equal() {
        for (text, same) in [
            ("A.Test.", "a.test"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("[::1]", "::1"),
            ("2001:DB8::1", "2001:db8:0::1"),
        ] {
            let host = Host::parse(text);
            assert!(host.is_some() && host == Host::parse(same), "{text}");
        }
    }

    #[test]
    fn invalid_hosts_are_refused() {
        let long = "a.".repeat(127) + "a";
        for text in [
            "",
            ".",
            "a..b",
            "a b",
            "a/b",
            "a@b",
            "a:1",
            "1",
            "127.1",
            "0x7f.1",
            "0x7f000001",
            "a.0x1",
            "a.7",
            "*",
            "ä.test",
            long.as_str(),
        ] {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }
}
