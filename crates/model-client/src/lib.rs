//! Layer: capability. Requests to models: providers, protocols, event streams, retries, errors.
//!
//! This crate converts a request to typed events, over the Responses API or Chat Completions. It knows neither sessions
//! nor tools and reads no configuration or environment variables; everything comes in as values. The only file that it
//! reads and writes is the cache of the list of models.
//!
//! [`ModelClient`] is the interface, [`HttpModelClient`] its implementation for HTTP.

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
mod stream;
mod tool_spec;
mod usage_limit;

pub use catalog::*;
pub use client::ModelClient;
pub use client::ModelList;
pub use clock::Clock;
pub use clock::SystemClock;
pub use codex_protocol::{Provider, Secret, WireApi};
pub use credential::Credential;
pub use credential::CredentialError;
pub use credential::CredentialSource;
pub use credential::FixedCredential;
pub use credential::Recovery;
pub use encoded::Encoded;
pub use error::ModelError;
pub use error::UnexpectedStatus;
pub use event::Completion;
pub use event::ModelEvent;
pub use http_client::ClientDependencies;
pub use http_client::HttpModelClient;
pub use identity::ClientIdentity;
pub use identity::Platform;
pub use prompt::{Prompt, PromptItem};
pub use request::AttemptObserver;
pub use request::ModelRequest;
pub use request::Reasoning;
pub use request::RequestContext;
pub use request::TurnState;
pub use retry::RetryPolicy;
pub use stream::ModelStream;
pub use tool_spec::CustomToolFormat;
pub use tool_spec::ToolSpec;
pub use tool_spec::WebSearchFilters;
pub use usage_limit::UsageLimit;
pub use usage_limit::plan_type;
