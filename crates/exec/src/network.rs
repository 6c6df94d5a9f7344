//! The network of a command that may reach certain hosts only, as the program that runs it sees it: whom to ask, and what
//! the command reached and did not reach.

use std::fmt::{self, Debug};
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use codex_host_policy::Host;
use parking_lot::Mutex;

/// A future without a type of its own.
pub type HostAnswerFuture = Pin<Box<dyn Future<Output = HostAnswer> + Send>>;

/// The same for the addresses of a name.
pub type AddressesFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves names of hosts, outside of the network of commands.
pub trait NameResolver: Debug + Send + Sync {
    /// The addresses of a name. An error or no address if it has none.
    fn resolve(&self, name: &str) -> AddressesFuture;
}

/// Resolves names as programs of this machine do.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl NameResolver for SystemResolver {
    fn resolve(&self, name: &str) -> AddressesFuture {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Asks somebody about a host that is not listed.
pub trait HostQuestions: Debug + Send + Sync {
    /// The command waits for the answer; its other connections do not.
    fn ask(&self, host: &Host, port: u16) -> HostAnswerFuture;
}

/// The answer to a question about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAnswer {
    /// For this command, until it ends.
    Allow,
    /// For this command, with the reason.
    Refuse(String),
}

/// Whom to ask about hosts, and where to note what happened.
#[derive(Debug, Clone)]
pub struct CommandNetwork {
    /// Whom to ask about hosts that are not listed. Without anybody they are refused.
    pub questions: Option<Arc<dyn HostQuestions>>,
    /// What happened. Shared with whoever starts the command.
    pub log: NetworkLog,
    /// Resolves the names of hosts that the command may reach.
    pub names: Arc<dyn NameResolver>,
}

impl Default for CommandNetwork {
    fn default() -> Self {
        Self {
            questions: None,
            log: NetworkLog::default(),
            names: Arc::new(SystemResolver),
        }
    }
}

/// What a command reached and did not reach. Clones are the same log.
#[derive(Debug, Clone, Default)]
pub struct NetworkLog {
    entries: Arc<Mutex<Entries>>,
}

#[derive(Debug, Default)]
struct Entries {
    refused: Vec<RefusedHost>,
    /// How many of them were taken.
    taken: usize,
    reached: Vec<ReachedHost>,
    omitted: u64,
}

/// A host that a command did not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHost {
    pub host: Host,
    pub port: u16,
    pub reason: String,
}

/// A host that a command reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedHost {
    pub host: Host,
    pub port: u16,
    pub connections: u64,
    /// The bytes from the command.
    pub sent: u64,
    /// The bytes to the command.
    pub received: u64,
}

/// The most hosts that are noted of either kind.
const MOST_HOSTS: usize = 256;

impl NetworkLog {
    /// What the command did not reach, each once.
    #[must_use]
    pub fn refused(&self) -> Vec<RefusedHost> {
        self.entries.lock().refused.clone()
    }

    /// What the command reached.
    #[must_use]
    pub fn reached(&self) -> Vec<ReachedHost> {
        self.entries.lock().reached.clone()
    }

    /// What the command did not reach since the last time, in words, a line each; none if there is nothing.
    #[must_use]
    pub fn take_refusals(&self) -> Option<String> {
        let mut entries = self.entries.lock();
        let new = entries.refused[entries.taken..].iter();
        let mut lines: Vec<_> = new.map(|refusal| format!("Network: {refusal}")).collect();
        entries.taken = entries.refused.len();
        let omitted = std::mem::take(&mut entries.omitted);
        if omitted > 0 {
            lines.push(format!("Network: {omitted} more connections were refused"));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Notes a refusal.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "nothing is relayed there")
    )]
    pub(crate) fn refuse(&self, host: &Host, port: u16, reason: impl Into<String>) {
        let refusal = RefusedHost {
            host: host.clone(),
            port,
            reason: reason.into(),
        };
        let mut entries = self.entries.lock();
        if entries.refused.contains(&refusal) {
            return;
        }
        if entries.refused.len() < MOST_HOSTS {
            entries.refused.push(refusal);
        } else {
            entries.omitted += 1;
        }
    }

    /// Notes a connection that has ended.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "nothing is relayed there")
    )]
    pub(crate) fn count(&self, host: &Host, port: u16, sent: u64, received: u64) {
        let mut entries = self.entries.lock();
        let same = |entry: &&mut ReachedHost| entry.host == *host && entry.port == port;
        if let Some(entry) = entries.reached.iter_mut().find(same) {
            entry.connections += 1;
            entry.sent += sent;
            entry.received += received;
        } else if entries.reached.len() < MOST_HOSTS {
            entries.reached.push(ReachedHost {
                host: host.clone(),
                port,
                connections: 1,
                sent,
                received,
            });
        }
    }
}

impl fmt::Display for RefusedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, reason } = self;
        write!(
            formatter,
            "the connection to {host} port {port} was refused: {reason}"
        )
    }
}
