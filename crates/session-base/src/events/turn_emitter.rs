//! Emits the events of a turn: each under the id of the turn, items with the older events behind them.

use std::sync::Arc;

use codex_protocol::{
    AgentMessageContent, AgentMessageEvent, AgentReasoningEvent, EventMsg,
    ImageGenerationBeginEvent, ImageGenerationEndEvent, ItemEvent, ResponseItem, TurnItem,
    UserInput, UserMessageEvent, UserMessageItem, WebSearchBeginEvent, WebSearchEndEvent,
};
use codex_rollout::name_images;

use super::Emitter;
use crate::input::TurnInput;

/// Emits the events of a turn. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TurnEmitter {
    emitter: Emitter,
    turn_id: Arc<str>,
}

impl TurnEmitter {
    pub fn new(emitter: Emitter, turn_id: Arc<str>) -> Self {
        Self { emitter, turn_id }
    }

    pub fn turn_id(&self) -> &str {
        &self.turn_id
    }

    pub fn thread_emitter(&self) -> &Emitter {
        &self.emitter
    }

    pub fn emit(&self, msg: EventMsg) {
        self.emitter.emit(&self.turn_id, msg);
    }

    /// Emits an event that the file of the thread has already.
    pub fn emit_again(&self, msg: EventMsg) {
        self.emitter.emit_again(&self.turn_id, msg);
    }

    pub fn item_started(&self, item: TurnItem) {
        let older_event = match &item {
            TurnItem::WebSearch(item) => Some(EventMsg::WebSearchBegin(WebSearchBeginEvent {
                call_id: item.id.clone(),
            })),
            TurnItem::ImageGeneration(item) => {
                let call_id = item.id.clone();
                Some(EventMsg::ImageGenerationBegin(ImageGenerationBeginEvent {
                    call_id,
                }))
            }
            _ => None,
        };
        self.emit(EventMsg::ItemStarted(self.item_event(item)));
        older_event
            .into_iter()
            .for_each(|older_event| self.emit(older_event));
    }

    /// `raw_reasoning` says whether to emit the reasoning itself.
    pub fn item_completed(&self, item: TurnItem, raw_reasoning: bool) {
        let older_events = older_events(&item, raw_reasoning);
        self.emit(EventMsg::ItemCompleted(self.item_event(item)));
        older_events
            .into_iter()
            .for_each(|older_event| self.emit(older_event));
    }

    /// Emits a message of the user. `recorded` is the same message for the model, which has been stored.
    pub fn user_message(&self, id: String, input: TurnInput, recorded: &ResponseItem) {
        let item = UserMessageItem {
            id,
            client_id: input.client_id,
            content: input.items,
        };
        let event = user_message(&item);
        let item = TurnItem::UserMessage(item);
        self.item_started(item.clone());
        self.emit(EventMsg::ItemCompleted(self.item_event(item)));
        let stored = name_images(&event, recorded).map(EventMsg::UserMessage);
        let event = EventMsg::UserMessage(event);
        match stored {
            Some(stored) => self.emitter.emit_stored_as(&self.turn_id, event, &stored),
            None => self.emit(event),
        }
    }

    fn item_event(&self, item: TurnItem) -> ItemEvent {
        let thread_id = self.emitter.thread().clone();
        ItemEvent {
            thread_id,
            turn_id: self.turn_id.to_string(),
            item,
        }
    }
}

