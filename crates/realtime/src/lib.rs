//! Layer: capability. Realtime conversations: voice and text with a model over a websocket.
//!
//! [`converse`] holds a conversation. It translates between the two dialects of the server and [`ConversationEvent`]s, and
//! takes its inputs from [`queues`]. It knows no threads: work that the model delegates is an event, and its result an
//! input.

mod conversation;
mod dialect;
mod input;
mod settings;
mod v1;
mod v2;

pub use conversation::{
    ConversationEnd, ConversationEvent, ConversationInputs, ConversationQueues, ResultSlot,
    converse, queues,
};
pub use input::{AgentResult, TextRole};
pub use settings::{RealtimeKind, RealtimeSettings};
