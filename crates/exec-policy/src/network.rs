//! Network rules: decisions about hosts.

use codex_host_policy::{Host, HostDecision, HostEntry, HostPattern};
use serde::{Deserialize, Serialize};

use crate::prefix::{RuleProblem, check_justification};

/// A decision about one host and protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkRule {
    host: String,
    /// The port, if it was given with the host.
    #[serde(default)]
    port: Option<u16>,
    protocol: NetworkProtocol,
    decision: NetworkDecision,
    justification: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkProtocol {
    Http,
    Https,
    Socks5Tcp,
    Socks5Udp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkDecision {
    Allow,
    Prompt,
    Deny,
}

impl NetworkProtocol {
    /// The word used in rule files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5Tcp => "socks5_tcp",
            Self::Socks5Udp => "socks5_udp",
        }
    }

    /// The port that connections of this protocol usually have; none if they have several.
    pub fn usual_port(self) -> Option<u16> {
        match self {
            Self::Http => Some(80),
            Self::Https => Some(443),
            Self::Socks5Tcp | Self::Socks5Udp => None,
        }
    }

    pub(crate) fn parse(word: &str) -> Result<Self, RuleProblem> {
        match word {
            "http" => Ok(Self::Http),
            "https" | "https_connect" | "http-connect" => Ok(Self::Https),
            "socks5_tcp" => Ok(Self::Socks5Tcp),
            "socks5_udp" => Ok(Self::Socks5Udp),
            other => Err(RuleProblem::Rule(format!(
                "a network_rule knows the protocols http, https, socks5_tcp and socks5_udp (found {other})"
            ))),
        }
    }
}

impl NetworkDecision {
    /// The word used in rule files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Prompt => "prompt",
            Self::Deny => "deny",
        }
    }

    pub(crate) fn parse(word: &str) -> Result<Self, RuleProblem> {
        match word {
            "allow" => Ok(Self::Allow),
            "prompt" => Ok(Self::Prompt),
            "deny" | "forbidden" => Ok(Self::Deny),
            other => Err(RuleProblem::Decision(other.to_owned())),
        }
    }
}

impl NetworkRule {
    /// Creates a rule for exactly one host: a name or an address, without scheme, path or wildcard.
    pub fn new(
        host: &str,
        protocol: NetworkProtocol,
        decision: NetworkDecision,
        justification: Option<String>,
    ) -> Result<Self, RuleProblem> {
        let port = port_of(host.trim());
        let host = normal_host(host)?;
        check_justification(justification.as_deref())?;
        Ok(Self {
            host,
            port,
            protocol,
            decision,
            justification,
        })
    }

    /// In lower case, without brackets or final dot.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What the rule says as an entry of a list. None if it says nothing about connections, an error if its host cannot be
    /// told from others.
    ///
    /// What is allowed is allowed for the port that the rule names, or for the one that its protocol usually has. What is denied
    /// or asked about is so for all ports: a program could use another one.
    pub(crate) fn entry(&self) -> Result<Option<HostEntry>, UnknownHost> {
        let host = Host::parse(&self.host).ok_or(UnknownHost)?;
        let (decision, port) = match self.decision {
            NetworkDecision::Deny => (HostDecision::Deny, None),
            NetworkDecision::Prompt => (HostDecision::Ask, None),
            NetworkDecision::Allow if self.protocol == NetworkProtocol::Socks5Udp => {
                return Ok(None);
            }
            NetworkDecision::Allow => {
                let port = self.port.or(self.protocol.usual_port());
                (HostDecision::Allow, port)
            }
        };
        let pattern = HostPattern::host(host, port);
        Ok(Some(HostEntry { pattern, decision }))
    }

    /// The port, if it was given with the host.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    pub fn protocol(&self) -> NetworkProtocol {
        self.protocol
    }

    pub fn decision(&self) -> NetworkDecision {
        self.decision
    }

    pub fn justification(&self) -> Option<&str> {
        self.justification.as_deref()
    }
}

/// The host of a rule is none that a command can connect to.
pub(crate) struct UnknownHost;

fn port_of(host: &str) -> Option<u16> {
    let port = host.strip_prefix(without_port(host))?.strip_prefix(':')?;
    port.parse().ok()
}

fn normal_host(host: &str) -> Result<String, RuleProblem> {
    let problem = |text: &str| Err(RuleProblem::Rule(format!("network_rule host {text}")));
    let host = host.trim();
    let bare = without_port(host);
    let bare = bare
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(bare);
    let bare = bare.trim_end_matches('.');
    if bare.is_empty() {
        return problem("cannot be empty");
    }
    if bare.contains('*') {
        return problem("takes one host, not a pattern");
    }
    if bare.contains(char::is_whitespace) {
        return problem("cannot contain whitespace");
    }
    if bare.contains(['/', '@', '?', '#']) {
        return problem("takes the name or the address of a host and nothing around it");
    }
    if bare.contains(':') && bare.parse::<std::net::Ipv6Addr>().is_err() {
        return problem("takes the name or the address of a host and nothing around it");
    }
    Ok(bare.to_ascii_lowercase())
}

/// Removes a port, which is redundant because the protocol is given. An IPv6 address such as `::1` has none.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if (!name.contains(':') || name.ends_with(']'))
                && !port.is_empty()
                && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            name
        }
        _ => host,
    }
}
