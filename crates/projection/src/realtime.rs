//! Events of realtime conversations as notifications.
//!
//! Items are the begin and the end of the session, and what each side says at a time.

use std::collections::VecDeque;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::*;
use codex_protocol as v1;
use codex_protocol::{EventMsg, RealtimeEvent};
use serde_json::{Value, json};

use super::Change;

/// The state of a conversation.
#[derive(Debug, Default)]
pub(super) struct RealtimeProjection {
    session: String,
    /// Whether a conversation has begun and not ended.
    is_open: bool,
    /// What is being said.
    segment: Option<Segment>,
    /// The newest complete items.
    items: VecDeque<ThreadRealtimeEntry>,
    /// The position of the next one.
    position: u64,
}

/// The number of items that are kept of a thread.
const KEPT_ITEMS: usize = 10_000;

#[derive(Debug)]
struct Segment {
    id: String,
    role: ThreadRealtimeTranscriptRole,
    text: String,
}

/// Collects notifications about one thread.
struct Sent<'a> {
    thread: &'a str,
    now: Option<i64>,
    changes: Vec<Change>,
}

/// Whether an event is about a realtime conversation.
pub(super) fn is_realtime(event: &EventMsg) -> bool {
    matches!(
        event,
        EventMsg::RealtimeConversationStarted(_)
            | EventMsg::RealtimeConversationRealtime(_)
            | EventMsg::RealtimeConversationClosed(_)
    )
}

impl RealtimeProjection {
    /// The notifications for an event.
    pub(super) fn apply(
        &mut self,
        thread: &str,
        now: Option<i64>,
        event: &EventMsg,
    ) -> Vec<Change> {
        let mut sent = Sent {
            thread,
            now,
            changes: Vec::new(),
        };
        match event {
            EventMsg::RealtimeConversationStarted(started) => self.started(started, &mut sent),
            EventMsg::RealtimeConversationRealtime(event) => {
                self.event(&event.payload, &mut sent);
            }
            EventMsg::RealtimeConversationClosed(closed) => self.closed(closed, &mut sent),
            _ => {}
        }
        for change in &sent.changes {
            if let ServerNotification::ThreadRealtimeItemCompleted(completed) = &change.notification
            {
                let item = completed.item.clone();
                self.items.push_back(ThreadRealtimeEntry {
                    position: self.position,
                    item,
                });
                self.position += 1;
            }
        }
        let surplus = self.items.len().saturating_sub(KEPT_ITEMS);
        self.items.drain(..surplus);
        sent.changes
    }

    /// The complete items, oldest first.
    pub(super) fn items(&self) -> impl Iterator<Item = &ThreadRealtimeEntry> {
        self.items.iter()
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    fn started(&mut self, started: &v1::RealtimeConversationStartedEvent, sent: &mut Sent<'_>) {
        self.session = started.session_id.clone().unwrap_or_default();
        self.is_open = true;
        self.segment = None;
        sent.whole_item(ThreadRealtimeItem::RealtimeSessionStarted {
            id: new_id(),
            realtime_session_id: self.session.clone(),
            observed_at_ms: sent.now,
        });
        let notification = ThreadRealtimeStartedNotification {
            thread_id: sent.thread(),
            session_id: started.session_id.clone(),
            realtime_session_id: started.session_id.clone(),
            version: started.version,
        };
        sent.push(ServerNotification::ThreadRealtimeStarted(notification));
    }

    fn closed(&mut self, closed: &v1::RealtimeConversationClosedEvent, sent: &mut Sent<'_>) {
        self.end_segment(None, sent);
        let is_failure = closed.reason.as_deref() == Some("error");
        self.is_open = false;
        let session = std::mem::take(&mut self.session);
        if !session.is_empty() {
            sent.whole_item(ThreadRealtimeItem::RealtimeSessionClosed {
                id: new_id(),
                realtime_session_id: session,
                observed_at_ms: sent.now,
                outcome: if is_failure {
                    ThreadRealtimeSessionOutcome::Failed
                } else {
                    ThreadRealtimeSessionOutcome::Ended
                },
            });
        }
        let notification = ThreadRealtimeClosedNotification {
            thread_id: sent.thread(),
            reason: closed.reason.clone(),
        };
        sent.push(ServerNotification::ThreadRealtimeClosed(notification));
    }

    fn event(&mut self, event: &RealtimeEvent, sent: &mut Sent<'_>) {
        use ThreadRealtimeTranscriptRole::{Assistant, User};
        match event {
            RealtimeEvent::InputTranscriptDelta { delta } => {
                self.push_transcript(User, delta, sent)
            }
            RealtimeEvent::OutputTranscriptDelta { delta } => {
                self.push_transcript(Assistant, delta, sent)
            }
            RealtimeEvent::InputTranscriptDone { text } => self.end_transcript(User, text, sent),
            RealtimeEvent::OutputTranscriptDone { text } => {
                self.end_transcript(Assistant, text, sent)
            }
            RealtimeEvent::AudioOut(frame) => sent.audio(frame),
            RealtimeEvent::Error(message) => {
                let notification = ThreadRealtimeErrorNotification {
                    thread_id: sent.thread(),
                    message: message.clone(),
                };
                sent.push(ServerNotification::ThreadRealtimeError(notification));
            }
            other => sent.added(other),
        }
    }

    fn push_transcript(
        &mut self,
        role: ThreadRealtimeTranscriptRole,
        delta: &str,
        sent: &mut Sent<'_>,
    ) {
        if self
            .segment
            .as_ref()
            .is_some_and(|segment| segment.role != role)
        {
            self.end_segment(None, sent);
        }
        let session = &self.session;
        let segment = self.segment.get_or_insert_with(|| {
            let segment = Segment {
                id: new_id(),
                role,
                text: String::new(),
            };
            sent.item(segment.item(session, sent.now), false);
            segment
        });
        segment.text.push_str(delta);
        let notification = ThreadRealtimeItemTranscriptDeltaNotification {
            thread_id: sent.thread(),
            item_id: segment.id.clone(),
            delta: delta.to_owned(),
        };
        sent.push(ServerNotification::ThreadRealtimeItemTranscriptDelta(
            notification,
        ));
        let notification = ThreadRealtimeTranscriptDeltaNotification {
            thread_id: sent.thread(),
            role: name(role),
            delta: delta.to_owned(),
        };
        sent.push(ServerNotification::ThreadRealtimeTranscriptDelta(
            notification,
        ));
    }

    fn end_transcript(
        &mut self,
        role: ThreadRealtimeTranscriptRole,
        text: &str,
        sent: &mut Sent<'_>,
    ) {
        if self
            .segment
            .as_ref()
            .is_some_and(|segment| segment.role == role)
        {
            self.end_segment(Some(text), sent);
        }
        let notification = ThreadRealtimeTranscriptDoneNotification {
            thread_id: sent.thread(),
            role: name(role),
            text: text.to_owned(),
        };
        sent.push(ServerNotification::ThreadRealtimeTranscriptDone(
            notification,
        ));
    }

    /// What was being said is complete, with this text where it is known.
    fn end_segment(&mut self, text: Option<&str>, sent: &mut Sent<'_>) {
        if let Some(mut segment) = self.segment.take() {
            if let Some(text) = text {
                text.clone_into(&mut segment.text);
            }
            sent.item(segment.item(&self.session, sent.now), true);
        }
    }
}

impl Segment {
    fn item(&self, session: &str, now: Option<i64>) -> ThreadRealtimeItem {
        ThreadRealtimeItem::TranscriptSegment {
            id: self.id.clone(),
            realtime_session_id: session.to_owned(),
            observed_at_ms: now,
            role: self.role,
            text: self.text.clone(),
        }
    }
}

impl Sent<'_> {
    fn thread(&self) -> String {
        self.thread.to_owned()
    }

