//! `turn/settings/update`: changes the turn that runs.

use codex_app_server_protocol::v2::{
    TurnSettingsUpdateParams, TurnSettingsUpdateResponse, TurnSettingsUpdateStatus,
};
use codex_core::{TurnPlace, TurnSettingsPatch};
use codex_projection::engine_reviewer;

use super::call::RequestContext;
use super::engine;
use crate::failure::Failure;
use crate::thread::{RequestedPlace, check_environments};

pub(super) async fn update(
    RequestContext { server, .. }: RequestContext,
    params: TurnSettingsUpdateParams,
) -> Result<TurnSettingsUpdateResponse, Failure> {
    let thread = engine(&server, &params.thread_id).await?;
    let environments = params.environments;
    check_environments(
        server.host().environments(),
        environments.as_deref().unwrap_or_default(),
    )?;
    let configuration = server.host().configuration();
    let patch = TurnSettingsPatch {
        turn: params.turn_id,
        model: params.model,
        effort: params.effort,
        summary: params.summary,
        service_tier: params.service_tier,
        approvals_reviewer: params.approvals_reviewer.map(engine_reviewer),
        environment: environments.map(|all| {
            let has_any = !all.is_empty();
            let place = RequestedPlace {
                environments: Some(all),
                ..RequestedPlace::default()
            };
            let folder = place.environment_folder();
            has_any.then(|| TurnPlace {
                cwd: folder.map(|folder| configuration.folder(folder)),
                environments: place.choices().unwrap_or_default(),
            })
        }),
    };
    let applies = thread.call(patch).await;
    let applies = applies.map_err(|error| Failure::invalid(error.to_string()))?;
    let status = if applies {
        TurnSettingsUpdateStatus::Applied
    } else {
        TurnSettingsUpdateStatus::TargetUnavailable
    };
    Ok(TurnSettingsUpdateResponse { status })
}
