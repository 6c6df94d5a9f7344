//! The way of a tool through the gate: it hands the effect to the session and waits for the word.

use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{RequestPermissionsResponse, ReviewDecision};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{CommandEffect, Effect, Permit};
use crate::ports::Clock;
use crate::session::{Answer, Judge, Mail, Question, Stage};
use crate::turn::TurnSettings;

/// How long a question waits for the end of the response that it comes from. People see what the
/// response cost before they are asked; an answer that ends the turn would let nobody know any more.
const WAIT_LIMIT: Duration = Duration::from_secs(1);

/// Why something must not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The gate refuses, for this reason.
    Refused(String),
    /// People said no.
    Declined,
    /// People closed the question; the turn goes on.
    Cancelled,
    /// People said stop, or nobody can be asked any more.
    Aborted,
}

/// The gate, as a tool sees it.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) mailbox: mpsc::WeakSender<Mail>,
    pub(crate) settings: Arc<TurnSettings>,
    pub(crate) call_id: String,
    /// The response that the call stands in is over.
    pub(crate) response_ended: CancellationToken,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Gate {
    /// Waits for leave.
    pub(crate) async fn permit(&self, effect: Effect) -> Result<Permit, Denied> {
        self.judge(effect, Stage::First).await
    }

    /// Waits for leave to run a command again without sandbox; none if that is not to be tried.
    pub(crate) async fn permit_retry(
        &self,
        command: CommandEffect,
        permit: Permit,
    ) -> Result<Option<Permit>, Denied> {
        match self
            .judge(Effect::Command(command), Stage::Retry(permit))
            .await
        {
            Ok(permit) => Ok(Some(permit)),
            Err(Denied::Refused(_)) => Ok(None),
            Err(stopped) => Err(stopped),
        }
    }

    async fn judge(&self, effect: Effect, stage: Stage) -> Result<Permit, Denied> {
        if !self.response_ended.is_cancelled() {
            if let Some(decision) = self.judge_now(effect.clone(), stage.clone(), false).await {
                return decision;
            }
            tokio::select! {
                () = self.response_ended.cancelled() => {}
                () = self.clock.sleep(WAIT_LIMIT) => {}
            }
        }
        let decision = self.judge_now(effect, stage, true).await;
        decision.unwrap_or(Err(Denied::Aborted))
    }

    /// There is no word if people would have to be asked and are not to be, or cannot be any more.
    async fn judge_now(
        &self,
        effect: Effect,
        stage: Stage,
        may_ask: bool,
    ) -> Option<Result<Permit, Denied>> {
        let (reply, answer) = oneshot::channel();
        let judge = Judge {
            effect,
            stage,
            may_ask,
            settings: Arc::clone(&self.settings),
            call_id: self.call_id.clone(),
            reply,
        };
        self.send(Mail::Judge(Box::new(judge))).await.ok()?;
        answer.await.ok()
    }

    /// Asks for permissions and waits for what was granted.
    pub(crate) async fn permissions(
        &self,
        effect: Effect,
    ) -> Result<RequestPermissionsResponse, Denied> {
        let (reply, granted) = oneshot::channel();
        let settings = Arc::clone(&self.settings);
        let call_id = self.call_id.clone();
        self.send(Mail::Grant {
            effect: Box::new(effect),
            settings,
            call_id,
            reply,
        })
        .await?;
        granted.await.map_err(|_| Denied::Aborted)
    }

    /// Asks the client something that has nothing to do with permission.
    pub(crate) async fn ask(&self, question: Question) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        self.send(Mail::Ask(Box::new(question), reply)).await.ok()?;
        answer.await.ok()
    }

    async fn send(&self, mail: Mail) -> Result<(), Denied> {
        let mailbox = self.mailbox.upgrade().ok_or(Denied::Aborted)?;
        mailbox.send(mail).await.map_err(|_| Denied::Aborted)
    }
}

/// What people decided, as far as the one call is concerned.
pub(crate) fn verdict(decision: &ReviewDecision, then: Permit) -> Result<Permit, Denied> {
    match decision {
        ReviewDecision::Approved
        | ReviewDecision::ApprovedForSession
        | ReviewDecision::ApprovedExecpolicyAmendment { .. } => Ok(then),
        ReviewDecision::NetworkPolicyAmendment { .. } | ReviewDecision::Denied => {
            Err(Denied::Declined)
        }
        ReviewDecision::Abort => Err(Denied::Aborted),
    }
}
