//! The gate as a tool uses it: a handle that sends an effect to the session and waits for the decision.

use std::sync::Arc;
use std::time::Duration;

use codex_exec::HostAnswer;
use codex_gate::grants_of;
use codex_gate::{ApprovalReason, ApprovalRequest, GateDecision, Permit};
use codex_gate::{CommandEffect, Effect, PermissionsRequest};
use codex_hooks::{EventInput, PermissionVerdict, ToolUse};
use codex_protocol::{EventMsg, RequestPermissionsResponse, ReviewDecision, WarningEvent};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::assessment::{ReviewProgress, StartedReview};
use super::connection::ConnectionRequest;
use crate::hooks::HookOccasion;
use crate::requests::Requests;
use crate::session_context::SessionContext;
use crate::turn_reviews::TurnReviews;
use crate::turn_settings::TurnSettings;

/// How long a call waits for the end of the response that it is part of. Clients see the
/// token usage of the response before the question; an answer that ends the turn would hide it.
const RESPONSE_WAIT: Duration = Duration::from_secs(1);

/// Why an effect must not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The gate refuses, for this reason.
    Refused(String),
    /// A reviewer has denied it, for this reason.
    Reviewed(String),
    /// A person declined.
    Declined,
    /// A person closed the question without a decision; the turn continues.
    Cancelled,
    /// A person stopped the turn, or nobody can be asked any more.
    Aborted,
}

/// An effect, and the call that would cause it.
#[derive(Debug)]
pub struct EffectCall {
    pub effect: Effect,
    pub settings: Arc<TurnSettings>,
    pub call_id: String,
}

/// What a reviewer decides about.
#[derive(Debug)]
pub enum ReviewSubject {
    Effect(Effect),
    Permissions(PermissionsRequest),
}

/// What the handle asks of the session.
#[derive(Debug)]
pub enum GateRequest {
    /// Decide about an effect. The call is returned with the decision.
    Decide {
        call: Box<EffectCall>,
        /// The permit of the first run, if this is about a second one.
        retry_of: Option<Permit>,
        reply: oneshot::Sender<(Box<EffectCall>, GateDecision)>,
    },
    /// Ask for the approval that was decided to be needed.
    Ask {
        call: Box<EffectCall>,
        request: Box<ApprovalRequest>,
        reply: oneshot::Sender<Result<Permit, Denied>>,
    },
    /// Have a reviewer decide instead of a person.
    Review {
        subject: Box<ReviewSubject>,
        settings: Arc<TurnSettings>,
        call_id: String,
        reason: Option<String>,
        reply: oneshot::Sender<StartedReview>,
    },
    /// Decide about a connection of a command that runs, or ask about it.
    Connect {
        connection: Box<ConnectionRequest>,
        reply: oneshot::Sender<HostAnswer>,
    },
    /// Ask for permissions.
    Permissions {
        request: Box<PermissionsRequest>,
        settings: Arc<TurnSettings>,
        call_id: String,
        /// Whether a reviewer has allowed them, so that no person is asked.
        is_reviewed: bool,
        reply: oneshot::Sender<RequestPermissionsResponse>,
    },
}

/// The gate for one call.
#[derive(Clone, Debug)]
pub struct Gate {
    pub requests: Requests<GateRequest>,
    pub settings: Arc<TurnSettings>,
    pub call_id: String,
    /// Cancelled when the response that the call is part of has ended.
    pub response_ended: CancellationToken,
    pub session: Arc<SessionContext>,
    /// The call, if there are hooks to ask for permission.
    pub tool: Option<ToolUse>,
}

impl Gate {
    /// Waits for the permit of an effect.
    pub async fn permit(&self, effect: Effect) -> Result<Permit, Denied> {
        self.decide(effect, None).await
    }

    /// Waits for the permit to run a command again without sandbox. None if that is not to be tried.
    pub async fn permit_retry(
        &self,
        command: CommandEffect,
        first: Permit,
    ) -> Result<Option<Permit>, Denied> {
        match self.decide(Effect::Command(command), Some(first)).await {
            Err(Denied::Refused(_) | Denied::Reviewed(_)) => Ok(None),
            decided => decided.map(Some),
        }
    }

    /// Waits briefly for the end of the response that the call is part of, so that what it used is known.
    pub async fn response_end(&self) {
        tokio::select! {
            biased;
            () = self.response_ended.cancelled() => {}
            () = self.session.clock.sleep(RESPONSE_WAIT) => {}
        }
    }

