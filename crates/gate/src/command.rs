//! Whether a command may run.

use codex_exec_policy::{Decision as RuleDecision, ProgramMatching, RuleSet};
use codex_program_files::is_path;
use codex_protocol::{AskForApproval, ExecPolicyAmendment, ReviewDecision};
use codex_sandbox::Grants;
use codex_shell_command::{
    ProgramCheck as _, SegmentKind, Segments, canonical_command, is_dangerous, known_safe_parts,
    posix_shell, quote_command, segments,
};

use super::approval_store::{ApprovalKey, ApprovalStore};
use super::decision::{ApprovalReason, ApprovalRequest, Confinement, GateDecision, Permit};
use super::effect::{CommandEffect, SandboxPermissions};
use super::programs::CommandPrograms;
use super::restrictions::{Restriction, restriction};
use super::turn_policy::{TurnPolicy, grants_of};

/// The requirement of a part of a command, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CommandVerdict {
    /// A rule allows it.
    AllowedByRule,
    Allowed,
    Prompt,
    PromptByRule,
    Forbidden,
}

/// Decides about the first run of a command.
pub(crate) fn decide(
    command: &CommandEffect,
    turn_policy: &TurnPolicy,
    approvals: &ApprovalStore,
) -> GateDecision {
    let is_elsewhere = command.machine.is_some();
    let programs =
        CommandPrograms::new(turn_policy, &command.cwd, is_elsewhere, approvals.grants());
    let by_rule = match restriction(command, approvals.rules(), &programs) {
        Restriction::Forbid(reason) => return GateDecision::Refuse(reason),
        Restriction::Ask(reason) => Some(reason),
        Restriction::None => None,
    };
    let check = CommandCheck {
        command,
        turn_policy,
        approvals,
        programs,
    };
    let parts = check.parts();
    let verdicts = check.verdicts(&parts);
    let asks_by_rule = by_rule.as_ref().map(|_| CommandVerdict::PromptByRule);
    let strictest = verdicts.iter().copied().chain(asks_by_rule).max();
    let strictest = strictest.unwrap_or(CommandVerdict::Prompt);
    let permit = |approved| Permit {
        confinement: confinement(
            command,
            turn_policy,
            approvals,
            strictest == CommandVerdict::AllowedByRule,
        ),
        approved,
    };
    match strictest {
        CommandVerdict::AllowedByRule | CommandVerdict::Allowed => GateDecision::Run(permit(false)),
        CommandVerdict::Forbidden => {
            let quoted = quote_command(&command.argv);
            GateDecision::Refuse(format!("`{quoted}` rejected: blocked by policy"))
        }
        CommandVerdict::Prompt | CommandVerdict::PromptByRule => {
            if let Some(refusal) = refused_prompt(turn_policy, by_rule.is_some()) {
                return GateDecision::Refuse(refusal.to_owned());
            }
            let keys = vec![approval_key(command)];
            if approvals.is_approved(&keys) {
                // The earlier approval does not cover a second run without sandbox.
                return GateDecision::Run(permit(false));
            }
            let asked = verdicts
                .iter()
                .position(|verdict| *verdict == CommandVerdict::Prompt);
            let derived = asked.and_then(|index| parts.commands.get(index)).cloned();
            let derived =
                derived.filter(|_| parts.kind != SegmentKind::Heredoc && by_rule.is_none());
            let amendment = proposed(command, &parts, approvals.rules()).or(derived);
            // A rule would be about commands that run here.
            let amendment = amendment.filter(|_| !command.in_editor);
            GateDecision::Ask(ApprovalRequest {
                reason: by_rule.map_or(ApprovalReason::Model, ApprovalReason::Rule),
                offered: offered(command, amendment.as_ref()),
                amendment,
                lifts_sandbox: command.permissions == SandboxPermissions::RequireEscalated,
                keys,
                then: permit(true),
            })
        }
    }
}

