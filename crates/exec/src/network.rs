//! The network of a command that may reach certain hosts only, as the program that runs it sees it: whom to ask, and what
//! the command reached and did not reach.

use std::fmt::{self, Debug};
use std::future::Future;
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use codex_host_policy::{AskReason, Host};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// A future without a type of its own.
pub type HostAnswerFuture = Pin<Box<dyn Future<Output = HostAnswer> + Send>>;

/// The same for the addresses of a name.
pub type AddressesFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves names of hosts, outside of the network of commands.
pub trait NameResolver: Debug + Send + Sync {
    /// The addresses of a name. An error or no address if it has none.
    fn resolve(&self, name: &str) -> AddressesFuture;
}

/// The most names that are looked up at once for one command, and for all of them. A look-up takes a thread until it ends, also
/// if nobody waits for it any more.
const MOST_LOOKUPS: usize = 8;
const MOST_LOOKUPS_OF_ALL: usize = 64;

static LOOKUPS_OF_ALL: Semaphore = Semaphore::const_new(MOST_LOOKUPS_OF_ALL);

/// Resolves names as programs of this machine do, for one command.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
    look_up: fn(&str) -> io::Result<Vec<IpAddr>>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self {
            lookups: Arc::new(Semaphore::new(MOST_LOOKUPS)),
            look_up,
        }
    }
}

impl NameResolver for SystemResolver {
    fn resolve(&self, name: &str) -> AddressesFuture {
        let Self { lookups, look_up } = self.clone();
        let name = name.to_owned();
        Box::pin(async move {
            let of_command = lookups.acquire_owned().await.map_err(io::Error::other)?;
            let of_all = LOOKUPS_OF_ALL.acquire().await.map_err(io::Error::other)?;
            let found = tokio::task::spawn_blocking(move || {
                let found = look_up(&name);
                drop((of_command, of_all));
                found
            });
            found.await.map_err(io::Error::other)?
        })
    }
}

fn look_up(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = (name, 0).to_socket_addrs()?;
    Ok(found.map(|address| address.ip()).collect())
}

/// Asks somebody about a host that is not listed.
pub trait HostQuestions: Debug + Send + Sync {
    /// The command waits for the answer; its other connections do not.
    fn ask(&self, host: &Host, port: u16, reason: AskReason) -> HostAnswerFuture;
}

/// The answer to a question about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAnswer {
    /// For this command, until it ends.
    Allow,
    /// For this command, with the reason.
    Refuse(String),
    /// Nobody has decided, with the reason. The connection is refused, and the next one is asked about again.
    Undecided(String),
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
            names: Arc::new(SystemResolver::default()),
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
    reached: Vec<(Host, u16, Traffic)>,
    omitted: u64,
}

/// What a command exchanges with a host, counted while it is relayed. Clones are the same numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic(Arc<TrafficNumbers>);

#[derive(Debug, Default)]
struct TrafficNumbers {
    connections: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "nothing is relayed there")
)]
impl Traffic {
    /// The bytes from the command.
    pub(crate) fn sent(&self) -> &AtomicU64 {
        &self.0.sent
    }

    /// The bytes to the command.
    pub(crate) fn received(&self) -> &AtomicU64 {
        &self.0.received
    }
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
        let entries = self.entries.lock();
        let now = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let reached = entries.reached.iter().map(|(host, port, traffic)| {
            let Traffic(numbers) = traffic;
            ReachedHost {
                host: host.clone(),
                port: *port,
                connections: now(&numbers.connections),
                sent: now(&numbers.sent),
                received: now(&numbers.received),
            }
        });
        reached.collect()
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
        expect(dead_code, reason = "nothing is relayed there")
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

    /// Notes a connection that was made. What it carries is to be added to what is returned.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "nothing is relayed there")
    )]
    pub(crate) fn connected(&self, host: &Host, port: u16) -> Traffic {
        let mut entries = self.entries.lock();
        let same = |entry: &&(Host, u16, Traffic)| entry.0 == *host && entry.1 == port;
        let traffic = match entries.reached.iter().find(same) {
            Some((_, _, traffic)) => traffic.clone(),
            None => {
                let traffic = Traffic::default();
                if entries.reached.len() < MOST_HOSTS {
                    let entry = (host.clone(), port, traffic.clone());
                    entries.reached.push(entry);
                }
                traffic
            }
        };
        traffic.0.connections.fetch_add(1, Ordering::Relaxed);
        traffic
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

#[cfg(test)]
mod tests {
    use std::sync::{LazyLock, mpsc};
    use std::time::Duration;

    use super::*;

    /// Where look-ups say that they have begun, and wait until they may end.
    type Meeting = (Mutex<mpsc::Sender<()>>, Mutex<mpsc::Receiver<()>>);

    static BEGUN_MEETING: LazyLock<Meeting> = LazyLock::new(|| {
        let (sender, receiver) = mpsc::channel();
        (Mutex::new(sender), Mutex::new(receiver))
    });
    static MAY_END: LazyLock<Meeting> = LazyLock::new(|| {
        let (sender, receiver) = mpsc::channel();
        (Mutex::new(sender), Mutex::new(receiver))
    });

    fn slow(_: &str) -> io::Result<Vec<IpAddr>> {
        BEGUN_MEETING.0.lock().send(()).unwrap();
        MAY_END.1.lock().recv().unwrap();
        Ok(Vec::new())
    }

    #[tokio::test]
    async fn abandoned_lookups_count_against_the_limit() {
        let resolver = SystemResolver {
            look_up: slow,
            ..SystemResolver::default()
        };
        for _ in 0..MOST_LOOKUPS {
            let given_up = tokio::time::timeout(Duration::from_millis(10), resolver.resolve("a"));
            assert!(given_up.await.is_err());
            let begun = tokio::task::spawn_blocking(|| BEGUN_MEETING.1.lock().recv());
            begun.await.unwrap().unwrap();
        }
        assert_eq!(resolver.lookups.available_permits(), 0);
        let mut another = resolver.resolve("b");
        let waits = tokio::time::timeout(Duration::from_millis(10), &mut another);
        assert!(waits.await.is_err());
        assert!(BEGUN_MEETING.1.lock().try_recv().is_err());
        for _ in 0..=MOST_LOOKUPS {
            MAY_END.0.lock().send(()).unwrap();
        }
        assert!(another.await.unwrap().is_empty());
    }

    #[test]
    fn connections_and_their_bytes_are_recorded_live() {
        let log = NetworkLog::default();
        let host = Host::parse("a.test").unwrap();
        let first = log.connected(&host, 80);
        assert_eq!(log.reached()[0].connections, 1);
        first.sent().fetch_add(3, Ordering::Relaxed);
        let second = log.connected(&host, 80);
        second.received().fetch_add(5, Ordering::Relaxed);
        let reached = log.reached();
        assert_eq!(reached.len(), 1);
        let reached = &reached[0];
        assert_eq!(
            (reached.connections, reached.sent, reached.received),
            (2, 3, 5)
        );
    }
}
