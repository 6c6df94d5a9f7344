//! Git: the program, the facts that a rollout stores about the repository, snapshots for undo.

mod client;
mod repository;
pub(crate) mod snapshot;

pub(crate) use client::Git;
pub(crate) use repository::materialise;
