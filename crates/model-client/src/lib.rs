//! Layer: capability. Requests to models: providers, protocols, event streams, retries, errors.
//!
//! This crate converts a request to typed events, over the Responses API or Chat Completions. It knows neither sessions
//! nor tools and reads no configuration or environment variables; everything comes in as values. The only file that it
//! reads and writes is the cache of the list of models.
//!
//! [`ModelClient`] is the interface, [`HttpModelClient`] its implementation for HTTP, and for websockets where a provider
//! has them ([`ThreadConnection`]).

mod attempt_recorder;
mod catalog;
mod chat;
mod client;
mod clock;
mod credential;
mod encoded;
mod error;
mod error_reply;
mod event;
mod exchange;
mod headers;
mod http_client;
mod identity;
mod limits;
mod prompt;
mod provider;
mod rate_limits;
mod request;
mod responses;
mod retry;
mod server_words;
mod stream;
mod thread_connection;
mod tool_spec;
mod unknown_model;
mod unreachable;
mod usage_limit;
mod websocket;
mod window_error;

pub use catalog::*;
pub use client::{ModelClient, ModelList};
pub use clock::{Clock, SystemClock};
pub use codex_protocol::{Provider, Secret, WireApi};
pub use credential::{Credential, CredentialError, CredentialSource, FixedCredential, Recovery};
pub use encoded::Encoded;
pub use error::{BreakCause, ModelError, UnexpectedStatus};
pub use event::{Completion, ModelEvent};
pub use http_client::{ClientDependencies, HttpModelClient};
pub use identity::{ClientIdentity, Platform};
pub use prompt::{Prompt, PromptItem};
pub use request::{AttemptObserver, ModelRequest, Reasoning, RequestContext, TurnState};
pub use responses::{compact_body, stream_body};
pub use retry::RetryPolicy;
pub use stream::ModelStream;
pub use thread_connection::ThreadConnection;
pub use tool_spec::{CustomToolFormat, ToolSpec, WebSearchFilters};
pub use unreachable::Unreachable;
pub use usage_limit::{UsageLimit, plan_type};