/// Decides about a second run without sandbox, if the sandbox seems to have stopped the first. None: the
/// output of the first run counts.
pub fn decide_retry(
    command: &CommandEffect,
    turn_policy: &TurnPolicy,
    permit: &Permit,
) -> Option<GateDecision> {
    let retries = match turn_policy.approval {
        AskForApproval::OnFailure | AskForApproval::UnlessTrusted => true,
        AskForApproval::Granular(granular) => granular.sandbox_approval,
        AskForApproval::OnRequest | AskForApproval::Never => false,
    };
    let was_confined =
        matches!(permit.confinement, Confinement::Policy(_)) && !turn_policy.is_open();
    if !retries || !was_confined {
        return None;
    }
    let then = Permit {
        confinement: Confinement::None,
        approved: true,
    };
    if permit.approved {
        return Some(GateDecision::Run(then));
    }
    let is_elsewhere = command.machine.is_some();
    let programs = CommandPrograms::new(turn_policy, &command.cwd, is_elsewhere, Grants::default());
    let amendment = trusted_parts(command, &programs)
        .commands
        .into_iter()
        .next();
    Some(GateDecision::Ask(ApprovalRequest {
        reason: ApprovalReason::Engine("command failed; retry without sandbox?"),
        offered: offered(command, amendment.as_ref()),
        amendment,
        lifts_sandbox: true,
        keys: vec![approval_key(command)],
        then,
    }))
}

/// A script is split into its commands only if its shell is a known one.
fn trusted_parts(command: &CommandEffect, programs: &CommandPrograms<'_>) -> Segments {
    // On another machine no rule lifts the sandbox, so the words alone count.
    if command.machine.is_some() {
        return segments(&command.argv);
    }
    match posix_shell(&command.argv) {
        Some((shell, flag)) if !programs.is_trusted_shell(shell, flag) => {
            Segments::whole(&command.argv)
        }
        _ => segments(&command.argv),
    }
}

/// Decides about the parts of one command.
struct CommandCheck<'a> {
    command: &'a CommandEffect,
    turn_policy: &'a TurnPolicy,
    approvals: &'a ApprovalStore,
    programs: CommandPrograms<'a>,
}

impl CommandCheck<'_> {
    /// Checking files takes time, so it is left out where it does not change the result.
    fn parts(&self) -> Segments {
        let matters = self.turn_policy.approval == AskForApproval::UnlessTrusted
            || self.wants_more()
            || *self.approvals.rules() != RuleSet::default();
        if matters {
            trusted_parts(self.command, &self.programs)
        } else {
            segments(&self.command.argv)
        }
    }

    fn verdicts(&self, parts: &Segments) -> Vec<CommandVerdict> {
        let untrusted = self.turn_policy.approval == AskForApproval::UnlessTrusted;
        // Otherwise the result does not depend on it.
        let safe = if untrusted {
            known_safe_parts(&self.command.argv, &self.programs)
        } else {
            Vec::new()
        };
        let is_safe = |index: usize| {
            safe.len() == parts.commands.len() && safe.get(index).copied().unwrap_or(false)
        };
        let parts = parts.commands.iter().enumerate();
        parts
            .map(|(index, part)| self.verdict(part, is_safe(index)))
            .collect()
    }

    fn verdict(&self, part: &[String], known_safe: bool) -> CommandVerdict {
        let allowed = self.allowed_by_rule(part);
        if allowed == Some(CommandVerdict::AllowedByRule) {
            return CommandVerdict::AllowedByRule;
        }
        if self.wants_more() {
            return CommandVerdict::Prompt;
        }
        if allowed.is_some() || known_safe {
            return CommandVerdict::Allowed;
        }
        if is_dangerous(part) {
            return match self.turn_policy.approval {
                AskForApproval::Never if self.turn_policy.is_open() => CommandVerdict::Allowed,
                AskForApproval::Never => CommandVerdict::Forbidden,
                _ => CommandVerdict::Prompt,
            };
        }
        match self.turn_policy.approval {
            AskForApproval::UnlessTrusted => CommandVerdict::Prompt,
            _ => CommandVerdict::Allowed,
        }
    }

    /// A rule allows the program that a name resolves to on this machine, unless the model could have written
    /// that file. If the rule names a file of the model itself, or comes from the approval of a confined
    /// command, the sandbox stays.
    fn allowed_by_rule(&self, part: &[String]) -> Option<CommandVerdict> {
        // Rules are about the programs of this machine.
        if self.command.machine.is_some() {
            return None;
        }
        let found = self.approvals.rules().check(part, ProgramMatching::ByName);
        if found.decision != Some(RuleDecision::Allow) {
            return None;
        }
        let program = part.first()?;
        let is_builtin =
            BUILTINS.contains(&program.as_str()) && posix_shell(&self.command.argv).is_some();
        let keeps_sandbox = (found.matched_rules.iter()).all(|found| found.keeps_sandbox());
        if !is_builtin && !self.programs.is_foreign_to_model(program) {
            if keeps_sandbox && self.programs.is_missing(program) {
                return Some(CommandVerdict::Allowed);
            }
            let by_name = found
                .matched_rules
                .iter()
                .any(|found| found.resolved_program.is_some());
            return (is_path(program) && !by_name).then_some(CommandVerdict::Allowed);
        }
        Some(if keeps_sandbox {
            CommandVerdict::Allowed
        } else {
            CommandVerdict::AllowedByRule
        })
    }

    /// Whether it needs more than the sandbox of the turn and the grants.
    fn wants_more(&self) -> bool {
        self.command.permissions != SandboxPermissions::UseDefault
            && !self.turn_policy.is_open()
            && !is_granted(self.command, self.turn_policy, self.approvals)
    }
}

