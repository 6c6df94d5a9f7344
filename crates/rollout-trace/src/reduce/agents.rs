//! Agents: which runtime payload and which event makes which edge.

use uuid::Uuid;

use super::conversation::MessageKey;
use super::edges::{Fallback, MessageEdge};
use super::fault::Fault;
use super::identity::KeyWriter;
use super::normalise::Normalised;
use super::reducer::Reducer;
use super::threads::spawn_edge_id;
use super::tool_records::{function_arguments, push_new};
use crate::format::{Event, PayloadRef, Schema, ToolKind};
use crate::ids::{PayloadId, ThreadId, ToolCallId};
use crate::json::{Json, Scanner};
use crate::model::{Anchor, EdgeKind, InteractionEdge, ItemKind, Part, Role, Text, text_key};

/// The phase of an interaction that a runtime payload reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Begin,
    End,
}

/// What a sub-agent did, in the words of an activity payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Started,
    Interacted,
    Interrupted,
}

impl Activity {
    fn named(name: &str) -> Option<Self> {
        match name {
            "started" => Some(Self::Started),
            "interacted" => Some(Self::Interacted),
            "interrupted" => Some(Self::Interrupted),
            _ => None,
        }
    }
}

impl Reducer {
    /// A runtime begin of the older agent tools.
    pub(super) fn agent_begun(
        &mut self,
        tool: &ToolCallId,
        value: &Json<'_>,
        payload: &PayloadRef,
    ) -> Result<(), Fault> {
        self.older_agent_event(tool, value, payload, Phase::Begin)
    }

    /// A runtime end of any tool.
    pub(super) fn agent_ended(
        &mut self,
        tool: &ToolCallId,
        value: &Json<'_>,
        payload: &PayloadRef,
    ) -> Result<(), Fault> {
        if value.get("agent_thread_id").is_some() {
            self.agent_activity(tool, value, payload)
        } else {
            self.older_agent_event(tool, value, payload, Phase::End)
        }
    }

    fn agent_activity(
        &mut self,
        tool: &ToolCallId,
        value: &Json<'_>,
        payload: &PayloadRef,
    ) -> Result<(), Fault> {
        let event = EventReader { value, payload };
        event.optional_fields()?;
        event.text("event_id")?;
        let agent = event.thread("agent_thread_id")?;
        if !is_agent_path(&event.text("agent_path")?) {
            return Err(event.wrong("had an invalid agent_path"));
        }
        let activity = Activity::named(&event.text("kind")?)
            .ok_or_else(|| event.wrong("had an unknown kind"))?;
        let Some(call) = self.trace.tool_calls.get(tool) else {
            return Ok(());
        };
        let own_edge = || format!("edge:tool:{tool}").into();
        let (kind, id, fallback) = match (&call.kind, activity) {
            (ToolKind::SpawnAgent, Activity::Started) => (
                EdgeKind::SpawnAgent,
                spawn_edge_id(&call.thread_id, &agent),
                Fallback::Thread,
            ),
            (ToolKind::AssignAgentTask, Activity::Interacted) => {
                (EdgeKind::AssignAgentTask, own_edge(), Fallback::None)
            }
            (ToolKind::SendMessage, Activity::Interacted) => {
                (EdgeKind::SendMessage, own_edge(), Fallback::None)
            }
            (ToolKind::CloseAgent, Activity::Interrupted) => {
                return self.close_edge(tool, agent, Phase::End);
            }
            (kind, activity) => {
                return Err(Fault::Activity {
                    activity: format!("{activity:?}"),
                    kind: format!("{kind:?}"),
                });
            }
        };
        let message = self.message_of_call(tool)?;
        let Some(edge) = self.tool_message_edge(tool, kind, agent, &message) else {
            return Ok(());
        };
        self.message_edge(MessageEdge {
            id,
            fallback,
            ended: Some(self.now.at),
            ..edge
        })
    }

