//! Git: the program, and the facts that a rollout stores about the repository.

mod client;
mod repository;

pub(crate) use client::Git;
pub(crate) use repository::materialise;
