//! Rules that forbid or ask, applied to every command that may be started.

use codex_exec_policy::{Decision as RuleDecision, RuleMatch, RuleRestriction, RuleSet};
use codex_shell_command::{ReachableCommand, base_name, quote_command, reachable_commands};
use codex_system::facts::IGNORES_CASE_OF_FILES;
use codex_visible_text::visible_line;

use super::effect::CommandEffect;
use super::programs::CommandPrograms;

/// Longer arguments are not searched.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// More arguments are not searched, nor longer sequences of them.
const MAX_ARGUMENTS: usize = 4096;
const LONGEST_RULE: usize = 16;

/// The result of the rules that forbid or ask.
#[derive(Debug)]
pub(super) enum Restriction {
    None,
    /// Ask for approval, with this reason.
    Ask(String),
    /// Refuse, for this reason.
    Forbid(String),
}

/// Checks every command that can be found in the text. If the text does not show all commands that may run,
/// approval is asked for: otherwise a different spelling could evade a rule.
pub(super) fn restriction(
    command: &CommandEffect,
    rules: &RuleSet,
    programs: &CommandPrograms<'_>,
) -> Restriction {
    if !rules.restricts() {
        return Restriction::None;
    }
    let reachable = reachable_commands(&command.argv);
    let mut asking: Option<RuleMatch> = None;
    let mut unclear = !reachable.complete
        || reachable.texts.iter().any(|text| mentions(text, rules))
        || (reachable.arguments.iter()).any(|words| hold_command(words, rules));
    for reached in &reachable.commands {
        for found in restrictions(reached, rules, programs) {
            match found {
                RuleRestriction::Certain(found) if found.decision == RuleDecision::Forbidden => {
                    return Restriction::Forbid(forbidden(command, found));
                }
                RuleRestriction::Certain(found) => asking = asking.or(Some(found)),
                RuleRestriction::Possible => unclear = true,
            }
        }
    }
    let quoted = visible_line(&quote_command(&command.argv));
    match asking {
        Some(RuleMatch {
            justification: Some(why),
            ..
        }) => Restriction::Ask(format!("`{quoted}` requires approval: {why}")),
        Some(_) => Restriction::Ask(format!("`{quoted}` requires approval by policy")),
        None if unclear => Restriction::Ask(format!(
            "`{quoted}` requires approval: a command rule exists, and the script may start programs that are not visible in it"
        )),
        None => Restriction::None,
    }
}

fn forbidden(command: &CommandEffect, found: RuleMatch) -> String {
    let quoted = quote_command(&command.argv);
    match found.justification {
        Some(justification) => format!("`{quoted}` rejected: {justification}"),
        None => {
            let prefix = quote_command(&found.matched_prefix);
            format!("`{quoted}` rejected: policy forbids commands starting with `{prefix}`")
        }
    }
}

/// Checks the program as written, its name without folder, and the name of the file that it resolves to.
fn restrictions(
    reached: &ReachableCommand,
    rules: &RuleSet,
    programs: &CommandPrograms<'_>,
) -> Vec<RuleRestriction> {
    let Some((program, arguments)) = reached.words.split_first() else {
        return Vec::new();
    };
    let base = base_name(program);
    let mut names = vec![program.clone(), base.to_owned()];
    names.extend(programs.resolved_name(program));
    if IGNORES_CASE_OF_FILES {
        names.push(base.to_ascii_lowercase());
    }
    names.dedup();
    let named = |name: String| [&[name], arguments].concat();
    (names.into_iter())
        .filter_map(|name| rules.restriction(&named(name), reached.open_ended))
        .collect()
}

/// Whether the words of a rule stand in the arguments of a program, which may start them as a command. A single word
/// is no sign of that: many programs have a command `rm`.
fn hold_command(words: &[String], rules: &RuleSet) -> bool {
    if words.len() > MAX_ARGUMENTS {
        return true;
    }
    (0..words.len()).any(|start| {
        let end = words.len().min(start + LONGEST_RULE);
        match rules.restriction(&words[start..end], false) {
            Some(RuleRestriction::Certain(found)) => found.matched_prefix.len() > 1,
            _ => false,
        }
    })
}

/// Whether the words of a rule occur in a text, one after the other.
fn mentions(text: &str, rules: &RuleSet) -> bool {
    if text.len() > MAX_TEXT_BYTES {
        return true;
    }
    let is_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let words: Vec<&str> = text
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .collect();
    (0..words.len()).any(|start| {
        let found = rules.restriction(&words[start..], false);
        matches!(found, Some(RuleRestriction::Certain(_)))
    })
}
