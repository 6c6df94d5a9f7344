//! Whether a command may run.

use codex_exec_policy::{Decision as RuleDecision, Policy, Programs};
use codex_protocol::{AskForApproval, ExecPolicyAmendment, ReviewDecision};
use codex_shell_command::{
    SegmentKind, all_commands, canonical_command, is_dangerous, is_known_safe, quote_command,
    segments,
};

use super::posture::grants_of;
use super::{
    Ask, CacheKey, CommandEffect, Confinement, Decision, Memory, Pass, Posture, SandboxPermissions,
};

/// What a part of a command calls for, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// A rule allows it.
    AllowedByRule,
    Allowed,
    Prompt,
    PromptByRule,
    Forbidden,
}

/// Decides about the first run of a command.
pub(crate) fn decide(command: &CommandEffect, posture: &Posture, memory: &Memory) -> Decision {
    if let Some(reason) = forbidden_by_rule(command, memory.rules()) {
        return Decision::Refuse(reason);
    }
    let parts = segments(&command.argv);
    let verdicts: Vec<Verdict> = (parts.commands.iter())
        .map(|part| verdict(part, parts.kind, command, posture, memory))
        .collect();
    let strictest = verdicts.iter().copied().max().unwrap_or(Verdict::Prompt);
    let all_by_rule = strictest == Verdict::AllowedByRule;
    let pass = |approved| Pass {
        confinement: confinement(command, posture, memory, all_by_rule),
        approved,
    };
    match strictest {
        Verdict::AllowedByRule | Verdict::Allowed => Decision::Run(pass(false)),
        Verdict::Forbidden => {
            let quoted = quote_command(&command.argv);
            Decision::Refuse(format!("`{quoted}` rejected: blocked by policy"))
        }
        Verdict::Prompt | Verdict::PromptByRule => {
            let by_rule = strictest == Verdict::PromptByRule;
            if let Some(refusal) = refused_prompt(posture, by_rule) {
                return Decision::Refuse(refusal.to_owned());
            }
            let keys = vec![cache_key(command)];
            if memory.is_approved(&keys) {
                return Decision::Run(pass(true));
            }
            let asked = verdicts
                .iter()
                .position(|verdict| *verdict == Verdict::Prompt);
            let derived = asked.and_then(|index| parts.commands.get(index)).cloned();
            let derived = derived.filter(|_| parts.kind != SegmentKind::Heredoc && !by_rule);
            let amendment = proposed(command, memory.rules()).or(derived);
            Decision::Ask(Ask {
                reason: match by_rule {
                    true => Some(rule_reason(command, &parts.commands, memory.rules())),
                    false => command.justification.clone(),
                },
                offered: offered(command, amendment.as_ref()),
                amendment,
                keys,
                then: pass(true),
            })
        }
    }
}

/// Rules that forbid are looked for in every command that can be found, also where the script is
/// not understood.
fn forbidden_by_rule(command: &CommandEffect, rules: &Policy) -> Option<String> {
    if *rules == Policy::default() {
        return None; // Reading the script once more would be for nothing.
    }
    let found = all_commands(&command.argv);
    let found = found.iter().find_map(|command| rules.forbidding(command))?;
    let quoted = quote_command(&command.argv);
    Some(match found.justification {
        Some(justification) => format!("`{quoted}` rejected: {justification}"),
        None => {
            let prefix = quote_command(&found.matched_prefix);
            format!("`{quoted}` rejected: policy forbids commands starting with `{prefix}`")
        }
    })
}

fn rule_reason(command: &CommandEffect, parts: &[Vec<String>], rules: &Policy) -> String {
    let quoted = quote_command(&command.argv);
    let matches = rules.check_all(parts, Programs::ByName).matched_rules;
    let asking = matches
        .into_iter()
        .find(|found| found.decision == RuleDecision::Prompt);
    match asking.and_then(|found| found.justification) {
        Some(justification) => format!("`{quoted}` requires approval: {justification}"),
        None => format!("`{quoted}` requires approval by policy"),
    }
}