    fn push(&mut self, notification: ServerNotification) {
        self.changes.push(notification.into());
    }

    fn item(&mut self, item: ThreadRealtimeItem, is_complete: bool) {
        let thread_id = self.thread();
        self.push(if is_complete {
            ServerNotification::ThreadRealtimeItemCompleted(
                ThreadRealtimeItemCompletedNotification { thread_id, item },
            )
        } else {
            ServerNotification::ThreadRealtimeItemStarted(ThreadRealtimeItemStartedNotification {
                thread_id,
                item,
            })
        });
    }

    /// An item without content that streams.
    fn whole_item(&mut self, item: ThreadRealtimeItem) {
        self.item(item.clone(), false);
        self.item(item, true);
    }

    fn audio(&mut self, frame: &v1::RealtimeAudioFrame) {
        let notification = ThreadRealtimeOutputAudioDeltaNotification {
            thread_id: self.thread(),
            audio: ThreadRealtimeAudioChunk {
                data: frame.data.clone(),
                sample_rate: frame.sample_rate,
                num_channels: frame.num_channels,
                samples_per_channel: frame.samples_per_channel,
                item_id: frame.item_id.clone(),
            },
        };
        self.push(ServerNotification::ThreadRealtimeOutputAudioDelta(
            notification,
        ));
    }

    /// An event without a notification of its own.
    fn added(&mut self, event: &RealtimeEvent) {
        let Some(item) = raw_item(event) else {
            return;
        };
        let notification = ThreadRealtimeItemAddedNotification {
            thread_id: self.thread(),
            item,
        };
        self.push(ServerNotification::ThreadRealtimeItemAdded(notification));
    }
}

/// An event as the JSON that clients get; none for those that they do not get.
fn raw_item(event: &RealtimeEvent) -> Option<Value> {
    Some(match event {
        RealtimeEvent::ConversationItemAdded(item) => item.clone(),
        RealtimeEvent::InputAudioSpeechStarted { item_id } => {
            json!({"type": "input_audio_buffer.speech_started", "item_id": item_id})
        }
        RealtimeEvent::ResponseCreated { response_id } => {
            json!({"type": "response.created", "response": {"id": response_id}})
        }
        RealtimeEvent::ResponseDone { response_id } => {
            json!({"type": "response.done", "response": {"id": response_id}})
        }
        RealtimeEvent::ResponseCancelled { response_id } => {
            json!({"type": "response.cancelled", "response_id": response_id})
        }
        RealtimeEvent::HandoffRequested(handoff) => json!({
            "type": "handoff_request",
            "handoff_id": handoff.handoff_id,
            "item_id": handoff.item_id,
            "input_transcript": handoff.input_transcript,
            "active_transcript": handoff.active_transcript,
        }),
        _ => return None,
    })
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

fn name(role: ThreadRealtimeTranscriptRole) -> String {
    let name = match role {
        ThreadRealtimeTranscriptRole::User => "user",
        ThreadRealtimeTranscriptRole::Assistant => "assistant",
    };
    name.to_owned()
}
