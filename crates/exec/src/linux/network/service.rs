//! Serves the network of one command: answers questions about names, decides about connections, opens listeners.
//!
//! It never waits for a person or for the network: a connection that somebody is asked about is held by the kernel. A listener
//! whose queue is full drops further attempts, and the kernel of the command repeats them each second, so the program just waits.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use codex_host_policy::{AskReason, Host, HostPolicy, Verdict};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, bind, connect, listen, sockopt};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::control::{self, Delivery};
use super::dns;
use super::names::InventedAddresses;
use super::notification::{self, Target};
use super::relay::{self, MOST_CONNECTIONS, RelaySettings};
use super::shared_limits;
use super::sys::{self, ReportedCall};
use super::upstream::UpstreamProxies;
use crate::network::{CommandNetwork, HostAnswer, HostQuestions};

/// The most addresses that a command connects to.
const MOST_ADDRESSES: usize = 256;

/// The connections that wait until they are accepted.
const BACKLOG: i32 = 128;

const NAMES_PORT: u16 = 53;

/// The most connections at once that ask about names.
const MOST_NAME_CONNECTIONS: usize = 16;

/// The network of a command.
pub(super) struct Service {
    control: AsyncFd<OwnedFd>,
    calls: Option<AsyncFd<OwnedFd>>,
    name_questions: Option<AsyncFd<OwnedFd>>,
    names: Arc<Mutex<InventedAddresses>>,
    /// Sockets for listening.
    sockets: Vec<OwnedFd>,
    /// Calls that wait for more of them.
    waiting: Vec<ReportedCall>,
    addresses: HashMap<SocketAddrV4, AddressState>,
    /// Addresses that somebody has refused for the command, and why.
    refused: HashMap<SocketAddrV4, (Host, String)>,
    listeners: JoinSet<()>,
    questions: JoinSet<(SocketAddrV4, HostAnswer)>,
    ask: Option<Arc<dyn HostQuestions>>,
    relay: Arc<RelaySettings>,
}

/// What is known about an address that the command connects to.
enum AddressState {
    /// Connections to it are relayed, or end in the command.
    Open { _permit: OwnedSemaphorePermit },
    /// Somebody is asked about it.
    Held(HeldAddress),
}

/// A listener that accepts nothing yet, because its queue is filled.
struct HeldAddress {
    listener: OwnedFd,
    filler: OwnedFd,
    host: Host,
    permit: OwnedSemaphorePermit,
}

/// What happens to a call.
enum CallOutcome {
    Continue,
    Refuse,
    /// It is handled again when there are more sockets.
    Wait,
}

