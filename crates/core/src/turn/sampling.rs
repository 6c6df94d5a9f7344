//! A request to the model and its response, repeated if it fails.

use std::pin::pin;
use std::sync::Arc;

use codex_model_client::{ModelError, ModelEvent, ModelRequest, ModelStream, RequestContext};
use codex_protocol::{
    CodexErrorInfo, EventMsg, ReasoningEffort, ResponseCompletedEvent, ResponseItem, SessionSource,
    StreamErrorEvent, SubAgentSource, WarningEvent,
};
use codex_session_base::history::{ContextSnapshot, SentPrefix};
use codex_session_base::ports::ModelCall;
use futures::StreamExt;
use tracing::Instrument;

use super::calls::RunningCalls;
use super::outcome::{CompletedTurn, TurnError};
use super::recording::RunningTurn;
use super::response::ActiveResponse;
use super::retry::{self, Repeats};

/// The result of a response.
#[derive(Debug)]
pub(crate) struct SampledResponse {
    pub(crate) completed: CompletedTurn,
    /// Whether the model has to be asked again.
    pub(crate) follow_up: bool,
    /// Whether the server cut the answer.
    pub(crate) is_cut: bool,
}

impl RunningTurn<'_> {
    /// Sends a request, and repeats it while the failure may be temporary. A usage limit is waited for if the user wants that.
    ///
    /// A repeat sends the current history. What a broken response completed stays in it, so clients, the
    /// rollout and the model see the same.
    pub(crate) async fn sample(&mut self) -> Result<SampledResponse, TurnError> {
        let mut repeats = Repeats::default();
        loop {
            let span = tracing::debug_span!("model_request", attempt = repeats.count + 1);
            let error = match self.attempt().instrument(span).await {
                Ok(sampled) => return Ok(sampled),
                Err(TurnError::Model(error)) => error,
                Err(error) => return Err(error),
            };
            if error == ModelError::InvalidImage {
                self.repair_image()?;
                continue;
            }
            if let ModelError::ContextWindowExceeded { window } = error {
                self.window_exceeded(window);
            }
            match self.before_repeat(&mut repeats, error).await {
                Err(TurnError::Model(error)) => self.wait_for_limit(&mut repeats, error).await?,
                waited => waited?,
            }
        }
    }

    /// Emits that a request failed after so many repeats, and waits until it should be repeated. When there were too many,
    /// requests are repeated over HTTP, if they were not before.
    pub(crate) async fn before_repeat(
        &self,
        repeats: &mut Repeats,
        error: ModelError,
    ) -> Result<(), TurnError> {
        let session = &self.scope.session;
        let most = session.config.options.stream_max_retries;
        let Some(delay) = retry::delay(&error, repeats.count + 1, session.clock.as_ref()) else {
            return Err(TurnError::Model(error));
        };
        if repeats.count >= most {
            if !session.connection.fall_back() {
                return Err(TurnError::Model(error));
            }
            let message = format!("Falling back from WebSockets to HTTPS transport. {error}");
            self.emitter
                .emit(EventMsg::Warning(WarningEvent { message }));
            repeats.count = 0;
            return Ok(());
        }
        repeats.count += 1;
        // A websocket that was closed is usual, so the first repeat is silent.
        if repeats.count > 1 || !session.connection.is_in_use() {
            self.emit_retry(repeats.count, most, error);
        }
        tokio::select! {
            biased;
            () = self.scope.stop.stopped() => Err(TurnError::Stopped),
            () = self.scope.session.clock.sleep(delay) => Ok(()),
        }
    }

    async fn attempt(&mut self) -> Result<SampledResponse, TurnError> {
        self.before_request().await?;
        self.scope.budget.request(&self.scope.settings.model)?;
        let request = self.request(None);
        self.note_context(&request);
        self.compare_prefix(&request);
        if let Some(reviews) = &self.scope.settings.reviews {
            reviews.requested(&request.input);
        }
        let mut calls = RunningCalls::default();
        let _served = self.scope.serve_scripts(&calls);
        let mut response = ActiveResponse::default();
        let read = self.read_response(request, &mut response, &mut calls).await;
        response.end();
        let had_calls = !calls.is_empty();
        let hooks = self.after_response(&read).await;
        // Also after a failure: the effects of the tools have happened, and the model must know.
        self.record_outputs(calls).await;
        // A turn that was stopped while its calls ran is stopped, however the response ended before.
        if self.scope.stop.is_stopped() {
            return Err(TurnError::Stopped);
        }
        let completed = read?;
        hooks?;
        tracing::debug!(response = completed.response_id, "the model has answered");
        self.scope.diff.emit(self.emitter).await;
        if let Some(id) = &completed.response_id {
            self.conversation.mark_response(id);
            if self.scope.session.config.options.serves_queue {
                let ended = ResponseCompletedEvent {
                    turn_id: self.emitter.turn_id().to_owned(),
                    response_id: id.clone(),
                };
                self.emitter.emit(EventMsg::ResponseCompleted(ended));
            }
        }
        // After an answer, messages of other agents wait for the next turn.
        let reads_mail = !response.has_answered() && self.scope.has_mail();
        let follow_up = had_calls || self.scope.has_input() || reads_mail;
        Ok(SampledResponse {
            completed,
            follow_up,
            is_cut: response.is_cut(),
        })
    }

    /// Records the output of every call as soon as it and those before it are known, then what hooks add.
    pub(super) async fn record_outputs(&mut self, mut calls: RunningCalls) {
        calls.response_ended();
        let mut contexts = Vec::new();
        while let Some(call) = calls.next().await {
            self.record(call.output);
            contexts.extend(call.contexts);
        }
        for context in contexts {
            self.record(context);
        }
    }

    async fn read_response(
        &mut self,
        request: ModelRequest,
        response: &mut ActiveResponse,
        calls: &mut RunningCalls,
    ) -> Result<CompletedTurn, TurnError> {
        let scope = self.scope;
        let mut stopped = pin!(scope.stop.stopped());
        let mut stream: ModelStream = tokio::select! {
            biased;
            () = &mut stopped => return Err(TurnError::Stopped),
            opened = scope.model.stream(request) => opened.map_err(TurnError::Model)?,
        };
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => return Err(TurnError::Stopped),
                () = scope.session.emitter.ready() => {}
            }
            let event = tokio::select! {
                biased;
                () = &mut stopped => return Err(TurnError::Stopped),
                () = calls.drive() => continue,
                event = stream.next() => event,
            };
            let event = event
                .unwrap_or_else(|| Err(cut_off()))
                .map_err(TurnError::Model)?;
            if let (Some(reviews), ModelEvent::ItemDone(item)) = (&scope.settings.reviews, &event) {
                reviews.answered(item);
            }
            if let ModelEvent::ItemDone(item @ ResponseItem::ImageGenerationCall { .. }) = event {
                tokio::select! {
                    biased;
                    () = &mut stopped => return Err(TurnError::Stopped),
                    () = self.image_done(item) => {}
                }
            } else if let Some(completed) = self.take_event(response, calls, event) {
                return Ok(completed);
            }
        }
    }

    /// `compaction` is the id of the compaction item, if the request is for a compaction.
    pub(crate) fn request(&mut self, compaction: Option<&str>) -> ModelRequest {
        let mut request = self.unobserved_request();
        let observer = self.scope.session.emitter.observer();
        request.context.observer = observer.and_then(|observer| {
            observer.model_asked(&ModelCall {
                turn: &self.scope.settings.id,
                model: &request.model,
                compaction,
            })
        });
        request
    }

    /// A request with one more message at the end, which becomes part of neither the history nor the trace.
    pub(crate) fn side_request(
        &mut self,
        message: &ResponseItem,
        effort: Option<ReasoningEffort>,
    ) -> ModelRequest {
        let mut request = self.unobserved_request();
        request.input.push(message);
        if effort.is_some() {
            let settings = &self.scope.settings;
            request.reasoning = settings.model.reasoning(effort, Some(settings.summary));
        }
        request
    }

    /// A request without the trace.
    pub(crate) fn unobserved_request(&mut self) -> ModelRequest {
        let settings = &self.scope.settings;
        let model = &settings.model;
        let session = &self.scope.session;
        let effort = settings.mode.settings.reasoning_effort.clone();
        ModelRequest {
            model: model.slug.clone(),
            instructions: Arc::clone(&settings.instructions.base),
            input: self.conversation.history.prompt(model.takes_images()),
            tools: self.scope.tools.current().specs(),
            calls_no_tools: false,
            parallel_tool_calls: model.supports_parallel_tool_calls,
            reasoning: model.reasoning(effort, Some(settings.summary)),
            service_tier: settings.service_tier.clone(),
            verbosity: settings.verbosity,
            output_schema: settings.output_schema.as_deref().cloned(),
            context: RequestContext {
                thread_id: session.emitter.thread().0.clone(),
                cache_key: Some(session.cache_root().0.clone()),
                turn_state: settings.turn_state.clone(),
                turn_metadata: settings.metadata.clone(),
                has_client_metadata: settings.has_client_metadata,
                connection: Some(session.connection.clone()),
                subagent: subagent(&session.config.identity.source),
                ..RequestContext::default()
            },
        }
    }

    /// Keeps what a request has, for those who ask what the context is made of.
    fn note_context(&self, request: &ModelRequest) {
        let model = &self.scope.settings.model;
        *self.scope.session.last_request.lock() = Some(ContextSnapshot {
            model: request.model.clone(),
            window: model.effective_context_window(),
            lacks_server_tools: false,
            takes_images: model.takes_images(),
            instructions: Arc::clone(&request.instructions),
            tools: request.tools.clone(),
            prompt: request.input.clone(),
            usage: self.conversation.usage.last().copied(),
        });
    }

    /// Tells where the request does not begin like the one before it, if anybody wants to know.
    fn compare_prefix(&self, request: &ModelRequest) {
        let session = &self.scope.session;
        let tells = session.config.options.prompt_cache_notices;
        let observer = session.emitter.observer();
        if !tells && observer.is_none() {
            return;
        }
        let sent = SentPrefix::new(request);
        let mut last = session.sent_prefix.lock();
        let usage = self.conversation.usage.last().copied();
        let broken = (last.as_ref()).and_then(|before| sent.break_with(before, usage));
        *last = Some(sent);
        drop(last);
        let Some(broken) = broken else { return };
        if let Some(observer) = observer {
            observer.prefix_broken(self.emitter.turn_id(), &broken);
        }
        if tells {
            let message = broken.to_string();
            self.emitter
                .emit(EventMsg::Warning(WarningEvent { message }));
        }
    }

    fn emit_retry(&self, repeat: u32, most: u32, error: ModelError) {
        self.emitter.emit(EventMsg::StreamError(StreamErrorEvent {
            message: format!("Reconnecting... {repeat}/{most}"),
            codex_error_info: Some(error.retry_info()),
            additional_details: Some(error.to_string()),
        }));
    }

    /// The next turn compacts. `told` is how long the server says that the window is.
    fn window_exceeded(&mut self, told: Option<i64>) {
        let model = &self.scope.settings.model;
        if let Some(window) = told {
            self.scope.model.learn_window(&model.slug, window);
        }
        if let Some(window) = told.or_else(|| model.effective_context_window()) {
            self.conversation.usage.fill(window);
            self.emitter.emit(self.conversation.usage.event());
        }
    }

    /// Removes the images from the newest tool output, which must contain the invalid one.
    fn repair_image(&mut self) -> Result<(), TurnError> {
        if self.conversation.history.drop_newest_tool_images() {
            return Ok(());
        }
        Err(TurnError::Failed {
            message: "Invalid image in your last message. Please remove it and try again."
                .to_owned(),
            info: CodexErrorInfo::BadRequest,
        })
    }
}

/// The name that providers know a sub-agent by.
fn subagent(source: &SessionSource) -> Option<String> {
    let SessionSource::SubAgent(source) = source else {
        return None;
    };
    let label = match source {
        SubAgentSource::Review => "review",
        SubAgentSource::Compact => "compact",
        SubAgentSource::MemoryConsolidation => "memory_consolidation",
        SubAgentSource::ThreadSpawn { .. } => "collab_spawn",
        SubAgentSource::Other(label) => label,
    };
    Some(label.to_owned())
}

/// The error of a stream that ends without its last event.
pub(crate) fn cut_off() -> ModelError {
    ModelError::disconnected("stream closed before response.completed")
}
