//! The set of all rules, and matching commands against it.

use codex_host_policy::{HostList, ListOwner};
use serde::{Deserialize, Serialize, Serializer};

use crate::decision::Decision;
use crate::error::RuleError;
use crate::host_executables::HostExecutables;
use crate::network::{NetworkDecision, NetworkRule};
use crate::prefix::{KEEPS_SANDBOX, PrefixRule, quote_prefix};
use crate::rule_calls::RulesFile;

/// Limits on the list of allowed prefixes.
const MAX_LISTED_PREFIXES: usize = 100;
const MAX_LISTED_CHARACTERS: usize = 5000;

/// The function of rules files that decides about hosts.
const NETWORK_RULE: &str = "network_rule";

/// Rules from any number of files. Their order does not matter: the strictest match applies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleSet {
    prefix_rules: Vec<PrefixRule>,
    network_rules: Vec<NetworkRule>,
    /// The files whose rules about hosts are not known, because there is an error in them.
    unread_network_rules: Vec<String>,
    host_executables: HostExecutables,
}

/// Whether rules for a program name also match the path of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramMatching {
    /// No: only the program as written is matched.
    AsWritten,
    /// Yes, if nothing matches as written: an absolute path is also matched by its last component, where
    /// `host_executable` allows it.
    ByName,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleMatch {
    /// The words of the command that the pattern matched.
    pub matched_prefix: Vec<String>,
    pub decision: Decision,
    /// The path that was matched by the program name in the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
}

/// A match of a restrictive rule (prompt or forbidden).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleRestriction {
    /// The rule matches.
    Certain(RuleMatch),
    /// The rule matches if the unknown words have the values it requires.
    Possible,
}

impl RuleMatch {
    /// Whether the rule only allows the command inside the sandbox without asking. Approvals of sandboxed commands are
    /// stored as such rules.
    pub fn keeps_sandbox(&self) -> bool {
        self.justification.as_deref() == Some(KEEPS_SANDBOX)
    }
}

/// What rules say about hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRules {
    pub list: HostList,
    /// The first rule that denies a host or asks about it, in words; none if rules only allow.
    pub limiting: Option<String>,
    /// Rules whose meaning is not known, in words.
    pub unknown: Vec<String>,
}

/// The result of a check. Its serialized form is the report of `execpolicy check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    #[serde(serialize_with = "tagged")]
    pub matched_rules: Vec<RuleMatch>,
    /// The strictest decision of the matches; none if nothing matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

impl RuleSet {
    /// Adds the rules of a file, all or none. `name` is used in errors.
    pub fn add_file(&mut self, name: &str, text: &str) -> Result<(), RuleError> {
        let rules = RulesFile::read(name, text).inspect_err(|_| {
            if text.contains(NETWORK_RULE) {
                self.unread_network_rules.push(name.to_owned());
            }
        })?;
        self.prefix_rules.extend(rules.prefix_rules);
        self.network_rules.extend(rules.network_rules);
        self.host_executables.extend(rules.host_executables);
        Ok(())
    }

    pub fn add_prefix_rule(&mut self, rule: PrefixRule) {
        self.prefix_rules.push(rule);
    }

    /// The rules that ask or forbid, without those that allow something.
    #[must_use]
    pub fn restrictions(&self) -> Self {
        let mut rules = self.clone();
        (rules.prefix_rules).retain(|rule| rule.decision() != Decision::Allow);
        (rules.network_rules).retain(|rule| rule.decision() != NetworkDecision::Allow);
        rules
    }

    pub fn network_rules(&self) -> &[NetworkRule] {
        &self.network_rules
    }

    /// What the rules about hosts say.
    pub fn host_rules(&self) -> HostRules {
        let mut entries = Vec::new();
        let mut unclear = None;
        for rule in &self.network_rules {
            match rule.entry() {
                Ok(entry) => entries.extend(entry),
                Err(_) if rule.decision() == NetworkDecision::Allow => {}
                Err(_) => unclear = Some(rule),
            }
        }
        let named = |rule: &NetworkRule| format!("`{NETWORK_RULE}(host=\"{}\")`", rule.host());
        let unclear = unclear.map(named).into_iter();
        let unread = self.unread_network_rules.iter();
        let unread = unread.map(|file| format!("a `{NETWORK_RULE}` in {file}, which has an error"));
        let restricting = self.network_rules.iter();
        let mut restricting = restricting.filter(|rule| rule.decision() != NetworkDecision::Allow);
        let limiting = restricting.next().map(|rule| match restricting.count() {
            0 => named(rule),
            count => format!("{} and {count} more", named(rule)),
        });
        HostRules {
            list: HostList::new(ListOwner::Rules, entries),
            limiting,
            unknown: unclear.chain(unread).collect(),
        }
    }

