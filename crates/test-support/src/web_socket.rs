//! A client on a websocket, as small as it can be: text messages, an answer to nothing else.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// A message that has not come by then never comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Frames of clients are masked. By nothing will do.
const MASK: [u8; 4] = [0; 4];

/// The kind of frame that says goodbye.
const CLOSE: u8 = 8;

/// A connection.
#[derive(Debug)]
pub struct WebSocket<S> {
    stream: BufReader<S>,
    next_id: i64,
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
            true => Ok(Self { stream, next_id: 0 }),
            false => Err(head),
        })
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &Value) -> io::Result<()> {
        let text = message.to_string();
        let mut frame = vec![0x81, 0x80 | 127];
        frame.extend((text.len() as u64).to_be_bytes());
        frame.extend(MASK);
        frame.extend(text.into_bytes());
        self.stream.write_all(&frame).await
    }

    /// The next message; nothing once the server has said goodbye.
    pub async fn receive(&mut self) -> io::Result<Option<Value>> {
        let mut text = Vec::new();
        loop {
            let first = tokio::time::timeout(PATIENCE, self.stream.read_u8()).await??;
            let length = match self.stream.read_u8().await? {
                126 => u64::from(self.stream.read_u16().await?),
                127 => self.stream.read_u64().await?,
                short => u64::from(short),
            };
            (&mut self.stream)
                .take(length)
                .read_to_end(&mut text)
                .await?;
            if first & 0x0f == CLOSE {
                return Ok(None);
            }
            if first & 0x80 != 0 {
                return Ok(Some(serde_json::from_slice(&text)?));
            }
        }
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
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "id": id, "method": method, "params": params });
        self.send(&request).await?;
        loop {
            let message = self.receive().await?;
            let message = message.ok_or(io::ErrorKind::UnexpectedEof)?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }
}
