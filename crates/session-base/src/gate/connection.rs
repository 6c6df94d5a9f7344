//! Connections of commands to hosts that no list decides about.
//!
//! The relay of a command asks about each host and port once, and the program that connects waits. The session decides, or asks a
//! person. While it asks, the time limits of the thread's commands stand still.

use std::sync::Arc;

use codex_exec::{CommandNetwork, HostAnswer, HostAnswerFuture, HostQuestions};
use codex_exec_policy::NetworkProtocol;
use codex_host_policy::{AskReason, Host, UsualProtocol};
use codex_protocol::{
    EventMsg, ExecApprovalRequestEvent, ExecApprovalWithdrawnEvent, NetworkApprovalContext,
    NetworkApprovalProtocol, NetworkPolicyAmendment, NetworkPolicyRuleAction, ReviewDecision,
};
use codex_shell_command::quote_command;
use codex_visible_text::quoted;

use super::handle::GateRequest;
use crate::requests::Requests;
use crate::timeout_pauses::TimeoutPauses;
use crate::turn_settings::TurnSettings;

/// A connection that a command waits with.
#[derive(Clone, Debug)]
pub struct ConnectionRequest {
    pub host: Host,
    pub port: u16,
    pub reason: AskReason,
    /// The command line.
    pub command: Vec<String>,
    pub settings: Arc<TurnSettings>,
}

/// Asks the session about the connections of one command.
#[derive(Clone, Debug)]
pub struct ConnectionGate {
    pub requests: Requests<GateRequest>,
    pub command: Vec<String>,
    pub settings: Arc<TurnSettings>,
    pub timeout_pauses: TimeoutPauses,
}

impl ConnectionGate {
    /// The network of the command, with this to ask.
    pub fn network(self) -> CommandNetwork {
        CommandNetwork {
            questions: Some(Arc::new(self)),
            ..CommandNetwork::default()
        }
    }
}

impl HostQuestions for ConnectionGate {
    fn ask(&self, host: &Host, port: u16, reason: AskReason) -> HostAnswerFuture {
        let Self {
            requests,
            command,
            settings,
            timeout_pauses,
        } = self.clone();
        let connection = Box::new(ConnectionRequest {
            host: host.clone(),
            port,
            reason,
            command,
            settings,
        });
        Box::pin(async move {
            let pause = Pause::begin(timeout_pauses);
            let answer = requests.ask(|reply| GateRequest::Connect { connection, reply });
            let answer = answer.await;
            drop(pause);
            answer.unwrap_or_else(|| HostAnswer::Undecided(NOBODY_ANSWERED.to_owned()))
        })
    }
}

const NOBODY_ANSWERED: &str = "the turn of the command has ended, so nobody answers about it";

/// A pause of time limits until it is dropped.
struct Pause(TimeoutPauses);

impl Pause {
    fn begin(timeout_pauses: TimeoutPauses) -> Self {
        timeout_pauses.add();
        Self(timeout_pauses)
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.take_back();
    }
}

impl ConnectionRequest {
    /// The protocol as rules name it.
    pub fn rule_protocol(&self) -> NetworkProtocol {
        match UsualProtocol::of_port(self.port) {
            UsualProtocol::Http => NetworkProtocol::Http,
            UsualProtocol::Https => NetworkProtocol::Https,
            UsualProtocol::Tcp => NetworkProtocol::Socks5Tcp,
        }
    }

    /// Whether a rule that allows it would have an effect. One that asks is stronger.
    pub fn may_become_rule(&self) -> bool {
        self.reason == AskReason::NotListed
    }

    fn protocol(&self) -> (NetworkApprovalProtocol, &'static str) {
        match UsualProtocol::of_port(self.port) {
            UsualProtocol::Http => (NetworkApprovalProtocol::Http, "http"),
            UsualProtocol::Https => (NetworkApprovalProtocol::Https, "https"),
            UsualProtocol::Tcp => (NetworkApprovalProtocol::Socks5Tcp, "socks5Tcp"),
        }
    }

    /// The withdrawal of a question about it.
    pub fn withdrawal(&self, id: String) -> EventMsg {
        EventMsg::ExecApprovalWithdrawn(ExecApprovalWithdrawnEvent {
            call_id: id,
            turn_id: self.settings.id.to_string(),
        })
    }

    /// A new id for a question about it.
    pub fn question_id(&self) -> String {
        let (_, protocol) = self.protocol();
        let Self { host, port, .. } = self;
        let unique = uuid::Uuid::new_v4();
        format!("network#local#{protocol}#{host}#{port}#{unique}")
    }

    /// The question to a person.
    pub fn question(&self, id: String) -> EventMsg {
        let (protocol, _) = self.protocol();
        let host = self.host.to_string();
        let amendment = |action| NetworkPolicyAmendment {
            host: host.clone(),
            action,
        };
        let allow = amendment(NetworkPolicyRuleAction::Allow);
        let deny = amendment(NetworkPolicyRuleAction::Deny);
        let why = match self.reason {
            AskReason::NotListed => "which is not in the lists of hosts",
            AskReason::Wanted => "about which a rule or the administrator wants you to be asked",
        };
        let notice = format!(
            "A command wants to connect to {host}, port {}, {why}. The command: {}",
            self.port,
            quoted(&quote_command(&self.command)),
        );
        let mut proposed = vec![deny];
        let mut decisions = vec![
            ReviewDecision::Approved,
            ReviewDecision::ApprovedForSession,
            ReviewDecision::Abort,
        ];
        if self.may_become_rule() {
            let network_policy_amendment = allow.clone();
            proposed.insert(0, allow);
            decisions.insert(
                2,
                ReviewDecision::NetworkPolicyAmendment {
                    network_policy_amendment,
                },
            );
        }
        EventMsg::ExecApprovalRequest(Box::new(ExecApprovalRequestEvent {
            call_id: id,
            approval_id: None,
            turn_id: self.settings.id.to_string(),
            command: self.command.clone(),
            cwd: self.settings.cwd.display().to_string(),
            reason: Some(notice.clone()),
            engine_notice: Some(notice),
            justification: None,
            network_approval_context: Some(NetworkApprovalContext { host, protocol }),
            proposed_execpolicy_amendment: None,
            proposed_network_policy_amendments: Some(proposed),
            additional_permissions: None,
            skill_metadata: None,
            available_decisions: Some(decisions),
            parsed_cmd: Vec::new(),
            environment: None,
        }))
    }
}
