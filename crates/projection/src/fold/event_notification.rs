//! Notifications of events that do not depend on the state of the fold.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::*;
use codex_protocol as v1;
use codex_protocol::EventMsg;

use crate::hook::hook_run;
use crate::item;

/// The notification for an event. `id` is the turn for events without a turn id.
pub(super) fn notification_of(
    thread: &str,
    id: &str,
    event: &EventMsg,
) -> Option<ServerNotification> {
    delta(thread, id, event).or_else(|| state(thread, id, event))
}

/// The notification for the diff of a turn; outside a repository it has relative paths, and the diff with absolute paths is
/// returned too.
pub(super) fn updated_diff(
    thread: &str,
    turn: &str,
    event: &v1::TurnDiffEvent,
) -> (ServerNotification, Option<String>) {
    let updated = |diff: &String| {
        ServerNotification::TurnDiffUpdated(TurnDiffUpdatedNotification {
            thread_id: thread.to_owned(),
            turn_id: turn.to_owned(),
            diff: diff.clone(),
        })
    };
    match &event.relative_diff {
        Some(relative) => (updated(relative), Some(event.unified_diff.clone())),
        None => (updated(&event.unified_diff), None),
    }
}

/// Whether an event belongs to a call of a tool, which runs after the response that asked for it.
pub(super) fn is_of_call(event: &EventMsg) -> bool {
    matches!(
        event,
        EventMsg::ExecApprovalRequest(_)
            | EventMsg::ExecApprovalWithdrawn(_)
            | EventMsg::ExecCommandBegin(_)
            | EventMsg::ExecCommandOutputDelta(_)
            | EventMsg::ExecCommandEnd(_)
            | EventMsg::ApplyPatchApprovalRequest(_)
            | EventMsg::PatchApplyBegin(_)
            | EventMsg::PatchApplyEnd(_)
            | EventMsg::TurnDiff(_)
            | EventMsg::McpToolCallBegin(_)
            | EventMsg::McpToolCallEnd(_)
            | EventMsg::DynamicToolCallRequest(_)
            | EventMsg::DynamicToolCallResponse(_)
            | EventMsg::GuardianAssessment(_)
            | EventMsg::HookStarted(_)
            | EventMsg::HookCompleted(_)
    )
}

/// A delta of a streamed item.
fn delta(thread: &str, id: &str, event: &EventMsg) -> Option<ServerNotification> {
    let thread_id = || thread.to_owned();
    Some(match event {
        EventMsg::AgentMessageContentDelta(delta) => {
            ServerNotification::AgentMessageDelta(AgentMessageDeltaNotification {
                thread_id: thread_id(),
                turn_id: delta.turn_id.clone(),
                item_id: delta.item_id.clone(),
                delta: delta.delta.clone(),
            })
        }
        EventMsg::PlanDelta(delta) => ServerNotification::PlanDelta(PlanDeltaNotification {
            thread_id: thread_id(),
            turn_id: delta.turn_id.clone(),
            item_id: delta.item_id.clone(),
            delta: delta.delta.clone(),
        }),
        EventMsg::ReasoningContentDelta(delta) => {
            ServerNotification::ReasoningSummaryTextDelta(ReasoningSummaryTextDeltaNotification {
                thread_id: thread_id(),
                turn_id: delta.turn_id.clone(),
                item_id: delta.item_id.clone(),
                delta: delta.delta.clone(),
                summary_index: delta.summary_index,
            })
        }
        EventMsg::ReasoningRawContentDelta(delta) => {
            ServerNotification::ReasoningTextDelta(ReasoningTextDeltaNotification {
                thread_id: thread_id(),
                turn_id: delta.turn_id.clone(),
                item_id: delta.item_id.clone(),
                delta: delta.delta.clone(),
                content_index: delta.content_index,
            })
        }
        EventMsg::PatchApplyUpdated(patch) => {
            ServerNotification::ItemFileChangePatchUpdated(FileChangePatchUpdatedNotification {
                thread_id: thread_id(),
                turn_id: patch.turn_id.clone(),
                item_id: patch.call_id.clone(),
                changes: item::file_changes(&patch.changes),
            })
        }
        EventMsg::AgentReasoningSectionBreak(section) => {
            ServerNotification::ReasoningSummaryPartAdded(ReasoningSummaryPartAddedNotification {
                thread_id: thread_id(),
                turn_id: id.to_owned(),
                item_id: section.item_id.clone(),
                summary_index: section.summary_index,
            })
        }
        _ => return None,
    })
}

