//! The session's part of the gate: it asks people, and remembers what they said.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_exec_policy::{Decision as RuleDecision, KEEPS_SANDBOX, append_prefix_rule};
use codex_protocol::{
    AbsolutePathBuf, ApplyPatchApprovalRequestEvent, EventMsg, ExecApprovalRequestEvent,
    ExecPolicyAmendment, FileChange, FileSystemPermissions, PermissionGrantScope,
    PermissionProfile, RequestPermissionProfile, RequestPermissionsEvent,
    RequestPermissionsResponse, ReviewDecision,
};
use tokio::sync::oneshot;

use super::{QuestionKey, Session, elicitation};
use crate::gate::{
    self, ApprovalRequest, CommandEffect, Decision, Denied, Effect, Permit, TurnPolicy,
};
use crate::tools::parsed_command;
use crate::turn::{Input, TurnSettings};

/// An effect to decide about.
#[derive(Debug)]
pub(crate) struct Judge {
    pub(crate) effect: Effect,
    pub(crate) stage: Stage,
    /// Whether people may be asked by now.
    pub(crate) may_ask: bool,
    pub(crate) settings: Arc<TurnSettings>,
    pub(crate) call_id: String,
    pub(crate) reply: oneshot::Sender<Result<Permit, Denied>>,
}

/// Which run of a command it is about.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    First,
    /// The second, after a first one with this leave.
    Retry(Permit),
}

/// A call that waits for people.
#[derive(Debug)]
pub(super) struct PendingApproval {
    pub(super) ask: ApprovalRequest,
    pub(super) reply: oneshot::Sender<Result<Permit, Denied>>,
}

/// A wish for permissions that waits for people.
#[derive(Debug)]
pub(super) struct PendingGrant {
    asked: RequestPermissionProfile,
    settings: Arc<TurnSettings>,
    reply: oneshot::Sender<RequestPermissionsResponse>,
}

impl Session {
    fn turn_policy(&self, settings: &TurnSettings) -> TurnPolicy {
        self.services.turn_policy(settings)
    }

    pub(super) fn judge(&mut self, judge: Judge) {
        let Judge {
            effect,
            stage,
            may_ask,
            settings,
            call_id,
            reply,
        } = judge;
        if !self.is_running(&settings.id) {
            return;
        }
        let turn_policy = self.turn_policy(&settings);
        let decision = match (&effect, stage) {
            (Effect::Command(command), Stage::Retry(permit)) => {
                let retry = gate::decide_retry(command, &turn_policy, &permit);
                retry.unwrap_or_else(|| Decision::Refuse(String::new()))
            }
            (effect, _) => gate::decide(effect, &turn_policy, &self.approvals),
        };
        match decision {
            Decision::Run(permit) => drop(reply.send(Ok(permit))),
            Decision::Refuse(reason) => drop(reply.send(Err(Denied::Refused(reason)))),
            Decision::Ask(_) if !may_ask => drop(reply),
            Decision::Ask(ask) => {
                let event = approval_request(&effect, &ask, &settings, &call_id);
                let key = match &effect {
                    Effect::Mcp(call) => elicitation::approval_key(call, &call_id),
                    _ => QuestionKey::Approval(call_id),
                };
                self.questions
                    .wait_for_approval(key, PendingApproval { ask, reply });
                self.services.emitter.emit(&settings.id, event);
            }
        }
    }

    /// People decided about a call.
    pub(super) fn decided(&mut self, call_id: String, decision: &ReviewDecision) {
        let Some(pending) = self
            .questions
            .take_approval(&QuestionKey::Approval(call_id))
        else {
            return;
        };
        match decision {
            ReviewDecision::ApprovedForSession => self.approvals.approve(pending.ask.keys),
            ReviewDecision::ApprovedExecpolicyAmendment {
                proposed_execpolicy_amendment,
            } => {
                self.amend(&pending.ask, &proposed_execpolicy_amendment.0);
            }
            _ => {}
        }
        let verdict = gate::verdict(decision, pending.ask.then);
        let _ = pending.reply.send(verdict);
    }

    /// Takes a rule over, if it is the proposed one or a narrower one. What was approved for a confined run stays
    /// confined.
    fn amend(&mut self, ask: &ApprovalRequest, amendment: &[String]) {
        let proposed = ask.amendment.as_ref();
        let narrow_enough = proposed.is_some_and(|proposed| amendment.starts_with(proposed));
        if !narrow_enough {
            return;
        }
        let justification = (!ask.lifts_sandbox).then_some(KEEPS_SANDBOX);
        self.approvals.allow_prefix(amendment, justification);
        let file = self.services.config.home.join("rules/default.rules");
        if let Err(error) = append_prefix_rule(&file, amendment, RuleDecision::Allow, justification)
        {
            self.warn("", format!("Failed to apply execpolicy amendment: {error}"));
        }
        let words = serde_json::to_string(amendment)
            .unwrap_or_default()
            .replace("\",\"", "\", \"");
        let saved = crate::context::developer_message([format!(
            "Approved command prefix saved:\n- {words}"
        )]);
        let _ = self.put_into_turn(Input::Hidden(Box::new(saved)));
    }

