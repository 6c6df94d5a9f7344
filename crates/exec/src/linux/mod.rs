//! Commands on Linux: a helper process, the spawner, forks a supervisor for each of them.

mod helper;
mod network;
mod spawner;

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use codex_sandbox::LaunchPlan;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;

pub use helper::run_helper_if_asked;

use crate::launch::{Launch, SpawnError, StreamSetup};
use crate::process::SpawnedProcess;
use crate::supervised::reports::{self, ReportReader};
use crate::supervised::streams::OurEnds;
pub(crate) use crate::unix::linux::{
    HelperConfinement, RECEIVE_DESCRIPTORS, SEND_DESCRIPTORS, open_terminal, widen,
};
use crate::unix::message::{CommandRequest, REQUEST_LIMIT};
use crate::unix::start_request::StartRequest;
pub(crate) use crate::unix::{END_OF_TERMINAL_INPUT, InputPipe, OutputPipe, as_typed};
pub use crate::unix::{Terminal, has_program};
use network::{Relay, UpstreamProxies};
use spawner::SpawnerHandle;

/// The running program, even if its file was replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Variables that name a proxy, or what is reached without it.
const PROXIES: [&str; 7] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "WS_PROXY",
    "WSS_PROXY",
    "NO_PROXY",
];

pub(crate) use LinuxBackend as Backend;

/// Starts commands.
#[derive(Debug)]
pub(crate) struct LinuxBackend {
    spawner: SpawnerHandle,
}

impl LinuxBackend {
    pub(crate) fn of_this_program() -> Self {
        Self::with_helper(THIS_PROGRAM.into())
    }

    pub(crate) fn with_helper(program: PathBuf) -> Self {
        Self {
            spawner: SpawnerHandle::new(program),
        }
    }

    pub(crate) async fn spawn(&self, launch: Launch) -> Result<SpawnedProcess, SpawnError> {
        let confinement = match launch.plan {
            LaunchPlan::Unconfined => None,
            LaunchPlan::Confined(confinement) => Some(confinement),
        };
        let namespaces = confinement.as_ref().and_then(|plan| plan.clone_flags());
        let clone_flags = namespaces.unwrap_or_default();
        let hosts = confinement.as_ref().and_then(|plan| plan.hosts()).cloned();
        let (mut inherited, mut environment) = (launch.inherited, launch.environment);
        // Later variables take precedence, so they are looked at first.
        let own = environment.iter().rev().map(|(name, value)| (name, value));
        let proxies = UpstreamProxies::from_variables(own.chain(inherited.iter()));
        if hosts.is_some() {
            // A proxy of this machine is not there for the command, and would hide from it which hosts it may reach.
            let is_proxy =
                |name: &OsStr| PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy));
            if inherited.keys().any(|name| is_proxy(name)) {
                Arc::make_mut(&mut inherited).retain(|name, _| !is_proxy(name));
            }
            environment.retain(|(name, _)| !is_proxy(name));
        }
        let request = CommandRequest {
            command: launch.command,
            cwd: launch.cwd,
            inherited,
            environment,
            terminal: matches!(launch.streams, StreamSetup::Terminal(_)),
            confinement,
        };
        let request = request.encode();
        if request.len() > REQUEST_LIMIT {
            return Err(SpawnError::TooLong);
        }
        let (ours, theirs) = OurEnds::open(launch.streams).map_err(SpawnError::Supervisor)?;
        let (relay, network) = match hosts {
            Some(hosts) => {
                let (ours, theirs) = network::control::pair()
                    .map_err(|error| SpawnError::Supervisor(error.into()))?;
                let relay = Relay::start(ours, hosts, launch.network, proxies);
                (Some(relay.map_err(SpawnError::Supervisor)?), Some(theirs))
            }
            None => (None, None),
        };
        let reports = self
            .start_supervisor(clone_flags, &request, theirs, network)
            .await
            .map_err(SpawnError::Supervisor)?;
        reports::started(reports, ours, async move { drop(relay) }).await
    }

    pub(crate) async fn close(&self) {
        self.spawner.close().await;
    }

    async fn start_supervisor(
        &self,
        clone_flags: i32,
        request: &[u8],
        streams: [OwnedFd; 3],
        network: Option<OwnedFd>,
    ) -> io::Result<ReportReader> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let start = StartRequest {
            clone_flags,
            control: theirs.into(),
            streams,
            network,
        };
        self.spawner.start_supervisor(start).await?;
        ours.set_nonblocking(true)?;
        let mut ours = UnixStream::from_std(ours)?;
        ours.write_all(request).await?;
        Ok(ReportReader::new(ours))
    }
}
