//! The event streams of a server behind HTTP: their messages, and when and where one that has ended is taken up again.
//!
//! A server closes a stream when it likes and names with `retry` how long its clients wait, and with the ids of its
//! events where the next stream goes on. Without `retry` the delay begins at a second. It doubles with each stream that
//! had no messages, so that a server that only closes its streams gets fewer and fewer requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use codex_http::{SseLimits, SseParser};
use reqwest::Response;
use reqwest::header::HeaderValue;
use tokio_util::sync::CancellationToken;

use crate::dispatcher::MessageDispatcher;
use crate::error::McpError;
use crate::http::failed;
use crate::stdio::LARGEST_MESSAGE;

/// The delay where the server names none.
const DEFAULT_DELAY: Duration = Duration::from_secs(1);
/// The shortest delay, whatever the server names.
const SHORTEST_DELAY: Duration = Duration::from_millis(100);
/// The longest delay that streams without messages lead to.
const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// How many streams without messages leave a delay that the server has named as it is. Servers close the stream of a
/// long call again and again, so that no connection stays open for long.
const EMPTY_STREAMS_OF_NAMED_DELAY: u32 = 10;

/// A stream of events over several connections.
#[derive(Debug, Default)]
pub(crate) struct EventStream {
    place: Option<HeaderValue>,
    retry: Option<Duration>,
    /// How many connections in a row had no messages.
    empty_in_a_row: u32,
}

impl EventStream {
    /// Dispatches the events of a connection until it ends.
    pub(crate) async fn read(
        &mut self,
        response: Response,
        dispatcher: &Arc<MessageDispatcher>,
    ) -> Result<(), McpError> {
        let mut parser = SseParser::new(SseLimits {
            event: LARGEST_MESSAGE,
            ..SseLimits::default()
        });
        self.empty_in_a_row += 1;
        let read = self.read_with(&mut parser, response, dispatcher).await;
        self.note(&parser);
        read
    }

    async fn read_with(
        &mut self,
        parser: &mut SseParser,
        mut response: Response,
        dispatcher: &Arc<MessageDispatcher>,
    ) -> Result<(), McpError> {
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            let mut rest = &chunk[..];
            while let Some(event) = parser.next(&mut rest) {
                let event = event.map_err(|error| McpError::Http(error.to_string()))?;
                if !event.trim_ascii().is_empty() {
                    self.empty_in_a_row = 0;
                    dispatcher.deliver(event);
                }
            }
        }
        Ok(())
    }

    /// Takes over what a connection said about the next one.
    fn note(&mut self, parser: &SseParser) {
        self.retry = parser.retry().or(self.retry);
        // An id that cannot be sent in a header is none.
        if let Ok(place) = HeaderValue::from_bytes(parser.last_id())
            && !place.is_empty()
        {
            self.place = Some(place);
        }
    }

    /// Notes a connection that was not made.
    pub(crate) fn failed(&mut self) {
        self.empty_in_a_row += 1;
    }

    /// Where the next connection goes on, if the server has said so.
    pub(crate) fn place(&self) -> Option<&HeaderValue> {
        self.place.as_ref()
    }

    pub(crate) fn empty_in_a_row(&self) -> u32 {
        self.empty_in_a_row
    }

    /// How long to wait before the next connection.
    pub(crate) fn delay(&self) -> Duration {
        let (first, unchanged) = match self.retry {
            Some(named) => (named.max(SHORTEST_DELAY), EMPTY_STREAMS_OF_NAMED_DELAY),
            None => (DEFAULT_DELAY, 1),
        };
        let doublings = self.empty_in_a_row.saturating_sub(unchanged).min(16);
        let longer = first.saturating_mul(1 << doublings);
        longer.min(LONGEST_DELAY.max(first))
    }
}

/// The stream on which a server of the revision 2024-11-05 sends all messages. Its first event says where messages are posted.
pub(crate) struct ReplyStream {
    response: Response,
    parser: SseParser,
    rest: Bytes,
}

impl ReplyStream {
    /// Reads where messages are posted, and dispatches all that follows in a task. The connection ends with the stream.
    pub(crate) async fn open(
        response: Response,
        dispatcher: &Arc<MessageDispatcher>,
        closed: CancellationToken,
    ) -> Result<String, McpError> {
        let mut stream = Self {
            response,
            parser: SseParser::new(SseLimits {
                event: LARGEST_MESSAGE,
                ..SseLimits::default()
            }),
            rest: Bytes::new(),
        };
        let endpoint = loop {
            match stream.next().await? {
                Some((kind, data)) if kind == b"endpoint" => break data,
                Some(_) => {}
                None => return Err(McpError::Closed),
            }
        };
        let dispatcher = Arc::clone(dispatcher);
        tokio::spawn(async move {
            let dispatched = async {
                while let Some((_, data)) = stream.next().await? {
                    if !data.trim_ascii().is_empty() {
                        dispatcher.deliver(&data);
                    }
                }
                Err(McpError::Closed)
            };
            tokio::select! {
                ended = dispatched => {
                    let ended: Result<(), McpError> = ended;
                    dispatcher.lose(ended.err().unwrap_or(McpError::Closed));
                }
                () = closed.cancelled() => {}
            }
        });
        Ok(String::from_utf8_lossy(&endpoint).trim().to_owned())
    }

    /// The type and the data of the next event.
    async fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>, McpError> {
        loop {
            let mut rest = &self.rest[..];
            let event = self.parser.next(&mut rest);
            let event = event.map(|event| event.map(<[u8]>::to_vec));
            let left = rest.len();
            self.rest = self.rest.slice(self.rest.len() - left..);
            if let Some(event) = event {
                let data = event.map_err(|error| McpError::Http(error.to_string()))?;
                return Ok(Some((self.parser.event_type().to_vec(), data)));
            }
            match self.response.chunk().await.map_err(failed)? {
                Some(chunk) => self.rest = chunk,
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(text: &str, empty_in_a_row: u32) -> EventStream {
        let mut parser = SseParser::default();
        let mut rest = text.as_bytes();
        while parser.next(&mut rest).is_some() {}
        let mut stream = EventStream {
            empty_in_a_row,
            ..EventStream::default()
        };
        stream.note(&parser);
        stream
    }

    #[test]
    fn stream_delay_follows_the_server_and_grows_without_events() {
        let seconds = |text: &str, empty| stream(text, empty).delay().as_secs_f64();
        let table = [
            ("", 0, 1.0),
            ("", 1, 1.0),
            ("", 3, 4.0),
            ("", u32::MAX, 60.0),
            ("retry: 500\n\n", 1, 0.5),
            ("retry: 500\n\n", 10, 0.5),
            ("retry: 500\n\n", 11, 1.0),
            ("retry: 0\n\n", 1, 0.1),
            ("retry: 90000\n\n", 1, 90.0),
            ("retry: 90000\n\n", 20, 90.0),
        ];
        for (text, empty, expected) in table {
            assert_eq!(seconds(text, empty), expected, "{text:?} {empty}");
        }
        let endless = format!("retry: {}\n\n", u64::MAX);
        assert_eq!(
            stream(&endless, 99).delay(),
            Duration::from_millis(u64::MAX)
        );
    }

    #[test]
    fn a_place_is_kept_while_later_connections_name_none() {
        let mut stream = stream("id: 7\ndata:\n\n", 1);
        stream.note(&SseParser::default());
        assert_eq!(stream.place().unwrap(), "7");
    }

    #[test]
    fn ids_that_no_header_takes_are_no_places() {
        assert_eq!(stream("id: a\u{1}b\ndata:\n\n", 1).place(), None);
    }
}