    fn older_agent_event(
        &mut self,
        tool: &ToolCallId,
        value: &Json<'_>,
        payload: &PayloadRef,
        phase: Phase,
    ) -> Result<(), Fault> {
        let Some(call) = self.trace.tool_calls.get(tool) else {
            return Ok(());
        };
        let event = EventReader { value, payload };
        let ended = (phase == Phase::End).then_some(self.now.at);
        let kind = match call.kind {
            ToolKind::SpawnAgent if phase == Phase::End => {
                let Some((sender, child, prompt)) = event.spawned()? else {
                    return Ok(());
                };
                let id = spawn_edge_id(&sender, &child);
                let kind = EdgeKind::SpawnAgent;
                return match self.tool_message_edge(tool, kind, child, &prompt) {
                    None => Ok(()),
                    Some(edge) => self.message_edge(MessageEdge {
                        id,
                        fallback: Fallback::Thread,
                        ended,
                        ..edge
                    }),
                };
            }
            ToolKind::CloseAgent => {
                let (receiver, _) = event.interaction(phase, false)?;
                return self.close_edge(tool, receiver, phase);
            }
            ToolKind::SendMessage => EdgeKind::SendMessage,
            ToolKind::AssignAgentTask => EdgeKind::AssignAgentTask,
            _ => return Ok(()),
        };
        let (receiver, prompt) = event.interaction(phase, true)?;
        match self.tool_message_edge(tool, kind, receiver, &prompt) {
            None => Ok(()),
            Some(edge) => self.message_edge(MessageEdge { ended, ..edge }),
        }
    }

    /// An edge from a tool call, with the id of the tool and no end.
    fn tool_message_edge(
        &self,
        tool: &ToolCallId,
        kind: EdgeKind,
        receiver: ThreadId,
        message: &str,
    ) -> Option<MessageEdge> {
        let call = self.trace.tool_calls.get(tool)?;
        let author = &self.trace.threads.get(&call.thread_id)?.agent_path;
        Some(MessageEdge {
            id: format!("edge:tool:{tool}").into(),
            kind,
            source: Anchor::ToolCall {
                tool_call_id: tool.clone(),
            },
            receiver,
            message_key: message_key(author, text_key(message)),
            fallback: Fallback::None,
            started: call.execution.started_at_unix_ms,
            ended: None,
            payloads: self.payloads_of_tool(tool),
        })
    }

    fn close_edge(
        &mut self,
        tool: &ToolCallId,
        target: ThreadId,
        phase: Phase,
    ) -> Result<(), Fault> {
        let Some(call) = self.trace.tool_calls.get(tool) else {
            return Ok(());
        };
        if !self.trace.threads.contains_key(&target) {
            return Ok(());
        }
        self.edges.upsert(InteractionEdge {
            edge_id: format!("edge:tool:{tool}").into(),
            kind: EdgeKind::CloseAgent,
            source: Anchor::ToolCall {
                tool_call_id: tool.clone(),
            },
            target: Anchor::Thread { thread_id: target },
            started_at_unix_ms: call.execution.started_at_unix_ms,
            ended_at_unix_ms: (phase == Phase::End).then_some(self.now.at),
            carried_item_ids: Vec::new(),
            carried_raw_payload_ids: self.payloads_of_tool(tool),
        })
    }

    fn payloads_of_tool(&self, tool: &ToolCallId) -> Vec<PayloadId> {
        let mut payloads = Vec::new();
        if let Some(call) = self.trace.tool_calls.get(tool) {
            let runtime = call.raw_runtime_payload_ids.iter();
            let all = call.raw_invocation_payload_id.iter().chain(runtime);
            for payload in all.chain(&call.raw_result_payload_id) {
                push_new(&mut payloads, payload);
            }
        }
        payloads
    }

    /// The message that the model gave to an agent tool.
    fn message_of_call(&mut self, tool: &ToolCallId) -> Result<String, Fault> {
        let missing = |missing| Fault::NoAgentMessage {
            tool: tool.clone(),
            missing,
        };
        let call = self.trace.tool_calls.get(tool);
        let invocation = call
            .and_then(|call| call.raw_invocation_payload_id.as_ref())
            .and_then(|id| self.trace.raw_payloads.get(id))
            .cloned()
            .ok_or_else(|| missing("invocation payload"))?;
        self.with_json(&invocation, |_, value| {
            let arguments =
                function_arguments(value).ok_or_else(|| missing("function arguments"))?;
            let arguments = Scanner::parse(arguments.as_bytes())
                .map_err(|_| Fault::AgentArguments(tool.clone()))?;
            let message = arguments.get_str("message");
            message
                .map(str::to_owned)
                .ok_or_else(|| Fault::AgentArguments(tool.clone()))
        })
    }

