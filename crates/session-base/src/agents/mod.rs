//! Agents: threads that a thread starts to work for it.
//!
//! An agent is a thread like any other. In the first form the session of its parent owns its [`ChildAgent`]: dropping
//! that ends the agent, so no agent outlives its parent. A thread has access to its own agents only. In the second form
//! agents have paths, and all threads of a tree work together as an `AgentTeam`, which ends with the root.
//!
//! The subscriber of the thread that starts or loads an agent receives it (`SpawnedAgent`). If
//! nobody takes it, the agent is not started, as nobody would answer its questions.

mod agent_tree;
mod children;
mod inherited;
mod mail;
mod names;
mod open_agents;
mod paths;
mod requests;
mod stored_team;
mod team;

pub use agent_tree::{AgentTree, is_agent};
pub use children::{AgentHandle, ChildAgent, ChildAgents};
pub use inherited::{InheritedTurns, inherited_lines};
pub use mail::{AgentMail, MailTurn, result_text};
pub use open_agents::OpenAgents;
pub use paths::{child_path, parent_path, resolve_path};
pub use requests::{
    AgentFork, AgentRequest, AgentSource, AgentStartError, JobWorker, NewAgent, NewMember,
    ResumedAgent, StartedMember, StoredAgent,
};
pub use stored_team::{find as find_agent_file, stored_members};
pub use team::{Delivery, Reservation, TeamError, TeamSeat};
