//! The session's part of questions about hosts: it asks once for each host and port, and stores what people decide.

use codex_exec::HostAnswer;
use codex_exec_policy::{NetworkDecision, NetworkRule, append_network_rule};
use codex_host_policy::Host;
use codex_protocol::{NetworkPolicyAmendment, NetworkPolicyRuleAction, ReviewDecision};
use tokio::sync::oneshot;

use super::actor::SessionActor;
use super::open_questions::PendingConnection;
use crate::gate::{ConnectionRequest, TurnPolicy};

impl SessionActor {
    /// Decides about a connection, or asks a person.
    pub(super) fn decide_connection(
        &mut self,
        connection: ConnectionRequest,
        reply: oneshot::Sender<HostAnswer>,
    ) {
        let (host, port) = (&connection.host, connection.port);
        if let Some(is_allowed) = self.approvals.host_decision(host, port) {
            let denied = || HostAnswer::Refuse("the user has denied it".to_owned());
            let answer = if is_allowed {
                HostAnswer::Allow
            } else {
                denied()
            };
            let _ = reply.send(answer);
            return;
        }
        let policy = TurnPolicy::of(&connection.settings, &self.context.config);
        if !policy.may_ask_about_sandbox() {
            let _ = reply.send(HostAnswer::Refuse(NOBODY_ASKED.to_owned()));
            return;
        }
        if let Some(pending) = self.questions.connection_to(host, port) {
            pending.replies.push(reply);
            return;
        }
        let id = connection.question_id();
        let turn = connection.settings.id.clone();
        let question = connection.question(id.clone());
        let pending = PendingConnection {
            connection,
            replies: vec![reply],
        };
        self.questions.wait_for_connection(id, pending);
        self.context.emitter.emit(&turn, question);
    }

    /// The decision of a person about a connection. Returns whether the id is that of one.
    pub(super) fn connection_decided(&mut self, id: &str, decision: &ReviewDecision) -> bool {
        let Some(pending) = self.questions.take_connection(id) else {
            return false;
        };
        let PendingConnection {
            connection,
            replies,
        } = pending;
        let (host, port) = (&connection.host, connection.port);
        let answer = match decision {
            ReviewDecision::Approved => HostAnswer::Allow,
            ReviewDecision::ApprovedForSession => {
                self.approvals.decide_host(host.clone(), port, true);
                HostAnswer::Allow
            }
            ReviewDecision::NetworkPolicyAmendment {
                network_policy_amendment,
            } => self.amend_hosts(&connection, network_policy_amendment),
            ReviewDecision::Denied
            | ReviewDecision::Abort
            | ReviewDecision::ApprovedExecpolicyAmendment { .. } => {
                HostAnswer::Refuse("the user has declined it".to_owned())
            }
        };
        for reply in replies {
            let _ = reply.send(answer.clone());
        }
        true
    }

    /// Adopts a rule about the host that was asked about.
    fn amend_hosts(
        &mut self,
        connection: &ConnectionRequest,
        amendment: &NetworkPolicyAmendment,
    ) -> HostAnswer {
        let (host, port) = (&connection.host, connection.port);
        if Host::parse(&amendment.host).as_ref() != Some(host) {
            self.warn(
                "",
                "A rule about another host than that of the question is ignored.".to_owned(),
            );
            return HostAnswer::Refuse("the answer was about another host".to_owned());
        }
        let is_allowed = amendment.action == NetworkPolicyRuleAction::Allow;
        self.approvals.decide_host(host.clone(), port, is_allowed);
        if let Err(problem) = self.write_host_rule(connection, is_allowed) {
            self.warn("", format!("Failed to apply network rule: {problem}"));
        }
        if is_allowed {
            HostAnswer::Allow
        } else {
            HostAnswer::Refuse("the user has denied it".to_owned())
        }
    }

    fn write_host_rule(
        &self,
        connection: &ConnectionRequest,
        is_allowed: bool,
    ) -> Result<(), String> {
        let (host, port) = (&connection.host, connection.port);
        let protocol = connection.rule_protocol();
        let (decision, verb) = if is_allowed {
            (NetworkDecision::Allow, "Allow")
        } else {
            (NetworkDecision::Deny, "Deny")
        };
        let named = match (protocol.usual_port(), host) {
            (Some(_), host) => host.to_string(),
            (None, Host::Address(address)) if address.is_ipv6() => format!("[{address}]:{port}"),
            (None, host) => format!("{host}:{port}"),
        };
        let justification = format!("{verb} {} access to {host}", protocol.as_str());
        let rule = NetworkRule::new(&named, protocol, decision, Some(justification));
        let rule = rule.map_err(|problem| problem.to_string())?;
        let home = &self.context.config.services.home;
        let file = home.join("rules/default.rules");
        append_network_rule(&file, &rule).map_err(|problem| problem.to_string())?;
        Ok(())
    }
}

const NOBODY_ASKED: &str = "it is not listed, and the approval policy lets nobody be asked; `domains` of the permissions or of \
                            `features.network_proxy`, or a `network_rule`, can allow it";
