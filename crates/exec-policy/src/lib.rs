//! Layer: capability. Prefix rules: read, match, amend.
//!
//! A [`Policy`] is put together from rule files, each read whole or refused whole. [`Policy::check`] says which rules
//! match a command; the strictest decides. [`append_prefix_rule`] and [`append_network_rule`] add a line to a file so
//! that a crash or another process never leaves half of one.
//!
//! It does not know what a shell is (the caller cuts scripts into commands), and it decides nothing where no rule
//! matches.

mod amend;
mod decision;
mod error;
mod host_executables;
mod language;
mod load;
mod network;
mod policy;
mod prefix;
mod proposal;
mod rule_calls;

pub use amend::{AmendError, Appended, append_network_rule, append_prefix_rule};
pub use decision::Decision;
pub use error::{LoadError, RuleError};
pub use network::{NetworkDecision, NetworkProtocol, NetworkRule};
pub use policy::{Evaluation, Policy, Programs, Restriction, RuleMatch};
pub use prefix::{KEEPS_SANDBOX, PatternToken, PrefixRule, RuleProblem, quote_prefix};
pub use proposal::is_banned_prefix;
