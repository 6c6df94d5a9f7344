//! Decides whether a prefix may be proposed as a new rule.

use crate::decision::Decision;
use crate::prefix::{PatternToken, PrefixRule};
use crate::rule_set::{ProgramMatching, RuleSet};

/// Whether the prefix would allow too much, because its program runs arbitrary code.
pub fn is_banned_prefix<S: AsRef<str>>(prefix: &[S]) -> bool {
    let words: Vec<&str> = prefix.iter().map(AsRef::as_ref).collect();
    let [program, arguments @ ..] = words.as_slice() else {
        return true;
    };
    let lower = program.to_ascii_lowercase();
    let flags: &[&str] = match lower.strip_suffix(".exe").unwrap_or(&lower) {
        "git" | "env" | "sudo" | "osascript" => &[],
        "bash" | "sh" | "zsh" | "/bin/bash" | "/bin/sh" | "/bin/zsh" => &["-c", "-lc"],
        "pwsh" | "powershell" => &["-command", "-c"],
        "python" | "python3" | "py" | "pythonw" | "pyw" | "pypy" | "pypy3" => &["-", "-c", "-3"],
        "node" | "perl" | "ruby" | "lua" => &["-e"],
        "php" => &["-r"],
        _ => return false,
    };
    match arguments {
        [] => true,
        [flag] => flags.contains(&flag.to_ascii_lowercase().as_str()),
        _ => false,
    }
}

impl RuleSet {
    /// Whether a rule that allows the prefix may be proposed for these commands: no rule matches any of them yet, the
    /// prefix is not banned, and with the rule every command would be allowed.
    pub fn may_propose(&self, prefix: &[String], commands: &[Vec<String>]) -> bool {
        let silent = self
            .check_all(commands, ProgramMatching::ByName)
            .decision
            .is_none();
        if is_banned_prefix(prefix) || !silent {
            return false;
        }
        let pattern = prefix.iter().cloned().map(PatternToken::Word).collect();
        PrefixRule::new(pattern, Decision::Allow, None).is_ok_and(|rule| {
            let mut with_rule = Self::default();
            with_rule.add_prefix_rule(rule);
            !commands.is_empty()
                && commands.iter().all(|command| {
                    with_rule
                        .check(command, ProgramMatching::AsWritten)
                        .decision
                        == Some(Decision::Allow)
                })
        })
    }
}
