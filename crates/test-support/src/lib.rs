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
pub use codex_scenario::Gate;
pub use codex_scenario::HttpReply;
pub use codex_scenario::ReceivedRequest;
pub use codex_scenario::sse;
pub use model_server::ModelServer;
pub use noise::Noise;
pub use protocol_observer::ProtocolObserver;
pub use scripted_clock::ScriptedClock;
pub use scripted_model::Reply;
pub use scripted_model::ScriptedModel;
pub use scripted_model::Step;
pub use web_socket::WebSocket;
