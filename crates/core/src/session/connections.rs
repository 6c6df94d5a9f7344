//! The session's part of questions about hosts: it asks once for each host and port, and stores what people decide.

use codex_exec::HostAnswer;
use codex_exec_policy::{NetworkDecision, NetworkRule, append_network_rule};
use codex_host_policy::{AskReason, Host};
use codex_protocol::{NetworkPolicyAmendment, NetworkPolicyRuleAction, ReviewDecision};
use codex_session_base::gate::ConnectionRequest;

use super::actor::SessionActor;
use super::open_questions::{PendingConnection, WaitingConnection};

impl SessionActor {
    /// Decides about a connection, or asks a person. What was decided for the session also holds for commands of turns that have
    /// ended; nobody is asked about those.
    pub(super) fn decide_connection(&mut self, waiting: WaitingConnection) {
        let WaitingConnection { connection, reply } = &waiting;
        if reply.is_closed() {
            return;
        }
        let (host, port) = (&connection.host, connection.port);
        if let Some(is_allowed) = self.approvals.host_decision(host, port) {
            let answer = if is_allowed {
                HostAnswer::Allow
            } else {
                HostAnswer::Refuse(DENIED_REASON.to_owned())
            };
            let _ = waiting.reply.send(answer);
            return;
        }
        if !self.is_running(&connection.settings.id) {
            // Dropping the sender informs the command.
            return;
        }
        let policy = connection.settings.turn_policy(&self.context.config);
        if !policy.may_ask_about_sandbox() {
            let reason = match connection.reason {
                AskReason::NotListed => NOBODY_ASKED,
                AskReason::Wanted => NOBODY_ASKED_AS_WANTED,
            };
            let _ = waiting.reply.send(HostAnswer::Undecided(reason.to_owned()));
            return;
        }
        if let Some(pending) = self.questions.connection_to(host, port) {
            pending.others.push(waiting);
            return;
        }
        let id = connection.question_id();
        let turn = connection.settings.id.clone();
        let question = connection.question(id.clone());
        let pending = PendingConnection {
            shown: waiting,
            others: Vec::new(),
        };
        self.questions.wait_for_connection(id, pending);
        self.context.emitter.emit(&turn, question);
    }

    /// The command that a question shows has ended: the question is withdrawn. Other commands that wait are shown in another one.
    pub(super) fn connection_abandoned(&mut self, id: String, pending: PendingConnection) {
        let connection = pending.shown.connection;
        let withdrawal = connection.withdrawal(id);
        self.context
            .emitter
            .emit(&connection.settings.id, withdrawal);
        for waiting in pending.others {
            self.decide_connection(waiting);
        }
    }

    /// The decision of a person about a connection. Returns whether the id is that of one.
    pub(super) fn connection_decided(&mut self, id: &str, decision: &ReviewDecision) -> bool {
        let Some(pending) = self.questions.take_connection(id) else {
            return false;
        };
        let PendingConnection { shown, others } = pending;
        let connection = &shown.connection;
        let (host, port) = (&connection.host, connection.port);
        let answer = match decision {
            ReviewDecision::Approved => HostAnswer::Allow,
            ReviewDecision::ApprovedForSession => {
                self.approvals.allow_host(host.clone(), port);
                HostAnswer::Allow
            }
            ReviewDecision::NetworkPolicyAmendment {
                network_policy_amendment,
            } => self.amend_hosts(connection, network_policy_amendment),
            ReviewDecision::Denied
            | ReviewDecision::Abort
            | ReviewDecision::ApprovedExecpolicyAmendment { .. } => {
                HostAnswer::Refuse("the user has declined it".to_owned())
            }
        };
        for waiting in others {
            match &answer {
                // The person has seen the other command. What holds for the session is found now, else this is asked anew.
                HostAnswer::Allow => self.decide_connection(waiting),
                HostAnswer::Refuse(_) | HostAnswer::Undecided(_) => {
                    let _ = waiting.reply.send(answer.clone());
                }
            }
        }
        let _ = shown.reply.send(answer);
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
        if is_allowed {
            self.approvals.allow_host(host.clone(), port);
        } else {
            self.approvals.deny_host(host.clone());
        }
        if is_allowed && !connection.may_become_rule() {
            let message = format!(
                "No rule that allows {host} was written, because another one wants you to be asked; it is allowed for this session."
            );
            self.warn("", message);
        } else if let Err(problem) = self.write_host_rule(connection, is_allowed) {
            self.warn("", format!("Failed to apply network rule: {problem}"));
        }
        if is_allowed {
            HostAnswer::Allow
        } else {
            HostAnswer::Refuse(DENIED_REASON.to_owned())
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

const DENIED_REASON: &str = "the user has denied it";

const NOBODY_ASKED_AS_WANTED: &str = "a rule or the administrator wants a person to decide, and the approval policy lets nobody be asked";

const NOBODY_ASKED: &str = "it is not listed, and the approval policy lets nobody be asked; `domains` of the permissions or of \
                            `features.network_proxy`, or a `network_rule`, can allow it";
