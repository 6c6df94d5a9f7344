//! What the context of the thread is made of, while a turn runs and while none does.

use codex_session_base::history::{ContextSnapshot, Conversation};
use codex_session_base::thread::ThreadClosed;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::state::TurnOverrides;
use crate::turn::TurnScope;

/// Replies what the context of the model is made of: while a turn runs, as of its last request.
#[derive(Debug)]
pub struct ReadContext;

impl ThreadCall for ReadContext {
    type Reply = Result<ContextSnapshot, ThreadClosed>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        // A task that has replied may not have given its conversation back.
        session.settle().await;
        if session.running().is_some() {
            let last = session.context.last_request.lock().clone();
            return last.ok_or(ThreadClosed);
        }
        let scope = session.new_turn("", TurnOverrides::default());
        let conversation = session.idle().ok_or(ThreadClosed)?;
        Ok(snapshot_of(&scope, conversation))
    }
}

/// The context that a turn begins with. Servers are not asked for their tools; those of the last request are taken.
pub(super) fn snapshot_of(scope: &TurnScope, conversation: &Conversation) -> ContextSnapshot {
    let model = &scope.settings.model;
    let last = scope.session.last_request.lock();
    let last = (last.as_ref()).filter(|last| last.model == model.slug && !last.lacks_server_tools);
    let has_servers = !scope.tool_services.mcp.current().is_empty();
    ContextSnapshot {
        model: model.slug.clone(),
        window: model.effective_context_window(),
        lacks_server_tools: has_servers && last.is_none(),
        takes_images: model.takes_images(),
        instructions: scope.settings.instructions.base.clone(),
        tools: last.map_or_else(|| scope.tools.current().specs(), |last| last.tools.clone()),
        prompt: conversation.history.as_it_is(),
        usage: conversation.usage.last().copied(),
    }
}
