//! Hooks and their runs, in the form of the wire.

use codex_app_server_protocol::v2;
use codex_hooks::{Hook, HookAction, HookTrust, OnError};
use codex_protocol as v1;

/// A run of a hook.
pub(crate) fn hook_run(run: &v1::HookRunSummary) -> v2::HookRunSummary {
    v2::HookRunSummary {
        id: run.id.clone(),
        event_name: wire_hook_event(run.event_name),
        handler_type: match run.handler_type {
            v1::HookHandlerType::Command => v2::HookHandlerType::Command,
            v1::HookHandlerType::McpTool => v2::HookHandlerType::McpTool,
            v1::HookHandlerType::Prompt => v2::HookHandlerType::Prompt,
            v1::HookHandlerType::Agent => v2::HookHandlerType::Agent,
        },
        execution_mode: run.execution_mode,
        scope: run.scope,
        source_path: run.source_path.clone(),
        source: run.source.map_or(v2::HookSource::Unknown, source),
        display_order: run.display_order,
        status: run.status,
        status_message: run.status_message.clone(),
        started_at: run.started_at,
        completed_at: run.completed_at,
        duration_ms: run.duration_ms,
        entries: run.entries.clone(),
    }
}

/// A configured hook.
pub fn hook_metadata(hook: &Hook) -> v2::HookMetadata {
    let (command, is_async, server, tool) = match &hook.action {
        HookAction::Command { line, is_async } => (Some(line), Some(*is_async), None, None),
        HookAction::McpTool { server, tool, .. } => (None, None, Some(server), Some(tool)),
    };
    v2::HookMetadata {
        key: hook.key.clone(),
        event_name: wire_hook_event(hook.event),
        handler_type: match &hook.action {
            HookAction::Command { .. } => v2::HookHandlerType::Command,
            HookAction::McpTool { .. } => v2::HookHandlerType::McpTool,
        },
        command: command.cloned(),
        r#async: is_async,
        server: server.cloned(),
        tool: tool.cloned(),
        matcher: hook.matcher.text().map(str::to_owned),
        timeout_sec: hook.timeout.as_secs(),
        status_message: hook.status_message.clone(),
        additional_context_limit: hook.context_limit,
        on_error: match hook.on_error {
            OnError::Ignore => v2::HookErrorEffect::Ignore,
            OnError::Block => v2::HookErrorEffect::Block,
        },
        source_path: hook.source_path.display().to_string(),
        source: source(hook.source),
        plugin_id: hook.plugin.as_ref().map(|plugin| plugin.id.clone()),
        environment_id: None,
        display_order: hook.display_order,
        enabled: hook.enabled,
        is_managed: hook.trust == HookTrust::Managed,
        current_hash: hook.hash.clone(),
        trust_status: match hook.trust {
            HookTrust::Managed => v2::HookTrustStatus::Managed,
            HookTrust::Untrusted => v2::HookTrustStatus::Untrusted,
            HookTrust::Trusted => v2::HookTrustStatus::Trusted,
            HookTrust::Modified => v2::HookTrustStatus::Modified,
        },
    }
}

/// The event of a hook.
pub fn wire_hook_event(event: v1::HookEventName) -> v2::HookEventName {
    use v1::HookEventName as E;
    match event {
        E::PreModelRequest => v2::HookEventName::PreModelRequest,
        E::PostModelRequest => v2::HookEventName::PostModelRequest,
        E::PreToolUse => v2::HookEventName::PreToolUse,
        E::PermissionRequest => v2::HookEventName::PermissionRequest,
        E::PostToolUse => v2::HookEventName::PostToolUse,
        E::PreCompact => v2::HookEventName::PreCompact,
        E::PostCompact => v2::HookEventName::PostCompact,
        E::SessionStart => v2::HookEventName::SessionStart,
        E::SessionEnd => v2::HookEventName::SessionEnd,
        E::UserPromptSubmit => v2::HookEventName::UserPromptSubmit,
        E::SubagentStart => v2::HookEventName::SubagentStart,
        E::SubagentStop => v2::HookEventName::SubagentStop,
        E::Stop => v2::HookEventName::Stop,
        E::Interrupt => v2::HookEventName::Interrupt,
    }
}

/// The event that a client names.
pub fn engine_hook_event(event: v2::HookEventName) -> v1::HookEventName {
    let all = v1::HookEventName::ALL.iter().copied();
    let found = all.into_iter().find(|one| wire_hook_event(*one) == event);
    // Both enumerations have the same events.
    found.unwrap_or(v1::HookEventName::Interrupt)
}

fn source(source: v1::HookSource) -> v2::HookSource {
    match source {
        v1::HookSource::System => v2::HookSource::System,
        v1::HookSource::User => v2::HookSource::User,
        v1::HookSource::Project => v2::HookSource::Project,
        v1::HookSource::SessionFlags => v2::HookSource::SessionFlags,
        v1::HookSource::Plugin => v2::HookSource::Plugin,
        v1::HookSource::Client => v2::HookSource::Unknown,
    }
}
