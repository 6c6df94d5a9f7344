//! Items for calls of the agent tools.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2::{
    CollabAgentState, CollabAgentStatus, CollabAgentTool, CollabAgentToolCallStatus as CallStatus,
    ThreadItem,
};
use codex_protocol::{AgentStatus, EventMsg, ReasoningEffort, SubAgentActivityEvent, ThreadId};

/// A call, without its outcome.
struct CollabCall<'a> {
    id: &'a str,
    tool: CollabAgentTool,
    sender: &'a ThreadId,
    receivers: Vec<&'a ThreadId>,
    prompt: Option<&'a str>,
    settings: Option<(&'a str, &'a ReasoningEffort)>,
}

impl CollabCall<'_> {
    fn item<'s>(
        self,
        status: CallStatus,
        states: impl IntoIterator<Item = (&'s ThreadId, &'s AgentStatus)>,
    ) -> ThreadItem {
        let states = states.into_iter();
        ThreadItem::CollabAgentToolCall {
            id: self.id.to_owned(),
            tool: self.tool,
            status,
            sender_thread_id: self.sender.to_string(),
            receiver_thread_ids: self.receivers.iter().map(ToString::to_string).collect(),
            prompt: self.prompt.map(str::to_owned),
            model: self.settings.map(|(model, _)| model.to_owned()),
            reasoning_effort: self.settings.map(|(_, effort)| effort.clone()),
            agents_states: states
                .map(|(id, status)| (id.to_string(), state(status)))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    fn begun(self) -> ThreadItem {
        self.item(CallStatus::InProgress, [])
    }

    /// The item of the ended call, with the status of its only agent.
    fn ended(self, status: &AgentStatus) -> ThreadItem {
        let receivers = self.receivers.clone();
        let states = receivers.into_iter().map(|id| (id, status));
        self.item(outcome([status]), states)
    }
}

/// The item that an event starts, if it is such a call.
pub(super) fn begun(event: &EventMsg) -> Option<ThreadItem> {
    let call = match event {
        EventMsg::CollabAgentSpawnBegin(begin) => CollabCall {
            id: &begin.call_id,
            tool: CollabAgentTool::SpawnAgent,
            sender: &begin.sender_thread_id,
            receivers: Vec::new(),
            prompt: Some(&begin.prompt),
            settings: Some((&begin.model, &begin.reasoning_effort)),
        },
        EventMsg::CollabAgentInteractionBegin(begin) => CollabCall {
            id: &begin.call_id,
            tool: CollabAgentTool::SendInput,
            sender: &begin.sender_thread_id,
            receivers: vec![&begin.receiver_thread_id],
            prompt: Some(&begin.prompt),
            settings: None,
        },
        EventMsg::CollabWaitingBegin(begin) => CollabCall {
            id: &begin.call_id,
            tool: CollabAgentTool::Wait,
            sender: &begin.sender_thread_id,
            receivers: begin.receiver_thread_ids.iter().collect(),
            prompt: None,
            settings: None,
        },
        EventMsg::CollabCloseBegin(begin) => CollabCall {
            id: &begin.call_id,
            tool: CollabAgentTool::CloseAgent,
            sender: &begin.sender_thread_id,
            receivers: vec![&begin.receiver_thread_id],
            prompt: None,
            settings: None,
        },
        EventMsg::CollabResumeBegin(begin) => CollabCall {
            id: &begin.call_id,
            tool: CollabAgentTool::ResumeAgent,
            sender: &begin.sender_thread_id,
            receivers: vec![&begin.receiver_thread_id],
            prompt: None,
            settings: None,
        },
        _ => return None,
    };
    Some(call.begun())
}

/// The item that an event completes, if it is such a call.
pub(super) fn ended(event: &EventMsg) -> Option<ThreadItem> {
    Some(match event {
        EventMsg::CollabAgentSpawnEnd(end) => {
            let status = match end.new_thread_id {
                Some(_) => &end.status,
                None => &AgentStatus::NotFound,
            };
            CollabCall {
                id: &end.call_id,
                tool: CollabAgentTool::SpawnAgent,
                sender: &end.sender_thread_id,
                receivers: end.new_thread_id.iter().collect(),
                prompt: Some(&end.prompt),
                settings: Some((&end.model, &end.reasoning_effort)),
            }
            .ended(status)
        }
        EventMsg::CollabAgentInteractionEnd(end) => CollabCall {
            id: &end.call_id,
            tool: CollabAgentTool::SendInput,
            sender: &end.sender_thread_id,
            receivers: vec![&end.receiver_thread_id],
            prompt: Some(&end.prompt),
            settings: None,
        }
        .ended(&end.status),
        EventMsg::CollabWaitingEnd(end) => CollabCall {
            id: &end.call_id,
            tool: CollabAgentTool::Wait,
            sender: &end.sender_thread_id,
            receivers: end.statuses.keys().collect(),
            prompt: None,
            settings: None,
        }
        .item(outcome(end.statuses.values()), &end.statuses),
        EventMsg::CollabCloseEnd(end) => CollabCall {
            id: &end.call_id,
            tool: CollabAgentTool::CloseAgent,
            sender: &end.sender_thread_id,
            receivers: vec![&end.receiver_thread_id],
            prompt: None,
            settings: None,
        }
        .ended(&end.status),
        EventMsg::CollabResumeEnd(end) => CollabCall {
            id: &end.call_id,
            tool: CollabAgentTool::ResumeAgent,
            sender: &end.sender_thread_id,
            receivers: vec![&end.receiver_thread_id],
            prompt: None,
            settings: None,
        }
        .ended(&end.status),
        EventMsg::SubAgentActivity(activity) => self::activity(activity),
        _ => return None,
    })
}

fn activity(activity: &SubAgentActivityEvent) -> ThreadItem {
    ThreadItem::SubAgentActivity {
        id: activity.event_id.clone(),
        kind: activity.kind,
        agent_thread_id: activity.agent_thread_id.to_string(),
        agent_path: activity.agent_path.0.clone(),
        model: activity.model.clone(),
        reasoning_effort: activity.reasoning_effort.clone(),
    }
}

/// A call has failed if one of its agents has failed or does not exist.
fn outcome<'a>(statuses: impl IntoIterator<Item = &'a AgentStatus>) -> CallStatus {
    let is_bad =
        |status: &AgentStatus| matches!(status, AgentStatus::Errored(_) | AgentStatus::NotFound);
    if statuses.into_iter().any(is_bad) {
        CallStatus::Failed
    } else {
        CallStatus::Completed
    }
}

fn state(status: &AgentStatus) -> CollabAgentState {
    let (status, message) = match status {
        AgentStatus::PendingInit => (CollabAgentStatus::PendingInit, None),
        AgentStatus::Running => (CollabAgentStatus::Running, None),
        AgentStatus::Interrupted => (CollabAgentStatus::Interrupted, None),
        AgentStatus::Completed(said) => (CollabAgentStatus::Completed, said.clone()),
        AgentStatus::Errored(error) => (CollabAgentStatus::Errored, Some(error.clone())),
        AgentStatus::Shutdown => (CollabAgentStatus::Shutdown, None),
        AgentStatus::NotFound => (CollabAgentStatus::NotFound, None),
    };
    CollabAgentState { status, message }
}