    /// Checks one command.
    pub fn check<S: AsRef<str>>(&self, command: &[S], programs: ProgramMatching) -> Evaluation {
        let words: Vec<&str> = command.iter().map(AsRef::as_ref).collect();
        let mut matched_rules = self.matches(&words, None);
        if matched_rules.is_empty()
            && programs == ProgramMatching::ByName
            && let [program, arguments @ ..] = words.as_slice()
            && let Some(name) = self.host_executables.name_of(program)
        {
            let by_name: Vec<&str> = [name]
                .into_iter()
                .chain(arguments.iter().copied())
                .collect();
            matched_rules = self.matches(&by_name, Some(program));
        }
        Evaluation::from_matches(matched_rules)
    }

    /// Checks several commands together; the strictest decision over all applies.
    pub fn check_all<S: AsRef<str>>(
        &self,
        commands: &[Vec<S>],
        programs: ProgramMatching,
    ) -> Evaluation {
        let matches = commands
            .iter()
            .flat_map(|command| self.check(command, programs).matched_rules);
        Evaluation::from_matches(matches.collect())
    }

    /// Whether any rule prompts or forbids.
    pub fn restricts(&self) -> bool {
        self.prefix_rules
            .iter()
            .any(|rule| rule.decision() != Decision::Allow)
    }

    /// The strictest restrictive rule for a command that [`RuleSet::check`] is not called for, such as one inside a
    /// wrapper. `open_ended`: further unknown words follow.
    pub fn restriction<S: AsRef<str>>(
        &self,
        command: &[S],
        open_ended: bool,
    ) -> Option<RuleRestriction> {
        let words: Vec<&str> = command.iter().map(AsRef::as_ref).collect();
        let found = self.matches(&words, None);
        let strictest = (found.into_iter())
            .filter(|found| found.decision != Decision::Allow)
            .max_by_key(|found| found.decision);
        let may_match = || {
            let mut restricting =
                (self.prefix_rules.iter()).filter(|rule| rule.decision() != Decision::Allow);
            open_ended && restricting.any(|rule| rule.may_match(&words))
        };
        match strictest {
            Some(found) => Some(RuleRestriction::Certain(found)),
            None => may_match().then_some(RuleRestriction::Possible),
        }
    }

    fn matches(&self, command: &[&str], resolved_program: Option<&str>) -> Vec<RuleMatch> {
        let matching = self
            .prefix_rules
            .iter()
            .filter(|rule| rule.matches(command));
        matching
            .map(|rule| RuleMatch {
                matched_prefix: command
                    .iter()
                    .take(rule.length())
                    .map(ToString::to_string)
                    .collect(),
                decision: rule.decision(),
                resolved_program: resolved_program.map(ToOwned::to_owned),
                justification: rule.justification().map(ToOwned::to_owned),
            })
            .collect()
    }

    /// The allowed prefixes, one per line, for the model's instructions. Empty if there are none.
    pub fn allowed_prefixes_text(&self) -> String {
        let allowed = self
            .prefix_rules
            .iter()
            .filter(|rule| rule.decision() == Decision::Allow);
        let mut prefixes: Vec<(usize, usize, String)> = allowed
            .flat_map(|rule| rule.prefixes(MAX_LISTED_PREFIXES + 1))
            .map(|prefix| {
                let line = format!("- {}", quote_prefix(&prefix));
                (prefix.len(), line.chars().count(), line)
            })
            .collect();
        prefixes.sort();
        prefixes.dedup();
        let mut text = String::new();
        let mut characters = 0;
        for (index, (_, length, line)) in prefixes.iter().enumerate() {
            characters += length + 1;
            if index == MAX_LISTED_PREFIXES || characters > MAX_LISTED_CHARACTERS {
                text.push_str("...\n[Some commands were truncated]");
                return text;
            }
            text.push_str(line);
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text
    }
}

impl Evaluation {
    fn from_matches(matched_rules: Vec<RuleMatch>) -> Self {
        let decision = matched_rules.iter().map(|found| found.decision).max();
        Self {
            matched_rules,
            decision,
        }
    }
}

/// Serializes each match with its kind as the key, so that other kinds of rules can be told apart.
fn tagged<S: Serializer>(matches: &[RuleMatch], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct TaggedMatch<'a> {
        prefix_rule_match: &'a RuleMatch,
    }
    serializer.collect_seq(matches.iter().map(|found| TaggedMatch {
        prefix_rule_match: found,
    }))
}