    /// A child's result, on its way to its parent.
    pub(super) fn agent_result(&mut self, event: Event) -> Result<(), Fault> {
        let Event::AgentResultObserved {
            edge_id,
            child_thread_id: child,
            child_codex_turn_id: turn,
            parent_thread_id: parent,
            message,
            carried_payload,
        } = event
        else {
            return Ok(());
        };
        if let Some(payload) = &carried_payload {
            self.expect_file(payload);
        }
        let Some(author) = self.trace.threads.get(&child) else {
            return Err(Fault::UnknownAgent(child));
        };
        let message_key = message_key(&author.agent_path, text_key(&message));
        let child_number = self.thread_number(&child);
        let source = match self.conversation.last_message(child_number, &turn) {
            Some(item_id) => Anchor::ConversationItem { item_id },
            None => Anchor::Thread { thread_id: child },
        };
        self.message_edge(MessageEdge {
            id: edge_id,
            kind: EdgeKind::AgentResult,
            source,
            receiver: parent,
            message_key,
            fallback: Fallback::None,
            started: self.now.at,
            ended: Some(self.now.at),
            payloads: carried_payload
                .into_iter()
                .map(|payload| payload.raw_payload_id)
                .collect(),
        })
    }

    /// The address of an item, if it is a message to its own thread.
    pub(super) fn message_key(&self, item: &Normalised, thread: &ThreadId) -> Option<MessageKey> {
        let own_path = &self.trace.threads.get(thread)?.agent_path;
        let message = AddressedMessage::from_item(item, self.schema)?;
        (message.recipient == *own_path).then(|| message_key(&message.author, message.content))
    }
}

fn message_key(author: &str, content: u128) -> MessageKey {
    let mut key = KeyWriter::default();
    key.text(author).content(content);
    MessageKey(key.finish())
}

/// A message between agents.
struct AddressedMessage {
    author: String,
    recipient: String,
    /// Its key.
    content: u128,
}

impl AddressedMessage {
    fn from_item(item: &Normalised, schema: Schema) -> Option<Self> {
        let part = match item.body.parts.as_slice() {
            [part] => part,
            [Part::Text { .. }, part @ Part::Encoded { .. }]
                if schema.has_ids() && item.agent_message.is_some() =>
            {
                part
            }
            _ => return None,
        };
        if item.role != Role::Assistant || item.kind != ItemKind::Message {
            return None;
        }
        match (&item.agent_message, part) {
            (
                Some(message),
                Part::Text { text: content } | Part::Encoded { value: content, .. },
            ) => Some(Self {
                author: message.author.clone(),
                recipient: message.recipient.clone(),
                content: content.key(),
            }),
            (None, Part::Text { text }) => Self::of_envelope(text),
            _ => None,
        }
    }

    /// Older bundles: the message is a JSON text inside an assistant message.
    fn of_envelope(text: &Text) -> Option<Self> {
        if !text.opens_object() {
            return None;
        }
        let text = text.read().ok()?;
        let value = Scanner::parse(text.as_bytes()).ok()?;
        let path = |key| value.get_str(key).filter(|path| is_agent_path(path));
        let others = match value.get("other_recipients") {
            None => true,
            Some(Json::Array(others)) => others
                .iter()
                .all(|other| other.as_str().is_some_and(is_agent_path)),
            Some(_) => false,
        };
        let encrypted = match value.get("encrypted_content") {
            None | Some(Json::Null) => None,
            Some(text) => Some(text.as_str()?),
        };
        let content = value.get_str("content")?;
        value.get("trigger_turn")?.as_bool()?;
        others.then_some(())?;
        Some(Self {
            author: path("author")?.into(),
            recipient: path("recipient")?.into(),
            content: text_key(encrypted.unwrap_or(content)),
        })
    }
}

