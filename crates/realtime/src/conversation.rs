//! A conversation: its queues and its task.
//!
//! Sound waits in a queue that drops what does not fit, because late sound is worth nothing; text waits in one that makes
//! its senders wait. So it is with events: sound that nobody takes in time is dropped, everything else waits. What is
//! put in before the connection is open waits for it.

use std::time::Duration;

use codex_http::{HttpPool, SocketError, SocketMessage, WebSocket};
use codex_protocol::{RealtimeConversationVersion, RealtimeEvent};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::dialect::{Dialect, Taken, audio};
use crate::input::{AgentResult, TextRole};
use crate::settings::RealtimeSettings;
use crate::v1::FirstDialect;
use crate::v2::SecondDialect;

/// Pieces of sound that wait to be sent.
const AUDIO_QUEUE: usize = 256;
/// Texts and results that wait to be sent.
const TEXT_QUEUE: usize = 64;
/// Events that wait to be taken.
const EVENT_QUEUE: usize = 256;

/// Something of a conversation.
#[derive(Debug)]
pub enum ConversationEvent {
    /// The connection is open and the settings are sent. Comes first.
    Connected,
    Event(RealtimeEvent),
}

/// Why a conversation has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationEnd {
    /// There was no connection.
    NotConnected(String),
    /// The server closed the connection, or it was lost.
    TransportClosed,
    /// What failed.
    Failed(String),
}

#[derive(Debug)]
enum Input {
    Text(TextRole, String),
    Result(AgentResult),
}

/// The inputs of a conversation. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ConversationInputs {
    audio: mpsc::Sender<String>,
    texts: mpsc::Sender<Input>,
}

impl ConversationInputs {
    /// Sound of the user, in base64. Dropped if too much waits.
    pub fn audio(&self, data: String) {
        if self.audio.try_send(data).is_err() {
            tracing::debug!("a piece of sound is dropped");
        }
    }

    /// A text. Waits while too much waits. Returns false if the conversation has ended.
    pub async fn text(&self, role: TextRole, text: String) -> bool {
        self.texts.send(Input::Text(role, text)).await.is_ok()
    }

    /// Text of the user. Returns false if too much waits, or if the conversation has ended.
    #[must_use]
    pub fn try_text(&self, text: String) -> bool {
        self.texts
            .try_send(Input::Text(TextRole::User, text))
            .is_ok()
    }

    /// Waits until a result can be put in. None if the conversation has ended.
    pub async fn ready_for_result(&self) -> Option<ResultSlot<'_>> {
        self.texts.reserve().await.ok().map(ResultSlot)
    }
}

/// Room for a result.
#[derive(Debug)]
pub struct ResultSlot<'a>(mpsc::Permit<'a, Input>);

impl ResultSlot<'_> {
    /// Puts a message of the agent about delegated work in.
    pub fn put(self, result: AgentResult) {
        self.0.send(Input::Result(result));
    }
}

/// The other ends of the inputs and of the events.
#[derive(Debug)]
pub struct ConversationQueues {
    audio: mpsc::Receiver<String>,
    texts: mpsc::Receiver<Input>,
    events: mpsc::Sender<ConversationEvent>,
}

/// The queues of a conversation that has not begun.
#[must_use]
pub fn queues() -> (
    ConversationInputs,
    ConversationQueues,
    mpsc::Receiver<ConversationEvent>,
) {
    let (audio, audio_queue) = mpsc::channel(AUDIO_QUEUE);
    let (texts, text_queue) = mpsc::channel(TEXT_QUEUE);
    let (events, received) = mpsc::channel(EVENT_QUEUE);
    let queues = ConversationQueues {
        audio: audio_queue,
        texts: text_queue,
        events,
    };
    (ConversationInputs { audio, texts }, queues, received)
}

/// Why there is no conversation with the third version.
const NO_THIRD_VERSION: &str = "version `v3` of the realtime protocol is not available; start the conversation with `v1` or `v2`";

