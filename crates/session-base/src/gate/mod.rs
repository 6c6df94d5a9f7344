//! The gate as tools use it: they call [`Gate::permit`] and nothing else, and an effect is decided about once.
//!
//! The session decides ([`codex_gate::decide`]), asks people and stores what they approve (`session::approvals`).

mod assessment;
mod connection;
mod handle;
mod turn_policy;

pub use assessment::{Assessment, StartedReview};
pub use connection::{ConnectionGate, ConnectionRequest};
pub use handle::{Denied, EffectCall, Gate, GateRequest, ReviewSubject, verdict};
pub use turn_policy::prepare_folders;
