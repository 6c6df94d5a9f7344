//! The app-server around the host: with the configured model, or with a scripted one.

use std::sync::Arc;

use codex_app_server::AppServer;
use codex_config::Overrides;
use codex_scenario::Scenario;

use crate::host::{EngineHost, HostPurpose};
use crate::scripted_model::ScenarioModel;
use crate::wiring::TraceRecorder;

/// Starts the server. The settings of flags take precedence over those of a scenario.
///
/// # Errors
/// The settings cannot be used, or the scripted model cannot be started.
pub async fn start(
    settings: Overrides,
    scenario: Option<Scenario>,
    tracing: TraceRecorder,
    purpose: HostPurpose,
) -> anyhow::Result<Arc<AppServer>> {
    let host = match scenario {
        None => EngineHost::new(settings, None, tracing, purpose)?,
        Some(scenario) => {
            let (below, model) = ScenarioModel::start(scenario).await?;
            EngineHost::new(settings.over(below), Some(model), tracing, purpose)?
        }
    };
    host.write_left_inputs().await;
    Ok(AppServer::new(Arc::new(host)))
}