/// Holds a conversation until it ends. Dropping the future ends it at once.
pub async fn converse(
    settings: RealtimeSettings,
    pool: &HttpPool,
    queues: ConversationQueues,
) -> ConversationEnd {
    let dialect: Box<dyn Dialect> = match settings.version {
        RealtimeConversationVersion::V1 => Box::new(FirstDialect::new(settings.voice.clone())),
        RealtimeConversationVersion::V2 => Box::new(SecondDialect::new(&settings)),
        RealtimeConversationVersion::V3 => {
            return ConversationEnd::NotConnected(NO_THIRD_VERSION.to_owned());
        }
    };
    let socket = match settings.open(pool).await {
        Ok(socket) => socket,
        Err(error) => return ConversationEnd::NotConnected(error.to_string()),
    };
    let task = ConversationTask {
        socket,
        dialect,
        queues,
        timeout: settings.timeout,
    };
    match task.run(&settings.instructions).await {
        Ok(never) => match never {},
        Err(end) => end,
    }
}

/// Nothing ends a conversation but an end of its connection or a failure.
enum Never {}

struct ConversationTask {
    socket: WebSocket,
    dialect: Box<dyn Dialect>,
    queues: ConversationQueues,
    timeout: Duration,
}

impl ConversationTask {
    async fn run(mut self, instructions: &str) -> Result<Never, ConversationEnd> {
        let start = self.dialect.start(instructions);
        self.send(&start).await?;
        self.wait_for_room(ConversationEvent::Connected).await?;
        loop {
            tokio::select! {
                message = self.socket.next() => self.received(message).await?,
                Some(input) = self.queues.texts.recv() => self.input(input).await?,
                Some(data) = self.queues.audio.recv() => self.send(&audio(&data)).await?,
            }
        }
    }

    async fn input(&mut self, input: Input) -> Result<(), ConversationEnd> {
        let messages = match input {
            Input::Text(role, text) => self.dialect.text(role, &text),
            Input::Result(result) => self.dialect.result(&result),
        };
        self.send_all(messages).await
    }

    async fn received(
        &mut self,
        message: Result<SocketMessage, SocketError>,
    ) -> Result<(), ConversationEnd> {
        let text = match message {
            Ok(SocketMessage::Text(text)) => text,
            Ok(SocketMessage::Control) => return Ok(()),
            Ok(SocketMessage::Binary) => {
                let text = "the realtime server sent a binary message".to_owned();
                return Err(ConversationEnd::Failed(text));
            }
            Ok(SocketMessage::Closed) | Err(SocketError::Lost(_)) => {
                return Err(ConversationEnd::TransportClosed);
            }
            Err(error @ SocketError::TooLarge(_)) => {
                return Err(ConversationEnd::Failed(error.to_string()));
            }
        };
        let Ok(message) = serde_json::from_str::<Value>(&text) else {
            tracing::debug!("a message that is not JSON is ignored");
            return Ok(());
        };
        let kind = message["type"].as_str().unwrap_or_default();
        let taken = self.dialect.take(kind, &message);
        let Taken { events, send } = taken.map_err(ConversationEnd::Failed)?;
        for event in events {
            self.emit(event).await?;
        }
        self.send_all(send).await
    }

    async fn emit(&mut self, event: RealtimeEvent) -> Result<(), ConversationEnd> {
        if !matches!(event, RealtimeEvent::AudioOut(_)) {
            return self.wait_for_room(ConversationEvent::Event(event)).await;
        }
        if self
            .queues
            .events
            .try_send(ConversationEvent::Event(event))
            .is_err()
        {
            tracing::debug!("a piece of sound is dropped");
        }
        Ok(())
    }

    /// Reports an event when there is room for it.
    async fn wait_for_room(&mut self, event: ConversationEvent) -> Result<(), ConversationEnd> {
        let sent = self.queues.events.send(event).await;
        // Nobody listens, so nobody reads the reason.
        sent.map_err(|_| ConversationEnd::TransportClosed)
    }

    async fn send_all(&mut self, messages: Vec<Value>) -> Result<(), ConversationEnd> {
        for message in messages {
            self.send(&message).await?;
        }
        Ok(())
    }

    async fn send(&mut self, message: &Value) -> Result<(), ConversationEnd> {
        let sent = self.socket.send(message.to_string());
        match tokio::time::timeout(self.timeout, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(ConversationEnd::TransportClosed),
            Err(_) => {
                let text = format!("the realtime server reads nothing for {:?}", self.timeout);
                Err(ConversationEnd::Failed(text))
            }
        }
    }
}
