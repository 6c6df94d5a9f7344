//! Runs of hooks: which ones a release knows, and the ids of those of tools.

use codex_app_server_protocol::v2::{HookEventName, HookHandlerType};
use codex_app_server_protocol::{ServerNotification, v2};

use crate::dialect::rows::{Dialect, KnownHooks};
use crate::{Change, Moment};

pub(super) fn is_sent(dialect: Dialect, change: &Change) -> bool {
    match &change.notification {
        ServerNotification::HookStarted(started) => since(&started.run) <= dialect.known_hooks(),
        ServerNotification::HookCompleted(completed) => {
            since(&completed.run) <= dialect.known_hooks()
        }
        _ => true,
    }
}

/// Where a hook belongs that runs.
fn since(run: &v2::HookRunSummary) -> KnownHooks {
    let of_event = match run.event_name {
        HookEventName::PreToolUse
        | HookEventName::PostToolUse
        | HookEventName::SessionStart
        | HookEventName::UserPromptSubmit
        | HookEventName::Stop => KnownHooks::First,
        HookEventName::PermissionRequest
        | HookEventName::PreCompact
        | HookEventName::PostCompact
        | HookEventName::SubagentStart
        | HookEventName::SubagentStop => KnownHooks::Second,
        HookEventName::PreModelRequest
        | HookEventName::PostModelRequest
        | HookEventName::SessionEnd
        | HookEventName::Interrupt => KnownHooks::All,
    };
    match run.handler_type {
        HookHandlerType::McpTool => KnownHooks::All,
        HookHandlerType::Command | HookHandlerType::Prompt | HookHandlerType::Agent => of_event,
    }
}

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    let is_run = matches!(
        notification,
        ServerNotification::HookStarted(_) | ServerNotification::HookCompleted(_)
    );
    if !is_run || dialect.has_calls_in_hook_runs() {
        return None;
    }
    let mut older = notification.clone();
    let run = match &mut older {
        ServerNotification::HookStarted(started) => &mut started.run,
        ServerNotification::HookCompleted(completed) => &mut completed.run,
        _ => return None,
    };
    leave_out_call(run).then_some(older)
}

/// Takes the call of a tool out of the id of a run, where 0.117 does not have it. Returns whether it was there.
fn leave_out_call(run: &mut v2::HookRunSummary) -> bool {
    let end = format!(":{}:{}", run.display_order, run.source_path);
    let length = run.id.find(&end).map(|at| at + end.len());
    let has_call = length.is_some_and(|length| length < run.id.len());
    if let (true, Some(length)) = (has_call, length) {
        run.id.truncate(length);
    }
    has_call
}
