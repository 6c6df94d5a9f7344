//! The session's part of the gate: it asks for approvals and stores them.

use std::collections::BTreeMap;

use codex_exec_policy::{Decision as RuleDecision, KEEPS_SANDBOX, append_prefix_rule};
use codex_gate::{ApprovalRequest, CommandEffect, Effect, GateDecision, Permit, QuestionTexts};
use codex_protocol::{
    AbsolutePathBuf, ApplyPatchApprovalRequestEvent, EventMsg, ExecApprovalRequestEvent,
    ExecPolicyAmendment, FileChange, FileSystemPermissions, ParsedCommand, PermissionGrantScope,
    PermissionProfile, RequestPermissionProfile, RequestPermissionsEvent,
    RequestPermissionsResponse, ReviewDecision,
};
use codex_session_base::gate::{self, EffectCall, GateRequest};
use codex_session_base::history::developer_message;
use codex_session_base::input::Input;
use codex_session_base::questions::QuestionKey;
use codex_session_base::turn_settings::TurnSettings;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::elicitation;
use super::open_questions::{PendingApproval, PendingGrant, WaitingConnection};

impl ThreadCall for GateRequest {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        session.gate_request(self);
    }
}

impl SessionActor {
    fn gate_request(&mut self, request: GateRequest) {
        match request {
            GateRequest::Decide {
                call,
                retry_of,
                reply,
            } if self.is_running(&call.settings.id) => {
                let decision = self.decide_effect(&call, retry_of.as_ref());
                let _ = reply.send((call, decision));
            }
            GateRequest::Ask {
                call,
                request,
                reply,
            } if self.is_running(&call.settings.id) => {
                self.ask_for_approval(
                    *call,
                    PendingApproval {
                        request: *request,
                        reply,
                    },
                );
            }
            GateRequest::Review {
                subject,
                settings,
                call_id,
                reason,
                reply,
            } if self.is_running(&settings.id) => {
                let review = self.start_review(&subject, &settings, call_id, reason.as_deref());
                let _ = reply.send(review);
            }
            GateRequest::Connect { connection, reply } => {
                let connection = *connection;
                self.decide_connection(WaitingConnection { connection, reply });
            }
            GateRequest::Permissions {
                request,
                settings,
                call_id,
                is_reviewed,
                reply,
            } if self.is_running(&settings.id) => {
                let pending = PendingGrant {
                    asked: request.permissions,
                    settings,
                    reply,
                };
                if is_reviewed {
                    self.grant_all(pending);
                } else {
                    self.ask_for_permissions(pending, request.reason, call_id);
                }
            }
            // The turn has ended; dropping the sender informs the tool.
            _ => {}
        }
    }

    fn decide_effect(&self, call: &EffectCall, retry_of: Option<&Permit>) -> GateDecision {
        let policy = call.settings.turn_policy(&self.context.config);
        let limited = (call.settings.is_of_earlier_turn).then(|| self.approvals.of_earlier_turn());
        let approvals = limited.as_ref().unwrap_or(&self.approvals);
        match (&call.effect, retry_of) {
            (Effect::Command(command), Some(first)) => {
                let retry = codex_gate::decide_retry(command, &policy, first);
                retry.unwrap_or_else(|| GateDecision::Refuse(String::new()))
            }
            (effect, _) => {
                let decision = codex_gate::decide(effect, &policy, approvals);
                let levels = || self.context.processes.levels();
                codex_gate::without_sandbox(decision, effect, &policy, approvals, levels)
            }
        }
    }

    fn ask_for_approval(&mut self, call: EffectCall, pending: PendingApproval) {
        let event = self.approval_request(&call, &pending.request);
        let key = match &call.effect {
            Effect::Mcp(effect) => elicitation::approval_key(effect, &call.call_id),
            _ => QuestionKey::Approval(call.call_id),
        };
        self.questions.wait_for_approval(key, pending);
        self.context.emitter.emit(&call.settings.id, event);
    }

    fn approval_request(&self, call: &EffectCall, request: &ApprovalRequest) -> EventMsg {
        let (settings, call_id) = (&call.settings, &call.call_id);
        match &call.effect {
            Effect::Command(command) => {
                let policy = settings.turn_policy(&self.context.config);
                let grants = self.approvals.grants();
                let actions = codex_gate::command_summary(
                    &command.argv,
                    &command.cwd,
                    command.machine.is_some(),
                    &policy,
                    grants,
                );
                let texts = codex_gate::command_texts(command, request, &policy);
                exec_request(command, request, settings, call_id, actions, texts)
            }
            Effect::Patch(patch) => {
                let policy = settings.turn_policy(&self.context.config);
                let texts = codex_gate::patch_texts(patch, &policy, &self.approvals.grants());
                patch_request(patch.changes.clone(), settings, call_id, texts)
            }
            Effect::Mcp(effect) => elicitation::approval_request(effect, &settings.id, call_id),
        }
    }