    pub(super) fn request_permissions(
        &mut self,
        effect: &Effect,
        settings: Arc<TurnSettings>,
        call_id: String,
        reply: oneshot::Sender<RequestPermissionsResponse>,
    ) {
        let Effect::Permissions(request) = effect else {
            return;
        };
        if !self.is_running(&settings.id) {
            return;
        }
        match gate::decide(effect, &self.turn_policy(&settings), &self.approvals) {
            Decision::Ask(_) => {
                let event = EventMsg::RequestPermissions(RequestPermissionsEvent {
                    call_id: call_id.clone(),
                    turn_id: settings.id.to_string(),
                    reason: request.reason.clone(),
                    permissions: request.permissions.clone(),
                });
                let asked = request.permissions.clone();
                let turn = Arc::clone(&settings);
                let key = QuestionKey::Permissions(call_id);
                self.questions.wait_for_grant(
                    key,
                    PendingGrant {
                        asked,
                        settings,
                        reply,
                    },
                );
                self.services.emitter.emit(&turn.id, event);
            }
            Decision::Run(_) | Decision::Refuse(_) => {
                let _ = reply.send(RequestPermissionsResponse::default());
            }
        }
    }

    /// People answered a wish for permissions. No more is granted than was asked for.
    pub(super) fn granted(&mut self, call_id: String, response: RequestPermissionsResponse) {
        let Some(pending) = self
            .questions
            .take_grant(&QuestionKey::Permissions(call_id))
        else {
            return;
        };
        let permissions = intersection(&pending.asked, &response.permissions);
        let profile = PermissionProfile {
            network: permissions.network,
            file_system: permissions.file_system.clone(),
            macos: None,
        };
        let grants = gate::grants_of(&profile, &pending.settings.cwd);
        match response.scope {
            PermissionGrantScope::Turn => self.approvals.grant_for_turn(&grants),
            PermissionGrantScope::Session => self.approvals.grant_for_session(&grants),
        }
        let _ = pending.reply.send(RequestPermissionsResponse {
            permissions,
            ..response
        });
    }

    fn is_running(&self, turn: &str) -> bool {
        self.running()
            .is_some_and(|running| *running.settings.id == *turn)
    }
}

fn intersection(
    asked: &RequestPermissionProfile,
    given: &RequestPermissionProfile,
) -> RequestPermissionProfile {
    let network = |profile: &RequestPermissionProfile| {
        profile
            .network
            .is_some_and(|network| network.enabled == Some(true))
    };
    let both = |left: Option<&Vec<AbsolutePathBuf>>, right: Option<&Vec<AbsolutePathBuf>>| {
        let common: Vec<AbsolutePathBuf> = left?
            .iter()
            .filter(|path| right.is_some_and(|right| right.contains(path)))
            .cloned()
            .collect();
        (!common.is_empty()).then_some(common)
    };
    let file_system = asked.file_system.as_ref().zip(given.file_system.as_ref());
    let file_system = file_system.map(|(asked, given)| FileSystemPermissions {
        read: both(asked.read.as_ref(), given.read.as_ref()),
        write: both(asked.write.as_ref(), given.write.as_ref()),
    });
    RequestPermissionProfile {
        network: given.network.filter(|_| network(asked) && network(given)),
        file_system: file_system.filter(|files| files.read.is_some() || files.write.is_some()),
    }
}

fn approval_request(
    effect: &Effect,
    ask: &ApprovalRequest,
    settings: &TurnSettings,
    call_id: &str,
) -> EventMsg {
    match effect {
        Effect::Command(command) => exec_request(command, ask, settings, call_id),
        Effect::Patch(patch) => patch_request(patch.changes.clone(), settings, call_id),
        Effect::Permissions(_) => patch_request(BTreeMap::new(), settings, call_id),
        Effect::Mcp(call) => elicitation::approval_request(call, &settings.id, call_id),
    }
}

fn exec_request(
    command: &CommandEffect,
    ask: &ApprovalRequest,
    settings: &TurnSettings,
    call_id: &str,
) -> EventMsg {
    EventMsg::ExecApprovalRequest(Box::new(ExecApprovalRequestEvent {
        call_id: call_id.to_owned(),
        approval_id: None,
        turn_id: settings.id.to_string(),
        command: command.argv.clone(),
        cwd: command.cwd.display().to_string(),
        reason: ask.reason.clone(),
        network_approval_context: None,
        proposed_execpolicy_amendment: ask.amendment.clone().map(ExecPolicyAmendment),
        proposed_network_policy_amendments: None,
        additional_permissions: command.additional.clone(),
        skill_metadata: None,
        available_decisions: Some(ask.offered.clone()),
        parsed_cmd: parsed_command(&command.argv),
    }))
}

fn patch_request(
    changes: BTreeMap<String, FileChange>,
    settings: &TurnSettings,
    call_id: &str,
) -> EventMsg {
    EventMsg::ApplyPatchApprovalRequest(ApplyPatchApprovalRequestEvent {
        call_id: call_id.to_owned(),
        turn_id: settings.id.to_string(),
        changes,
        reason: None,
        grant_root: None,
    })
}
