//! Relays the connections of a command whose network is limited to hosts.
//!
//! The command has a network of its own that leads nowhere. Its questions about names are answered with invented addresses
//! (`names`), its attempts to connect are reported and decided about by name and port (`service`), and what is allowed is
//! accepted here and relayed (`relay`). No descriptor of another network enters the command, and what is not relayed ends in a
//! refusal by the kernel. All ends with the supervisor of the command, and with this process.
//!
//! Code map: `service` (decides, opens listeners), `notification` (reported calls), `names` and `dns` (names and their invented
//! addresses), `relay`, `dial`, `upstream` and `http_request` (connections, also through a proxy), `client_hello` (the name in the first bytes of TLS), `control` (the socket to the
//! supervisor), `shared_limits` (of all commands), `sys` (system calls).

mod client_hello;
pub(super) mod control;
mod dial;
mod dns;
mod http_request;
mod names;
mod notification;
mod relay;
mod service;
mod shared_limits;
mod sys;
mod upstream;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use codex_host_policy::HostPolicy;
use tokio::task::JoinHandle;

pub(super) use upstream::UpstreamProxies;

use crate::network::CommandNetwork;

/// The relay of a command. Dropping it cuts all connections.
pub(super) struct Relay {
    service: JoinHandle<()>,
}

impl Relay {
    /// Serves a command. `control` leads to its supervisor.
    pub(super) fn start(
        control: OwnedFd,
        hosts: Arc<HostPolicy>,
        network: CommandNetwork,
        proxies: UpstreamProxies,
    ) -> io::Result<Self> {
        let upstream = hosts.allows_upstream_proxy().then_some(proxies);
        let service = service::Service::new(control, hosts, network, upstream)?;
        Ok(Self {
            service: tokio::spawn(service.serve()),
        })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.service.abort();
    }
}