impl Service {
    pub(super) fn new(
        control: OwnedFd,
        hosts: Arc<HostPolicy>,
        network: CommandNetwork,
        upstream: Option<UpstreamProxies>,
    ) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&control)?;
        rustix::fs::fcntl_setfl(&control, flags | OFlags::NONBLOCK)?;
        Ok(Self {
            control: sys::watch(control)?,
            calls: None,
            name_questions: None,
            names: Arc::default(),
            sockets: Vec::new(),
            waiting: Vec::new(),
            addresses: HashMap::new(),
            refused: HashMap::new(),
            listeners: JoinSet::new(),
            questions: JoinSet::new(),
            ask: network.questions,
            relay: Arc::new(RelaySettings {
                policy: hosts,
                log: network.log,
                names: network.names,
                upstream,
                connections: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            }),
        })
    }

    /// Serves until the supervisor ends.
    pub(super) async fn serve(mut self) {
        loop {
            tokio::select! {
                delivery = ready(&self.control, control::receive) => match delivery {
                    Ok(Delivery::End) | Err(_) => return,
                    Ok(delivery) => {
                        if self.take(delivery).is_err() {
                            return;
                        }
                    }
                },
                call = next_call(self.calls.as_ref()) => match call {
                    Ok(call) => self.handle(call),
                    // No process of the command is left.
                    Err(_) => self.calls = None,
                },
                () = answer_names(self.name_questions.as_ref(), &self.names) => {
                    self.name_questions = None;
                }
                Some(answered) = self.questions.join_next() => {
                    if let Ok((address, answer)) = answered {
                        self.answered(address, answer);
                    }
                }
                Some(_) = self.listeners.join_next() => {}
            }
        }
    }

    fn take(&mut self, delivery: Delivery) -> io::Result<()> {
        match delivery {
            Delivery::Names(datagrams, connections) => {
                self.name_questions = Some(sys::watch(datagrams)?);
                let listener = relay::listener(connections)?;
                let names = Arc::clone(&self.names);
                self.listeners
                    .spawn(serve_name_connections(listener, names));
            }
            Delivery::Notifications(calls) => self.calls = Some(sys::watch(calls)?),
            Delivery::Sockets(sockets) => {
                self.sockets.extend(sockets);
                for call in std::mem::take(&mut self.waiting) {
                    self.handle(call);
                }
            }
            Delivery::End => {}
        }
        Ok(())
    }

    fn handle(&mut self, call: ReportedCall) {
        let Some(calls) = &self.calls else {
            return;
        };
        let target = notification::target(&call);
        // If it does not wait any more, the memory may have been that of another process.
        if !sys::is_waiting(calls.get_ref(), call.id) {
            return;
        }
        let outcome = match target {
            Ok(Target::Nothing) => CallOutcome::Continue,
            Ok(Target::Connection(address)) => self.decide(address),
            Err(_) => CallOutcome::Refuse,
        };
        let answer = |failure| {
            if let Some(calls) = &self.calls {
                sys::answer_call(calls.get_ref(), call.id, failure);
            }
        };
        match outcome {
            CallOutcome::Continue => answer(None),
            CallOutcome::Refuse => answer(Some(Errno::CONNREFUSED)),
            CallOutcome::Wait => {
                self.waiting.push(call);
                if self.waiting.len() == 1
                    && control::ask_for_sockets(self.control.get_ref()).is_err()
                {
                    self.waiting.clear();
                    answer(Some(Errno::CONNREFUSED));
                }
            }
        }
    }

    fn decide(&mut self, address: SocketAddr) -> CallOutcome {
        match address {
            SocketAddr::V4(address) => self.decide_v4(address),
            // The command's own loopback.
            SocketAddr::V6(address) if address.ip().is_loopback() => CallOutcome::Continue,
            SocketAddr::V6(address) if address.ip().is_unspecified() => CallOutcome::Continue,
            SocketAddr::V6(address) => {
                let host = Host::from(IpAddr::from(*address.ip()));
                let port = address.port();
                let reason = match self.relay.policy.verdict(&host, port) {
                    Verdict::Refuse(reason) => reason.to_string(),
                    Verdict::Ask(_) | Verdict::Allow => {
                        "IPv6 addresses are not relayed; use the name of the host".to_owned()
                    }
                };
                self.relay.log.refuse(&host, port, reason);
                CallOutcome::Refuse
            }
        }
    }

    fn decide_v4(&mut self, address: SocketAddrV4) -> CallOutcome {
        let (ip, port) = (*address.ip(), address.port());
        // Questions about names are answered on every address.
        if port == NAMES_PORT || ip.is_unspecified() {
            return CallOutcome::Continue;
        }
        if self.addresses.contains_key(&address) {
            return CallOutcome::Continue;
        }
        if let Some((host, reason)) = self.refused.get(&address) {
            self.relay.log.refuse(host, port, reason);
            return CallOutcome::Refuse;
        }
        let host = self.host_of(ip);
        match self.relay.policy.verdict(&host, port) {
            Verdict::Allow => self.open(address, host),
            Verdict::Ask(reason) if self.ask.is_some() => self.hold(address, host, reason),
            Verdict::Refuse(_) if ip.is_loopback() => CallOutcome::Continue,
            // Programs of the command itself.
            Verdict::Refuse(_) if is_own(ip) => CallOutcome::Continue,
            Verdict::Ask(AskReason::NotListed) => {
                self.refuse(address, &host, "it is not listed, and nobody can be asked")
            }
            Verdict::Ask(AskReason::Wanted) => self.refuse(
                address,
                &host,
                "a person decides about it, and nobody can be asked",
            ),
            Verdict::Refuse(reason) => self.refuse(address, &host, reason.to_string()),
        }
    }

    fn host_of(&self, ip: Ipv4Addr) -> Host {
        match self.names.lock().name_of(ip) {
            Some(name) => Host::Name(name.to_owned()),
            None => Host::from(IpAddr::from(ip)),
        }
    }

    fn refuse(&self, address: SocketAddrV4, host: &Host, reason: impl Into<String>) -> CallOutcome {
        self.relay.log.refuse(host, address.port(), reason);
        CallOutcome::Refuse
    }

    /// Relays connections to an address from now on.
    fn open(&mut self, address: SocketAddrV4, host: Host) -> CallOutcome {
        let permit = match self.permit(self.addresses.len()) {
            Ok(permit) => permit,
            Err(reason) => return self.refuse(address, &host, reason),
        };
        let Some(socket) = self.sockets.pop() else {
            return CallOutcome::Wait;
        };
        match listen_at(&socket, address, BACKLOG) {
            Ok(()) => {}
            // A program of the command listens there, which reaches only itself.
            Err(Errno::ADDRINUSE) => return CallOutcome::Continue,
            Err(_) => return self.refuse(address, &host, "it cannot be relayed"),
        }
        if self.accept(socket, address, host.clone(), permit).is_err() {
            return self.refuse(address, &host, "it cannot be relayed");
        }
        CallOutcome::Continue
    }

    /// Takes an address more than these, or says why not.
    fn permit(&self, addresses: usize) -> Result<OwnedSemaphorePermit, &'static str> {
        if addresses >= MOST_ADDRESSES {
            return Err("the command connects to too many addresses");
        }
        shared_limits::address().ok_or("all commands together connect to too many addresses")
    }

    fn accept(
        &mut self,
        socket: OwnedFd,
        address: SocketAddrV4,
        host: Host,
        permit: OwnedSemaphorePermit,
    ) -> io::Result<()> {
        let listener = relay::listener(socket)?;
        let settings = Arc::clone(&self.relay);
        let accepting = relay::accept(listener, host, address.port(), settings);
        self.listeners.spawn(accepting);
        let state = AddressState::Open { _permit: permit };
        self.addresses.insert(address, state);
        Ok(())
    }

    /// Lets the program wait until somebody has answered.
    fn hold(&mut self, address: SocketAddrV4, host: Host, reason: AskReason) -> CallOutcome {
        let Some(ask) = self.ask.clone() else {
            return self.refuse(address, &host, "nobody can be asked");
        };
        // What was refused counts too: else people would be asked without end.
        let permit = match self.permit(self.addresses.len() + self.refused.len()) {
            Ok(permit) => permit,
            Err(reason) => return self.refuse(address, &host, reason),
        };
        if self.sockets.len() < 2 {
            return CallOutcome::Wait;
        }
        let (Some(listener), Some(filler)) = (self.sockets.pop(), self.sockets.pop()) else {
            return CallOutcome::Wait;
        };
        match listen_at(&listener, address, 0) {
            Ok(()) => {}
            Err(Errno::ADDRINUSE) => return CallOutcome::Continue,
            Err(_) => return self.refuse(address, &host, "it cannot be relayed"),
        }
        if !matches!(connect(&filler, &address), Ok(()) | Err(Errno::INPROGRESS)) {
            return self.refuse(address, &host, "it cannot be relayed");
        }
        let port = address.port();
        let question = host.clone();
        self.questions
            .spawn(async move { (address, ask.ask(&question, port, reason).await) });
        let held = HeldAddress {
            listener,
            filler,
            host,
            permit,
        };
        self.addresses.insert(address, AddressState::Held(held));
        CallOutcome::Continue
    }

    fn answered(&mut self, address: SocketAddrV4, answer: HostAnswer) {
        let Some(AddressState::Held(held)) = self.addresses.remove(&address) else {
            return;
        };
        let HeldAddress {
            listener,
            filler,
            host,
            permit,
        } = held;
        match answer {
            HostAnswer::Allow => {
                // The first of the queue.
                let queued = accept_with(&listener, SocketFlags::CLOEXEC);
                drop((queued, filler));
                let opened = listen(&listener, BACKLOG)
                    .map_err(io::Error::from)
                    .and_then(|()| self.accept(listener, address, host.clone(), permit));
                if opened.is_err() {
                    self.refuse(address, &host, "it cannot be relayed");
                }
            }
            // The listener is closed, so the next attempt is refused.
            HostAnswer::Refuse(reason) => {
                self.refuse(address, &host, reason.as_str());
                self.refused.insert(address, (host, reason));
            }
            HostAnswer::Undecided(reason) => {
                self.refuse(address, &host, reason);
            }
        }
    }
}

