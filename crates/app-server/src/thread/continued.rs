//! Continues the last turn of a thread, if it had not ended when its server did.

use codex_app_server_protocol::v2::{
    ContinueTurn, InterruptedCall, InterruptedTurn, ThreadResumeParams,
};
use codex_core::{UnfinishedCall, UnfinishedTurn};
use codex_protocol::{ThreadSettings, ThreadSettingsPatch};

use super::actor::Actor;
use crate::connection::Connection;
use crate::failure::Failure;

/// A turn that can be continued.
#[derive(Debug)]
pub(crate) struct ContinuableTurn {
    pub(super) turn: UnfinishedTurn,
    /// The settings of the request that loaded the thread, which replace those of the turn.
    settings: ThreadSettingsPatch,
}

impl ContinuableTurn {
    pub(crate) fn new(turn: UnfinishedTurn) -> Self {
        Self {
            turn,
            settings: ThreadSettingsPatch::default(),
        }
    }

    /// Settings of the request replace those of the turn.
    fn take_settings(&mut self, params: &ThreadResumeParams, settings: &ThreadSettings) {
        let has_sandbox = params.sandbox.is_some() || params.permissions.is_some();
        self.settings = ThreadSettingsPatch {
            cwd: params.cwd.as_ref().map(|_| settings.cwd.clone()),
            approval_policy: params
                .approval_policy
                .as_ref()
                .map(|_| settings.approval_policy),
            approvals_reviewer: params
                .approvals_reviewer
                .map(|_| settings.approvals_reviewer),
            sandbox_policy: has_sandbox.then(|| settings.sandbox_policy.clone()),
            permission_profile: settings.permission_profile.clone().filter(|_| has_sandbox),
            host_limits: (settings.host_limits.clone().into_iter())
                .filter(|_| has_sandbox)
                .collect(),
            ..ThreadSettingsPatch::default()
        };
    }

    fn is_wanted(&self, wanted: Option<ContinueTurn>) -> bool {
        match wanted {
            None => false,
            Some(ContinueTurn::IfWaiting) => !self.turn.waiting.is_empty(),
            Some(ContinueTurn::Always) => true,
        }
    }
}

impl Actor {
    /// The unfinished turn, for a client that resumes the thread. None for clients without experimental methods.
    pub(crate) fn interrupted_turn(
        &mut self,
        params: &ThreadResumeParams,
        connection: &Connection,
    ) -> Option<InterruptedTurn> {
        let settings = self.thread.settings();
        let unfinished = self.unfinished.as_mut()?;
        unfinished.take_settings(params, &settings);
        let interrupted = InterruptedTurn {
            turn_id: unfinished.turn.id().to_owned(),
            waiting: unfinished.turn.waiting.iter().map(wire_call).collect(),
            interrupted: unfinished.turn.interrupted.iter().map(wire_call).collect(),
            is_continued: unfinished.is_wanted(params.continue_turn),
        };
        let knows_it = connection
            .client()
            .is_some_and(|client| client.experimental);
        knows_it.then_some(interrupted)
    }

    /// Continues the unfinished turn because `thread/resume` said so. A failure cannot be replied to any more.
    pub(crate) async fn continue_as_resumed(&mut self) {
        let Some(id) = self.unfinished_id() else {
            return;
        };
        if let Err(failure) = self.continue_unfinished(&id).await {
            let reason = failure.into_object().message;
            tracing::warn!(reason, "a turn is not continued");
        }
    }

    fn unfinished_id(&self) -> Option<String> {
        let unfinished = self.unfinished.as_ref()?;
        Some(unfinished.turn.id().to_owned())
    }

    /// Continues the unfinished turn, if it is this one.
    pub(crate) async fn continue_unfinished(&mut self, turn: &str) -> Result<(), Failure> {
        let unfinished = self.unfinished.as_ref();
        let settings = unfinished.map(|one| one.settings.clone());
        let continued = self.thread.ask(|reply| codex_core::ContinueTurn {
            turn: turn.to_owned(),
            settings: settings.unwrap_or_default(),
            reply,
        });
        continued.await.map_err(Failure::of_start)?;
        self.turn.get_or_insert_with(|| turn.to_owned());
        self.unfinished = None;
        Ok(())
    }
}

fn wire_call(call: &UnfinishedCall) -> InterruptedCall {
    InterruptedCall {
        item_id: call.id.clone(),
        tool: call.tool.clone(),
    }
}
