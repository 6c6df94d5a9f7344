//! Layer: capability. A model that follows a script, behind HTTP on this machine.
//!
//! A [`Scenario`] is a file that says what a model answers, request by request, faults included. The
//! [`ScenarioServer`] speaks the Responses API on the loopback interface and answers so: whoever talks
//! to it does everything that it does with a real model, over a real connection. It reads the file and
//! its requests, and touches nothing else.
//!
//! [`HttpServer`] below it sends any [`HttpReply`]; tests use that directly.

mod check;
mod format;
mod gate;
mod http_reply;
mod http_request;
mod http_server;
mod load;
mod player;
mod server;
mod speech;
pub mod sse;

pub use check::Misfit;
pub use format::{
    Answer, CustomToolCall, Failure, Pace, PlanStatus, PlanStep, Refusal, Reply, Retries, Scenario,
    Session, Step, ToolCall, Usage, When, schema,
};
pub use gate::Gate;
pub use http_reply::HttpReply;
pub use http_request::ReceivedRequest;
pub use http_server::{HttpServer, Responder};
pub use load::LoadError;
pub use player::Player;
pub use server::ScenarioServer;
