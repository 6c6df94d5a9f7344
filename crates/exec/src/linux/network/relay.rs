//! Relays one connection of a command.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use codex_host_policy::{Host, HostPolicy};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::client_hello::{self, FirstBytes, LONGEST_HELLO};
use super::dial::{check_all, dial};
use super::http_request::{self, ForwardedRequest, RequestHead};
use super::shared_limits;
use super::upstream::{ProxyAddress, UpstreamProxies};
use crate::network::{NameResolver, NetworkLog};

/// What is read at once. Nothing more is read until it is written.
const BUFFER: usize = 256 * 1024;

/// The same until a connection has shown that it carries much.
const SMALL_BUFFER: usize = 16 * 1024;

/// The most open connections of one command.
pub(super) const MOST_CONNECTIONS: usize = 512;

/// How long the rest of a first message may take.
const HELLO_LIMIT: Duration = Duration::from_secs(30);

/// What all connections of a command share.
#[derive(Debug)]
pub(super) struct RelaySettings {
    pub(super) policy: Arc<HostPolicy>,
    pub(super) log: NetworkLog,
    pub(super) names: Arc<dyn NameResolver>,
    /// Used if the settings allow it.
    pub(super) upstream: Option<UpstreamProxies>,
    pub(super) connections: Arc<Semaphore>,
}

/// Accepts the connections to one address and relays them to the host that it stands for. Dropping the future cuts them.
pub(super) async fn accept(
    listener: TcpListener,
    host: Host,
    port: u16,
    settings: Arc<RelaySettings>,
) {
    let mut relays = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = relays.join_next() => continue,
        };
        let Ok((command, _)) = accepted else {
            // An error of one connection, or a lack of descriptors.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let permits = match permits(&settings.connections) {
            Ok(permits) => permits,
            Err(reason) => {
                settings.log.refuse(&host, port, reason);
                reset(command);
                continue;
            }
        };
        let (host, settings) = (host.clone(), Arc::clone(&settings));
        relays.spawn(async move {
            relay(command, &host, port, &settings).await;
            drop(permits);
        });
    }
}

/// Takes one of the connections of a command and one of all. An error is a reason for people.
fn permits(of_command: &Arc<Semaphore>) -> Result<[OwnedSemaphorePermit; 2], &'static str> {
    let own = Arc::clone(of_command).try_acquire_owned();
    let own = own.map_err(|_| "the command has too many open connections")?;
    let of_all = shared_limits::connection()
        .ok_or("all commands together have too many open connections")?;
    Ok([own, of_all])
}

/// Makes a listener of a socket that listens.
pub(super) fn listener(socket: OwnedFd) -> io::Result<TcpListener> {
    TcpListener::from_std(std::net::TcpListener::from(socket))
}

/// Why a connection was cut.
enum Cut {
    /// One side was reset, or has gone away.
    Broken,
    /// With a reason for people.
    Refused(String),
}

impl Cut {
    fn note(self, host: &Host, port: u16, log: &NetworkLog) {
        match self {
            Self::Broken => {}
            Self::Refused(reason) => log.refuse(host, port, reason),
        }
    }
}