    /// The decision of a person about an effect.
    pub(super) fn decided(&mut self, call_id: String, decision: &ReviewDecision) {
        if self.connection_decided(&call_id, decision) {
            return;
        }
        let Some(pending) = self
            .questions
            .take_approval(&QuestionKey::Approval(call_id))
        else {
            return;
        };
        match decision {
            ReviewDecision::ApprovedForSession => {
                self.approvals.approve(pending.request.keys.clone());
            }
            ReviewDecision::ApprovedExecpolicyAmendment {
                proposed_execpolicy_amendment,
            } => {
                self.amend(&pending.request, &proposed_execpolicy_amendment.0);
            }
            _ => {}
        }
        let verdict = gate::verdict(decision, pending.request);
        let _ = pending.reply.send(verdict);
    }

    /// Adopts the rule of a person, which may differ from the proposed one. If the approved run was confined, the
    /// rule keeps the sandbox.
    fn amend(&mut self, request: &ApprovalRequest, amendment: &[String]) {
        if amendment.is_empty() {
            return;
        }
        let justification = (!request.lifts_sandbox).then_some(KEEPS_SANDBOX);
        self.approvals.allow_prefix(amendment, justification);
        let file = self
            .context
            .config
            .services
            .home
            .join("rules/default.rules");
        if let Err(error) = append_prefix_rule(&file, amendment, RuleDecision::Allow, justification)
        {
            self.warn("", format!("Failed to apply execpolicy amendment: {error}"));
        }
        let words = serde_json::to_string(amendment)
            .unwrap_or_default()
            .replace("\",\"", "\", \"");
        let saved = developer_message([format!("Approved command prefix saved:\n- {words}")]);
        let _ = self.put_into_turn(Input::Note(Box::new(saved)));
    }

    /// Grants what a reviewer has allowed, for the turn.
    fn grant_all(&mut self, pending: PendingGrant) {
        let response = RequestPermissionsResponse {
            permissions: pending.asked.clone(),
            scope: PermissionGrantScope::Turn,
        };
        self.grant(pending, response);
    }

    fn ask_for_permissions(
        &mut self,
        pending: PendingGrant,
        reason: Option<String>,
        call_id: String,
    ) {
        let settings = &pending.settings;
        let turn_policy = settings.turn_policy(&self.context.config);
        if !turn_policy.may_ask_for_permissions() {
            let _ = pending.reply.send(RequestPermissionsResponse::default());
            return;
        }
        let texts = codex_gate::permissions_texts(&pending.asked, reason.as_deref(), &turn_policy);
        let event = EventMsg::RequestPermissions(RequestPermissionsEvent {
            call_id: call_id.clone(),
            turn_id: settings.id.to_string(),
            reason: texts.reason,
            engine_notice: texts.notice,
            justification: texts.justification,
            permissions: pending.asked.clone(),
        });
        self.context.emitter.emit(&settings.id, event);
        self.questions
            .wait_for_grant(QuestionKey::Permissions(call_id), pending);
    }

    /// The answer to a request for permissions. No more is granted than was asked for.
    pub(super) fn granted(&mut self, call_id: String, response: RequestPermissionsResponse) {
        let Some(pending) = self
            .questions
            .take_grant(&QuestionKey::Permissions(call_id))
        else {
            return;
        };
        self.grant(pending, response);
    }

    fn grant(&mut self, pending: PendingGrant, response: RequestPermissionsResponse) {
        let permissions = intersection(&pending.asked, &response.permissions);
        let profile = PermissionProfile {
            network: permissions.network,
            file_system: permissions.file_system.clone(),
            macos: None,
        };
        let grants = codex_gate::grants_of(&profile, &pending.settings.cwd);
        match response.scope {
            PermissionGrantScope::Turn => self.approvals.grant_for_turn(&grants),
            PermissionGrantScope::Session => self.approvals.grant_for_session(&grants),
        }
        let _ = pending.reply.send(RequestPermissionsResponse {
            permissions,
            ..response
        });
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

fn exec_request(
    command: &CommandEffect,
    request: &ApprovalRequest,
    settings: &TurnSettings,
    call_id: &str,
    parsed_cmd: Vec<ParsedCommand>,
    texts: QuestionTexts,
) -> EventMsg {
    EventMsg::ExecApprovalRequest(Box::new(ExecApprovalRequestEvent {
        call_id: call_id.to_owned(),
        approval_id: None,
        turn_id: settings.id.to_string(),
        command: command.argv.clone(),
        cwd: command.cwd.display().to_string(),
        reason: texts.reason,
        engine_notice: texts.notice,
        justification: texts.justification,
        network_approval_context: None,
        proposed_execpolicy_amendment: request.amendment.clone().map(ExecPolicyAmendment),
        proposed_network_policy_amendments: None,
        additional_permissions: command.additional.clone(),
        skill_metadata: None,
        available_decisions: Some(request.offered.clone()),
        parsed_cmd,
        environment: command.machine.clone(),
    }))
}

fn patch_request(
    changes: BTreeMap<String, FileChange>,
    settings: &TurnSettings,
    call_id: &str,
    texts: QuestionTexts,
) -> EventMsg {
    EventMsg::ApplyPatchApprovalRequest(ApplyPatchApprovalRequestEvent {
        call_id: call_id.to_owned(),
        turn_id: settings.id.to_string(),
        changes,
        reason: texts.reason,
        engine_notice: texts.notice,
        grant_root: None,
    })
}
