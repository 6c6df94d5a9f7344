//! What threads use, and the limits on it.
//!
//! The use of a turn includes what agents use while they work for it; the use of a thread is that of its own turns; that
//! of a tree is of the root and all of its agents. Limits are checked before each request to the model, so no request
//! begins beyond a limit, and what one began is brought to its end. The limit on time alone stops a turn where it is.
//!
//! What a thread used before it was loaded is read from its file, once a limit needs it.

mod shared_use;
mod stored_use;
mod turn_budget;
mod turn_meter;
mod used;

pub use shared_use::{StoredThreadUse, ThreadBudget};
pub use turn_budget::{LimitReached, RequestRefused, TurnBudget};
