//! Notifications during a call: events in the form of the first protocol of the engine, and progress. Pure.

use codex_app_server_protocol::v2::{
    CommandExecutionApprovalDecision, CommandExecutionRequestApprovalParams,
    FileChangeRequestApprovalParams, FileUpdateChange, ThreadItem, ThreadStartResponse,
    ThreadTokenUsage, TokenUsageBreakdown, Turn, TurnError, TurnPlanStep, TurnPlanStepStatus,
    TurnStatus,
};
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_projection::{engine_approval, engine_reviewer, engine_sandbox};
use codex_protocol as v1;
use codex_protocol::{Event, EventMsg};
use serde_json::Value;

use crate::item_events::{begun, ended, engine_changes, in_snake_case, parsed, words};

/// The notification with an event, which is also the experimental capability of clients that want events.
pub(crate) const METHOD: &str = "codex/event";

/// How the names of clients end that show conversations by events and declare no capability.
const KNOWN_READERS: &str = "codex-client";

/// Whether the client of this `initialize` request reads events. Others may fail at methods that they do not know.
pub(crate) fn are_read_by(initialize: &Value) -> bool {
    let asked = &initialize["capabilities"]["experimental"][METHOD];
    let name = initialize["clientInfo"]["name"].as_str();
    asked.is_object() || *asked == true || name.is_some_and(|name| name.ends_with(KNOWN_READERS))
}

/// A short text about an item that starts, for progress notifications.
pub(crate) fn step(notification: &ServerNotification) -> Option<String> {
    let ServerNotification::ItemStarted(it) = notification else {
        return None;
    };
    Some(match &it.item.item {
        ThreadItem::CommandExecution { command, .. } => format!("Running {command}"),
        ThreadItem::FileChange { changes, .. } => {
            let paths: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
            format!("Changing {}", paths.join(", "))
        }
        ThreadItem::McpToolCall { server, tool, .. } => format!("Calling {server}.{tool}"),
        ThreadItem::WebSearch { .. } => "Searching the web".to_owned(),
        ThreadItem::Reasoning { .. } => "Thinking".to_owned(),
        ThreadItem::AgentMessage { .. } => "Answering".to_owned(),
        _ => return None,
    })
}

/// The event with the settings of a new thread.
pub(crate) fn configured(started: &ThreadStartResponse) -> Option<Event> {
    let session_id = v1::ThreadId::parse(&started.thread.id).ok()?;
    let msg = EventMsg::SessionConfigured(Box::new(v1::SessionConfiguredEvent {
        session_id,
        forked_from_id: None,
        thread_name: None,
        model: started.model.clone(),
        model_provider_id: started.model_provider.clone(),
        service_tier: started.service_tier.clone(),
        approval_policy: engine_approval(started.approval_policy.clone()),
        approvals_reviewer: engine_reviewer(started.approvals_reviewer),
        sandbox_policy: engine_sandbox(started.sandbox.clone()),
        cwd: started.cwd.clone(),
        reasoning_effort: started.reasoning_effort.clone(),
        // Clients of this protocol cannot ask for the history of messages.
        history_log_id: 0,
        history_entry_count: 0,
        initial_messages: None,
        network_proxy: None,
        rollout_path: started.thread.path.clone(),
    }));
    let id = String::new();
    Some(Event { id, msg })
}