impl From<io::Error> for Cut {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// Relays until both sides are done.
///
/// All is noted before the command can see it: it may end at once, and then the log is read.
async fn relay(mut command: TcpStream, host: &Host, port: u16, settings: &RelaySettings) {
    let opened = open(&mut command, host, port, settings).await;
    let Outside {
        stream: mut outside,
        first,
        body,
    } = match opened {
        Ok(outside) => outside,
        Err(cut) => {
            cut.note(host, port, &settings.log);
            reset(command);
            return;
        }
    };
    // Small messages are passed on at once.
    command.set_nodelay(true).ok();
    outside.set_nodelay(true).ok();
    let traffic = settings.log.connected(host, port);
    let (sent, received) = (traffic.sent(), traffic.received());
    let relayed = {
        let (from_command, to_command) = command.split();
        let (from_outside, to_outside) = outside.split();
        let out = async {
            match body {
                Some(body) => send_request(from_command, to_outside, first, body, sent).await,
                None => send(from_command, to_outside, first, host, sent).await,
            }
        };
        let back = copy(from_outside, to_command, Vec::new(), received);
        tokio::try_join!(out, back)
    };
    if let Err(cut) = relayed {
        cut.note(host, port, &settings.log);
        // Each side sees that the other one did not end as it should.
        reset(command);
        reset(outside);
    }
}

/// A connection to where the host is reached.
struct Outside {
    stream: TcpStream,
    /// What is sent first.
    first: Vec<u8>,
    /// If one request is relayed through a proxy: how much of its body follows.
    body: Option<u64>,
}

impl Outside {
    fn plain(stream: TcpStream, first: Vec<u8>) -> Self {
        Self {
            stream,
            first,
            body: None,
        }
    }
}

async fn open(
    command: &mut TcpStream,
    host: &Host,
    port: u16,
    settings: &RelaySettings,
) -> Result<Outside, Cut> {
    let proxy = match &settings.upstream {
        Some(proxies) => proxies.of_host(host, port).map_err(Cut::Refused)?,
        None => None,
    };
    let Some(proxy) = proxy else {
        let dialed = dial(host, port, &settings.policy, settings.names.as_ref()).await;
        return Ok(Outside::plain(dialed.map_err(Cut::Refused)?, Vec::new()));
    };
    // What may not be reached directly may not be reached through a proxy.
    let checked = check_all(host, port, &settings.policy, settings.names.as_ref()).await;
    checked.map_err(Cut::Refused)?;
    let mut first = Vec::new();
    if port == HTTP_PORT {
        let request = read_request(command, host, &proxy, &mut first).await?;
        if let Some(request) = request {
            let mut head = request.head;
            let begun = first.len().saturating_sub(request.read) as u64;
            // What follows the body is another request, which is not passed on.
            let begun = begun.min(request.body);
            let end = request.read + usize::try_from(begun).unwrap_or(0);
            head.extend_from_slice(&first[request.read..end]);
            return Ok(Outside {
                stream: proxy.connect().await.map_err(Cut::Refused)?,
                first: head,
                body: Some(request.body - begun),
            });
        }
    }
    let stream = proxy.tunnel(host, port).await.map_err(Cut::Refused)?;
    Ok(Outside::plain(stream, first))
}

const HTTP_PORT: u16 = 80;

/// Reads the head of a request; none if it is no request that can be made anew.
async fn read_request(
    command: &mut TcpStream,
    host: &Host,
    proxy: &ProxyAddress,
    first: &mut Vec<u8>,
) -> Result<Option<ForwardedRequest>, Cut> {
    loop {
        match http_request::read(first, host, &proxy.authorization_line()) {
            RequestHead::Request(request) => return Ok(Some(request)),
            RequestHead::Other => return Ok(None),
            RequestHead::Refused(reason) => return Err(Cut::Refused(reason.to_owned())),
            RequestHead::Incomplete => {}
        }
        let reading = timeout(HELLO_LIMIT, command.read_buf(first));
        if reading.await.map_err(|_| Cut::Broken)?? == 0 {
            return Err(Cut::Broken);
        }
    }
}

/// Sends a request: what is there already, and the rest of its body.
async fn send_request(
    from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    first: Vec<u8>,
    body: u64,
    count: &AtomicU64,
) -> Result<(), Cut> {
    write(&mut to, &first, count).await?;
    let mut from = from.take(body);
    let mut buffer = vec![0; SMALL_BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        write(&mut to, &buffer[..read], count).await?;
    }
    if from.limit() == 0 {
        Ok(())
    } else {
        Err(Cut::Broken)
    }
}

/// Relays what the command sends. If it begins as TLS, the server that it names must be the host.
async fn send(
    mut from: ReadHalf<'_>,
    to: WriteHalf<'_>,
    mut first: Vec<u8>,
    host: &Host,
    count: &AtomicU64,
) -> Result<(), Cut> {
    if let Host::Name(_) = host {
        let reading = first_bytes(&mut from, host, &mut first);
        // Nothing at all may come for as long as the server talks.
        reading.await?;
    }
    copy(from, to, first, count).await
}

/// Reads as much as shows which server the command means, and checks it.
async fn first_bytes(from: &mut ReadHalf<'_>, host: &Host, first: &mut Vec<u8>) -> Result<(), Cut> {
    let refused = |reason: &str| Err(Cut::Refused(reason.to_owned()));
    loop {
        match client_hello::read(first) {
            FirstBytes::Other | FirstBytes::Tls(None) => return Ok(()),
            FirstBytes::Tls(Some(name)) if is_name_of(&name, host) => return Ok(()),
            FirstBytes::Tls(Some(_)) => {
                return refused("the program named another server in TLS");
            }
            FirstBytes::Malformed => return refused("the first message of TLS is malformed"),
            FirstBytes::Incomplete if first.len() >= LONGEST_HELLO => {
                return refused("the first message of TLS is too long");
            }
            FirstBytes::Incomplete => {}
        }
        let started = !first.is_empty();
        let reading = from.read_buf(first);
        let read = if started {
            timeout(HELLO_LIMIT, reading)
                .await
                .map_err(|_| Cut::Broken)??
        } else {
            reading.await?
        };
        if read == 0 {
            return if started { Err(Cut::Broken) } else { Ok(()) };
        }
    }
}

/// Some programs add the port or a final dot.
fn is_name_of(name: &str, host: &Host) -> bool {
    let bare = match name.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => bare,
        _ => name,
    };
    Host::parse(bare).as_ref() == Some(host)
}

