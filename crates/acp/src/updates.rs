//! Converts notifications of a thread to session updates. Pure: no files, no time, no connection.
//!
//! Each item has at most one start and exactly one end, at the latest when its turn ends. Streamed text is not
//! repeated.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, ContentChunk, MessageId, NoticeSeverity, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, PlanMarkdown, PlanUpdate, PlanUpdateContent,
    SessionInfoUpdate, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{
    ContextCompactionStatus, McpServerStartupState, ThreadItem, ThreadTokenUsage, TurnPlanStep,
    TurnPlanStepStatus,
};

use crate::client_features::ClientFeatures;
use crate::messages::{chunk, message_chunk, notice};
use crate::{command_calls, prompt_blocks, tool_calls};

/// What was sent to the client of a session.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// Tool calls that have not ended, as they were sent last.
    open: BTreeMap<String, ToolCall>,
    /// Messages and thoughts whose text was streamed, with the index of the last part.
    streamed: HashMap<String, i64>,
    /// Terminals that the client shows, with the number of bytes sent.
    terminals: HashMap<String, usize>,
    /// Compactions that have not ended.
    compacting: BTreeSet<String>,
    usage: Option<(u64, u64)>,
}

/// A tool call that needs a permission.
#[derive(Debug)]
pub(crate) enum AnnouncedCall {
    /// The call was sent before.
    Known(ToolCall),
    /// The call was not sent yet.
    New(ToolCall),
}

impl Projection {
    /// The updates for a notification. `diffs` are those of its patch.
    pub(crate) fn notified(
        &mut self,
        notification: &ServerNotification,
        diffs: Vec<ToolCallContent>,
        client_features: ClientFeatures,
    ) -> Vec<SessionUpdate> {
        use ServerNotification as N;
        match notification {
            N::AgentMessageDelta(it) => self.message(&it.item_id, &it.delta),
            N::PlanDelta(it) if !client_features.plans => self.message(&it.item_id, &it.delta),
            N::ReasoningSummaryTextDelta(it) => {
                self.thought(&it.item_id, it.summary_index, &it.delta)
            }
            N::ReasoningTextDelta(it) => self.thought(&it.item_id, it.content_index, &it.delta),
            N::ItemStarted(it) => self.begin(&it.item, diffs, client_features),
            N::ItemCompleted(it) => self.end(&it.item, diffs, client_features),
            N::CommandExecutionOutputDelta(it) => self.output(&it.item_id, &it.delta),
            N::TerminalInteraction(it) if self.terminals.contains_key(&it.item_id) => {
                let typed = format!("\n> {}\n", it.stdin.trim_end());
                if it.stdin.is_empty() {
                    Vec::new()
                } else {
                    vec![terminal_output(&it.item_id, &typed)]
                }
            }
            N::TurnPlanUpdated(it) => vec![plan(&it.plan)],
            N::ThreadTokenUsageUpdated(it) => self.usage(&it.token_usage),
            N::ThreadNameUpdated(it) => {
                let update = SessionInfoUpdate::new().title(it.thread_name.clone());
                vec![SessionUpdate::SessionInfoUpdate(update)]
            }
            N::Warning(it) if client_features.notices => {
                notice(NoticeSeverity::Warning, &it.message, None)
            }
            N::Warning(it) => vec![message_chunk(&format!("Warning: {}\n\n", it.message), None)],
            N::ModelRerouted(it) => {
                let title = format!("{} answers in place of {}", it.to_model, it.from_model);
                if client_features.notices {
                    notice(NoticeSeverity::Info, &title, None)
                } else {
                    vec![SessionUpdate::AgentThoughtChunk(chunk(&title, None))]
                }
            }
            N::Error(it) if it.will_retry && client_features.notices => {
                let details = it.error.additional_details.as_deref();
                notice(NoticeSeverity::Warning, &it.error.message, details)
            }
            N::McpServerStatusUpdated(it)
                if it.status == McpServerStartupState::Failed && client_features.notices =>
            {
                let title = format!("MCP server `{}` did not start", it.name);
                notice(NoticeSeverity::Warning, &title, it.error.as_deref())
            }
            N::TurnCompleted(_) => self.end_of_turn(client_features),
            _ => Vec::new(),
        }
    }

    /// The updates for an item of a stored turn.
    pub(crate) fn replay(
        &mut self,
        item: &ThreadItem,
        diffs: Vec<ToolCallContent>,
        client_features: ClientFeatures,
    ) -> Vec<SessionUpdate> {
        match item {
            ThreadItem::UserMessage { .. } => user_message(item),
            item => self.end(item, diffs, client_features),
        }
    }

