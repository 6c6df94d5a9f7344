//! Commands whose network is limited to hosts: what they reach, what they do not reach, and attempts to reach more.
//!
//! The attacks are functions of this program, which is started again inside the sandbox.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed expectation is the failed test"
)]

mod common;

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{
    IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use codex_exec::{
    AddressesFuture, CommandNetwork, HostAnswer, HostAnswerFuture, HostQuestions, Launch,
    NameResolver, RefusedHost,
};
use codex_host_policy::{
    AskReason, Host, HostDecision, HostEntry, HostList, HostPattern, ListOwner,
};
use codex_sandbox::{
    ConfinementPolicy, EnforcementLevels, HostLimit, LaunchPlan, LaunchPlanError, LimitedCommands,
    Namespaces, NetworkLimits, NetworkMode, PolicyContext, ReadAccess, plan, probe,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::{Notify, watch};

use common::{finish, launch, shell, spawn, texts};

/// System calls that libraries do not offer safely.
#[expect(unsafe_code, reason = "calls of the system")]
mod raw {
    use std::io;

    fn result(value: libc::c_long) -> io::Result<libc::c_long> {
        if value < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(value)
        }
    }

    pub(super) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<i32> {
        // SAFETY: takes numbers.
        let value = unsafe { libc::socket(family, kind, protocol) };
        result(value.into()).map(|_| value)
    }

    /// Connects a socket to the bytes of an address, which others may change meanwhile.
    pub(super) fn connect(socket: i32, address: *const u8, length: usize) -> io::Result<()> {
        let length = libc::socklen_t::try_from(length).unwrap();
        // SAFETY: the callers pass memory that lives longer than the call; the kernel only reads it.
        let value = unsafe { libc::connect(socket, address.cast(), length) };
        result(value.into()).map(drop)
    }

    /// Sends with the flag that opens a connection without `connect`.
    pub(super) fn fast_open(socket: i32, address: &[u8]) -> io::Result<()> {
        let text = b"x";
        // SAFETY: both are valid for the call; the kernel only reads them.
        let value = unsafe {
            libc::sendto(
                socket,
                text.as_ptr().cast(),
                text.len(),
                libc::MSG_FASTOPEN,
                address.as_ptr().cast(),
                libc::socklen_t::try_from(address.len()).unwrap(),
            )
        };
        result(value as libc::c_long).map(drop)
    }

    pub(super) fn io_uring() -> io::Result<()> {
        let mut parameters = [0_u8; 256];
        // SAFETY: the structure of the kernel is smaller than the zeroed memory.
        let value = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
        result(value).map(drop)
    }

    /// Another filter with a listener, whose owner could let calls continue.
    pub(super) fn second_listener() -> io::Result<()> {
        let mut filter = [libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: libc::SECCOMP_RET_USER_NOTIF,
        }];
        let program = libc::sock_fprog {
            len: 1,
            filter: filter.as_mut_ptr(),
        };
        // SAFETY: the kernel only reads both.
        let value = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
                &raw const program,
            )
        };
        result(value).map(drop)
    }
}

/// Whether this system can do it. What it cannot do is refused, which other tests show.
fn is_possible() -> bool {
    let possible = probe().limits_hosts();
    if !possible {
        println!("skipped: commands cannot have a network of their own here");
    }
    // Tests that run at once in this process share what may be open.
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    possible
}

/// Names that lead to this machine, where the servers of the tests are.
#[derive(Debug, Default)]
struct Names {
    addresses: BTreeMap<String, Vec<IpAddr>>,
    /// How often a name was resolved.
    asked: AtomicUsize,
}

impl NameResolver for Names {
    fn resolve(&self, name: &str) -> AddressesFuture {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let addresses = self.addresses.get(name).cloned().unwrap_or_default();
        Box::pin(async move { Ok(addresses) })
    }
}

/// Answers each question with the same once it may.
#[derive(Debug)]
struct Answers {
    answer: HostAnswer,
    /// The questions so far.
    asked: watch::Sender<Vec<(Host, u16)>>,
    may_answer: Arc<Notify>,
}

impl Answers {
    fn new(answer: HostAnswer) -> Arc<Self> {
        Arc::new(Self {
            answer,
            asked: watch::Sender::default(),
            may_answer: Arc::default(),
        })
    }
}

impl HostQuestions for Answers {
    fn ask(&self, host: &Host, port: u16, reason: AskReason) -> HostAnswerFuture {
        assert_eq!(reason, AskReason::NotListed);
        self.asked
            .send_modify(|asked| asked.push((host.clone(), port)));
        let (answer, may_answer) = (self.answer.clone(), Arc::clone(&self.may_answer));
        Box::pin(async move {
            may_answer.notified().await;
            answer
        })
    }
}

/// Answers each question at once.
#[derive(Debug)]
struct AnswersAtOnce {
    answer: HostAnswer,
    asked: AtomicUsize,
}

impl HostQuestions for AnswersAtOnce {
    fn ask(&self, _: &Host, _: u16, _: AskReason) -> HostAnswerFuture {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.clone();
        Box::pin(async move { answer })
    }
}

/// A server of this machine that says what it is, and counts its connections.
struct Server {
    port: u16,
    accepted: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepted = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&accepted);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || serve(connection.unwrap()).ok());
            }
        });
        Self { port, accepted }
    }

    fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

/// Greets, then sends back what comes.
fn serve(mut connection: TcpStream) -> io::Result<()> {
    connection.write_all(b"hello\n")?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = connection.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        connection.write_all(&buffer[..read])?;
    }
}