/// The event for a notification, if there is one. `last_message` is that of the call.
pub(crate) fn event(notification: &ServerNotification, last_message: &str) -> Option<Event> {
    use ServerNotification as N;
    let of_turn = |turn: &String, msg| Event {
        id: turn.clone(),
        msg,
    };
    let delta = |text: &String| v1::DeltaEvent {
        delta: text.clone(),
    };
    Some(match notification {
        N::TurnStarted(it) => {
            let started = v1::TurnStartedEvent {
                turn_id: it.turn.id.clone(),
                ..v1::TurnStartedEvent::default()
            };
            of_turn(&it.turn.id, EventMsg::TurnStarted(started))
        }
        N::AgentMessageDelta(it) => {
            of_turn(&it.turn_id, EventMsg::AgentMessageDelta(delta(&it.delta)))
        }
        N::ReasoningSummaryTextDelta(it) => {
            of_turn(&it.turn_id, EventMsg::AgentReasoningDelta(delta(&it.delta)))
        }
        N::ReasoningTextDelta(it) => of_turn(
            &it.turn_id,
            EventMsg::AgentReasoningRawContentDelta(delta(&it.delta)),
        ),
        N::ReasoningSummaryPartAdded(it) => {
            let part = v1::AgentReasoningSectionBreakEvent {
                item_id: it.item_id.clone(),
                summary_index: it.summary_index,
            };
            of_turn(&it.turn_id, EventMsg::AgentReasoningSectionBreak(part))
        }
        N::CommandExecutionOutputDelta(it) => {
            let output = v1::ExecCommandOutputDeltaEvent {
                call_id: it.item_id.clone(),
                stream: v1::ExecOutputStream::Stdout,
                chunk: v1::Base64Bytes(it.delta.clone().into_bytes()),
            };
            of_turn(&it.turn_id, EventMsg::ExecCommandOutputDelta(output))
        }
        N::ItemStarted(it) => of_turn(&it.turn_id, begun(&it.turn_id, &it.item.item)?),
        N::ItemCompleted(it) => of_turn(&it.turn_id, ended(&it.turn_id, &it.item.item)?),
        N::ThreadTokenUsageUpdated(it) => {
            let count = v1::TokenCountEvent {
                info: Some(engine_usage(&it.token_usage)),
                rate_limits: None,
            };
            of_turn(&it.turn_id, EventMsg::TokenCount(count))
        }
        N::TurnPlanUpdated(it) => {
            let step = |step: &TurnPlanStep| v1::PlanStep {
                step: step.step.clone(),
                status: match step.status {
                    TurnPlanStepStatus::Pending => v1::StepStatus::Pending,
                    TurnPlanStepStatus::InProgress => v1::StepStatus::InProgress,
                    TurnPlanStepStatus::Completed => v1::StepStatus::Completed,
                },
            };
            let plan = v1::UpdatePlan {
                explanation: it.explanation.clone(),
                plan: it.plan.iter().map(step).collect(),
            };
            of_turn(&it.turn_id, EventMsg::PlanUpdate(plan))
        }
        N::TurnDiffUpdated(it) => {
            let diff = v1::TurnDiffEvent {
                unified_diff: it.diff.clone(),
                relative_diff: None,
            };
            of_turn(&it.turn_id, EventMsg::TurnDiff(diff))
        }
        N::Warning(it) => {
            let warning = v1::WarningEvent {
                message: it.message.clone(),
            };
            of_turn(&String::new(), EventMsg::Warning(warning))
        }
        N::Error(it) => of_turn(&it.turn_id, failure(&it.error, it.will_retry)),
        N::TurnCompleted(it) => of_turn(&it.turn.id, turn_end(&it.turn, last_message)),
        _ => return None,
    })
}

/// The event with a question about a command or a patch, besides the question itself.
pub(crate) fn question(question: &ServerRequest, changes: &[FileUpdateChange]) -> Option<Event> {
    match question {
        ServerRequest::CommandExecutionRequestApproval(it) => command_question(it),
        ServerRequest::FileChangeRequestApproval(it) => Some(patch_question(it, changes)),
        _ => None,
    }
}

fn patch_question(it: &FileChangeRequestApprovalParams, changes: &[FileUpdateChange]) -> Event {
    let asked = v1::ApplyPatchApprovalRequestEvent {
        call_id: it.item_id.clone(),
        turn_id: it.turn_id.clone(),
        changes: engine_changes(changes),
        reason: it.reason.clone(),
        engine_notice: it.engine_notice.clone(),
        grant_root: it.grant_root.clone(),
    };
    Event {
        id: it.turn_id.clone(),
        msg: EventMsg::ApplyPatchApprovalRequest(asked),
    }
}

