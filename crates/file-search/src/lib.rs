//! Layer: capability. Finding files by a few letters of their path.
//!
//! [`search`] walks the folders and matches as it goes; a [`Session`] walks them once and answers one
//! query after the other. Both leave out what ignore files say and whatever belongs to git itself,
//! follow links without going in circles, and stop as soon as nobody wants the answer any more.
//!
//! Code map: `walk` (folders to paths, on several threads), `ignore` (which paths are left out),
//! `query` (does a path match, and how well), `ranking` (the best so far), `search` (one query),
//! `corpus` and `session` (many).

mod corpus;
mod ignore;
mod query;
mod ranking;
mod search;
mod session;
mod walk;

pub use ranking::Match;
pub use search::search;
pub use session::{Event, Session};
pub use walk::Roots;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
