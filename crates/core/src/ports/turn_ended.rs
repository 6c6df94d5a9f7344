//! Being told of turns that have ended.

use std::fmt::Debug;

/// A turn that has ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedTurn {
    /// Its thread.
    pub thread: String,
    /// Its id.
    pub turn: String,
    /// The folder that it worked in.
    pub cwd: String,
    /// The client of the thread.
    pub client: Option<String>,
    /// What people have said in the thread, as far as the model still sees it.
    pub input_messages: Vec<String>,
    /// The last that the model said.
    pub last_agent_message: Option<String>,
}

/// Who wants to be told.
pub trait TurnEnded: Debug + Send + Sync {
    /// A turn has ended, and its clients know. Returns at once.
    fn ended(&self, turn: EndedTurn);
}
