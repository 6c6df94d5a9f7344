//! Layer: foundation. Which hosts commands may reach: hosts, patterns of hosts, lists, and the decision about a connection.
//!
//! A [`HostPolicy`] is made of lists from settings, rules and administrators. [`HostPolicy::verdict`] is the only decision
//! about a host and a port: what is denied anywhere is refused, what nobody lists is a question. It is a pure function;
//! names are not resolved here, nobody is asked here, and nothing is enforced here.
//!
//! Code map: `host` (a name or an address), `local` (addresses that are not of the internet), `pattern` (what entries name),
//! `list` (the lists of one source), `policy` (the decision).

mod host;
mod list;
mod local;
mod pattern;
mod policy;

pub use host::{Host, UsualProtocol};
pub use list::{HostDecision, HostEntry, HostList, ListOwner};
pub use local::is_local;
pub use pattern::{HostPattern, InvalidHostPattern};
pub use policy::{AskReason, HostPolicy, RefusalReason, Verdict};
