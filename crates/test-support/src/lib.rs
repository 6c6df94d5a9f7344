//! Layer: tests. What end-to-end tests share: a scripted model, in memory and behind HTTP, temporary
//! homes, JSON-RPC drivers, the protocol observer.

mod app_server;
mod model_server;
mod noise;
mod protocol_observer;
pub mod reply;
mod scripted_clock;
mod scripted_model;
mod web_socket;

pub use app_server::AppServer;
pub use codex_scenario::{Gate, HttpReply, ReceivedRequest, sse};
pub use model_server::ModelServer;
pub use noise::Noise;
pub use protocol_observer::ProtocolObserver;
pub use scripted_clock::ScriptedClock;
pub use scripted_model::{Reply, ScriptedModel, Step};
pub use web_socket::WebSocket;
