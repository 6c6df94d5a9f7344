//! Asking the model once with the context of the thread, without a turn.

use std::sync::Arc;

use codex_model_client::{ModelError, ModelEvent, ModelRequest};
use codex_protocol::ResponseItem;
use codex_session_base::history::user_message;
use codex_session_base::ports::Model;
use codex_session_base::thread::{Sample, SampleError, SampleRequest};
use futures::StreamExt;

use super::actor::{MAX_WAITING, SessionActor};
use super::call::ThreadCall;
use super::state::TurnOverrides;
use crate::turn::{RunningTurn, assistant_text, cut_off};

impl ThreadCall for SampleRequest {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        if session.running().is_none() {
            session.start_sample(self);
        } else if session.samples.len() < MAX_WAITING {
            session.samples.push(self);
        } else {
            let _ = self.reply.send(Err(SampleError::Busy));
        }
    }
}

impl SessionActor {
    /// Asks what waited for the end of a task.
    pub(super) fn start_samples(&mut self) {
        if self.running().is_none() {
            for request in std::mem::take(&mut self.samples) {
                self.start_sample(request);
            }
        }
    }

    /// Lets the model prepare for the first request of the thread, if it can.
    pub(crate) fn prewarm(&mut self) {
        if !self.base.model.prewarms() {
            return;
        }
        let scope = self.new_turn("", TurnOverrides::default());
        let Some(conversation) = self.idle() else {
            return;
        };
        let mut turn = RunningTurn {
            scope: &scope,
            emitter: &scope.emitter(),
            conversation,
        };
        let request = turn.unobserved_request();
        if let Some(warming) = scope.model.prewarm(request) {
            self.context.in_background(warming);
        }
    }

    fn start_sample(&mut self, request: SampleRequest) {
        let SampleRequest {
            prompt,
            effort,
            mut reply,
        } = request;
        let scope = self.new_turn("", TurnOverrides::default());
        if let Err(refused) = scope.budget.request(&scope.settings.model) {
            let _ = reply.send(Err(SampleError::Refused(refused.to_string())));
            return;
        }
        let Some(conversation) = self.idle() else {
            return;
        };
        let mut turn = RunningTurn {
            scope: &scope,
            emitter: &scope.emitter(),
            conversation,
        };
        let question = turn.side_request(&user_message([prompt]), effort);
        let model = Arc::clone(&scope.model);
        tokio::spawn(async move {
            tokio::select! {
                () = reply.closed() => {}
                answer = answer(model, question) => {
                    if let Ok(Sample { usage: Some(usage), .. }) = &answer {
                        scope.budget.charge(*usage, &scope.settings.model);
                    }
                    let _ = reply.send(answer.map_err(SampleError::Model));
                }
            }
        });
    }
}

/// Reads the whole answer. Calls of tools in it are ignored.
async fn answer(model: Arc<dyn Model>, request: ModelRequest) -> Result<Sample, ModelError> {
    let mut stream = model.stream(request).await?;
    let mut text = None;
    loop {
        match stream.next().await.unwrap_or_else(|| Err(cut_off()))? {
            ModelEvent::ItemDone(ResponseItem::Message { role, content, .. })
                if role == "assistant" =>
            {
                text = Some(assistant_text(&content));
            }
            ModelEvent::Completed(completion) => {
                return Ok(Sample {
                    response_id: completion.response_id,
                    text,
                    usage: completion.usage,
                });
            }
            _ => {}
        }
    }
}
