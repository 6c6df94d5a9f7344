//! Layer: capability. Prefix rules and network rules: read, match, append.
//!
//! A [`RuleSet`] consists of rules files; each file is accepted or rejected as a whole. [`RuleSet::check`] returns the
//! rules that match a command; the strictest decision applies. [`append_prefix_rule`] adds a
//! line to a file such that a crash or another process never leaves an incomplete one.
//!
//! This crate does not parse shell scripts (the caller splits them into commands) and decides nothing if no rule
//! matches.

mod amend;
mod decision;
mod error;
mod host_executables;
mod language;
mod load;
mod network;
mod prefix;
mod proposal;
mod rule_calls;
mod rule_set;

pub use amend::{
    AmendError, AppendOutcome, append_network_rule, append_prefix_rule, network_rule_line,
};
pub use decision::Decision;
pub use error::{RuleError, RulesLoadError};
pub use network::{NetworkDecision, NetworkProtocol, NetworkRule};
pub use prefix::{KEEPS_SANDBOX, PatternToken, PrefixRule, RuleProblem, quote_prefix};
pub use proposal::is_banned_prefix;
pub use rule_set::{Evaluation, HostRules, ProgramMatching, RuleMatch, RuleRestriction, RuleSet};
