//! Starts a review in a loaded thread.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{ReviewStartResponse, ThreadItem, Turn, UserInput};
use codex_core::{StartReview, review_hint};
use codex_protocol::{ReviewRequest, ReviewTarget};
use tokio::sync::oneshot;

use super::accepted_turn;
use super::actor::Actor;
use crate::connection::Responder;
use crate::failure::Failure;

/// The message that stands for the request of a review: what the user wrote, or the title of the target.
fn title(target: &ReviewTarget, hint: String) -> String {
    match target {
        ReviewTarget::Custom { .. } => hint,
        _ => format!("Review {hint}"),
    }
}

impl Actor {
    pub(crate) async fn review(
        &mut self,
        target: ReviewTarget,
        reply: Responder<method::ReviewStart>,
    ) {
        if let Err(error) = self.thread.claim() {
            return reply.refuse(Failure::invalid(error.to_string()));
        }
        let mut review_request = ReviewRequest {
            target: target.clone(),
            user_facing_hint: None,
        };
        let hint = review_hint(&review_request);
        review_request.user_facing_hint = Some(hint.clone());
        let id = uuid::Uuid::now_v7().to_string();
        // Its end comes with the events of the turn.
        let (reply_at_end, _) = oneshot::channel();
        let start = StartReview {
            id: id.clone(),
            request: review_request,
            reply: reply_at_end,
        };
        if let Err(closed) = self.thread.send(start).await {
            return reply.refuse(Failure::internal(closed.to_string()));
        }
        self.turn.get_or_insert_with(|| id.clone());
        let said = ThreadItem::UserMessage {
            client_id: None,
            id: id.clone(),
            content: vec![UserInput::Text {
                text: title(&target, hint),
                text_elements: Vec::new(),
            }],
        };
        reply.accept(&ReviewStartResponse {
            turn: Turn {
                root_turn_id: None,
                items: vec![said.into()],
                ..accepted_turn(id, None)
            },
            review_thread_id: self.thread.id().to_string(),
        });
    }
}
