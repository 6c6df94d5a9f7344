//! Layer: tests. Shared by end-to-end tests: scripted models (in memory and behind HTTP), JSON-RPC clients, and the
//! protocol observer.

mod app_server;
mod executable;
mod message_check;
mod message_schemas;
mod model_server;
mod protocol_observer;
mod pseudo_random;
pub mod reply;
mod scripted_clock;
mod scripted_model;
mod web_socket;

pub use app_server::AppServer;
pub use codex_scenario::{HttpReply, Latch, ReceivedRequest, sse};
pub use executable::{copy_executable, write_executable};
pub use message_check::MessageCheck;
pub use model_server::ModelServer;
pub use protocol_observer::ProtocolObserver;
pub use pseudo_random::PseudoRandom;
pub use scripted_clock::ScriptedClock;
pub use scripted_model::{Reply, ScriptedModel, Step};
pub use web_socket::{UpgradeRefused, WebSocket};
