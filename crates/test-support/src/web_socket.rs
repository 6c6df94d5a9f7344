//! A client on a websocket, as small as it can be: text messages and pings, with the protocol observer
//! listening.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use crate::ProtocolObserver;

/// A message that has not come by then never comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Frames of clients are masked. By nothing will do.
const MASK: [u8; 4] = [0; 4];

/// The kinds of frames that are no part of a message.
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// What a piece of a message says of it in its first byte: that it is the last one.
const IS_LAST: u8 = 0x80;

/// A connection.
#[derive(Debug)]
pub struct WebSocket<S> {
    stream: BufReader<S>,
    observer: ProtocolObserver,
    next_id: i64,
}

/// What a server sends that is no goodbye.
#[derive(Debug, PartialEq, Eq)]
enum Frame {
    Piece { bytes: Vec<u8>, is_last: bool },
    Pong(Vec<u8>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// Connects over a stream, with these headers besides the necessary ones. Answers the head of the
    /// reply if the server does not agree.
    pub async fn connect(stream: S, headers: &str) -> io::Result<Result<Self, String>> {
        let mut stream = BufReader::new(stream);
        let request = format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             {headers}\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head.push(char::from(stream.read_u8().await?));
        }
        Ok(match head.starts_with("HTTP/1.1 101 ") {
            true => Ok(Self {
                stream,
                observer: ProtocolObserver::default(),
                next_id: 0,
            }),
            false => Err(head),
        })
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.observer.sent(message);
        self.send_frame(1, message.to_string().as_bytes()).await
    }

    async fn send_frame(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        let mut frame = vec![IS_LAST | kind];
        match u8::try_from(payload.len()) {
            Ok(length) if length < 126 => frame.push(0x80 | length),
            _ => {
                frame.push(0x80 | 127);
                frame.extend((payload.len() as u64).to_be_bytes());
            }
        }
        frame.extend(MASK);
        frame.extend(payload);
        self.stream.write_all(&frame).await
    }

    /// The next message; nothing once the server has said goodbye.
    pub async fn receive(&mut self) -> io::Result<Option<Value>> {
        let mut text = Vec::new();
        loop {
            match self.receive_frame().await? {
                None => return Ok(None),
                Some(Frame::Pong(_)) => {}
                Some(Frame::Piece { bytes, is_last }) => {
                    text.extend(bytes);
                    if is_last {
                        return self.hear(&text).map(Some);
                    }
                }
            }
        }
    }

    fn hear(&mut self, text: &[u8]) -> io::Result<Value> {
        let message = serde_json::from_slice(text)?;
        self.observer.received(&message);
        Ok(message)
    }

    async fn receive_frame(&mut self) -> io::Result<Option<Frame>> {
        let first = tokio::time::timeout(PATIENCE, self.stream.read_u8()).await??;
        let length = match self.stream.read_u8().await? {
            126 => u64::from(self.stream.read_u16().await?),
            127 => self.stream.read_u64().await?,
            short => u64::from(short),
        };
        let mut bytes = Vec::new();
        let mut payload = (&mut self.stream).take(length);
        payload.read_to_end(&mut bytes).await?;
        Ok(match first & 0x0f {
            CLOSE => None,
            PONG => Some(Frame::Pong(bytes)),
            PING => {
                self.send_frame(PONG, &bytes).await?;
                Some(Frame::Pong(Vec::new()))
            }
            _ => Some(Frame::Piece {
                bytes,
                is_last: first & IS_LAST != 0,
            }),
        })
    }

    /// Receives a message of many pieces, and sends a ping as soon as its first piece is there.
    /// Answers the message, and how many of its pieces came before the ping was answered and after.
    pub async fn ping_inside_a_message(&mut self) -> io::Result<(Value, usize, usize)> {
        let mut text = Vec::new();
        let (mut before, mut after) = (0, 0);
        let mut is_answered = false;
        loop {
            match self.receive_frame().await? {
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(Frame::Pong(payload)) => is_answered = payload == b"still there?",
                Some(Frame::Piece { bytes, is_last }) => {
                    text.extend(bytes);
                    *(if is_answered { &mut after } else { &mut before }) += 1;
                    if is_last {
                        return Ok((self.hear(&text)?, before, after));
                    }
                    if before == 1 && after == 0 {
                        self.send_frame(PING, b"still there?").await?;
                    }
                }
            }
        }
    }

    /// Says goodbye, and checks what was promised once the server has said it too.
    pub async fn finish(mut self) -> io::Result<()> {
        self.send_frame(CLOSE, &1000_u16.to_be_bytes()).await?;
        while self.receive().await?.is_some() {}
        self.observer.finish();
        Ok(())
    }

    /// Waits for a notification or a request of the server. What comes before it is passed over.
    pub async fn wait_for(&mut self, method: &str) -> io::Result<Value> {
        loop {
            let message = self.receive().await?;
            let message = message.ok_or(io::ErrorKind::UnexpectedEof)?;
            if message["method"] == method {
                return Ok(message);
            }
        }
    }

    /// Sends a request and waits for its reply. What comes before it is passed over.
    pub async fn call(&mut self, method: &str, params: Value) -> io::Result<Value> {
        let id = self.begin(method, params).await?;
        loop {
            let message = self.receive().await?;
            let message = message.ok_or(io::ErrorKind::UnexpectedEof)?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    /// Sends a request whose reply is waited for later.
    pub async fn begin(&mut self, method: &str, params: Value) -> io::Result<i64> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "id": id, "method": method, "params": params });
        self.send(&request).await?;
        Ok(id)
    }
}