fn command_question(it: &CommandExecutionRequestApprovalParams) -> Option<Event> {
    let actions = it.command_actions.iter().flatten();
    let decisions = it.available_decisions.as_ref();
    let asked = v1::ExecApprovalRequestEvent {
        call_id: it.item_id.clone(),
        approval_id: it.approval_id.clone(),
        turn_id: it.turn_id.clone(),
        command: words(it.command.as_deref()?),
        cwd: it.cwd.clone().unwrap_or_default(),
        reason: it.reason.clone(),
        engine_notice: it.engine_notice.clone(),
        justification: it.justification.clone(),
        network_approval_context: None,
        proposed_execpolicy_amendment: it.proposed_execpolicy_amendment.clone(),
        proposed_network_policy_amendments: it.proposed_network_policy_amendments.clone(),
        additional_permissions: None,
        skill_metadata: None,
        available_decisions: decisions.map(|all| all.iter().map(engine_decision).collect()),
        parsed_cmd: actions.map(parsed).collect(),
        environment: None,
    };
    Some(Event {
        id: it.turn_id.clone(),
        msg: EventMsg::ExecApprovalRequest(Box::new(asked)),
    })
}

fn engine_decision(decision: &CommandExecutionApprovalDecision) -> v1::ReviewDecision {
    use CommandExecutionApprovalDecision as D;
    match decision.clone() {
        D::Accept => v1::ReviewDecision::Approved,
        D::AcceptForSession => v1::ReviewDecision::ApprovedForSession,
        D::AcceptWithExecpolicyAmendment {
            execpolicy_amendment,
        } => v1::ReviewDecision::ApprovedExecpolicyAmendment {
            proposed_execpolicy_amendment: execpolicy_amendment,
        },
        D::ApplyNetworkPolicyAmendment {
            network_policy_amendment,
        } => v1::ReviewDecision::NetworkPolicyAmendment {
            network_policy_amendment,
        },
        D::Decline => v1::ReviewDecision::Denied,
        D::Cancel => v1::ReviewDecision::Abort,
    }
}

fn turn_end(turn: &Turn, last_message: &str) -> EventMsg {
    match turn.status {
        TurnStatus::Interrupted => EventMsg::TurnAborted(v1::TurnAbortedEvent {
            turn_id: Some(turn.id.clone()),
            reason: v1::TurnAbortReason::Interrupted,
            completed_at: None,
            duration_ms: None,
            usage: None,
        }),
        _ => EventMsg::TurnComplete(v1::TurnCompleteEvent {
            turn_id: turn.id.clone(),
            last_agent_message: Some(last_message.to_owned()).filter(|text| !text.is_empty()),
            error: None,
            response_id: None,
            completed_at: None,
            duration_ms: None,
            usage: None,
        }),
    }
}

fn failure(error: &TurnError, will_retry: bool) -> EventMsg {
    let info = error
        .codex_error_info
        .as_ref()
        .and_then(|info| serde_json::to_value(info).ok())
        .and_then(|info| serde_json::from_value(in_snake_case(&info)).ok());
    let message = error.message.clone();
    if will_retry {
        EventMsg::StreamError(v1::StreamErrorEvent {
            message,
            codex_error_info: info,
            additional_details: error.additional_details.clone(),
        })
    } else {
        EventMsg::Error(v1::ErrorEvent {
            message,
            codex_error_info: info,
            exceeded_limit: None,
        })
    }
}

fn engine_usage(usage: &ThreadTokenUsage) -> v1::TokenUsageInfo {
    let engine = |tokens: &TokenUsageBreakdown| v1::TokenUsage {
        input_tokens: tokens.input_tokens,
        cached_input_tokens: tokens.cached_input_tokens,
        cache_write_input_tokens: tokens.cache_write_input_tokens.unwrap_or_default(),
        output_tokens: tokens.output_tokens,
        reasoning_output_tokens: tokens.reasoning_output_tokens,
        total_tokens: tokens.total_tokens,
    };
    v1::TokenUsageInfo {
        total_token_usage: engine(&usage.total),
        last_token_usage: engine(&usage.last),
        model_context_window: usage.model_context_window,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_are_for_clients_that_ask_and_known_ones() {
        let by = |capabilities: Value, name: &str| {
            are_read_by(&json!({ "capabilities": capabilities, "clientInfo": { "name": name } }))
        };
        let asks = json!({ "experimental": { METHOD: {} } });
        assert!(by(asks, "test"));
        assert!(by(json!({ "experimental": { METHOD: true } }), "test"));
        assert!(by(json!({ "elicitation": {} }), "happy-codex-client"));
        assert!(!by(json!({ "experimental": { METHOD: false } }), "test"));
        assert!(!by(json!({ "experimental": { "other": {} } }), "codex"));
        assert!(!are_read_by(&json!({})));
    }
}
