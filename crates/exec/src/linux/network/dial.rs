//! Connects to a host outside, to an address that may be connected to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use codex_host_policy::{Host, HostPolicy};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::network::NameResolver;

/// How long the system may take to resolve a name.
const RESOLVE_LIMIT: Duration = Duration::from_secs(20);

/// How long one address may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);

/// Connects. An error is a reason for people.
///
/// The name is resolved here, once, and what it leads to is checked and then connected to. A name that leads to this machine or
/// its network is refused unless that address is allowed itself.
pub(super) async fn dial(
    host: &Host,
    port: u16,
    policy: &HostPolicy,
    names: &dyn NameResolver,
) -> Result<TcpStream, String> {
    let mut reason = "it has no address".to_owned();
    let addresses = match host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => allowed(resolve(name, names).await?, port, policy)?,
    };
    for address in addresses {
        match timeout(
            CONNECT_LIMIT,
            TcpStream::connect(SocketAddr::new(address, port)),
        )
        .await
        {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => reason = format!("it cannot be reached: {}", plain(&error)),
            Err(_) => "it does not answer".clone_into(&mut reason),
        }
    }
    Err(reason)
}

/// Checks a host that somebody else resolves again, who may choose any of its addresses. An error is a reason for people.
pub(super) async fn check_all(
    host: &Host,
    port: u16,
    policy: &HostPolicy,
    names: &dyn NameResolver,
) -> Result<(), String> {
    match host {
        Host::Address(_) => Ok(()),
        Host::Name(name) => all_allowed(&resolve(name, names).await?, port, policy),
    }
}

async fn resolve(name: &str, names: &dyn NameResolver) -> Result<Vec<IpAddr>, String> {
    match timeout(RESOLVE_LIMIT, names.resolve(name)).await {
        Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
        Ok(_) => Err("the name does not resolve".to_owned()),
        Err(_) => Err("the name is not resolved in time".to_owned()),
    }
}

/// The addresses that a name may lead to.
fn allowed(addresses: Vec<IpAddr>, port: u16, policy: &HostPolicy) -> Result<Vec<IpAddr>, String> {
    let is_allowed = |address: &IpAddr| policy.allows_address(*address, port);
    let allowed: Vec<_> = addresses.into_iter().filter(is_allowed).collect();
    if allowed.is_empty() {
        return Err(LEADS_TO_MACHINE.to_owned());
    }
    Ok(allowed)
}

fn all_allowed(addresses: &[IpAddr], port: u16, policy: &HostPolicy) -> Result<(), String> {
    let is_allowed = |address: &IpAddr| policy.allows_address(*address, port);
    if addresses.iter().all(is_allowed) {
        Ok(())
    } else {
        Err(LEADS_TO_MACHINE.to_owned())
    }
}

const LEADS_TO_MACHINE: &str = "the name leads to an address of this machine or of its network that is not allowed, or to one \
                                that is denied";

fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use codex_host_policy::{HostDecision, HostEntry, HostList, HostPattern, ListOwner};

    use super::*;

    #[test]
    fn only_permitted_addresses_of_a_name_are_dialed() {
        let entry = |pattern| HostEntry {
            pattern: HostPattern::parse(pattern).unwrap(),
            decision: HostDecision::Allow,
        };
        let policy = HostPolicy::new(vec![HostList::new(
            ListOwner::Feature,
            vec![entry("*"), entry("10.0.0.1")],
        )]);
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let check = |texts: &[&str]| allowed(addresses(texts), 80, &policy);
        let mixed = [
            "127.0.0.1",
            "1.1.1.1",
            "169.254.169.254",
            "10.0.0.1",
            "10.0.0.2",
        ];
        assert_eq!(check(&mixed).unwrap(), addresses(&["1.1.1.1", "10.0.0.1"]));
        assert!(check(&["127.0.0.1", "::1", "::ffff:10.0.0.3"]).is_err());
        // A proxy may choose any of them.
        let all = |texts: &[&str]| {
            let addresses: Vec<IpAddr> = addresses(texts);
            all_allowed(&addresses, 80, &policy)
        };
        assert!(all(&mixed).is_err());
        assert!(all(&["1.1.1.1", "10.0.0.1"]).is_ok());
    }
}