/// The state of a turn or of a part of it.
fn state(thread: &str, id: &str, event: &EventMsg) -> Option<ServerNotification> {
    let (thread_id, turn_id) = (|| thread.to_owned(), || id.to_owned());
    Some(match event {
        EventMsg::ModelReroute(reroute) => {
            ServerNotification::ModelRerouted(ModelReroutedNotification {
                thread_id: thread_id(),
                turn_id: turn_id(),
                from_model: reroute.from_model.clone(),
                to_model: reroute.to_model.clone(),
                reason: match reroute.reason {
                    v1::ModelRerouteReason::HighRiskCyberActivity => {
                        ModelRerouteReason::HighRiskCyberActivity
                    }
                    _ => return None,
                },
            })
        }
        EventMsg::PlanUpdate(update) => {
            ServerNotification::TurnPlanUpdated(plan(thread_id(), turn_id(), update))
        }
        EventMsg::HookStarted(hook) => ServerNotification::HookStarted(HookStartedNotification {
            thread_id: thread_id(),
            turn_id: hook.turn_id.clone(),
            run: hook_run(&hook.run),
        }),
        EventMsg::HookCompleted(hook) => {
            ServerNotification::HookCompleted(HookCompletedNotification {
                thread_id: thread_id(),
                turn_id: hook.turn_id.clone(),
                run: hook_run(&hook.run),
            })
        }
        EventMsg::ContextCompacted => {
            ServerNotification::ContextCompacted(ContextCompactedNotification {
                thread_id: thread_id(),
                turn_id: turn_id(),
            })
        }
        EventMsg::RawResponseItem(raw) => {
            ServerNotification::RawResponseItemCompleted(RawResponseItemCompletedNotification {
                thread_id: thread_id(),
                turn_id: turn_id(),
                item: raw.item.clone(),
            })
        }
        EventMsg::McpStartupUpdate(update) => startup(thread_id(), update),
        EventMsg::DeprecationNotice(notice) => {
            ServerNotification::DeprecationNotice(DeprecationNoticeNotification {
                summary: notice.summary.clone(),
                details: notice.details.clone(),
            })
        }
        _ => return None,
    })
}

fn startup(thread_id: String, update: &v1::McpStartupUpdateEvent) -> ServerNotification {
    let (status, error) = match &update.status {
        v1::McpStartupStatus::Starting => (McpServerStartupState::Starting, None),
        v1::McpStartupStatus::Ready => (McpServerStartupState::Ready, None),
        v1::McpStartupStatus::Cancelled => (McpServerStartupState::Cancelled, None),
        v1::McpStartupStatus::Failed { error } => {
            (McpServerStartupState::Failed, Some(error.clone()))
        }
    };
    ServerNotification::McpServerStatusUpdated(McpServerStatusUpdatedNotification {
        name: update.server.clone(),
        status,
        error,
        thread_id: Some(thread_id),
        environment_id: None,
    })
}

fn plan(
    thread_id: String,
    turn_id: String,
    update: &v1::UpdatePlan,
) -> TurnPlanUpdatedNotification {
    let step = |step: &v1::PlanStep| TurnPlanStep {
        step: step.step.clone(),
        status: match step.status {
            v1::StepStatus::Pending => TurnPlanStepStatus::Pending,
            v1::StepStatus::InProgress => TurnPlanStepStatus::InProgress,
            v1::StepStatus::Completed => TurnPlanStepStatus::Completed,
        },
    };
    TurnPlanUpdatedNotification {
        thread_id,
        turn_id,
        explanation: update.explanation.clone(),
        plan: update.plan.iter().map(step).collect(),
    }
}