/// Decides about a second run without sandbox, after the first looked as if the sandbox stopped it.
/// None: what the first run printed is the answer.
pub(crate) fn decide_retry(
    command: &CommandEffect,
    posture: &Posture,
    pass: &Pass,
) -> Option<Decision> {
    let retries = match posture.approval {
        AskForApproval::OnFailure | AskForApproval::UnlessTrusted => true,
        AskForApproval::Granular(granular) => granular.sandbox_approval,
        AskForApproval::OnRequest | AskForApproval::Never => false,
    };
    let was_confined = matches!(pass.confinement, Confinement::Policy(_)) && !posture.is_open();
    if !retries || !was_confined {
        return None;
    }
    let then = Pass {
        confinement: Confinement::None,
        approved: true,
    };
    if pass.approved {
        return Some(Decision::Run(then));
    }
    let amendment = segments(&command.argv).commands.into_iter().next();
    Some(Decision::Ask(Ask {
        reason: Some("command failed; retry without sandbox?".to_owned()),
        offered: offered(command, amendment.as_ref()),
        amendment,
        keys: vec![cache_key(command)],
        then,
    }))
}

fn verdict(
    part: &[String],
    kind: SegmentKind,
    command: &CommandEffect,
    posture: &Posture,
    memory: &Memory,
) -> Verdict {
    match memory.rules().check(part, Programs::ByName).decision {
        Some(RuleDecision::Allow) => return Verdict::AllowedByRule,
        Some(RuleDecision::Prompt) => return Verdict::PromptByRule,
        Some(RuleDecision::Forbidden) => return Verdict::Forbidden,
        None => {}
    }
    if kind != SegmentKind::Heredoc && is_known_safe(part) {
        return Verdict::Allowed;
    }
    if is_dangerous(part) {
        return match posture.approval {
            AskForApproval::Never if posture.is_open() => Verdict::Allowed,
            AskForApproval::Never => Verdict::Forbidden,
            _ => Verdict::Prompt,
        };
    }
    match posture.approval {
        AskForApproval::UnlessTrusted => Verdict::Prompt,
        AskForApproval::Never | AskForApproval::OnFailure => Verdict::Allowed,
        AskForApproval::OnRequest | AskForApproval::Granular(_) => {
            let wants_more = command.permissions != SandboxPermissions::UseDefault;
            let granted = is_granted(command, posture, memory);
            match wants_more && !granted && !posture.is_open() {
                true => Verdict::Prompt,
                false => Verdict::Allowed,
            }
        }
    }
}

/// Whether what a command asks for beyond the sandbox was granted before.
fn is_granted(command: &CommandEffect, posture: &Posture, memory: &Memory) -> bool {
    let Some(additional) = &command.additional else {
        return false;
    };
    let (asked, granted) = (grants_of(additional, &posture.cwd), memory.grants());
    command.permissions == SandboxPermissions::WithAdditionalPermissions
        && asked.read.iter().all(|path| granted.read.contains(path))
        && asked.write.iter().all(|path| granted.write.contains(path))
        && (granted.network || !asked.network)
}

fn confinement(
    command: &CommandEffect,
    posture: &Posture,
    memory: &Memory,
    all_by_rule: bool,
) -> Confinement {
    let escalated = command.permissions == SandboxPermissions::RequireEscalated;
    if escalated || all_by_rule || posture.is_open() {
        return Confinement::None;
    }
    let mut grants = memory.grants();
    if let Some(additional) = &command.additional {
        super::memory::merge(&mut grants, &grants_of(additional, &posture.cwd));
    }
    Confinement::Policy(grants)
}

fn refused_prompt(posture: &Posture, by_rule: bool) -> Option<&'static str> {
    match posture.approval {
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

fn cache_key(command: &CommandEffect) -> CacheKey {
    CacheKey::Command {
        canonical: canonical_command(&command.argv),
        cwd: command.cwd.clone(),
        permissions: command.permissions,
        additional: serde_json::to_string(&command.additional).unwrap_or_default(),
        tty: command.tty,
    }
}

/// The rule that the model proposes, unless it would allow too much or not enough.
fn proposed(command: &CommandEffect, rules: &Policy) -> Option<Vec<String>> {
    let rule = command.prefix_rule.as_ref()?;
    let parts = segments(&command.argv).commands;
    rules.may_propose(rule, &parts).then(|| rule.clone())
}

fn offered(command: &CommandEffect, amendment: Option<&Vec<String>>) -> Vec<ReviewDecision> {
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
