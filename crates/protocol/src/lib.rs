//! Layer: vocabulary. The v1 protocol: submissions, events, model items, turn items, policies and the
//! lines of a rollout file.
//!
//! Data only, no I/O. Reading is strict about types and lenient about fields that are not known;
//! [`from_json`] tells at which field a text does not fit. What may come from a later version (an
//! operation, an event, an item, a line of a file) is kept when it is not known, and written back
//! unchanged. Paths are strings here, as they are on the wire.

// The derive macros name this crate by its own name, also inside it.
extern crate self as codex_protocol;

mod account;
mod answer_cut;
mod approval;
mod base64_bytes;
mod configure_session;
mod dynamic_tool;
mod error_info;
mod event;
mod experimental;
mod function_output;
mod ids;
mod items;
mod json;
mod json_path;
mod mcp;
mod op;
mod path;
mod plan;
mod policy;
mod provider;
mod raw_text;
mod release;
mod response_item;
mod review;
mod rollout_line;
mod secret;
mod session;
mod session_meta;
mod settings;
mod submission;
pub mod tagged;
mod thread_settings;
mod tokens;
mod turn_context;
mod update;
mod usage_limits;
mod user_input;

pub use account::*;
pub use answer_cut::AnswerCut;
pub use approval::*;
pub use base64_bytes::Base64Bytes;
pub use configure_session::*;
pub use dynamic_tool::*;
pub use error_info::*;
pub use event::*;
pub use experimental::{
    EXPERIMENTAL_KEY, Experimental, ExperimentalMember, SINCE_KEY, UNTIL_KEY, mark_members,
    mark_releases,
};
pub use function_output::*;
pub use ids::*;
pub use items::*;
pub use json::{JsonError, from_json};
pub use mcp::*;
pub use op::*;
pub use path::normalize_path;
pub use plan::*;
pub use policy::*;
pub use provider::*;
pub use raw_text::RawText;
pub use release::{PartPlace, Release, ReleasedPart, Releases, UnknownRelease};
pub use response_item::*;
pub use review::*;
pub use rollout_line::*;
pub use secret::Secret;
pub use session::*;
pub use session_meta::*;
pub use settings::*;
pub use submission::*;
pub use thread_settings::*;
pub use tokens::*;
pub use turn_context::*;
pub use update::Update;
pub use usage_limits::*;
pub use user_input::*;