/// The addresses of the command's own network.
fn is_own(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    (a, b, c) == (198, 18, 0)
}

fn listen_at(socket: &OwnedFd, address: SocketAddrV4, backlog: i32) -> Result<(), Errno> {
    sockopt::set_socket_reuseaddr(socket, true)?;
    sockopt::set_ip_freebind(socket, true)?;
    bind(socket, &address)?;
    listen(socket, backlog)
}

/// Waits until a descriptor has something to read. A command can make that so without end, so other tasks of this thread have
/// their turn in between.
async fn ready<T>(
    descriptor: &AsyncFd<OwnedFd>,
    mut read: impl FnMut(&OwnedFd) -> Result<T, Errno>,
) -> io::Result<T> {
    loop {
        // Before anything is read, because whoever waits may give up here.
        tokio::task::consume_budget().await;
        let mut guard = descriptor.readable().await?;
        let read = guard.try_io(|inner| read(inner.get_ref()).map_err(io::Error::from));
        match read {
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(read) => return read,
            Err(_) => {}
        }
    }
}

async fn next_call(calls: Option<&AsyncFd<OwnedFd>>) -> io::Result<ReportedCall> {
    match calls {
        Some(calls) => ready(calls, receive_call).await,
        None => std::future::pending().await,
    }
}

