//! Layer: engine. What the tools, turns and threads of a session share: settings, ports, events, conversations, and the ways to ask.
//!
//! The modules form layers; each uses only modules that are listed before it here:
//! `config` and `ports`; `input`, `events`, `history`, `context` (data and conversations); `derived_sessions`; `gate` and `mcp`;
//! `thread` and `agents`. A test holds them to it, see docs/architecture.md.

pub mod agents;
pub mod budget;
pub mod cells;
pub mod config;
pub mod context;
pub mod derived_sessions;
pub mod events;
pub mod gate;
pub mod history;
pub mod hooks;
pub mod input;
pub mod machines;
pub mod mcp;
pub mod ports;
pub mod questions;
pub mod requests;
pub mod session_context;
pub mod startup_files;
pub mod stored_thread;
pub mod thread;
pub mod timeout_pauses;
pub mod turn_reviews;
pub mod turn_rights;
pub mod turn_settings;
