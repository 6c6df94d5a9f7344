//! The settings from the params of the three requests that open a thread.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2::{
    SandboxMode, ThreadForkParams, ThreadResumeParams, ThreadStartParams,
};
use codex_config::RequestParams;
use codex_config::schema::SandboxMode as ConfigMode;
use codex_projection::{engine_approval, engine_reviewer, engine_thread_limits};
use codex_protocol::{ServiceTier, ThreadLimits, Update};
use serde_json::{Map, Value};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::host::{ClientName, RequestedSettings};
use crate::thread::StoredHistory;

/// The members that all three requests share.
macro_rules! settings_of {
    ($params:expr, $personality:expr, $connection:expr) => {{
        let params = $params;
        let request = RequestParams {
            model: params.model.clone(),
            model_provider: params.model_provider.clone(),
            approval_policy: params.approval_policy.clone().map(engine_approval),
            approvals_reviewer: params.approvals_reviewer.map(engine_reviewer),
            sandbox_mode: params.sandbox.map(sandbox_mode),
            permissions: params.permissions.clone(),
            service_tier: tier(&params.service_tier, $connection),
            personality: $personality,
            base_instructions: params.base_instructions.clone(),
            developer_instructions: params.developer_instructions.clone(),
            compact_prompt: None,
            protects_memories: $connection.dialect().protects_memories(),
        };
        if params.sandbox.is_some() && params.permissions.is_some() {
            let message = "`permissions` cannot be combined with `sandbox`";
            return Err(Failure::invalid(message));
        }
        let limits = params.limits.as_ref().map(engine_thread_limits);
        let requested = settings(params.cwd.clone(), request, &params.config, $connection);
        Ok(RequestedSettings {
            limits: limits
                .transpose()
                .map_err(Failure::of_limits)?
                .unwrap_or_default(),
            ..requested
        })
    }};
}

pub(super) fn of_start(
    params: &ThreadStartParams,
    connection: &Connection,
) -> Result<RequestedSettings, Failure> {
    settings_of!(params, params.personality, connection)
}

pub(super) fn of_resume(
    params: &ThreadResumeParams,
    connection: &Connection,
) -> Result<RequestedSettings, Failure> {
    settings_of!(params, params.personality, connection)
}

/// A fork has the personality that is configured.
pub(super) fn of_fork(
    params: &ThreadForkParams,
    connection: &Connection,
) -> Result<RequestedSettings, Failure> {
    settings_of!(params, None, connection)
}

/// Whether a request to resume a thread names settings of its own.
pub(super) fn are_changed(params: &ThreadResumeParams) -> bool {
    let texts = [
        &params.model,
        &params.model_provider,
        &params.cwd,
        &params.permissions,
        &params.base_instructions,
        &params.developer_instructions,
    ];
    texts.into_iter().any(Option::is_some)
        || params.service_tier != Update::Leave
        || params.approval_policy.is_some()
        || params.approvals_reviewer.is_some()
        || params.sandbox.is_some()
        || params.config.is_some()
        || params.personality.is_some()
}

/// Keeps the model and effort of the thread's last turn, unless the request has either, and its limits where nothing
/// else limits.
pub(super) fn with_stored(
    mut settings: RequestedSettings,
    params: &ThreadResumeParams,
    stored: &StoredHistory,
) -> RequestedSettings {
    settings.stored_limits = stored.limits.unwrap_or_default();
    const MODEL: &str = "model";
    const EFFORT: &str = "model_reasoning_effort";
    let says = |name: &str| settings.overrides.contains_key(name);
    let is_given = params.model.is_some() || params.model_provider.is_some();
    if is_given || says(MODEL) || says(EFFORT) {
        return settings;
    }
    settings.params.model.clone_from(&stored.model);
    if let Some(effort) = stored
        .effort
        .as_ref()
        .and_then(|effort| serde_json::to_value(effort).ok())
    {
        settings.overrides.insert(EFFORT.to_owned(), effort);
    }
    settings
}

fn settings(
    cwd: Option<String>,
    params: RequestParams,
    config: &Option<BTreeMap<String, Value>>,
    connection: &Connection,
) -> RequestedSettings {
    let client = connection.client();
    let name = |text: fn(&crate::connection::InitializedClient) -> &String| {
        client.map(text).cloned().unwrap_or_default()
    };
    RequestedSettings {
        cwd,
        params,
        limits: ThreadLimits::default(),
        stored_limits: ThreadLimits::default(),
        disabled_plugins: Vec::new(),
        takes_openai_forms: client.is_some_and(|client| client.takes_openai_forms),
        overrides: config.clone().into_iter().flatten().collect::<Map<_, _>>(),
        client: ClientName {
            name: name(|client| &client.name),
            version: name(|client| &client.version),
        },
    }
}

fn tier(tier: &Update<ServiceTier>, connection: &Connection) -> Option<ServiceTier> {
    match tier {
        Update::Set(tier) => Some(tier.clone()),
        Update::Clear if connection.dialect().null_is_default_tier() => Some(ServiceTier::Default),
        Update::Leave | Update::Clear => None,
    }
}

fn sandbox_mode(mode: SandboxMode) -> ConfigMode {
    match mode {
        SandboxMode::ReadOnly => ConfigMode::ReadOnly,
        SandboxMode::WorkspaceWrite => ConfigMode::WorkspaceWrite,
        SandboxMode::DangerFullAccess => ConfigMode::DangerFullAccess,
    }
}
