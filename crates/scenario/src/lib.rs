//! Layer: capability. A scripted model behind HTTP on this machine.
//!
//! A [`Scenario`] is a file that contains the model's reply to each request, faults included. The
//! [`ScenarioServer`] serves it as a Responses API on the loopback interface, over HTTP and websockets, with a realtime
//! server where the scenario has one, so that clients use a real connection. It reads only the scenario file and its requests.
//!
//! The [`HttpServer`] below it sends any [`HttpReply`]; tests use it directly.

mod check;
mod format;
mod http_reply;
mod http_request;
mod http_server;
mod latch;
mod load;
mod player;
mod realtime_format;
mod realtime_socket;
mod response_builder;
mod responses_socket;
mod server;
mod socket_server;
pub mod sse;

pub use check::ScenarioProblem;
pub use format::{
    HttpRefusal, PlanStepStatus, ReplyStep, ReplyUsage, RequestCondition, RetrySettings, Scenario,
    ScriptedApproval, ScriptedCustomToolCall, ScriptedFailure, ScriptedPlanStep, ScriptedReply,
    ScriptedToolCall, SessionScript, StreamPace, Transport, schema,
};
pub use http_reply::HttpReply;
pub use http_request::ReceivedRequest;
pub use http_server::{HttpResponder, HttpServer};
pub use latch::Latch;
pub use load::ScenarioError;
pub use player::ScenarioPlayer;
pub use realtime_format::{
    RealtimeOccasion, RealtimeProtocol, RealtimeReply, RealtimeScript, RealtimeStep,
};
pub use server::ScenarioServer;
pub use socket_server::SocketSession;