fn open_network() -> ConfinementPolicy {
    ConfinementPolicy::ReadOnly {
        read: ReadAccess::Full,
        network: NetworkMode::Enabled,
    }
}

/// A plan with a list of hosts, written as `+allowed -denied`.
fn plan_with(list: &str, levels: EnforcementLevels) -> LaunchPlan {
    try_plan(list, levels).unwrap()
}

fn try_plan(list: &str, levels: EnforcementLevels) -> Result<LaunchPlan, LaunchPlanError> {
    let entry = |text: &str| {
        let (decision, pattern) = text.split_at(1);
        HostEntry {
            pattern: HostPattern::parse(pattern).unwrap(),
            decision: match decision {
                "+" => HostDecision::Allow,
                _ => HostDecision::Deny,
            },
        }
    };
    let mut limits = NetworkLimits::default();
    limits.add(HostLimit {
        hosts: Some(HostList {
            upstream_proxy: true,
            ..HostList::new(
                ListOwner::Feature,
                list.split_whitespace().map(entry).collect(),
            )
        }),
        ..HostLimit::closing("`s`", LimitedCommands::Confined)
    });
    let policy_context = PolicyContext {
        network_limits: Arc::new(limits),
        ..PolicyContext::in_folder("/")
    };
    plan(&open_network(), &policy_context, levels)
}

/// The names of the tests. `own.test` leads to this machine.
fn names() -> Arc<Names> {
    let own = IpAddr::from(Ipv4Addr::LOCALHOST);
    let addresses = [
        ("own.test", own),
        ("other.test", own),
        ("deny.test", own),
        ("x.wild.test", own),
    ];
    let addresses = addresses.map(|(name, address)| (name.to_owned(), vec![address]));
    let mut addresses = BTreeMap::from(addresses);
    let elsewhere = IpAddr::from(Ipv4Addr::new(10, 0, 0, 1));
    addresses.insert("mixed.test".to_owned(), vec![own, elsewhere]);
    Arc::new(Names {
        addresses,
        ..Names::default()
    })
}

/// Names may lead to this machine, whose address is allowed; only the address itself could then be connected to as well.
const TO_THIS_MACHINE: &str = "+127.0.0.1";

fn with_network(mut launch: Launch, list: &str, network: &CommandNetwork) -> Launch {
    launch.plan = plan_with(&format!("{list} {TO_THIS_MACHINE}"), probe());
    launch.network = network.clone();
    launch
}

fn network() -> CommandNetwork {
    CommandNetwork {
        names: names(),
        ..CommandNetwork::default()
    }
}

/// Runs a part of this program as a command.
fn part(name: &str, port: u16) -> Launch {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let mut launch = launch(&[program, "inside", "--exact", "--ignored", "--nocapture"]);
    launch.environment.push(("PART".into(), name.into()));
    launch
        .environment
        .push(("PORT".into(), port.to_string().into()));
    launch
}

/// The lines that a part has printed.
async fn output(launch: Launch) -> String {
    let (_, out, error) = texts(finish(launch).await);
    let lines = out.lines().filter_map(|line| line.strip_prefix("part: "));
    let lines: Vec<_> = lines.collect();
    assert!(!lines.is_empty(), "{out}{error}");
    lines.join("\n")
}

fn refused(network: &CommandNetwork) -> Vec<(String, u16)> {
    let refused = network.log.refused();
    let name = |entry: RefusedHost| (entry.host.to_string(), entry.port);
    refused.into_iter().map(name).collect()
}

macro_rules! tell {
    ($($argument:tt)*) => {
        println!("\npart: {}", format!($($argument)*))
    };
}

#[test]
#[ignore = "runs in a sandbox, for other tests"]
fn inside() {
    let name = std::env::var("PART").unwrap();
    let port = std::env::var("PORT").unwrap().parse().unwrap();
    parts::run(&name, port);
}

/// What runs in the sandbox.
mod parts {
    use super::*;

    pub(super) fn run(name: &str, port: u16) {
        match name.split_once('=').unwrap_or((name, "")) {
            ("reach", hosts) => hosts.split(',').for_each(|host| reach(host, port)),
            ("get", hosts) => hosts.split(',').for_each(|host| get(host, port)),
            ("names", _) => names(),
            ("flip", _) => flip(port),
            ("attacks", _) => attacks(port),
            ("attacks-outside", _) => attacks_outside(port),
            ("timer", host) => timer(host, port),
            ("nonblocking", host) => nonblocking(host, port),
            ("tls", names) => tls(names, port),
            ("bulk", host) => bulk(host, port),
            ("many", host) => many(host, port),
            ("flood", host) => flood(host, port),
            ("storm", host) => storm(host, port),
            ("drown", what) => drown(what, port),
            ("ports", host) => ports(host),
            ("connections", host) => connections(host, port),
            ("hello", host) => hello(host, port),
            (other, _) => panic!("{other}"),
        }
    }

    fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
        let address = (host, port).to_socket_addrs()?.next();
        TcpStream::connect(address.ok_or(io::ErrorKind::NotFound)?)
    }

    fn greeting(mut stream: &TcpStream) -> io::Result<String> {
        let mut greeting = [0; 6];
        stream.read_exact(&mut greeting)?;
        Ok(String::from_utf8_lossy(&greeting).trim().to_owned())
    }

    fn outcome(result: io::Result<String>) -> String {
        match result {
            Ok(text) => text,
            Err(error) => format!("{:?}", error.kind()),
        }
    }

    fn reach(host: &str, port: u16) {
        let started = Instant::now();
        let reached = connect(host, port).and_then(|stream| greeting(&stream));
        let refused = reached
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        let slow = refused && started.elapsed() > Duration::from_secs(5);
        tell!(
            "{host} {}{}",
            outcome(reached),
            if slow { " slowly" } else { "" }
        );
    }

    /// A plain request; no variable tells of a proxy.
    fn get(host: &str, port: u16) {
        assert!(
            std::env::var_os("http_proxy").is_none() && std::env::var_os("HTTPS_PROXY").is_none()
        );
        let answered = connect(host, port).and_then(|mut stream| {
            stream.write_all(
                format!(
                    "GET /x HTTP/1.1\r\nHost: {host}\r\n\r\nGET http://deny.test/ HTTP/1.1\r\n\r\n"
                )
                .as_bytes(),
            )?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text.lines().last().unwrap_or_default().to_owned())
        });
        tell!("{host} {}", outcome(answered));
    }

    /// Asks a server of the machine's own choice, and one that does not exist, over datagrams and connections.
    fn names() {
        let question = b"\x07\x08\x01\0\0\x01\0\0\0\0\0\0\x03own\x04test\0\0\x01\0\x01";
        for server in ["8.8.8.8:53", "127.0.0.1:53", "198.18.0.1:53", "10.9.8.7:53"] {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.connect(server).unwrap();
            socket
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            socket.send(question).unwrap();
            let mut answer = [0; 512];
            let length = socket.recv(&mut answer).unwrap();
            let mut connection = TcpStream::connect(server).unwrap();
            let length_of_question = u16::try_from(question.len()).unwrap().to_be_bytes();
            connection
                .write_all(&[&length_of_question[..], question].concat())
                .unwrap();
            let mut again = vec![0; length + 2];
            connection.read_exact(&mut again).unwrap();
            assert_eq!(again[2..], answer[..length]);
            tell!("{server} {:?}", &answer[length - 4..length]);
        }
    }

    fn v4(address: [u8; 4], port: u16) -> Vec<u8> {
        let mut bytes = vec![2, 0];
        bytes.extend(port.to_be_bytes());
        bytes.extend(address);
        bytes.extend([0; 8]);
        bytes
    }

    fn resolved(name: &str) -> [u8; 4] {
        match (name, 1).to_socket_addrs().unwrap().next().unwrap() {
            SocketAddr::V4(address) => address.ip().octets(),
            SocketAddr::V6(address) => panic!("{address}"),
        }
    }

    /// Another thread changes the address between the decision and the connection.
    fn flip(port: u16) {
        let allowed = resolved("own.test");
        let denied = resolved("deny.test");
        let bytes = v4(allowed, port);
        let memory: Vec<std::sync::atomic::AtomicU8> = bytes.into_iter().map(Into::into).collect();
        let done = AtomicBool::new(false);
        let mut wrong = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for address in [denied, allowed] {
                        for (place, byte) in memory[4..8].iter().zip(address) {
                            place.store(byte, Ordering::Relaxed);
                        }
                    }
                }
            });
            // A busy machine needs long for each.
            let deadline = Instant::now() + Duration::from_secs(10);
            for _ in (0..2000).take_while(|_| Instant::now() < deadline) {
                let socket = raw::socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
                let connected = raw::connect(socket, memory.as_ptr().cast(), memory.len());
                if connected.is_ok() && peer(socket) == denied {
                    wrong += 1;
                }
                close(socket);
            }
            done.store(true, Ordering::Relaxed);
        });
        tell!("{wrong} connections to the denied address");
    }

    fn peer(socket: i32) -> [u8; 4] {
        let stream = borrow(socket);
        match stream.peer_addr() {
            Ok(SocketAddr::V4(address)) => address.ip().octets(),
            _ => [0; 4],
        }
    }

    #[expect(unsafe_code, reason = "calls of the system")]
    fn borrow(socket: i32) -> std::mem::ManuallyDrop<TcpStream> {
        use std::os::fd::FromRawFd as _;
        // SAFETY: the caller owns the socket, and the value does not close it.
        std::mem::ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(socket) })
    }

    fn close(socket: i32) {
        drop(std::mem::ManuallyDrop::into_inner(borrow(socket)));
    }

    /// Each attempt says whether it has reached a server of the machine, or got what it must not get.
    fn attacks(port: u16) {
        let stream = || raw::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        // An allowed connection, ended without being closed, and used again.
        let own = resolved("own.test");
        let first = stream().unwrap();
        let address = v4(own, port);
        let connected = raw::connect(first, address.as_ptr(), address.len());
        tell!("connect {}", outcome(connected.map(|()| "done".to_owned())));
        let nothing = [0_u8; 16];
        raw::connect(first, nothing.as_ptr(), nothing.len()).ok();
        let machine = v4([127, 0, 0, 1], port);
        let denied = v4(resolved("deny.test"), port);
        for (what, address) in [("machine", &machine), ("denied", &denied)] {
            let sent = raw::fast_open(first, address).and_then(|()| greeting(&borrow(first)));
            tell!("disconnected, then fast open to {what}: {}", outcome(sent));
            let fresh = stream().unwrap();
            let sent = raw::fast_open(fresh, address).and_then(|()| greeting(&borrow(fresh)));
            tell!("fast open to {what}: {}", outcome(sent));
        }
        let literal = v4([93, 184, 216, 40], port);
        let fresh = stream().unwrap();
        let sent = raw::fast_open(fresh, &literal).and_then(|()| greeting(&borrow(fresh)));
        tell!("fast open to an address: {}", outcome(sent));
        let mapped: std::net::Ipv6Addr = "::ffff:127.0.0.1".parse().unwrap();
        for address in [
            SocketAddr::new(mapped.into(), port),
            SocketAddr::new("::1".parse().unwrap(), port),
            SocketAddr::new("0.0.0.0".parse().unwrap(), port),
            SocketAddr::new("::".parse().unwrap(), port),
            SocketAddr::new("127.9.9.9".parse().unwrap(), port),
            SocketAddr::new("10.0.0.1".parse().unwrap(), port),
            SocketAddr::new("169.254.169.254".parse().unwrap(), 80),
            SocketAddr::new("2606:4700::1111".parse().unwrap(), 443),
        ] {
            let reached = TcpStream::connect(address).and_then(|stream| greeting(&stream));
            tell!("{address}: {}", outcome(reached));
        }
        for (what, family, kind, protocol) in [
            ("unix", libc::AF_UNIX, libc::SOCK_STREAM, 0),
            ("unix datagram", libc::AF_UNIX, libc::SOCK_DGRAM, 0),
            ("packet", libc::AF_PACKET, libc::SOCK_RAW, 0),
            ("raw", libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_TCP),
            ("netlink audit", libc::AF_NETLINK, libc::SOCK_RAW, 9),
            ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        ] {
            let made = raw::socket(family, kind, protocol).map(|_| "MADE".to_owned());
            tell!("socket {what}: {}", outcome(made));
        }
        tell!(
            "io_uring: {}",
            outcome(raw::io_uring().map(|()| "MADE".to_owned()))
        );
        let second = raw::second_listener().map(|()| "MADE".to_owned());
        tell!("second listener: {}", outcome(second));
        // The command takes the address of a host for itself.
        let other = resolved("other.test");
        let taken = TcpListener::bind((Ipv4Addr::from(other), port));
        let reached = taken.and_then(|listener| {
            let stream = TcpStream::connect((Ipv4Addr::from(other), port))?;
            let (mut own, _) = listener.accept()?;
            own.write_all(b"myself")?;
            greeting(&stream)
        });
        tell!("an address that the command took: {}", outcome(reached));
    }

    /// Those of the attempts that need no names.
    fn attacks_outside(port: u16) {
        let machine = v4([127, 0, 0, 1], port);
        let fresh = raw::socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
        let sent = raw::fast_open(fresh, &machine).and_then(|()| greeting(&borrow(fresh)));
        tell!("fast open to machine: {}", outcome(sent));
        for address in ["[::ffff:127.0.0.1]", "0.0.0.0"] {
            let reached = connect(address.trim_matches(['[', ']']), port);
            tell!(
                "{address}: {}",
                outcome(reached.and_then(|stream| greeting(&stream)))
            );
        }
        let made = raw::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0).map(|_| "MADE".to_owned());
        tell!("socket unix: {}", outcome(made));
    }

    /// A clock goes on while a connection waits.
    fn timer(host: &str, port: u16) {
        let ticks = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&ticks);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(10));
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        tell!("waiting");
        let reached = connect(host, port).and_then(|stream| greeting(&stream));
        tell!(
            "{} with ticks: {}",
            outcome(reached),
            ticks.load(Ordering::SeqCst) > 0
        );
    }

    /// A connection that must not be waited for.
    fn nonblocking(host: &str, port: u16) {
        let address = resolved(host);
        let socket =
            raw::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0).unwrap();
        let bytes = v4(address, port);
        let begun = raw::connect(socket, bytes.as_ptr(), bytes.len());
        let begun = begun.unwrap_err().raw_os_error() == Some(libc::EINPROGRESS);
        tell!("begun: {begun}");
        let stream = borrow(socket);
        stream.set_nonblocking(false).unwrap();
        let reached = wait_for_writing(socket).and_then(|()| greeting(&stream));
        tell!(
            "{}, peer is the same: {}",
            outcome(reached),
            peer(socket) == address
        );
    }

    #[expect(unsafe_code, reason = "calls of the system")]
    fn wait_for_writing(socket: i32) -> io::Result<()> {
        let mut wanted = libc::pollfd {
            fd: socket,
            events: libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: one valid structure.
        unsafe { libc::poll(&raw mut wanted, 1, 20_000) };
        borrow(socket).take_error()?.map_or(Ok(()), Err)
    }

    /// Sends first messages of TLS: `host/named server`, separated by commas; with `#` the message comes in single bytes.
    fn tls(names: &str, port: u16) {
        for pair in names.split(',') {
            let (host, server) = pair.split_once('/').unwrap();
            let (server, single) = match server.strip_suffix('#') {
                Some(server) => (server, true),
                None => (server, false),
            };
            let message = client_hello(server);
            let echoed = connect(host, port).and_then(|mut stream| {
                greeting(&stream)?;
                if single {
                    stream.set_nodelay(true)?;
                    for byte in &message {
                        stream.write_all(&[*byte])?;
                    }
                } else {
                    stream.write_all(&message)?;
                }
                let mut back = vec![0; message.len()];
                stream.read_exact(&mut back)?;
                Ok(format!("echoed {}", back == message))
            });
            tell!("{pair} {}", outcome(echoed));
        }
    }

    fn client_hello(server: &str) -> Vec<u8> {
        let length = u16::try_from(server.len()).unwrap();
        let mut extensions = Vec::new();
        extensions.extend([0, 0]);
        extensions.extend((length + 5).to_be_bytes());
        extensions.extend((length + 3).to_be_bytes());
        extensions.push(0);
        extensions.extend(length.to_be_bytes());
        extensions.extend(server.as_bytes());
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
        body.extend(extensions);
        let mut message = vec![1, 0];
        message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        message.extend(body);
        let mut record = vec![22, 3, 1];
        record.extend(u16::try_from(message.len()).unwrap().to_be_bytes());
        record.extend(message);
        record
    }

    const BULK_BYTES: usize = 64 * 1024 * 1024;

    /// Sends much, reads it back, and ends its side first.
    fn bulk(host: &str, port: u16) {
        let stream = connect(host, port).unwrap();
        greeting(&stream).unwrap();
        let mut reading = stream.try_clone().unwrap();
        let started = Instant::now();
        let reader = std::thread::spawn(move || {
            let mut buffer = vec![0; 256 * 1024];
            let mut total = 0;
            loop {
                match reading.read(&mut buffer).unwrap() {
                    0 => return total,
                    read => total += read,
                }
            }
        });
        let block = vec![7; 256 * 1024];
        for _ in 0..BULK_BYTES / block.len() {
            (&stream).write_all(&block).unwrap();
        }
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let total = reader.join().unwrap();
        println!(
            "{} MB/s each way",
            BULK_BYTES as f64 / 1e6 / started.elapsed().as_secs_f64()
        );
        tell!("all came back: {}", total == BULK_BYTES);
    }

    /// Many connections, one after the other.
    fn many(host: &str, port: u16) {
        let address = SocketAddr::from((resolved(host), port));
        let mut times: Vec<_> = (0..500)
            .map(|_| {
                let started = Instant::now();
                let stream = TcpStream::connect(address).unwrap();
                greeting(&stream).unwrap();
                started.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("median {:?}", times[times.len() / 2]);
        tell!("done");
    }

    /// Sends as much as is taken by somebody who never reads.
    fn flood(host: &str, port: u16) {
        let stream = connect(host, port).unwrap();
        stream
            .set_write_timeout(Some(Duration::from_secs(1)))
            .unwrap();
        let block = vec![7; 64 * 1024];
        let mut total = 0;
        while total < 256 * 1024 * 1024 {
            match (&stream).write(&block) {
                Ok(written) => total += written,
                Err(_) => break,
            }
        }
        tell!("less than 64 MiB: {}", total < 64 * 1024 * 1024);
    }

    /// Connects to many ports of many names from several threads at once.
    fn storm(host: &str, port: u16) {
        let addresses: Vec<_> = (0..400)
            .map(|number| format!("{number}.wild.test:{}", 1000 + number))
            .collect();
        std::thread::scope(|scope| {
            for part in addresses.chunks(50) {
                scope.spawn(move || {
                    for address in part {
                        let connected = TcpStream::connect(address);
                        assert!(connected.is_err(), "{address}");
                    }
                });
            }
        });
        let reached = connect(host, port).and_then(|stream| greeting(&stream));
        tell!("{host} {}", outcome(reached));
    }

    /// Connects to a host while other threads leave no moment without something to answer: `names` or `connections`.
    fn drown(what: &str, port: u16) {
        let address = SocketAddr::from((resolved("own.test"), port));
        let denied = SocketAddr::from((resolved("deny.test"), port));
        let question = b"\x07\x08\x01\0\0\x01\0\0\0\0\0\0\x03own\x04test\0\0\x01\0\x01";
        let (done, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(20);
        let goes_on = || !done.load(Ordering::Relaxed) && Instant::now() < deadline;
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
                    while goes_on() {
                        if what == "names" {
                            socket.send_to(question, "198.18.0.1:53").ok();
                        } else {
                            assert!(TcpStream::connect(denied).is_err());
                        }
                        begun.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while begun.load(Ordering::Relaxed) < 100 && goes_on() {
                std::thread::yield_now();
            }
            let reached = TcpStream::connect(address).and_then(|stream| greeting(&stream));
            let during = Instant::now() < deadline;
            done.store(true, Ordering::Relaxed);
            tell!("{} during it: {during}", outcome(reached));
        });
    }

    /// Connects to more ports than a command may, all of them twice.
    fn ports(host: &str) {
        let address = resolved(host);
        for _ in 0..2 {
            std::thread::scope(|scope| {
                for port in 2000..2300 {
                    scope.spawn(move || {
                        assert!(TcpStream::connect(SocketAddr::from((address, port))).is_err());
                    });
                }
            });
        }
        tell!("all refused");
    }

    /// More connections at once than are relayed.
    fn connections(host: &str, port: u16) {
        let address = SocketAddr::from((resolved(host), port));
        let mut open = Vec::new();
        let mut refused = 0;
        for _ in 0..600 {
            match TcpStream::connect(address).and_then(|stream| greeting(&stream).map(|_| stream)) {
                Ok(stream) => open.push(stream),
                Err(_) => refused += 1,
            }
        }
        tell!("open {} refused {refused}", open.len());
    }

    /// Prints and answers the greeting, and waits until the connection ends.
    fn hello(host: &str, port: u16) {
        let mut stream = connect(host, port).unwrap();
        tell!("{}", greeting(&stream).unwrap());
        stream.write_all(b"thanks").unwrap();
        stream.read_to_end(&mut Vec::new()).ok();
    }
}

#[tokio::test]
async fn only_listed_names_are_reached() {
    if !is_possible() {
        return;
    }
    let (server, network) = (Server::start(), network());
    let hosts = "reach=own.test,deny.test,x.wild.test,wild.test,other.test,OWN.test.";
    let launch = with_network(
        part(hosts, server.port),
        "+own.test +*.wild.test -deny.test",
        &network,
    );
    assert_eq!(
        output(launch).await,
        "own.test hello\ndeny.test ConnectionRefused\nx.wild.test hello\nwild.test ConnectionRefused\n\
         other.test ConnectionRefused\nOWN.test. hello"
    );
    assert_eq!(server.accepted(), 3);
    let names = ["deny.test", "wild.test", "other.test"];
    assert_eq!(
        refused(&network),
        names.map(|name| (name.to_owned(), server.port))
    );
    let told = network.log.take_refusals().unwrap();
    let line = format!(
        "the connection to other.test port {} was refused: it is not listed, and nobody can be asked",
        server.port
    );
    assert!(told.contains(&line), "{told}");
    let reached: Vec<_> = network.log.reached();
    assert_eq!(reached[0].host.to_string(), "own.test");
    assert_eq!((reached[0].connections, reached[0].received), (2, 12));
}

#[tokio::test]
async fn names_are_answered_locally_for_any_dns_server() {
    if !is_possible() {
        return;
    }
    let network = network();
    let launch = with_network(part("names", 1), "+own.test", &network);
    let out = output(launch).await;
    assert_eq!(out.matches("[198, 18, 1, 0]").count(), 4, "{out}");
}

#[tokio::test]
async fn names_are_resolved_after_the_connection_is_allowed() {
    if !is_possible() {
        return;
    }
    let resolver = names();
    let network = CommandNetwork {
        names: Arc::clone(&resolver) as Arc<dyn NameResolver>,
        ..CommandNetwork::default()
    };
    let launch = with_network(
        part("reach=secret.deny.test,other.test", 1),
        "+own.test",
        &network,
    );
    output(launch).await;
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn attempts_to_reach_more_fail() {
    if !is_possible() {
        return;
    }
    let (server, network) = (Server::start(), network());
    let mut launch = part("attacks", server.port);
    // The address of this machine is named only for the port of another server.
    launch.plan = plan_with("+own.test +other.test -deny.test +127.0.0.1:1", probe());
    launch.network = network.clone();
    let out = output(launch).await;
    for line in out.lines() {
        let reached = line.contains("hello") || line.contains("MADE");
        assert!(!reached, "{line}\n{out}");
    }
    assert_eq!(server.accepted(), 0, "{out}");
    assert!(
        out.contains("an address that the command took: myself"),
        "{out}"
    );
    // The same attempts reach the server without the sandbox.
    let out = output(part("attacks-outside", server.port)).await;
    for attempt in ["fast open", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let reached = |line: &str| line.contains(attempt) && line.ends_with("hello");
        assert!(out.lines().any(reached), "{attempt}\n{out}");
    }
    assert!(out.contains("socket unix: MADE"), "{out}");
}

#[tokio::test]
async fn changed_dns_answer_cannot_redirect_a_connection() {
    if !is_possible() {
        return;
    }
    let (server, network) = (Server::start(), network());
    let launch = with_network(part("flip", server.port), "+own.test -deny.test", &network);
    assert_eq!(output(launch).await, "0 connections to the denied address");
}

#[tokio::test]
async fn connection_waits_for_the_answer_without_blocking_the_program() {
    if !is_possible() {
        return;
    }
    for (answer, expected) in [
        (HostAnswer::Allow, "hello"),
        (HostAnswer::Refuse("no".to_owned()), "ConnectionRefused"),
    ] {
        let server = Server::start();
        let answers = Answers::new(answer);
        let network = CommandNetwork {
            questions: Some(Arc::clone(&answers) as Arc<dyn HostQuestions>),
            ..network()
        };
        let launch = with_network(part("timer=other.test", server.port), "+own.test", &network);
        let running = tokio::spawn(output(launch));
        let mut asked = answers.asked.subscribe();
        asked.wait_for(|asked| !asked.is_empty()).await.unwrap();
        assert_eq!(
            server.accepted(),
            0,
            "nothing is connected before the answer"
        );
        tokio::time::sleep(Duration::from_millis(300)).await;
        answers.may_answer.notify_one();
        let out = running.await.unwrap();
        assert_eq!(out, format!("waiting\n{expected} with ticks: true"));
        let asked = answers.asked.borrow().clone();
        assert_eq!(asked, [(Host::Name("other.test".to_owned()), server.port)]);
    }
}

#[tokio::test]
async fn nonblocking_connection_begins_and_ends_normally() {
    if !is_possible() {
        return;
    }
    let server = Server::start();
    let answers = Answers::new(HostAnswer::Allow);
    let network = CommandNetwork {
        questions: Some(Arc::clone(&answers) as Arc<dyn HostQuestions>),
        ..network()
    };
    let launch = with_network(
        part("nonblocking=other.test", server.port),
        "+own.test",
        &network,
    );
    let running = tokio::spawn(output(launch));
    let mut asked = answers.asked.subscribe();
    asked.wait_for(|asked| !asked.is_empty()).await.unwrap();
    answers.may_answer.notify_one();
    assert_eq!(
        running.await.unwrap(),
        "begun: true\nhello, peer is the same: true"
    );
}

#[tokio::test]
async fn tls_must_name_the_server_that_was_connected() {
    if !is_possible() {
        return;
    }
    let (server, network) = (Server::start(), network());
    let pairs =
        "tls=own.test/own.test,own.test/OWN.test.:443,own.test/deny.test,own.test/own.test#";
    let launch = with_network(part(pairs, server.port), "+own.test -deny.test", &network);
    let out = output(launch).await;
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "own.test/own.test echoed true");
    assert_eq!(lines[1], "own.test/OWN.test.:443 echoed true");
    assert!(
        lines[2].starts_with("own.test/deny.test Connection"),
        "{out}"
    );
    assert_eq!(lines[3], "own.test/own.test# echoed true");
    let told = network.log.take_refusals().unwrap();
    assert!(told.contains("named another server"), "{told}");
}

#[tokio::test]
async fn name_of_this_machine_is_refused_unless_listed() {
    if !is_possible() {
        return;
    }
    let (server, network) = (Server::start(), network());
    let mut launch = part("reach=own.test", server.port);
    launch.plan = plan_with("+own.test", probe());
    launch.network = network.clone();
    let out = output(launch).await;
    assert!(
        out.starts_with("own.test ") && !out.contains("hello"),
        "{out}"
    );
    assert_eq!(server.accepted(), 0);
    let told = network.log.take_refusals().unwrap();
    assert!(
        told.contains("leads to an address of this machine"),
        "{told}"
    );
}

#[tokio::test]
async fn local_machine_must_be_listed() {
    if !is_possible() {
        return;
    }
    for (list, expected) in [
        ("+own.test".to_owned(), "ConnectionRefused"),
        ("+*".to_owned(), "ConnectionRefused"),
        ("+127.0.0.1".to_owned(), "hello"),
        ("+localhost".to_owned(), "hello"),
    ] {
        let server = Server::start();
        let mut launch = part("reach=127.0.0.1", server.port);
        launch.plan = plan_with(&list, probe());
        launch.network = network();
        assert_eq!(
            output(launch).await,
            format!("127.0.0.1 {expected}"),
            "{list}"
        );
    }
}

#[tokio::test]
async fn much_is_relayed_in_both_directions() {
    if !is_possible() {
        return;
    }
    let (server, network) = (Server::start(), network());
    for part_name in ["bulk=own.test", "many=own.test"] {
        let launch = with_network(part(part_name, server.port), "+own.test", &network);
        let (code, out, error) = texts(finish(launch).await);
        println!(
            "{part_name}: {}",
            out.lines()
                .filter(|line| line.contains("MB/s") || line.contains("median"))
                .collect::<String>()
        );
        assert_eq!(code, 0, "{out}{error}");
        assert!(
            out.contains("part: done") || out.contains("all came back: true"),
            "{out}"
        );
    }
}

/// A proxy that says what it was asked for, and answers everything itself.
async fn proxy(listener: tokio::net::TcpListener, asked: watch::Sender<Vec<String>>) {
    loop {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(
                tokio::io::AsyncReadExt::read_u8(&mut connection)
                    .await
                    .unwrap(),
            );
        }
        let head = String::from_utf8(head).unwrap();
        let first = head.lines().next().unwrap().to_owned();
        let tunnel = first.starts_with("CONNECT");
        asked.send_modify(|asked| asked.push(first));
        let answer: &[u8] = if tunnel {
            b"HTTP/1.1 200 fine\r\n\r\nhello\n"
        } else {
            b"HTTP/1.1 200 fine\r\nContent-Length: 6\r\n\r\nhello\n"
        };
        tokio::io::AsyncWriteExt::write_all(&mut connection, answer)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn machine_proxy_gets_only_allowed_connections() {
    if !is_possible() {
        return;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, asked) = watch::channel(Vec::new());
    let serving = tokio::spawn(proxy(listener, sender));
    let network = network();
    for (name, port) in [
        ("get=own.test,deny.test,other.test,mixed.test", 80),
        ("reach=own.test,deny.test,mixed.test", 8443),
    ] {
        let list = "+own.test +mixed.test -deny.test";
        let mut launch = with_network(part(name, port), list, &network);
        for variable in ["http_proxy", "HTTPS_PROXY"] {
            launch
                .environment
                .push((variable.into(), address.clone().into()));
        }
        let out = output(launch).await;
        let reached: Vec<_> = out.lines().filter(|line| line.contains("hello")).collect();
        assert_eq!(reached, ["own.test hello"], "{out}");
    }
    let asked = asked.borrow().clone();
    assert_eq!(
        asked,
        [
            "GET http://own.test/x HTTP/1.1",
            "CONNECT own.test:8443 HTTP/1.1"
        ]
    );
    serving.abort();
}

#[tokio::test]
async fn unread_network_input_is_not_buffered() {
    if !is_possible() {
        return;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let network = network();
    let launch = with_network(part("flood=own.test", port), "+own.test", &network);
    let running = tokio::spawn(output(launch));
    let _kept_open = listener.accept().await.unwrap();
    assert_eq!(running.await.unwrap(), "less than 64 MiB: true");
}

#[tokio::test]
async fn refused_connections_do_not_block_others() {
    if !is_possible() {
        return;
    }
    let (server, network) = (Server::start(), network());
    let launch = with_network(
        part("storm=own.test", server.port),
        "+own.test -*.wild.test",
        &network,
    );
    assert_eq!(output(launch).await, "own.test hello");
    assert_eq!(server.accepted(), 1);
    let told = network.log.take_refusals().unwrap();
    assert!(
        told.contains("Network: 144 more connections were refused"),
        "{told}"
    );
}

/// One thread does everything here, as in the app server.
#[tokio::test]
async fn busy_command_does_not_starve_other_work() {
    if !is_possible() {
        return;
    }
    for what in ["names", "connections"] {
        let (server, network) = (Server::start(), network());
        let part = part(&format!("drown={what}"), server.port);
        let launch = with_network(part, "+own.test -deny.test", &network);
        assert_eq!(output(launch).await, "hello during it: true", "{what}");
    }
}

#[tokio::test]
async fn declined_hosts_are_not_asked_about_again() {
    if !is_possible() {
        return;
    }
    let answers = Arc::new(AnswersAtOnce {
        answer: HostAnswer::Refuse("no".to_owned()),
        asked: AtomicUsize::new(0),
    });
    let network = CommandNetwork {
        questions: Some(Arc::clone(&answers) as Arc<dyn HostQuestions>),
        ..network()
    };
    let launch = with_network(part("ports=other.test", 1), "+own.test", &network);
    assert_eq!(output(launch).await, "all refused");
    assert_eq!(answers.asked.load(Ordering::SeqCst), 256);
}

#[tokio::test]
async fn undecided_host_is_asked_about_again() {
    if !is_possible() {
        return;
    }
    for (answer, expected) in [
        (HostAnswer::Undecided("later".to_owned()), 2),
        (HostAnswer::Refuse("no".to_owned()), 1),
    ] {
        let answers = Arc::new(AnswersAtOnce {
            answer,
            asked: AtomicUsize::new(0),
        });
        let network = CommandNetwork {
            questions: Some(Arc::clone(&answers) as Arc<dyn HostQuestions>),
            ..network()
        };
        let launch = with_network(
            part("reach=other.test,other.test", 1),
            "+own.test",
            &network,
        );
        let refused = "other.test ConnectionRefused";
        assert_eq!(output(launch).await, format!("{refused}\n{refused}"));
        assert_eq!(answers.asked.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test]
async fn open_connections_are_limited() {
    if !is_possible() {
        return;
    }
    let (server, network) = (Server::start(), network());
    let launch = with_network(
        part("connections=own.test", server.port),
        "+own.test",
        &network,
    );
    assert_eq!(output(launch).await, "open 512 refused 88");
    let told = network.log.take_refusals().unwrap();
    assert!(told.contains("too many open connections"), "{told}");
}

#[tokio::test]
async fn connections_end_with_the_command() {
    if !is_possible() {
        return;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let network = network();
    let launch = with_network(part("hello=own.test", port), "+own.test", &network);
    let spawned = spawn(launch).await;
    let (mut connection, _) = listener.accept().await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut connection, b"hello\n")
        .await
        .unwrap();
    // What is open is in the log already, also what has just passed.
    let mut thanks = [0; 6];
    tokio::io::AsyncReadExt::read_exact(&mut connection, &mut thanks)
        .await
        .unwrap();
    let traffic = |network: &CommandNetwork| {
        let reached = network.log.reached();
        let [reached] = &reached[..] else {
            panic!("{reached:?}");
        };
        (reached.connections, reached.sent, reached.received)
    };
    assert_eq!(traffic(&network), (1, 6, 6));
    drop(spawned);
    let mut rest = Vec::new();
    tokio::time::timeout(
        common::TEST_TIMEOUT,
        tokio::io::AsyncReadExt::read_to_end(&mut connection, &mut rest),
    )
    .await
    .expect("the relay ends with the command")
    .ok();
    assert_eq!(traffic(&network), (1, 6, 6));
}

#[tokio::test]
async fn a_question_is_withdrawn_with_the_command() {
    if !is_possible() {
        return;
    }
    let server = Server::start();
    let answers = Answers::new(HostAnswer::Allow);
    let network = CommandNetwork {
        questions: Some(Arc::clone(&answers) as Arc<dyn HostQuestions>),
        ..network()
    };
    let launch = with_network(part("reach=other.test", server.port), "+own.test", &network);
    let spawned = spawn(launch).await;
    let mut asked = answers.asked.subscribe();
    asked.wait_for(|asked| !asked.is_empty()).await.unwrap();
    drop(spawned);
    let only_ours = async {
        while Arc::strong_count(&answers.may_answer) > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(common::TEST_TIMEOUT, only_ours)
        .await
        .expect("the question is dropped");
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn unlimitable_network_by_host_is_closed() {
    let server = Server::start();
    let all = probe();
    for levels in [
        EnforcementLevels {
            hosts: false,
            ..all
        },
        EnforcementLevels {
            namespaces: Namespaces::Unavailable,
            ..all
        },
    ] {
        let mut launch = shell(&format!(
            "(exec 3<>/dev/tcp/127.0.0.1/{}) 2>/dev/null && echo REACHED || echo CLOSED",
            server.port
        ));
        launch.command[0] = "/bin/bash".into();
        // A system that confines nothing refuses the command.
        let Ok(plan) = try_plan(TO_THIS_MACHINE, levels) else {
            continue;
        };
        launch.plan = plan;
        let (_, out, _) = texts(finish(launch).await);
        assert_eq!(out, "CLOSED\n", "{levels:?}");
    }
    assert_eq!(server.accepted(), 0);
}
