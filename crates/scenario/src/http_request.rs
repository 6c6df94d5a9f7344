//! Reading a request off a connection.

use std::io;

use serde_json::Value;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;

const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

/// A request that a server received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// What follows the question mark.
    pub query: String,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Reads the next request. `buffer` holds what was read too much. Nothing at the end.
    pub(crate) async fn read(
        stream: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
    ) -> io::Result<Option<Self>> {
        let head_end = loop {
            if let Some(end) = find(buffer, b"\r\n\r\n") {
                break end;
            }
            if buffer.len() > MAX_HEAD_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if stream.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        };
        let mut request = Self::parse_head(&buffer[..head_end]);
        let length = request.header("content-length").unwrap_or("0");
        let length = length.parse::<usize>().unwrap_or(0);
        if length > MAX_BODY_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let end = head_end + 4 + length;
        while buffer.len() < end {
            if stream.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        }
        request.body = buffer[head_end + 4..end].to_vec();
        buffer.drain(..end);
        Ok(Some(request))
    }

    fn parse_head(head: &[u8]) -> Self {
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let method = first.next().unwrap_or_default().to_owned();
        let target = first.next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Self {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: lines.filter_map(header).collect(),
            body: Vec::new(),
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes
        .windows(pattern.len())
        .position(|window| window == pattern)
}
