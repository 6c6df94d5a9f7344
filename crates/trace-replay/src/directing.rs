//! Calls of tools that tell agents what to do. They interrupt agents, as people do.

use codex_rollout_trace::format::{Event, ToolKind};

/// The calls of a session.
#[derive(Debug, Default)]
pub(crate) struct DirectingCalls(Vec<DirectingCall>);

#[derive(Debug)]
struct DirectingCall {
    id: String,
    thread: String,
    started: u64,
    ended: Option<u64>,
}

impl DirectingCalls {
    /// Takes an event of a thread.
    pub(crate) fn note(&mut self, thread: &str, seq: u64, event: &Event) {
        match event {
            Event::ToolCallStarted {
                tool_call_id, kind, ..
            } if directs_agents(kind) => self.0.push(DirectingCall {
                id: tool_call_id.as_str().to_owned(),
                thread: thread.to_owned(),
                started: seq,
                ended: None,
            }),
            Event::ToolCallEnded { tool_call_id, .. } => {
                let mut calls = self.0.iter_mut().rev();
                let call = calls.find(|call| call.id == tool_call_id.as_str());
                if let Some(call) = call {
                    call.ended = Some(seq);
                }
            }
            _ => {}
        }
    }

    /// Whether such a call of another thread ran at that time.
    pub(crate) fn any_runs(&self, agent: &str, seq: u64) -> bool {
        self.0.iter().any(|call| {
            let has_ended = call.ended.is_some_and(|ended| ended < seq);
            call.thread != agent && call.started < seq && !has_ended
        })
    }
}

fn directs_agents(kind: &ToolKind) -> bool {
    match kind {
        ToolKind::SpawnAgent
        | ToolKind::AssignAgentTask
        | ToolKind::SendMessage
        | ToolKind::CloseAgent => true,
        ToolKind::Other { name } => ["send_input", "resume_agent"].contains(&name.as_str()),
        _ => false,
    }
}
