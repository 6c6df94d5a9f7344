//! Agents: threads that a thread starts to work for it.
//!
//! An agent is a thread like any other. The session of its parent owns its [`ChildAgent`]: dropping that ends
//! the agent, so no agent outlives its parent. A thread has access to its own agents only.
//!
//! The subscriber of the parent receives each agent as it is started
//! ([`SpawnedAgent`](crate::thread::SpawnedAgent)). If nobody takes it, the agent is not started, as nobody
//! would answer its questions.

mod agent_tree;
mod children;
mod names;
mod requests;

pub(crate) use agent_tree::{AgentTree, config_of_agent, is_agent, take_policies};
pub(crate) use children::{AgentHandle, ChildAgent, ChildAgents};
pub(crate) use requests::{AgentFork, AgentRequest, AgentSource, NewAgent, ResumedAgent};

/// How many agents may wait for the subscriber of their parent.
pub(crate) const MAX_WAITING_AGENTS: usize = 64;
