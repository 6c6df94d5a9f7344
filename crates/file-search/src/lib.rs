//! Layer: capability. Finds files by letters of their path.
//!
//! [`search()`] walks folders and matches while walking. A [`SearchSession`] walks them once and serves several queries.
//! Both apply ignore files, skip git's own files, follow links without cycles, and stop when they are cancelled.
//!
//! Code map: `walk` (finds paths on several threads), `ignore` (excludes paths), `query` (matches and scores a path),
//! `ranking` (the best matches), `search` (one query), `corpus` and `session` (several queries).

mod corpus;
mod ignore;
mod query;
mod ranking;
mod search;
mod session;
mod walk;

pub use ranking::SearchMatch;
pub use search::search;
pub use session::{SearchEvent, SearchSession};
pub use walk::SearchRoots;

#[cfg(test)]
mod tests;
