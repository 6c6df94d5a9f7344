//! Turns that change files, and going back.
#![allow(clippy::unwrap_used)]

mod case_insensitive;
mod conflicts;
mod corpus;
mod killed;
mod limits;
mod shell_edits;
mod store;
mod work;