    /// Registers a tool call that needs a permission.
    pub(crate) fn announce(&mut self, call: ToolCall) -> AnnouncedCall {
        let id = call.tool_call_id.0.to_string();
        match self.open.get(&id) {
            Some(known) => AnnouncedCall::Known(known.clone()),
            None => {
                self.open.insert(id, call.clone());
                AnnouncedCall::New(call)
            }
        }
    }

    fn begin(
        &mut self,
        item: &ThreadItem,
        diffs: Vec<ToolCallContent>,
        client_features: ClientFeatures,
    ) -> Vec<SessionUpdate> {
        if let ThreadItem::ContextCompaction { id, .. } = item {
            return vec![self.compaction(id, CompactionStatus::InProgress, client_features)];
        }
        if let ThreadItem::CommandExecution { id, .. } = item
            && client_features.terminal_output
        {
            self.terminals.insert(id.clone(), 0);
        }
        match tool_calls::of_item(item, diffs, client_features.terminal_output) {
            Some(call) => vec![self.tool_call_update(call)],
            None => Vec::new(),
        }
    }

    fn end(
        &mut self,
        item: &ThreadItem,
        diffs: Vec<ToolCallContent>,
        client_features: ClientFeatures,
    ) -> Vec<SessionUpdate> {
        match item {
            ThreadItem::AgentMessage { id, text, .. } => self.rest(id, &text.as_str()),
            ThreadItem::Plan { id, text } if client_features.plans => {
                let content = PlanMarkdown::new(id.clone(), text.clone());
                let update = PlanUpdate::new(PlanUpdateContent::Markdown(content));
                vec![SessionUpdate::PlanUpdate(update)]
            }
            ThreadItem::Plan { id, text } => self.rest(id, text),
            ThreadItem::Reasoning {
                id,
                summary,
                content,
            } => {
                let thoughts = if summary.is_empty() { content } else { summary };
                match self.streamed.remove(id) {
                    None if !thoughts.is_empty() => {
                        let text = thoughts.join("\n\n");
                        vec![SessionUpdate::AgentThoughtChunk(chunk(&text, Some(id)))]
                    }
                    _ => Vec::new(),
                }
            }
            ThreadItem::ContextCompaction { id, status } => {
                let status = match status {
                    None => CompactionStatus::Completed,
                    Some(ContextCompactionStatus::Failed) => CompactionStatus::Failed,
                };
                vec![self.compaction(id, status, client_features)]
            }
            ThreadItem::CommandExecution { id, .. } => {
                let shown = self.terminals.remove(id);
                let rest = shown.and_then(|shown| rest_of_output(item, shown));
                let call = tool_calls::of_item(item, diffs, shown.is_some());
                let call = call.map(|call| self.tool_call_update(call));
                rest.into_iter().chain(call).collect()
            }
            item => match tool_calls::of_item(item, diffs, false) {
                Some(call) => vec![self.tool_call_update(call)],
                None => Vec::new(),
            },
        }
    }

    /// The update for a tool call: all of it the first time, the members that may have changed later.
    /// A terminal of the editor stays the content of its call.
    pub(crate) fn tool_call_update(&mut self, mut call: ToolCall) -> SessionUpdate {
        let id = call.tool_call_id.0.to_string();
        if let Some(known) = self.open.get(&id).filter(|known| shows_terminal(known)) {
            call.content.clone_from(&known.content);
        }
        let is_over = matches!(
            call.status,
            ToolCallStatus::Completed | ToolCallStatus::Failed
        );
        let is_new = if is_over {
            self.open.remove(&id).is_none()
        } else {
            self.open.insert(id, call.clone()).is_none()
        };
        if is_new {
            SessionUpdate::ToolCall(call)
        } else {
            SessionUpdate::ToolCallUpdate(changes(call))
        }
    }

    fn message(&mut self, id: &str, delta: &str) -> Vec<SessionUpdate> {
        self.streamed.entry(id.to_owned()).or_default();
        vec![message_chunk(delta, Some(id))]
    }

    /// The text of a complete message, unless it was streamed.
    fn rest(&mut self, id: &str, text: &str) -> Vec<SessionUpdate> {
        match self.streamed.remove(id) {
            None if !text.is_empty() => vec![message_chunk(text, Some(id))],
            _ => Vec::new(),
        }
    }

    fn thought(&mut self, id: &str, part: i64, delta: &str) -> Vec<SessionUpdate> {
        let last = self.streamed.insert(id.to_owned(), part);
        let text = match last {
            Some(last) if last != part => format!("\n\n{delta}"),
            _ => delta.to_owned(),
        };
        vec![SessionUpdate::AgentThoughtChunk(chunk(&text, Some(id)))]
    }

