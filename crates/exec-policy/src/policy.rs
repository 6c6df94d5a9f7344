//! All rules together, and what they say about a command.

use serde::{Serialize, Serializer};

use crate::decision::Decision;
use crate::error::RuleError;
use crate::host_executables::HostExecutables;
use crate::network::NetworkRule;
use crate::prefix::{KEEPS_SANDBOX, PrefixRule, quote_prefix};
use crate::rule_calls::FileRules;

/// The most that is listed of the prefixes that are allowed.
const MAX_LISTED_PREFIXES: usize = 100;
const MAX_LISTED_CHARACTERS: usize = 5000;

/// Rules from any number of sources. There is no order among them: the strictest match counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    prefix_rules: Vec<PrefixRule>,
    network_rules: Vec<NetworkRule>,
    host_executables: HostExecutables,
}

/// Whether a program given by its path may be known to rules by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Programs {
    /// Only as written.
    AsWritten,
    /// If nothing matches as written, an absolute path also by its last component, where `host_executable` lets it.
    ByName,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleMatch {
    /// The words that the rule spoke about.
    pub matched_prefix: Vec<String>,
    pub decision: Decision,
    /// The path that was taken for the name in the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
}

/// What rules that forbid or ask say about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restriction {
    /// A rule matches.
    Certain(RuleMatch),
    /// A rule matches if the words that are not known are those that it names.
    Possible,
}

impl RuleMatch {
    /// Whether the rule only lets the command run unasked, in the sandbox. That is what an approval of a confined
    /// command becomes.
    pub fn keeps_sandbox(&self) -> bool {
        self.justification.as_deref() == Some(KEEPS_SANDBOX)
    }
}

/// What the rules say. Serialises to the report of the rule checker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    #[serde(serialize_with = "tagged")]
    pub matched_rules: Vec<RuleMatch>,
    /// The strictest of the matches; none if nothing matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

impl Policy {
    /// Takes the rules of a file, all or none. `name` is for errors.
    pub fn add_file(&mut self, name: &str, text: &str) -> Result<(), RuleError> {
        let rules = FileRules::read(name, text)?;
        self.prefix_rules.extend(rules.prefix_rules);
        self.network_rules.extend(rules.network_rules);
        self.host_executables.extend(rules.host_executables);
        Ok(())
    }

    pub fn add_prefix_rule(&mut self, rule: PrefixRule) {
        self.prefix_rules.push(rule);
    }

    pub fn add_network_rule(&mut self, rule: NetworkRule) {
        self.network_rules.push(rule);
    }

    pub fn network_rules(&self) -> &[NetworkRule] {
        &self.network_rules
    }

    /// The rules that match one command.
    pub fn check<S: AsRef<str>>(&self, command: &[S], programs: Programs) -> Evaluation {
        let words: Vec<&str> = command.iter().map(AsRef::as_ref).collect();
        let mut matched_rules = self.matches(&words, None);
        if matched_rules.is_empty()
            && programs == Programs::ByName
            && let [program, arguments @ ..] = words.as_slice()
            && let Some(name) = self.host_executables.name_of(program)
        {
            let by_name: Vec<&str> = [name]
                .into_iter()
                .chain(arguments.iter().copied())
                .collect();
            matched_rules = self.matches(&by_name, Some(program));
        }
        Evaluation::of(matched_rules)
    }

    /// The rules that match any of several commands, strictest over all.
    pub fn check_all<S: AsRef<str>>(&self, commands: &[Vec<S>], programs: Programs) -> Evaluation {
        let matches = commands
            .iter()
            .flat_map(|command| self.check(command, programs).matched_rules);
        Evaluation::of(matches.collect())
    }

    /// Whether any rule forbids or asks.
    pub fn restricts(&self) -> bool {
        self.prefix_rules
            .iter()
            .any(|rule| rule.decision() != Decision::Allow)
    }

    /// What the rules that forbid or ask say about a command, for commands found in places that [`Policy::check`] is
    /// not asked about. `open_ended`: words follow that are not known. The strictest comes first.
    pub fn restriction<S: AsRef<str>>(
        &self,
        command: &[S],
        open_ended: bool,
    ) -> Option<Restriction> {
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
            Some(found) => Some(Restriction::Certain(found)),
            None => may_match().then_some(Restriction::Possible),
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

    /// The prefixes that are allowed, one a line, for telling the model. Empty if there are none.
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
    fn of(matched_rules: Vec<RuleMatch>) -> Self {
        let decision = matched_rules.iter().map(|found| found.decision).max();
        Self {
            matched_rules,
            decision,
        }
    }
}

/// Each match under the name of its kind, so that other kinds of rules can be told apart.
fn tagged<S: Serializer>(matches: &[RuleMatch], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Tagged<'a> {
        prefix_rule_match: &'a RuleMatch,
    }
    serializer.collect_seq(matches.iter().map(|found| Tagged {
        prefix_rule_match: found,
    }))
}
