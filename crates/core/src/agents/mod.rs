//! Agents: threads that a thread starts, to have work done beside its own.
//!
//! An agent is a thread like any other, with a session, a file and events of its own. What is special
//! about it is its [`ChildAgent`], which its parent's session owns: who drops that ends the agent, so that
//! no agent outlives its parent, however that ends. A thread deals with its own agents only.
//!
//! Whoever hears the parent is handed the events of each agent as it is started ([`SpawnedAgent`]). If
//! nobody takes them there is no agent, since nobody would answer what it asks.

mod agent_tree;
mod children;
mod names;
mod roles;
mod status;

use codex_protocol::UserMessageEvent;

use crate::config::SessionConfig;
use crate::manager::StartedThread;

pub(crate) use agent_tree::{AgentTree, config_of_agent, is_agent, take_policies};
pub(crate) use children::{AgentHandle, ChildAgent, ChildAgents};
pub use roles::{AgentRole, AgentSettings, Roles};
pub(crate) use roles::{DEFAULT_ROLE, all_roles, find_role};
pub(crate) use status::{go_on, notice, status_after};

/// How many agents may wait for who hears their parent.
pub(crate) const AGENTS: usize = 64;

/// An agent that a thread has started.
#[derive(Debug)]
pub struct SpawnedAgent {
    /// It, and its events.
    pub started: StartedThread,
    /// What it was started with.
    pub config: Box<SessionConfig>,
    /// The first thing that a person said in what it goes on from; none if it is new.
    pub first: Option<UserMessageEvent>,
}
