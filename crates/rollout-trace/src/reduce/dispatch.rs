//! Which event is applied where.

use super::accepted::AcceptedContent;
use super::changes::ProtocolEvent;
use super::fault::Fault;
use super::position::LineContext;
use super::reducer::Reducer;
use crate::format::{Event, GAP_EVENT, PayloadRef};
use crate::model::RecordingStatus;

impl Reducer {
    pub(super) fn apply(&mut self, context: LineContext, event: Event) -> Result<(), Fault> {
        match event {
            Event::RolloutStarted {
                trace_id,
                root_thread_id,
            } => {
                self.trace.trace_id = trace_id;
                self.trace.root_thread_id = root_thread_id;
                Ok(())
            }
            Event::RolloutEnded { status } => {
                self.trace.status = status;
                self.trace.ended_at_unix_ms = Some(self.now.at);
                Ok(())
            }
            Event::ThreadStarted {
                thread_id,
                agent_path,
                metadata_payload,
            } => self.thread_started(thread_id, agent_path, metadata_payload),
            Event::ThreadEnded { thread_id, status } => self.thread_ended(thread_id, status),
            Event::CodexTurnStarted {
                codex_turn_id,
                thread_id,
            } => self.turn_started(codex_turn_id, thread_id),
            Event::CodexTurnEnded {
                codex_turn_id,
                status,
            } => self.turn_ended(context, codex_turn_id, status),
            event @ (Event::InferenceStarted { .. }
            | Event::InferenceCompleted { .. }
            | Event::InferenceFailed { .. }
            | Event::InferenceCancelled { .. }) => self.apply_inference(event),
            Event::HistoryItemAccepted {
                item_id,
                agent_message_payload,
                tool_output_payload,
            } => {
                let shown = AcceptedContent::new(agent_message_payload, tool_output_payload);
                self.accepted(context, item_id, shown)
            }
            Event::CodeCellWaitTargetResolved {
                tool_call_id,
                runtime_cell_id,
            } => self.wait_target(context, tool_call_id, runtime_cell_id),
            Event::ThreadResumed { thread_id } => self.thread_resumed(thread_id),
            Event::RecordingCompleted => {
                self.trace.recording_complete = Some(true);
                if self.trace.recording_status.is_some() {
                    let mut payloads = self.trace.raw_payloads.values();
                    let has_partial = payloads.any(PayloadRef::is_partial);
                    self.trace.recording_status = Some(if has_partial {
                        RecordingStatus::ClosedWithPartialPayloads
                    } else {
                        RecordingStatus::Complete
                    });
                }
                Ok(())
            }
            Event::StdinTargetResolved {
                tool_call_id,
                exec_tool_call_id,
            } => self.stdin_target(tool_call_id, exec_tool_call_id),
            event @ (Event::ToolCallStarted { .. }
            | Event::McpToolCallCorrelationAssigned { .. }
            | Event::ToolCallRuntimeStarted { .. }
            | Event::ToolCallRuntimeEnded { .. }
            | Event::ToolCallEnded { .. }) => self.apply_tool(context, event),
            event @ (Event::CodeCellStarted { .. }
            | Event::CodeCellInitialResponse { .. }
            | Event::CodeCellEnded { .. }) => self.apply_cell(context, event),
            event @ (Event::CompactionRequestStarted { .. }
            | Event::CompactionRequestCompleted { .. }
            | Event::CompactionRequestFailed { .. }
            | Event::CompactionInstalled { .. }) => self.apply_compaction(context, event),
            event @ Event::AgentResultObserved { .. } => self.agent_result(event),
            Event::ProtocolEventObserved {
                event_type,
                event_payload,
            } => {
                if event_type == GAP_EVENT {
                    self.remark(Fault::NotedGap(event_payload.raw_payload_id.clone()));
                }
                self.expect_file(&event_payload);
                if let Some(events) = &mut self.protocol_events {
                    events.push(ProtocolEvent {
                        at_unix_ms: self.now.at,
                        turn: context.turn,
                        event_type,
                        payload: event_payload,
                    });
                }
                Ok(())
            }
            Event::Other { payloads, .. } => {
                for payload in &payloads {
                    self.expect_file(payload);
                }
                Err(Fault::NoMeaning)
            }
        }
    }
}
