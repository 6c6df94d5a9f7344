//! The way of a tool through the gate: it hands the effect to the session and waits for the word.

use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{RequestPermissionsResponse, ReviewDecision};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{CommandEffect, Effect, Pass};
use crate::ports::Clock;
use crate::session::{Answer, Judge, Mail, Question, Stage};
use crate::turn::TurnSettings;

/// How long a question waits for the end of the response that it comes from. People see what the
/// response cost before they are asked; an answer that ends the turn would let nobody know any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why something must not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
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
    pub(crate) heard: CancellationToken,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Gate {
    /// Waits for leave.
    pub(crate) async fn pass(&self, effect: Effect) -> Result<Pass, Stopped> {
        self.judge(effect, Stage::First).await
    }

    /// Waits for leave to run a command again without sandbox; none if that is not to be tried.
    pub(crate) async fn pass_again(
        &self,
        command: CommandEffect,
        pass: Pass,
    ) -> Result<Option<Pass>, Stopped> {
        match self
            .judge(Effect::Command(command), Stage::Retry(pass))
            .await
        {
            Ok(pass) => Ok(Some(pass)),
            Err(Stopped::Refused(_)) => Ok(None),
            Err(stopped) => Err(stopped),
        }
    }

    async fn judge(&self, effect: Effect, stage: Stage) -> Result<Pass, Stopped> {
        if !self.heard.is_cancelled() {
            if let Some(word) = self.judge_now(effect.clone(), stage.clone(), false).await {
                return word;
            }
            tokio::select! {
                () = self.heard.cancelled() => {}
                () = self.clock.sleep(PATIENCE) => {}
            }
        }
        let word = self.judge_now(effect, stage, true).await;
        word.unwrap_or(Err(Stopped::Aborted))
    }

    /// There is no word if people would have to be asked and are not to be, or cannot be any more.
    async fn judge_now(
        &self,
        effect: Effect,
        stage: Stage,
        may_ask: bool,
    ) -> Option<Result<Pass, Stopped>> {
        let (reply, verdict) = oneshot::channel();
        let judge = Judge {
            effect,
            stage,
            may_ask,
            settings: Arc::clone(&self.settings),
            call_id: self.call_id.clone(),
            reply,
        };
        self.send(Mail::Judge(Box::new(judge))).await.ok()?;
        verdict.await.ok()
    }

    /// Asks for permissions and waits for what was granted.
    pub(crate) async fn permissions(
        &self,
        effect: Effect,
    ) -> Result<RequestPermissionsResponse, Stopped> {
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
        granted.await.map_err(|_| Stopped::Aborted)
    }

    /// Asks the client something that has nothing to do with permission.
    pub(crate) async fn ask(&self, question: Question) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        self.send(Mail::Ask(Box::new(question), reply)).await.ok()?;
        answer.await.ok()
    }

    async fn send(&self, mail: Mail) -> Result<(), Stopped> {
        let mailbox = self.mailbox.upgrade().ok_or(Stopped::Aborted)?;
        mailbox.send(mail).await.map_err(|_| Stopped::Aborted)
    }
}

/// What people decided, as far as the one call is concerned.
pub(crate) fn verdict(decision: &ReviewDecision, then: Pass) -> Result<Pass, Stopped> {
    match decision {
        ReviewDecision::Approved
        | ReviewDecision::ApprovedForSession
        | ReviewDecision::ApprovedExecpolicyAmendment { .. } => Ok(then),
        ReviewDecision::NetworkPolicyAmendment { .. } | ReviewDecision::Denied => {
            Err(Stopped::Declined)
        }
        ReviewDecision::Abort => Err(Stopped::Aborted),
    }
}
