//! What was approved: for the session, for the turn, and as rules.

use std::collections::HashSet;
use std::path::PathBuf;

use codex_exec_policy::{Decision, PatternToken, PrefixRule, RuleSet};
use codex_host_policy::Host;
use codex_sandbox::Grants;

use super::effect::SandboxPermissions;

/// What was approved for the whole session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalKey {
    /// A command, normalised.
    Command {
        canonical: Vec<String>,
        /// The shell, if the command is a script.
        shell: Option<String>,
        /// The other machine that it runs on, if it does.
        machine: Option<String>,
        cwd: PathBuf,
        permissions: SandboxPermissions,
        /// The additional permissions, as JSON.
        additional: String,
        tty: Option<bool>,
        in_editor: bool,
    },
    /// A file that patches may change.
    Path(PathBuf),
    /// A file of another machine that patches may change.
    PathElsewhere { machine: String, path: PathBuf },
    /// A tool of an MCP server, with any arguments.
    McpTool {
        server: String,
        /// The id of the app that the tool is of.
        app: Option<String>,
        tool: String,
    },
}

/// What was approved.
#[derive(Clone, Debug, Default)]
pub struct ApprovalStore {
    approved: HashSet<ApprovalKey>,
    session: Grants,
    turn: Grants,
    rules: RuleSet,
    /// Hosts and ports that people have allowed.
    allowed_hosts: HashSet<(Host, u16)>,
    /// Hosts that people have denied on every port, as a rule does.
    denied_hosts: HashSet<Host>,
}

impl ApprovalStore {
    pub fn with_rules(rules: RuleSet) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    pub fn approve(&mut self, keys: Vec<ApprovalKey>) {
        self.approved.extend(keys);
    }

    /// Whether all of it was approved. Nothing is not.
    pub fn is_approved(&self, keys: &[ApprovalKey]) -> bool {
        !keys.is_empty() && keys.iter().all(|key| self.approved.contains(key))
    }

    /// Whether a person has allowed or denied a host for the session.
    pub fn host_decision(&self, host: &Host, port: u16) -> Option<bool> {
        if self.denied_hosts.contains(host) {
            return Some(false);
        }
        self.allowed_hosts
            .contains(&(host.clone(), port))
            .then_some(true)
    }

    pub fn allow_host(&mut self, host: Host, port: u16) {
        self.allowed_hosts.insert((host, port));
    }

    /// Denies a host on every port. What was allowed on one of them before does not count any more.
    pub fn deny_host(&mut self, host: Host) {
        self.denied_hosts.insert(host);
    }

    pub fn grant_for_session(&mut self, grants: &Grants) {
        merge(&mut self.session, grants);
    }

    pub fn grant_for_turn(&mut self, grants: &Grants) {
        merge(&mut self.turn, grants);
    }

    pub fn end_turn(&mut self) {
        self.turn = Grants::default();
    }

    /// The same without what was granted for the turn.
    pub fn of_earlier_turn(&self) -> Self {
        Self {
            turn: Grants::default(),
            ..self.clone()
        }
    }

    /// All grants so far.
    pub fn grants(&self) -> Grants {
        let mut grants = self.session.clone();
        merge(&mut grants, &self.turn);
        grants
    }

    /// The rules of the files, and those that were added since.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// Allows commands that begin with these words. The justification becomes part of the rule.
    pub fn allow_prefix(&mut self, prefix: &[String], justification: Option<&str>) {
        let pattern = prefix.iter().cloned().map(PatternToken::Word).collect();
        if let Ok(rule) =
            PrefixRule::new(pattern, Decision::Allow, justification.map(str::to_owned))
        {
            self.rules.add_prefix_rule(rule);
        }
    }
}

/// Adds to grants.
pub(crate) fn merge(grants: &mut Grants, more: &Grants) {
    let add = |paths: &mut Vec<PathBuf>, more: &[PathBuf]| {
        for path in more {
            if !paths.contains(path) {
                paths.push(path.clone());
            }
        }
    };
    add(&mut grants.read, &more.read);
    add(&mut grants.write, &more.write);
    grants.network |= more.network;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_host_is_denied_on_every_port() {
        let mut approvals = ApprovalStore::default();
        let host = Host::parse("a.test").unwrap();
        approvals.allow_host(host.clone(), 80);
        assert_eq!(approvals.host_decision(&host, 80), Some(true));
        assert_eq!(approvals.host_decision(&host, 443), None);
        approvals.deny_host(host.clone());
        for port in [80, 443] {
            assert_eq!(approvals.host_decision(&host, port), Some(false));
        }
    }
}