/// Receiving waits if there is nothing, so it is looked first.
fn receive_call(calls: &OwnedFd) -> Result<ReportedCall, Errno> {
    let mut wanted = [PollFd::new(calls, PollFlags::IN)];
    poll(&mut wanted, Some(&Timespec::default()))?;
    let [wanted] = wanted;
    let found = wanted.revents();
    if found.contains(PollFlags::IN) {
        return match sys::receive_call(calls) {
            // It was withdrawn meanwhile.
            Err(Errno::NOENT) => Err(Errno::INTR),
            received => received,
        };
    }
    if found.is_empty() {
        Err(Errno::AGAIN)
    } else {
        Err(Errno::PIPE)
    }
}

/// Answers questions about names until the socket fails.
async fn answer_names(socket: Option<&AsyncFd<OwnedFd>>, names: &Mutex<InventedAddresses>) {
    let Some(socket) = socket else {
        return std::future::pending().await;
    };
    let mut question = [0; dns::LONGEST_QUESTION];
    loop {
        let received = ready(socket, |socket| {
            sys::receive_datagram(socket, &mut question)
        })
        .await;
        let Ok(datagram) = received else {
            return;
        };
        let answer = dns::answer(&question[..datagram.length], &mut names.lock());
        if let Some(answer) = answer {
            // An answer that is lost is asked for again.
            sys::send_datagram(socket.get_ref(), &answer, datagram.to, datagram.from).ok();
        }
    }
}

async fn serve_name_connections(listener: TcpListener, names: Arc<Mutex<InventedAddresses>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MOST_NAME_CONNECTIONS => {
                let Ok((connection, _)) = accepted else {
                    return;
                };
                let names = Arc::clone(&names);
                connections.spawn(async move { answer_connection(connection, &names).await.ok() });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Questions and answers have their length before them.
async fn answer_connection(
    mut connection: TcpStream,
    names: &Mutex<InventedAddresses>,
) -> io::Result<()> {
    loop {
        let length = usize::from(connection.read_u16().await?);
        if length > dns::LONGEST_QUESTION {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut question = vec![0; length];
        connection.read_exact(&mut question).await?;
        let answer = dns::answer(&question, &mut names.lock());
        let Some(answer) = answer else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        let mut message = length.to_be_bytes().to_vec();
        message.extend(answer);
        connection.write_all(&message).await?;
    }
}