    async fn decide(&self, effect: Effect, retry_of: Option<Permit>) -> Result<Permit, Denied> {
        // A command that is to run again has begun already.
        let has_begun = retry_of.is_some();
        let call = Box::new(EffectCall {
            effect,
            settings: Arc::clone(&self.settings),
            call_id: self.call_id.clone(),
        });
        let decided = self.requests.ask(|reply| GateRequest::Decide {
            call,
            retry_of,
            reply,
        });
        let (call, decision) = decided.await.ok_or(Denied::Aborted)?;
        let request = match decision {
            GateDecision::Run(permit) => return Ok(permit),
            GateDecision::Refuse(reason) => return Err(Denied::Refused(reason)),
            GateDecision::Ask(request) => Box::new(request),
        };
        match self.ask_hooks(&call.effect).await {
            Some(PermissionVerdict::Allow) => return Ok(request.approved()),
            Some(PermissionVerdict::Deny(reason)) => return Err(Denied::Refused(reason)),
            None => {}
        }
        self.response_end().await;
        let (emitter, turn) = (&self.session.emitter, &self.settings.id);
        if !has_begun {
            emitter.log_question(turn, &self.call_id).await;
        }
        let answer = match self
            .settings
            .reviews
            .as_ref()
            .filter(|_| !self.reads_hidden(&call.effect))
        {
            Some(reviews) => {
                let reason = match (&request.reason, &call.effect) {
                    (ApprovalReason::Engine(reason), _) => Some((*reason).to_owned()),
                    (ApprovalReason::Rule(reason), _) => Some(reason.clone()),
                    (_, Effect::Command(command)) => command.justification.clone(),
                    _ => None,
                };
                let subject = ReviewSubject::Effect(call.effect);
                let reviewed = self.review(subject, reason, reviews).await;
                reviewed.map(|()| request.approved())
            }
            None => {
                let answer = self.requests.ask(|reply| GateRequest::Ask {
                    call,
                    request,
                    reply,
                });
                answer.await.unwrap_or(Err(Denied::Aborted))
            }
        };
        if !has_begun && answer.is_ok() {
            emitter.log_answer(turn, &self.call_id).await;
        }
        answer
    }

    /// Whether a command would be let read a hidden file, about which only a person decides.
    fn reads_hidden(&self, effect: &Effect) -> bool {
        let Effect::Command(command) = effect else {
            return false;
        };
        let policy = self.settings.turn_policy(&self.session.config);
        let additional = command.additional.as_ref();
        let read = additional.map(|asked| grants_of(asked, &policy.cwd).read);
        read.is_some_and(|read| policy.hidden_in_permissions(&read).is_some())
    }

    /// Has a reviewer decide. After several denials the turn ends.
    async fn review(
        &self,
        subject: ReviewSubject,
        reason: Option<String>,
        reviews: &TurnReviews,
    ) -> Result<(), Denied> {
        let (session, turn) = (&self.session, &self.settings.id);
        let started = self.requests.ask(|reply| GateRequest::Review {
            subject: Box::new(subject),
            settings: Arc::clone(&self.settings),
            call_id: self.call_id.clone(),
            reason,
            reply,
        });
        let review = started.await.ok_or(Denied::Aborted)?;
        let progress = ReviewProgress::begin(
            &session.emitter,
            session.clock.as_ref(),
            turn,
            &self.call_id,
            session.ids.item(),
            review.action,
        );
        let assessment = review.verdict.await;
        let ends_turn = reviews.count(assessment.is_allowed());
        progress.end(&assessment);
        if let Some(message) = ends_turn {
            session
                .emitter
                .emit(turn, EventMsg::Warning(WarningEvent { message }));
            return Err(Denied::Aborted);
        }
        if assessment.is_allowed() {
            return Ok(());
        }
        Err(Denied::Reviewed(assessment.rejection()))
    }

    /// Asks the hooks that may answer in place of a person.
    async fn ask_hooks(&self, effect: &Effect) -> Option<PermissionVerdict> {
        let mut tool = self.tool.clone()?;
        if let Effect::Command(command) = effect
            && let Some(justification) = &command.justification
            && tool.input.is_object()
        {
            tool.input["description"] = justification.as_str().into();
        }
        let occasion = HookOccasion::of_turn(&self.session, &self.settings);
        let results = occasion
            .run_hooks(&EventInput::PermissionRequest(&tool))
            .await;
        results.permission().cloned()
    }

    /// Asks for permissions and waits for what was granted.
    pub async fn permissions(
        &self,
        request: PermissionsRequest,
    ) -> Result<RequestPermissionsResponse, Denied> {
        let emitter = &self.session.emitter;
        emitter.log_question(&self.settings.id, &self.call_id).await;
        let policy = self.settings.turn_policy(&self.session.config);
        let reads_hidden = policy
            .hidden_in_permissions(&policy.read_by(&request.permissions))
            .is_some();
        let is_reviewed = match self.settings.reviews.as_ref().filter(|_| !reads_hidden) {
            Some(reviews) => {
                let subject = ReviewSubject::Permissions(request.clone());
                let reason = request.reason.clone();
                self.review(subject, reason, reviews).await?;
                true
            }
            None => false,
        };
        let granted = self.requests.ask(|reply| GateRequest::Permissions {
            request: Box::new(request),
            settings: Arc::clone(&self.settings),
            call_id: self.call_id.clone(),
            is_reviewed,
            reply,
        });
        granted.await.ok_or(Denied::Aborted)
    }
}

/// What a decision means for the one call that was asked about.
pub fn verdict(decision: &ReviewDecision, request: ApprovalRequest) -> Result<Permit, Denied> {
    match decision {
        ReviewDecision::Approved
        | ReviewDecision::ApprovedForSession
        | ReviewDecision::ApprovedExecpolicyAmendment { .. } => Ok(request.approved()),
        ReviewDecision::NetworkPolicyAmendment { .. } | ReviewDecision::Denied => {
            Err(Denied::Declined)
        }
        ReviewDecision::Abort => Err(Denied::Aborted),
    }
}
