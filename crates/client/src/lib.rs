//! Layer: surface. A small client of the app-server, for terminals and scripts.
//!
//! It connects to any server over any pair of streams ([`Client`], or [`Caller`] and [`Events`] where many tasks
//! share a connection), runs turns ([`Session`]), and shows them to people ([`Transcript`]) or programs
//! ([`ExecEvents`]). [`serve_adapter`] serves another protocol on top of it. It starts no process and reads neither
//! terminal nor environment: both are passed in as values.

mod adapter;
mod answer;
mod client;
mod command_line;
mod conversation_check;
mod exec_events;
mod multiplex;
mod session;
mod style;
mod text;
mod transcript;
mod wrap;

pub use adapter::{Adapter, AdapterError, serve_adapter};
pub use answer::{Decision, Question};
pub use client::{Client, ClientError, Incoming, Wire};
pub use conversation_check::{
    APP_SERVER_SCHEMA, ClientMistake, MessageSchema, MistakeKind, RecordedLine, SchemaViolation,
    Sender, ShapeCheck, check_conversation,
};
pub use exec_events::ExecEvents;
pub use multiplex::{Caller, Events};
pub use session::{Listener, Outcome, Session};
pub use style::Style;
pub use text::harmless;
pub use transcript::Transcript;
