//! A running turn, and what it records in the conversation.

use std::sync::Arc;

use codex_protocol::{FunctionCallOutputItem, ResponseItem, TurnContext, TurnItem};
use codex_rollout::LineKind;
use codex_session_base::context;
use codex_session_base::events::TurnEmitter;
use codex_session_base::history::Conversation;
use codex_session_base::input::{Input, SavedInput, ToolOutput, TurnInput};

use super::scope::TurnScope;
use crate::git;

/// A running turn.
pub(crate) struct RunningTurn<'a> {
    pub(crate) scope: &'a TurnScope,
    pub(crate) emitter: &'a TurnEmitter,
    pub(crate) conversation: &'a mut Conversation,
}

impl RunningTurn<'_> {
    /// Records the context that the model does not have yet.
    pub(crate) fn record_context(&mut self) {
        self.record_news();
        self.record_settings();
    }

    /// The same, but the settings of the thread in its file stay as they are.
    pub(super) fn record_news(&mut self) {
        let settings = &self.scope.settings;
        let previous = self.conversation.previous_model.take();
        let items = match &self.conversation.reference {
            None => context::initial(settings, previous.as_deref()),
            Some(reference) => {
                let mut items = context::updates(settings, reference, previous.as_deref());
                items.extend(self.changed_instructions());
                items
            }
        };
        for item in items {
            self.record(item);
        }
        self.conversation.reference = Some(self.reference());
        self.conversation.previous_model = Some(self.scope.settings.model.slug.clone());
    }

    /// The message that the instruction files have changed, if they have been read anew.
    fn changed_instructions(&self) -> Option<ResponseItem> {
        let settings = &self.scope.settings;
        settings.current_instructions.get()?;
        let known = self.conversation.history.last_instructions();
        context::changed_instructions(settings, known.as_deref())
    }

    /// Records the settings of the turn.
    fn record_settings(&mut self) {
        let reference = self.reference();
        let emitter = &self.scope.session.emitter;
        emitter.log(LineKind::TurnContext, &reference);
        self.conversation.reference = Some(reference);
    }

    /// The settings of the turn, with the apps that the user has mentioned so far.
    fn reference(&self) -> TurnContext {
        let mentioned = self.scope.tool_services.selected_apps.lock();
        TurnContext {
            mentioned_apps: mentioned.iter().cloned().collect(),
            ..context::turn_context(&self.scope.settings)
        }
    }

    /// `contexts` of hooks are recorded after the message of the user.
    pub(crate) async fn record_input(&mut self, input: Input, contexts: Vec<ResponseItem>) {
        match input {
            Input::User(mut input) => {
                for item in std::mem::take(&mut input.hidden) {
                    self.record(item);
                }
                let saved = input.saved.take();
                let item = match &saved {
                    Some(saved) => {
                        saved.note_recorded();
                        saved.item().to_owned()
                    }
                    None => self.scope.session.ids.item(),
                };
                if let Some(output) = input.tool_output.take() {
                    self.record_tool_output(output, item.clone());
                }
                if input.items.is_empty() {
                    return self.end_when_stored(saved);
                }
                let message = context::message_of(&input.items).await;
                self.record(message.clone());
                let skills = self.texts_of_skills(&input.items).await;
                self.find_apps(&input.items).await;
                if self.select_apps(&input.items, &skills) {
                    self.record_settings();
                }
                let plugins = self.texts_of_plugins(&input.items).await;
                git::materialise(&self.scope.session);
                self.emit_stored(item, *input, &message).await;
                self.end_when_stored(saved);
                for text in contexts.into_iter().chain(skills).chain(plugins) {
                    self.record(text);
                }
            }
            Input::Hidden(hidden) => {
                self.record(*hidden.item);
                self.end_when_stored(hidden.saved);
            }
            Input::Note(item) => self.record(*item),
        }
    }

    /// Emits a message of the user once it is on disk, so that one that a client saw is there after a crash. The first one of a
    /// thread does not wait for the facts about its repository.
    async fn emit_stored(&self, id: String, input: TurnInput, recorded: &ResponseItem) {
        let emitter = &self.scope.session.emitter;
        let held = emitter.has_file().then(|| emitter.hold_events());
        self.emitter.user_message(id, input, recorded);
        if held.is_some()
            && let Err(error) = emitter.flush().await
        {
            // The end of the turn tells the client.
            tracing::warn!(%error, "a message of the user is not stored yet");
        }
    }

    /// Removes the copy of an input once the file of the thread has it, on the disk.
    fn end_when_stored(&self, saved: Option<Arc<SavedInput>>) {
        let Some(saved) = saved else {
            return;
        };
        git::materialise(&self.scope.session);
        // Otherwise the next process finds the copy, and looks into the file.
        let emitter = &self.scope.session.emitter;
        emitter.after_synchronising(move || saved.end());
    }

    fn record_tool_output(&mut self, answered: ToolOutput, id: String) {
        for item in answered.recorded(&id) {
            self.record(item);
        }
        let item = TurnItem::FunctionCallOutput(FunctionCallOutputItem {
            id,
            name: answered.name,
            namespace: answered.namespace,
            output: answered.output,
        });
        self.emitter.item_started(item.clone());
        self.emitter.item_completed(item, false);
    }

    pub(crate) fn record(&mut self, item: ResponseItem) {
        self.conversation.record(item, &self.scope.recorder());
    }
}
