//! Layer: surface. A small client of the app-server, for terminals and scripts.
//!
//! It connects to any server over any pair of streams, and to running ones ([`ServerAddress`]) ([`Client`], or [`ConnectionHandle`] and [`ServerMessages`] where many tasks
//! share a connection), runs turns ([`ClientThread`]), and shows them to people ([`Transcript`]) or programs
//! ([`ExecEvents`]). [`serve_adapter`] serves another protocol on top of it. It starts no process and reads neither
//! terminal nor environment: both are passed in as values.

mod adapter;
mod answer;
mod client;
mod client_thread;
mod command_line;
mod context_text;
mod conversation_check;
mod exec_events;
mod multiplex;
mod question_texts;
mod server_address;
mod socket_client;
mod stored_thread;
mod style;
mod text;
mod transcript;
mod wrap;

pub use adapter::{Adapter, AdapterError, serve_adapter};
pub use answer::{ServerQuestion, UserDecision};
pub use client::{Client, ClientError, Direction, ServerMessage};
pub use client_thread::{ClientThread, TurnObserver, TurnOutcome};
pub use command_line::command_script;
pub use context_text::context_text;
pub use conversation_check::{
    APP_SERVER_SCHEMA, ClientMistake, LineSource, MessageSchema, MistakeKind, RecordedLine,
    SchemaViolation, ShapeCheck, check_conversation,
};
pub use exec_events::ExecEvents;
pub use multiplex::{ConnectionHandle, ServerMessages};
pub use question_texts::{question_texts, server_question};
pub use server_address::{AddressError, ServerAddress};
pub use socket_client::{ConnectError, connect, relay};
pub use stored_thread::{
    FoundThread, ListedThread, ThreadPlace, find_thread, last_thread, recent_threads, thread_title,
};
pub use style::Style;
pub use text::harmless;
pub use transcript::Transcript;
