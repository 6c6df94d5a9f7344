//! Connections of commands to hosts that no list decides about.
//!
//! The relay of a command asks about each host and port once, and the program that connects waits. The session decides, or asks a
//! person. While it asks, the time limits of the thread's commands stand still.

use std::sync::Arc;

use codex_exec::{CommandNetwork, HostAnswer, HostAnswerFuture, HostQuestions};
use codex_exec_policy::NetworkProtocol;
use codex_host_policy::{Host, UsualProtocol};
use codex_protocol::{
    EventMsg, ExecApprovalRequestEvent, NetworkApprovalContext, NetworkApprovalProtocol,
    NetworkPolicyAmendment, NetworkPolicyRuleAction, ReviewDecision,
};
use codex_shell_command::quote_command;
use codex_visible_text::quoted;

use super::handle::GateRequest;
use crate::requests::Requests;
use crate::timeout_pauses::TimeoutPauses;
use crate::turn_settings::TurnSettings;

/// A connection that a command waits with.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionRequest {
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// The command line.
    pub(crate) command: Vec<String>,
    pub(crate) settings: Arc<TurnSettings>,
}

/// Asks the session about the connections of one command.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionGate {
    pub(crate) requests: Requests<GateRequest>,
    pub(crate) command: Vec<String>,
    pub(crate) settings: Arc<TurnSettings>,
    pub(crate) timeout_pauses: TimeoutPauses,
}

impl ConnectionGate {
    /// The network of the command, with this to ask.
    pub(crate) fn network(self) -> CommandNetwork {
        CommandNetwork {
            questions: Some(Arc::new(self)),
            ..CommandNetwork::default()
        }
    }
}

impl HostQuestions for ConnectionGate {
    fn ask(&self, host: &Host, port: u16) -> HostAnswerFuture {
        let Self {
            requests,
            command,
            settings,
            timeout_pauses,
        } = self.clone();
        let connection = Box::new(ConnectionRequest {
            host: host.clone(),
            port,
            command,
            settings,
        });
        Box::pin(async move {
            let pause = Pause::begin(timeout_pauses);
            let answer = requests.ask(|reply| GateRequest::Connect { connection, reply });
            let answer = answer.await;
            drop(pause);
            answer.unwrap_or_else(|| {
                HostAnswer::Refuse("the turn has ended before anybody answered".to_owned())
            })
        })
    }
}

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
    pub(crate) fn rule_protocol(&self) -> NetworkProtocol {
        match UsualProtocol::of_port(self.port) {
            UsualProtocol::Http => NetworkProtocol::Http,
            UsualProtocol::Https => NetworkProtocol::Https,
            UsualProtocol::Tcp => NetworkProtocol::Socks5Tcp,
        }
    }

    fn protocol(&self) -> (NetworkApprovalProtocol, &'static str) {
        match UsualProtocol::of_port(self.port) {
            UsualProtocol::Http => (NetworkApprovalProtocol::Http, "http"),
            UsualProtocol::Https => (NetworkApprovalProtocol::Https, "https"),
            UsualProtocol::Tcp => (NetworkApprovalProtocol::Socks5Tcp, "socks5Tcp"),
        }
    }

    /// A new id for a question about it.
    pub(crate) fn question_id(&self) -> String {
        let (_, protocol) = self.protocol();
        let Self { host, port, .. } = self;
        let unique = uuid::Uuid::new_v4();
        format!("network#local#{protocol}#{host}#{port}#{unique}")
    }

    /// The question to a person.
    pub(crate) fn question(&self, id: String) -> EventMsg {
        let (protocol, _) = self.protocol();
        let host = self.host.to_string();
        let amendment = |action| NetworkPolicyAmendment {
            host: host.clone(),
            action,
        };
        let allow = amendment(NetworkPolicyRuleAction::Allow);
        let deny = amendment(NetworkPolicyRuleAction::Deny);
        let notice = format!(
            "A command wants to connect to {host}, port {}, which is not in the lists of hosts. The command: {}",
            self.port,
            quoted(&quote_command(&self.command)),
        );
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
            proposed_network_policy_amendments: Some(vec![allow.clone(), deny]),
            additional_permissions: None,
            skill_metadata: None,
            available_decisions: Some(vec![
                ReviewDecision::Approved,
                ReviewDecision::ApprovedForSession,
                ReviewDecision::NetworkPolicyAmendment {
                    network_policy_amendment: allow,
                },
                ReviewDecision::Abort,
            ]),
            parsed_cmd: Vec::new(),
            environment: None,
        }))
    }
}
