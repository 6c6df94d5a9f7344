//! Layer: engine. Looking at trace bundles: a viewer in one file, exporters, redaction, comparison, scenarios.
//!
//! Everything starts from a bundle on disk and goes to a writer or a folder that the caller names. The crate knows the
//! bundle format and the reduced graph; how the graph comes about is `codex-rollout-trace`'s business, and where the
//! results go is the caller's.

mod diff;
mod otlp;
mod perfetto;
mod redact;
mod scenario;
mod timeline;
mod view;

pub use diff::{Divergence, RunStep, diff_traces};
pub use otlp::{SEMANTIC_CONVENTIONS, write_otlp};
pub use perfetto::write_perfetto;
pub use redact::{Person, RedactError, Redaction, Text, TextCleaner, redact_bundle};
pub use scenario::{WrittenScenario, write_scenario};
pub use view::{Budget, write_view};
