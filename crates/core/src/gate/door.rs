//! The way of a tool through the gate: it hands the effect to the session and waits for the word.

use std::sync::Arc;

use codex_protocol::{RequestPermissionsResponse, ReviewDecision};
use tokio::sync::{mpsc, oneshot};

use super::{CommandEffect, Effect, Pass};
use crate::session::{Answer, Judge, Mail, Question, Stage};
use crate::turn::TurnSettings;

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
        let (reply, verdict) = oneshot::channel();
        let judge = Judge {
            effect,
            stage,
            settings: Arc::clone(&self.settings),
            call_id: self.call_id.clone(),
            reply,
        };
        self.send(Mail::Judge(Box::new(judge))).await?;
        verdict.await.unwrap_or(Err(Stopped::Aborted))
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
