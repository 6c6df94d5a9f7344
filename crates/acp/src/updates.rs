//! Notifications of a thread as updates of its session. Pure: no files, no time, no connection.
//!
//! Of each item the client hears once that it began, if at all, and once that it ended, at the latest when its turn
//! ends. What was streamed is not said again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, MessageId, Notice,
    NoticeSeverity, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, PlanMarkdown, PlanUpdate,
    PlanUpdateContent, SessionInfoUpdate, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{
    McpServerStartupState, ThreadItem, ThreadTokenUsage, TurnPlanStep, TurnPlanStepStatus,
};

use crate::offers::Offers;
use crate::{prompt_blocks, tool_calls};

/// What a session has told its client so far.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// Tool calls that were told and have not ended, as they were told last.
    open: BTreeMap<String, ToolCall>,
    /// Messages and thoughts of which text was streamed, with the part of it that came last.
    streamed: HashMap<String, i64>,
    /// Terminals that the client shows, with how much of their output it has.
    terminals: HashMap<String, usize>,
    /// Compactions that have not ended.
    compacting: BTreeSet<String>,
    usage: Option<(u64, u64)>,
}

/// A tool call that is asked about.
#[derive(Debug)]
pub(crate) enum Announced {
    /// The client knows it.
    Known(ToolCall),
    /// The client has not heard of it.
    New(ToolCall),
}

impl Projection {
    /// What is said of a notification. `diffs` are those of the patch that it is about.
    pub(crate) fn notified(
        &mut self,
        notification: &ServerNotification,
        diffs: Vec<ToolCallContent>,
        offers: Offers,
    ) -> Vec<SessionUpdate> {
        use ServerNotification as N;
        match notification {
            N::AgentMessageDelta(it) => self.message(&it.item_id, &it.delta),
            N::PlanDelta(it) if !offers.plans => self.message(&it.item_id, &it.delta),
            N::ReasoningSummaryTextDelta(it) => {
                self.thought(&it.item_id, it.summary_index, &it.delta)
            }
            N::ReasoningTextDelta(it) => self.thought(&it.item_id, it.content_index, &it.delta),
            N::ItemStarted(it) => self.begin(&it.item, diffs, offers),
            N::ItemCompleted(it) => self.end(&it.item, diffs, offers),
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
            N::Warning(it) if offers.notices => notice(NoticeSeverity::Warning, &it.message, None),
            N::Warning(it) => vec![message_chunk(&format!("Warning: {}\n\n", it.message), None)],
            N::ModelRerouted(it) => {
                let title = format!("{} answers in place of {}", it.to_model, it.from_model);
                if offers.notices {
                    notice(NoticeSeverity::Info, &title, None)
                } else {
                    vec![SessionUpdate::AgentThoughtChunk(chunk(&title, None))]
                }
            }
            N::Error(it) if it.will_retry && offers.notices => {
                let details = it.error.additional_details.as_deref();
                notice(NoticeSeverity::Warning, &it.error.message, details)
            }
            N::McpServerStatusUpdated(it)
                if it.status == McpServerStartupState::Failed && offers.notices =>
            {
                let title = format!("MCP server `{}` did not start", it.name);
                notice(NoticeSeverity::Warning, &title, it.error.as_deref())
            }
            N::TurnCompleted(_) => self.end_of_turn(offers),
            _ => Vec::new(),
        }
    }

    /// What is said of an item of a stored turn.
    pub(crate) fn replay(
        &mut self,
        item: &ThreadItem,
        diffs: Vec<ToolCallContent>,
        offers: Offers,
    ) -> Vec<SessionUpdate> {
        match item {
            ThreadItem::UserMessage { id, content, .. } => {
                let id = MessageId::new(id.clone());
                let blocks = content.iter().map(prompt_blocks::block_of);
                let chunks = blocks.map(|block| ContentChunk::new(block).message_id(id.clone()));
                chunks.map(SessionUpdate::UserMessageChunk).collect()
            }
            item => self.end(item, diffs, offers),
        }
    }

    /// A tool call that is asked about: as the client knows it, or as it has to be told of first.
    pub(crate) fn announce(&mut self, call: ToolCall) -> Announced {
        let id = call.tool_call_id.0.to_string();
        match self.open.get(&id) {
            Some(known) => Announced::Known(known.clone()),
            None => {
                self.open.insert(id, call.clone());
                Announced::New(call)
            }
        }
    }

