//! `thread/settings/update`: the settings of later turns.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    ThreadSettingsUpdateParams, ThreadSettingsUpdateResponse, TurnStartParams,
};
use codex_core::{SettingsError, UpdateSettings};
use codex_projection::{engine_thread_limits, with_instructions};
use codex_protocol::{ServiceTier, ThreadSettingsPatch, Update};
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::loaded_thread;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::thread::{Actor, RequestedPlace};

pub(super) async fn update(
    RequestContext { server, .. }: RequestContext,
    params: ThreadSettingsUpdateParams,
) -> Result<EarlyReply<method::ThreadSettingsUpdate>, Failure> {
    let thread = loaded_thread(&server, &params.thread_id)?;
    Ok(EarlyReply::by_thread(thread, |actor, reply| {
        change(actor, params, reply).boxed()
    }))
}

async fn change(
    actor: &mut Actor,
    params: ThreadSettingsUpdateParams,
    reply: Responder<method::ThreadSettingsUpdate>,
) {
    let before = actor.thread.settings();
    let shown_before = actor.shown_settings();
    let limits = params.limits.as_ref().map(engine_thread_limits).transpose();
    let mut params: TurnStartParams = params.into();
    let place = RequestedPlace::of_turn(&params);
    let patch = limits.map_err(Failure::of_limits).and_then(|limits| {
        place.check(&actor.server)?;
        let mut patch = actor.patch_of(&mut params)?;
        if patch.service_tier == Update::Clear {
            patch.service_tier = Update::Set(ServiceTier::Default);
        }
        Ok(ThreadSettingsPatch { limits, ..patch })
    });
    let updated = match patch {
        Ok(patch) => {
            let updated = actor.thread.call(UpdateSettings(patch)).await;
            updated.map_err(refused)
        }
        Err(failure) => Err(failure),
    };
    let after = match updated {
        Ok(after) => after,
        Err(failure) => return reply.refuse(failure),
    };
    actor.take_place(place);
    if after != before {
        actor.store_settings(&after).await;
    }
    reply.accept(&ThreadSettingsUpdateResponse {});
    let shown = actor.shown_settings();
    if shown != shown_before {
        actor.notify_settings(with_instructions(shown, before.mode));
    }
}

fn refused(error: SettingsError) -> Failure {
    match error {
        SettingsError::Forbidden(reason) => Failure::invalid(reason.0),
        SettingsError::UnnamedCwd(_) => Failure::invalid(error.to_string()),
        SettingsError::Closed(_) => Failure::internal(error.to_string()),
    }
}