/// Builtins of shells that start no process.
const BUILTINS: [&str; 8] = [
    "cd", "echo", "false", "printf", "pwd", "test", "true", "umask",
];

/// Whether the additional permissions of a command were granted before.
fn is_granted(
    command: &CommandEffect,
    turn_policy: &TurnPolicy,
    approvals: &ApprovalStore,
) -> bool {
    let Some(additional) = &command.additional else {
        return false;
    };
    let (asked, granted) = (grants_of(additional, &turn_policy.cwd), approvals.grants());
    command.permissions == SandboxPermissions::WithAdditionalPermissions
        && asked.read.iter().all(|path| granted.read.contains(path))
        && asked.write.iter().all(|path| granted.write.contains(path))
        && (granted.network || !asked.network)
}

fn confinement(
    command: &CommandEffect,
    turn_policy: &TurnPolicy,
    approvals: &ApprovalStore,
    all_by_rule: bool,
) -> Confinement {
    let escalated = command.permissions == SandboxPermissions::RequireEscalated;
    if escalated || all_by_rule || turn_policy.is_open() {
        return Confinement::None;
    }
    if command.machine.is_some() {
        // What was granted is about paths of this machine.
        return Confinement::Policy(Grants::default());
    }
    let mut grants = approvals.grants();
    if let Some(additional) = &command.additional {
        super::approval_store::merge(&mut grants, &grants_of(additional, &turn_policy.cwd));
    }
    Confinement::Policy(grants)
}

pub(super) fn refused_prompt(turn_policy: &TurnPolicy, by_rule: bool) -> Option<&'static str> {
    match turn_policy.approval {
        AskForApproval::Granular(granular) if by_rule => (!granular.rules).then_some(
            "approval required by policy rule, but AskForApproval::Granular.rules is false",
        ),
        AskForApproval::Never => {
            Some("approval required by policy, but AskForApproval is set to Never")
        }
        AskForApproval::Granular(granular) if !granular.sandbox_approval => Some(
            "approval required by policy, but AskForApproval::Granular.sandbox_approval is false",
        ),
        _ => None,
    }
}

pub(super) fn approval_key(command: &CommandEffect) -> ApprovalKey {
    ApprovalKey::Command {
        canonical: canonical_command(&command.argv),
        shell: posix_shell(&command.argv).map(|(shell, _)| shell.to_owned()),
        machine: command.machine.clone(),
        cwd: command.cwd.clone(),
        permissions: command.permissions,
        additional: serde_json::to_string(&command.additional).unwrap_or_default(),
        tty: command.tty,
        in_editor: command.in_editor,
    }
}

/// The rule that the model proposes, unless it is too wide or does not match.
fn proposed(command: &CommandEffect, parts: &Segments, rules: &RuleSet) -> Option<Vec<String>> {
    let rule = command.prefix_rule.as_ref()?;
    rules
        .may_propose(rule, &parts.commands)
        .then(|| rule.clone())
}

pub(super) fn offered(
    command: &CommandEffect,
    amendment: Option<&Vec<String>>,
) -> Vec<ReviewDecision> {
    let mut offered = vec![ReviewDecision::Approved];
    if command.additional.is_none()
        && let Some(words) = amendment
    {
        offered.push(ReviewDecision::ApprovedExecpolicyAmendment {
            proposed_execpolicy_amendment: ExecPolicyAmendment(words.clone()),
        });
    }
    offered.push(ReviewDecision::Abort);
    offered
}