    fn output(&mut self, id: &str, data: &str) -> Vec<SessionUpdate> {
        match self.terminals.get_mut(id) {
            Some(shown) => {
                *shown += data.len();
                vec![terminal_output(id, data)]
            }
            None => Vec::new(),
        }
    }

    fn usage(&mut self, usage: &ThreadTokenUsage) -> Vec<SessionUpdate> {
        let size = usage
            .model_context_window
            .and_then(|size| u64::try_from(size).ok());
        let used = u64::try_from(usage.last.total_tokens).ok();
        let (Some(used), Some(size)) = (used, size) else {
            return Vec::new();
        };
        if self.usage.replace((used, size)) == Some((used, size)) {
            Vec::new()
        } else {
            vec![SessionUpdate::UsageUpdate(UsageUpdate::new(used, size))]
        }
    }

    fn compaction(
        &mut self,
        id: &str,
        status: CompactionStatus,
        client_features: ClientFeatures,
    ) -> SessionUpdate {
        if client_features.compaction {
            match status {
                CompactionStatus::InProgress => self.compacting.insert(id.to_owned()),
                _ => self.compacting.remove(id),
            };
            return SessionUpdate::CompactionUpdate(CompactionUpdate::new(id.to_owned(), status));
        }
        let status = match status {
            CompactionStatus::InProgress => ToolCallStatus::InProgress,
            CompactionStatus::Failed => ToolCallStatus::Failed,
            _ => ToolCallStatus::Completed,
        };
        let call = ToolCall::new(id.to_owned(), "Compact the conversation");
        self.tool_call_update(call.kind(ToolKind::Think).status(status))
    }

    /// Ends whatever is unfinished when its turn ends.
    fn end_of_turn(&mut self, client_features: ClientFeatures) -> Vec<SessionUpdate> {
        self.streamed.clear();
        self.terminals.clear();
        let calls = std::mem::take(&mut self.open).into_keys().map(|id| {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))
        });
        let mut ends: Vec<_> = calls.collect();
        for id in self.compacting.clone() {
            ends.push(self.compaction(&id, CompactionStatus::Cancelled, client_features));
        }
        ends
    }
}

/// The updates for a message of a user whom the client does not know.
pub(crate) fn user_message(item: &ThreadItem) -> Vec<SessionUpdate> {
    let ThreadItem::UserMessage { id, content, .. } = item else {
        return Vec::new();
    };
    let id = MessageId::new(id.clone());
    let blocks = content.iter().map(prompt_blocks::block_of);
    let chunks = blocks.map(|block| ContentChunk::new(block).message_id(id.clone()));
    chunks.map(SessionUpdate::UserMessageChunk).collect()
}

fn shows_terminal(call: &ToolCall) -> bool {
    let is_terminal = |content: &ToolCallContent| matches!(content, ToolCallContent::Terminal(_));
    call.name.as_deref() == Some(command_calls::TERMINAL_TOOL)
        && call.content.iter().any(is_terminal)
}

fn terminal_output(id: &str, data: &str) -> SessionUpdate {
    let update = ToolCallUpdate::new(id.to_owned(), ToolCallUpdateFields::new())
        .meta(command_calls::terminal_output(id, data));
    SessionUpdate::ToolCallUpdate(update)
}

/// The output of a command that was not streamed.
fn rest_of_output(item: &ThreadItem, shown: usize) -> Option<SessionUpdate> {
    let ThreadItem::CommandExecution {
        id,
        aggregated_output: Some(output),
        ..
    } = item
    else {
        return None;
    };
    let output = output.as_str();
    let rest = output.get(shown..).filter(|rest| !rest.is_empty())?;
    Some(terminal_output(id, rest))
}

/// The members of a tool call that may change after its first update.
fn changes(call: ToolCall) -> ToolCallUpdate {
    let content = Some(call.content).filter(|content| !content.is_empty());
    let locations = Some(call.locations).filter(|locations| !locations.is_empty());
    let fields = ToolCallUpdateFields::new()
        .title(call.title)
        .status(call.status)
        .content(content)
        .locations(locations)
        .raw_output(call.raw_output);
    ToolCallUpdate::new(call.tool_call_id, fields).meta(call.meta)
}

fn plan(steps: &[TurnPlanStep]) -> SessionUpdate {
    let entries = steps.iter().map(|step| {
        let status = match step.status {
            TurnPlanStepStatus::Pending => PlanEntryStatus::Pending,
            TurnPlanStepStatus::InProgress => PlanEntryStatus::InProgress,
            TurnPlanStepStatus::Completed => PlanEntryStatus::Completed,
        };
        PlanEntry::new(step.step.clone(), PlanEntryPriority::Medium, status)
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

#[cfg(test)]
#[path = "updates_tests.rs"]
mod tests;
