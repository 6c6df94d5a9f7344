//! The status of an agent, derived from its events.

use codex_protocol::{AgentStatus, EventMsg, TurnAbortReason};

/// The status of a thread after an event, if the event changes it.
pub fn status_after(msg: &EventMsg) -> Option<AgentStatus> {
    Some(match msg {
        EventMsg::TurnStarted(_) => AgentStatus::Running,
        EventMsg::TurnComplete(complete) => {
            AgentStatus::Completed(complete.last_agent_message.clone())
        }
        EventMsg::TurnAborted(aborted) => match aborted.reason {
            TurnAbortReason::Interrupted => AgentStatus::Interrupted,
            // Another task has replaced it.
            TurnAbortReason::Replaced | TurnAbortReason::ReviewEnded => return None,
        },
        EventMsg::Error(error) => {
            let info = error.codex_error_info.as_ref();
            if info.is_some_and(|info| !info.fails_turn()) {
                return None;
            }
            AgentStatus::Errored(error.message.clone())
        }
        EventMsg::ShutdownComplete => AgentStatus::Shutdown,
        _ => return None,
    })
}

/// Takes the next status. Returns false if it is ignored: a failure is not covered by the end of its turn.
pub fn go_on(now: &mut AgentStatus, next: AgentStatus) -> bool {
    let has_failed = matches!(now, AgentStatus::Errored(_));
    if has_failed && matches!(next, AgentStatus::Completed(_)) {
        return false;
    }
    *now = next;
    true
}

#[cfg(test)]
mod tests {
    use codex_protocol::{CodexErrorInfo, ErrorEvent, TurnCompleteEvent};

    use super::*;

    fn after(events: impl IntoIterator<Item = EventMsg>) -> AgentStatus {
        let mut status = AgentStatus::PendingInit;
        for next in events.into_iter().filter_map(|msg| status_after(&msg)) {
            go_on(&mut status, next);
        }
        status
    }

    fn complete(said: Option<&str>) -> EventMsg {
        EventMsg::TurnComplete(TurnCompleteEvent {
            turn_id: "1".to_owned(),
            error: None,
            last_agent_message: said.map(str::to_owned),
            response_id: None,
            completed_at: None,
            duration_ms: None,
            usage: None,
        })
    }

    fn error(info: CodexErrorInfo) -> EventMsg {
        EventMsg::Error(ErrorEvent {
            message: "no".to_owned(),
            codex_error_info: Some(info),
            exceeded_limit: None,
        })
    }

    #[test]
    fn turn_end_does_not_hide_failure() {
        let failed = after([error(CodexErrorInfo::Other), complete(None)]);
        assert_eq!(failed, AgentStatus::Errored("no".to_owned()));
        let done = after([complete(Some("yes"))]);
        assert_eq!(done, AgentStatus::Completed(Some("yes".to_owned())));
        let unharmed = after([complete(None), error(CodexErrorInfo::ThreadRollbackFailed)]);
        assert_eq!(unharmed, AgentStatus::Completed(None));
    }
}
