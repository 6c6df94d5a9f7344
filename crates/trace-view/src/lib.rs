//! Layer: engine. Looking at trace bundles: a viewer in one file, exporters, redaction, comparison, scenarios.
//!
//! Everything starts from a bundle on disk and goes to a writer or a folder that the caller names. The crate knows the
//! bundle format and the reduced graph; how the graph comes about is `codex-rollout-trace`'s business, and where the
//! results go is the caller's.

mod atif;
mod diff;
mod explain;
mod markdown;
mod notices;
mod otlp;
mod otlp_attributes;
mod otlp_events;
mod otlp_messages;
mod otlp_protobuf;
mod perfetto;
mod redact;
mod scenario;
mod timeline;
mod view;

pub use atif::{ATIF_VERSION, write_atif};
pub use diff::{
    AgentComparison, Divergence, RunComparison, RunStep, StepPair, diff_traces, write_diff_page,
};
pub use explain::{Finding, FindingKind, explain};
pub use markdown::write_markdown;
pub use otlp::{Contents, SEMANTIC_CONVENTIONS, encode_otlp, write_otlp};
pub use perfetto::write_perfetto;
pub use redact::{Person, RedactError, Redaction, Text, TextCleaner, redact_bundle};
pub use scenario::{WrittenScenario, write_scenario};
pub use view::{Budget, LiveView, Prices, ViewOptions, write_view};