/// Passes on what is there already and then all that comes, and the end.
async fn copy(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    first: Vec<u8>,
    count: &AtomicU64,
) -> Result<(), Cut> {
    write(&mut to, &first, count).await?;
    drop(first);
    let mut buffer = vec![0; SMALL_BUFFER];
    let mut large = None;
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            to.shutdown().await?;
            return Ok(());
        }
        write(&mut to, &buffer[..read], count).await?;
        if read == buffer.len() && large.is_none() {
            large = shared_limits::large_buffer();
            if large.is_some() {
                buffer.resize(BUFFER, 0);
            }
        }
    }
}

/// Writes all. Bytes count before the other side can have them.
async fn write(to: &mut WriteHalf<'_>, mut bytes: &[u8], count: &AtomicU64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = poll_fn(|context| {
            count.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            let polled = Pin::new(&mut *to).poll_write(context, bytes);
            let written = match &polled {
                Poll::Ready(Ok(written)) => *written,
                Poll::Ready(Err(_)) | Poll::Pending => 0,
            };
            count.fetch_sub((bytes.len() - written) as u64, Ordering::Relaxed);
            polled
        });
        let written = written.await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
    }
    Ok(())
}

fn reset(stream: TcpStream) {
    // If it fails, the other side sees an end instead.
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (near, far) = tokio::join!(connecting, listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    /// Passes on much, and returns how much has come and how much was counted.
    async fn pass_on(much: usize) -> (usize, u64) {
        let ((mut sender, mut from), (mut to, mut receiver)) = (pair().await, pair().await);
        let count = AtomicU64::new(0);
        let sending = async move { sender.write_all(&vec![7; much]).await.unwrap() };
        let copying = async {
            let (from, _) = from.split();
            let (_, to) = to.split();
            let copied = copy(from, to, Vec::new(), &count).await;
            assert!(copied.is_ok());
        };
        let mut received = Vec::new();
        let receiving = receiver.read_to_end(&mut received);
        let ((), (), read) = tokio::join!(sending, copying, receiving);
        (read.unwrap(), count.into_inner())
    }

    #[tokio::test]
    async fn relay_works_without_large_buffers() {
        let much = 8 * BUFFER;
        let mut taken = Vec::new();
        while let Some(buffer) = shared_limits::large_buffer() {
            taken.push(buffer);
        }
        assert_eq!(pass_on(much).await, (much, much as u64));
        let all = taken.len();
        drop(taken);
        assert_eq!(pass_on(much).await, (much, much as u64));
        // It was given back.
        let again: Vec<_> = std::iter::from_fn(shared_limits::large_buffer).collect();
        assert_eq!(again.len(), all);
    }
}
