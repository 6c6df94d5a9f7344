//! The submissions of clients to the engine.

use serde::{Deserialize, Serialize};

use crate::op::Op;

/// A submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// The id that events caused by it carry. Also the id of the turn that it starts.
    pub id: String,
    /// The operation.
    pub op: Op,
    /// The trace that it belongs to.
    #[serde(
        default,
        deserialize_with = "valid_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub trace: Option<W3cTraceContext>,
}

/// A trace context, as the W3C defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct W3cTraceContext {
    /// Which trace, and which span of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What tracing systems add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// Diagnostics cannot hurt: a trace that does not read is left out, and the submission is taken.
fn valid_or_none<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<W3cTraceContext>, D::Error> {
    let trace = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(trace).ok())
}