/// The older events with the content of a completed item.
fn older_events(item: &TurnItem, raw_reasoning: bool) -> Vec<EventMsg> {
    match item {
        TurnItem::UserMessage(item) => vec![EventMsg::UserMessage(user_message(item))],
        TurnItem::AgentMessage(item) => {
            let say = |AgentMessageContent::Text { text }: &AgentMessageContent| {
                EventMsg::AgentMessage(AgentMessageEvent {
                    message: text.clone().into(),
                    phase: item.phase,
                    memory_citation: item.memory_citation.clone(),
                    is_cut: item.is_cut,
                    item_id: Some(item.id.clone()),
                })
            };
            item.content.iter().map(say).collect()
        }
        TurnItem::Reasoning(item) => {
            let event = |text: &String| AgentReasoningEvent {
                text: text.clone(),
                item_id: Some(item.id.clone()),
            };
            let summary = item
                .summary_text
                .iter()
                .map(event)
                .map(EventMsg::AgentReasoning);
            let raw = item.raw_content.iter().filter(|_| raw_reasoning).map(event);
            summary
                .chain(raw.map(EventMsg::AgentReasoningRawContent))
                .collect()
        }
        TurnItem::WebSearch(item) => vec![EventMsg::WebSearchEnd(WebSearchEndEvent {
            call_id: item.id.clone(),
            query: item.query.clone(),
            action: item.action.clone(),
        })],
        TurnItem::ImageGeneration(item) => {
            vec![EventMsg::ImageGenerationEnd(ImageGenerationEndEvent {
                call_id: item.id.clone(),
                status: item.status.clone(),
                revised_prompt: item.revised_prompt.clone(),
                result: item.result.clone(),
                saved_path: item.saved_path.clone(),
            })]
        }
        TurnItem::ContextCompaction(_) => vec![EventMsg::ContextCompacted],
        _ => Vec::new(),
    }
}

/// The event with a message of the user as the file of a thread has it. `recorded` is the same message for the model.
pub fn stored_user_message(
    id: String,
    input: TurnInput,
    recorded: &ResponseItem,
) -> UserMessageEvent {
    let event = user_message(&UserMessageItem {
        id,
        client_id: input.client_id,
        content: input.items,
    });
    name_images(&event, recorded).unwrap_or(event)
}

fn user_message(item: &UserMessageItem) -> UserMessageEvent {
    let mut event = UserMessageEvent {
        client_id: item.client_id.clone(),
        item_id: Some(item.id.clone()),
        images: Some(Vec::new()),
        ..UserMessageEvent::default()
    };
    let (mut details, mut local_details, mut file_details) = (Vec::new(), Vec::new(), Vec::new());
    for item in &item.content {
        match item {
            UserInput::Text {
                text,
                text_elements,
            } => {
                let start = event.message.len();
                event.message.push_str(text);
                event
                    .text_elements
                    .extend(text_elements.iter().cloned().map(|mut element| {
                        element.byte_range.start += start;
                        element.byte_range.end += start;
                        element
                    }));
            }
            UserInput::Image {
                file_id: Some(id),
                detail,
                ..
            } => {
                event.image_files.push(id.clone());
                file_details.push(*detail);
            }
            UserInput::Image {
                image_url, detail, ..
            } => {
                event.images.get_or_insert_default().push(image_url.clone());
                details.push(*detail);
            }
            UserInput::LocalImage { path, detail } => {
                event.local_images.push(path.clone());
                local_details.push(*detail);
            }
            sound @ (UserInput::Audio { .. } | UserInput::LocalAudio { .. }) => {
                event.audio.push(sound.clone());
            }
            _ => {}
        }
    }
    details.extend(local_details);
    details.extend(file_details);
    if details.iter().any(Option::is_some) {
        event.image_details = details;
    }
    if !has_order_of_event(&item.content) {
        event.content = item.content.iter().map(without_url).collect();
    }
    event
}

/// Whether the members of the event tell the input and its order.
fn has_order_of_event(input: &[UserInput]) -> bool {
    const TEXT: u8 = 0;
    let place = |part: &UserInput| match part {
        UserInput::Text { .. } => Some(TEXT),
        UserInput::Image { file_id: None, .. } => Some(1),
        UserInput::LocalImage { .. } => Some(2),
        UserInput::Image { .. } => Some(3),
        UserInput::Audio { .. } | UserInput::LocalAudio { .. } => Some(4),
        _ => None,
    };
    let places: Option<Vec<u8>> = input.iter().map(place).collect();
    places.is_some_and(|places| {
        places.is_sorted_by(|one, next| one < next || (one == next && *one != TEXT))
    })
}

/// An image by URL without its URL.
fn without_url(part: &UserInput) -> UserInput {
    match part {
        UserInput::Image {
            file_id: None,
            detail,
            ..
        } => UserInput::Image {
            image_url: String::new(),
            file_id: None,
            detail: *detail,
        },
        other => other.clone(),
    }
}
