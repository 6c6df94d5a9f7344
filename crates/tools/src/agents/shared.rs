//! What the tools for agents share.

use std::path::{Path, PathBuf};

use codex_protocol::{AgentStatus, EventMsg, RolloutItem, RolloutLine, ThreadId, UserInput};
use codex_session_base::agents::{AgentHandle, AgentRequest, AgentSource};
use codex_session_base::events::TurnEmitter;
use codex_session_base::stored_thread::StoredThread;
use tokio::sync::oneshot;

use crate::tool::{ToolContext, ToolFailure};

/// The end of a call, emitted exactly once.
pub(crate) struct EndEvent {
    emitter: TurnEmitter,
    event: Option<EventMsg>,
}

impl EndEvent {
    /// Emits the begin of a call. `end` is the event if the call is interrupted.
    pub(crate) fn begin(context: &ToolContext, begin: EventMsg, end: EventMsg) -> Self {
        let emitter = context.emitter.clone();
        emitter.emit(begin);
        Self {
            emitter,
            event: Some(end),
        }
    }

    pub(crate) fn end(mut self, event: EventMsg) {
        self.event = Some(event);
    }
}

impl Drop for EndEvent {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            self.emitter.emit(event);
        }
    }
}

/// Asks the session of the thread, which owns its agents.
pub(crate) async fn request<T>(
    context: &ToolContext,
    request: impl FnOnce(oneshot::Sender<T>) -> AgentRequest,
) -> Result<T, ToolFailure> {
    let reply = context.services.requests.agents.ask(request).await;
    reply.ok_or_else(|| ToolFailure::Model("collab manager unavailable".to_owned()))
}

/// Finds an open agent of the thread.
pub(super) async fn find(
    context: &ToolContext,
    id: &ThreadId,
) -> Result<Option<AgentHandle>, ToolFailure> {
    let ids = vec![id.clone()];
    let mut found = request(context, |reply| AgentRequest::Find(ids, reply)).await?;
    Ok(found.pop().flatten())
}

pub(super) fn thread_id(text: &str) -> Result<ThreadId, ToolFailure> {
    let refuse = |error| ToolFailure::Model(format!("invalid agent id {text}: {error}"));
    ThreadId::parse(text).map_err(refuse)
}

pub(super) fn not_found(id: &ThreadId) -> ToolFailure {
    ToolFailure::Model(format!("agent with id {id} not found"))
}

/// The input for an agent: a message, or parts of one.
pub(super) fn read_input(
    message: Option<String>,
    items: Option<Vec<UserInput>>,
) -> Result<Vec<UserInput>, ToolFailure> {
    let refusal = match (message, items) {
        (Some(_), Some(_)) => "Provide either message or items, but not both",
        (None, None) => "Provide one of: message or items",
        (Some(text), None) if text.trim().is_empty() => "Empty message can't be sent to an agent",
        (Some(text), None) => {
            return Ok(vec![UserInput::Text {
                text,
                text_elements: Vec::new(),
            }]);
        }
        (None, Some(items)) if items.is_empty() => "Items can't be empty",
        (None, Some(items)) => return Ok(items),
    };
    Err(ToolFailure::Model(refusal.to_owned()))
}

/// The input as clients see it.
pub(super) fn shown(input: &[UserInput]) -> String {
    let part = |item: &UserInput| match item {
        UserInput::Text { text, .. } => text.clone(),
        UserInput::LocalImage { path, .. } => format!("[local_image:{path}]"),
        UserInput::Skill { name, path } => format!("[skill:${name}]({path})"),
        UserInput::Mention { name, path } => format!("[mention:${name}]({path})"),
        _ => "[image]".to_owned(),
    };
    let parts: Vec<String> = input.iter().map(part).collect();
    parts.join("\n")
}

/// Reads a stored thread for an agent that continues it.
pub(crate) async fn read_stored(path: PathBuf) -> Result<AgentSource, String> {
    let reading = tokio::task::spawn_blocking(move || read_agent(&path));
    reading.await.unwrap_or_else(|error| Err(error.to_string()))
}

/// The same; blocks on the file system.
pub(super) fn read_agent(path: &Path) -> Result<AgentSource, String> {
    let mut first = None;
    let thread = StoredThread::read(path, None, None, |line| {
        let is_user_message = || {
            let (_, payload) = line.kind()?;
            (payload.as_deref() == Some("user_message")).then_some(())
        };
        if first.is_none() && is_user_message().is_some() {
            let text = std::str::from_utf8(line.bytes()).unwrap_or_default();
            if let Ok(RolloutLine {
                item: RolloutItem::EventMsg(EventMsg::UserMessage(message)),
                ..
            }) = RolloutLine::read(text.trim())
            {
                first = Some(message);
            }
        }
    });
    Ok(AgentSource {
        thread: thread.map_err(|error| error.to_string())?,
        first,
    })
}

pub(super) fn status_of(agent: Option<&AgentHandle>) -> AgentStatus {
    agent.map_or(AgentStatus::NotFound, AgentHandle::status_now)
}

pub(super) fn names_of(agent: Option<&AgentHandle>) -> (Option<String>, Option<String>) {
    let agent = agent.cloned();
    agent.map_or((None, None), |agent| (agent.nickname, agent.role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn agent_prompt_is_shown_to_the_person() {
        let items: Vec<UserInput> = serde_json::from_value(json!([
            { "type": "text", "text": "look" },
            { "type": "image", "image_url": "data:x" },
            { "type": "local_image", "path": "/a.png" },
            { "type": "skill", "name": "s", "path": "/s" },
            { "type": "mention", "name": "m", "path": "app://m" },
        ]))
        .unwrap();
        assert_eq!(
            shown(&items),
            "look\n[image]\n[local_image:/a.png]\n[skill:$s](/s)\n[mention:$m](app://m)"
        );
    }
}