    fn begin(
        &mut self,
        item: &ThreadItem,
        diffs: Vec<ToolCallContent>,
        offers: Offers,
    ) -> Vec<SessionUpdate> {
        if let ThreadItem::ContextCompaction { id } = item {
            return vec![self.compaction(id, CompactionStatus::InProgress, offers)];
        }
        if let ThreadItem::CommandExecution { id, .. } = item
            && offers.terminal_output
        {
            self.terminals.insert(id.clone(), 0);
        }
        match tool_calls::of_item(item, diffs, offers.terminal_output) {
            Some(call) => vec![self.tell(call)],
            None => Vec::new(),
        }
    }

    fn end(
        &mut self,
        item: &ThreadItem,
        diffs: Vec<ToolCallContent>,
        offers: Offers,
    ) -> Vec<SessionUpdate> {
        match item {
            ThreadItem::AgentMessage { id, text, .. } => self.rest(id, &text.as_str()),
            ThreadItem::Plan { id, text } if offers.plans => {
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
            ThreadItem::ContextCompaction { id } => {
                vec![self.compaction(id, CompactionStatus::Completed, offers)]
            }
            ThreadItem::CommandExecution { id, .. } => {
                let shown = self.terminals.remove(id);
                let rest = shown.and_then(|shown| rest_of_output(item, shown));
                let call = tool_calls::of_item(item, diffs, shown.is_some());
                let call = call.map(|call| self.tell(call));
                rest.into_iter().chain(call).collect()
            }
            item => match tool_calls::of_item(item, diffs, false) {
                Some(call) => vec![self.tell(call)],
                None => Vec::new(),
            },
        }
    }

    /// A tool call as it is now: whole the first time, what may have changed after that.
    pub(crate) fn tell(&mut self, call: ToolCall) -> SessionUpdate {
        let id = call.tool_call_id.0.to_string();
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

    /// A message at its end: nothing if it was streamed.
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

    fn compaction(&mut self, id: &str, status: CompactionStatus, offers: Offers) -> SessionUpdate {
        if offers.compaction {
            match status {
                CompactionStatus::InProgress => self.compacting.insert(id.to_owned()),
                _ => self.compacting.remove(id),
            };
            return SessionUpdate::CompactionUpdate(CompactionUpdate::new(id.to_owned(), status));
        }
        let status = match status {
            CompactionStatus::InProgress => ToolCallStatus::InProgress,
            _ => ToolCallStatus::Completed,
        };
        let call = ToolCall::new(id.to_owned(), "Compact the conversation");
        self.tell(call.kind(ToolKind::Think).status(status))
    }

    /// The end of an interrupted turn stands for that of what is unfinished in it.
    fn end_of_turn(&mut self, offers: Offers) -> Vec<SessionUpdate> {
        self.streamed.clear();
        self.terminals.clear();
        let calls = std::mem::take(&mut self.open).into_keys().map(|id| {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))
        });
        let mut ends: Vec<_> = calls.collect();
        for id in self.compacting.clone() {
            ends.push(self.compaction(&id, CompactionStatus::Cancelled, offers));
        }
        ends
    }
}

fn terminal_output(id: &str, data: &str) -> SessionUpdate {
    let update = ToolCallUpdate::new(id.to_owned(), ToolCallUpdateFields::new())
        .meta(tool_calls::terminal_output(id, data));
    SessionUpdate::ToolCallUpdate(update)
}

/// What a command that ended had put out beyond what was shown of it.
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

/// What may have changed in a tool call since it was told whole.
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

fn chunk(text: &str, message: Option<&str>) -> ContentChunk {
    let id = message.map(|id| MessageId::new(id.to_owned()));
    ContentChunk::new(ContentBlock::from(text.to_owned())).message_id(id)
}

/// A piece of a message of the agent.
pub(crate) fn message_chunk(text: &str, message: Option<&str>) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(text, message))
}

/// Something to tell the user besides the conversation.
pub(crate) fn notice(
    severity: NoticeSeverity,
    title: &str,
    description: Option<&str>,
) -> Vec<SessionUpdate> {
    let notice = Notice::new(severity, title).description(description.map(str::to_owned));
    vec![SessionUpdate::Notice(notice)]
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