/// `/morpheus`, or `/root` and any number of names below it.
fn is_agent_path(path: &str) -> bool {
    let is_name = |name: &str| {
        let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        !name.is_empty() && name != "root" && name.bytes().all(allowed)
    };
    if path == "/morpheus" || path == "/root" {
        return true;
    }
    path.strip_prefix("/root/")
        .is_some_and(|names| names.split('/').all(is_name))
}

/// Reads the fields of an agent's runtime payload.
struct EventReader<'e, 'a> {
    value: &'e Json<'a>,
    payload: &'e PayloadRef,
}

impl EventReader<'_, '_> {
    fn wrong(&self, wrong: &'static str) -> Fault {
        Fault::AgentEvent {
            payload: self.payload.raw_payload_id.clone(),
            wrong,
        }
    }

    fn text(&self, key: &'static str) -> Result<String, Fault> {
        let text = self.value.get_str(key).map(str::to_owned);
        text.ok_or_else(|| self.wrong("lacked a string field"))
    }

    fn thread(&self, key: &'static str) -> Result<ThreadId, Fault> {
        let id = Uuid::parse_str(&self.text(key)?);
        let id = id.map_err(|_| self.wrong("had an invalid thread id"))?;
        Ok(id.to_string().into())
    }

    /// The end of a spawn: sender, child and prompt, if there is a child.
    fn spawned(&self) -> Result<Option<(ThreadId, ThreadId, String)>, Fault> {
        self.optional_fields()?;
        self.text("call_id")?;
        self.text("model")?;
        self.text("reasoning_effort")?;
        self.status()?;
        let (sender, prompt) = (self.thread("sender_thread_id")?, self.text("prompt")?);
        match self.value.get("new_thread_id") {
            None | Some(Json::Null) => Ok(None),
            Some(_) => Ok(Some((sender, self.thread("new_thread_id")?, prompt))),
        }
    }

    /// An interaction with a known agent: the receiver, and the prompt where there is one.
    fn interaction(&self, phase: Phase, has_prompt: bool) -> Result<(ThreadId, String), Fault> {
        self.optional_fields()?;
        self.text("call_id")?;
        self.thread("sender_thread_id")?;
        if phase == Phase::End {
            self.status()?;
        }
        let prompt = if has_prompt {
            self.text("prompt")?
        } else {
            String::new()
        };
        Ok((self.thread("receiver_thread_id")?, prompt))
    }

    /// Fields that may be absent, but not of another type.
    fn optional_fields(&self) -> Result<(), Fault> {
        let is_time = |value: &Json<'_>| value.as_integer::<i64>().is_some();
        let is_name = |value: &Json<'_>| value.is_null() || value.as_str().is_some();
        let times = ["started_at_ms", "completed_at_ms", "occurred_at_ms"];
        let names = [
            "new_agent_nickname",
            "new_agent_role",
            "receiver_agent_nickname",
            "receiver_agent_role",
        ];
        let fits = |keys: &[&str], fits: &dyn Fn(&Json<'_>) -> bool| {
            keys.iter().all(|key| self.value.get(key).is_none_or(fits))
        };
        if fits(&times, &is_time) && fits(&names, &is_name) {
            Ok(())
        } else {
            Err(self.wrong("had a field of the wrong type"))
        }
    }

    fn status(&self) -> Result<(), Fault> {
        let known = match self.value.get("status") {
            Some(Json::String(status)) => matches!(
                status.as_ref(),
                "pending_init" | "running" | "interrupted" | "shutdown" | "not_found"
            ),
            Some(status) => {
                let completed = status.get("completed");
                completed.is_some_and(|text| text.is_null() || text.as_str().is_some())
                    || status.get_str("errored").is_some()
            }
            None => false,
        };
        if known {
            Ok(())
        } else {
            Err(self.wrong("had an invalid status"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_paths() {
        for path in ["/root", "/morpheus", "/root/a", "/root/worker_1/b2"] {
            assert!(is_agent_path(path), "{path}");
        }
        for path in [
            "",
            "/",
            "root",
            "/root/",
            "/root/A",
            "/root/root",
            "/root/a//b",
            "/x",
        ] {
            assert!(!is_agent_path(path), "{path}");
        }
    }
}
