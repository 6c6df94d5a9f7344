//! Clients of servers that run already.
//!
//! A websocket has a message where a pair of streams has a line; a task carries the messages in both directions. It never
//! waits in one direction for the other.

use std::io;
use std::path::Path;
use std::time::Duration;

use codex_http::{
    HandshakeKey, HttpPool, HttpSetupError, SocketError, SocketMessage, WebSocket, error_text,
};
use codex_system::local_socket;
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};
use tokio::net::TcpStream;

use crate::client::Client;
use crate::server_address::ServerAddress;

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Longer messages end the connection.
const MESSAGE_LIMIT: usize = 256 * 1024 * 1024;

/// What waits between the client and the task.
const BUFFER: usize = 64 * 1024;

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// A token would be readable on the way.
    #[error("a token is not sent over ws:// to another machine; use wss://")]
    TokenInPlainText,
    /// The address names the socket of the home folder, which the caller has to find.
    #[error("the socket of the home folder is not known")]
    NoHomeSocket,
    /// Nobody answers.
    #[error("no server answers: {0}")]
    Io(#[from] io::Error),
    /// It does not answer in time.
    #[error("the server did not answer within {} seconds", CONNECT_TIMEOUT.as_secs())]
    TooSlow,
    /// It does not accept the connection.
    #[error("the server did not accept the connection: {0}")]
    Handshake(#[from] SocketError),
    /// Connections cannot be set up.
    #[error(transparent)]
    Setup(#[from] HttpSetupError),
}

/// Connects to a running server. `token` is sent to it, and `pool` has the certificates and proxies for other machines.
///
/// # Errors
/// There is no server, or it does not accept the connection.
pub async fn connect(
    address: &ServerAddress,
    token: Option<&str>,
    pool: &HttpPool,
) -> Result<Client, ConnectError> {
    if token.is_some() && address.is_open_to_others() {
        return Err(ConnectError::TokenInPlainText);
    }
    let authorization = token.map(|token| format!("Bearer {token}"));
    let opening = open(address, authorization.as_deref(), pool);
    let opened = tokio::time::timeout(CONNECT_TIMEOUT, opening).await;
    let socket = opened.unwrap_or(Err(ConnectError::TooSlow))?;
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    tokio::spawn(carry(socket, theirs));
    let (input, output) = tokio::io::split(ours);
    Ok(Client::new(input, output))
}

async fn open(
    address: &ServerAddress,
    authorization: Option<&str>,
    pool: &HttpPool,
) -> Result<WebSocket, ConnectError> {
    let url = match address {
        ServerAddress::HomeSocket => return Err(ConnectError::NoHomeSocket),
        ServerAddress::Socket(path) => {
            let stream = local_socket::connect(path).await?.stream;
            let url = "ws://localhost/";
            return Ok(WebSocket::over(stream, url, authorization, MESSAGE_LIMIT).await?);
        }
        ServerAddress::WebSocket(url) => url,
    };
    if url.scheme() == "ws" {
        // Without a proxy, as the server is near.
        let addresses = url.socket_addrs(|| None)?;
        let stream = TcpStream::connect(&*addresses).await?;
        stream.set_nodelay(true)?;
        return Ok(WebSocket::over(stream, url.as_str(), authorization, MESSAGE_LIMIT).await?);
    }
    let key = HandshakeKey::new();
    let url = url.as_str().replacen("wss", "https", 1);
    let mut request = pool.client(&url)?.get(&url);
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    let (client, request) = request.build_split();
    let mut request = request.map_err(|error| SocketError::Lost(error_text(error)))?;
    key.add_headers(request.headers_mut());
    let reply = client.execute(request).await;
    let reply = reply.map_err(|error| SocketError::Lost(error_text(error)))?;
    Ok(WebSocket::connect(reply, &key, MESSAGE_LIMIT).await?)
}

/// Carries lines of the client and messages of the server until one of them ends. Beyond one message no more than the
/// buffer waits for a client that does not read.
async fn carry(mut socket: WebSocket, client: DuplexStream) {
    let (lines, mut output) = tokio::io::split(client);
    let mut lines = BufReader::with_capacity(BUFFER, lines).lines();
    // What the client has not read yet.
    let mut waiting: Vec<u8> = Vec::new();
    let mut written = 0;
    loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => if socket.send(line).await.is_err() {
                    break;
                },
                Ok(None) | Err(_) => {
                    socket.close().await;
                    break;
                }
            },
            message = socket.next(), if waiting.len() < BUFFER => match message {
                Ok(SocketMessage::Text(text)) => {
                    // A line break is white space in JSON, where it is not escaped.
                    waiting.extend(text.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
                    waiting.push(b'\n');
                }
                Ok(SocketMessage::Binary | SocketMessage::Control) => {}
                Ok(SocketMessage::Closed) => break,
                Err(error) => {
                    tracing::warn!(%error, "the connection to the server is lost");
                    break;
                }
            },
            wrote = output.write(&waiting[written..]), if written < waiting.len() => match wrote {
                Ok(count) if count > 0 => written += count,
                _ => break,
            },
        }
        if written == waiting.len() {
            waiting.clear();
            written = 0;
        }
    }
    let _ = output.write_all(&waiting[written..]).await;
    let _ = output.shutdown().await;
}

/// Passes the bytes of two streams on to a socket that is a file, and those of the socket back, until the server ends.
///
/// # Errors
/// There is no server, or it belongs to another user.
pub async fn relay(
    socket: &Path,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let stream = local_socket::connect(socket).await?.stream;
    let (mut from_server, mut to_server) = tokio::io::split(stream);
    let up = async {
        // If the server does not read any more, what it says last is still passed on.
        let _ = tokio::io::copy(&mut input, &mut to_server).await;
        let _ = to_server.shutdown().await;
        std::future::pending::<()>().await;
    };
    let down = async {
        let mut buffer = vec![0; BUFFER];
        loop {
            match tokio::io::AsyncReadExt::read(&mut from_server, &mut buffer).await? {
                0 => return Ok(()),
                count => output.write_all(&buffer[..count]).await?,
            }
            output.flush().await?;
        }
    };
    let ended = tokio::select! {
        () = up => Ok(()),
        ended = down => ended,
    };
    // The server drops a client that has ended, and a client may end before it has read everything.
    match ended {
        Err(error) if is_end(&error) => Ok(()),
        ended => ended,
    }
}

fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionReset)
}
