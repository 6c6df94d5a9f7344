//! Layer: vocabulary. The v2 protocol: every JSON-RPC method with its params and response, the
//! experimental gates, and the exporters that describe them.
//!
//! Data only; the exporters return files as values, they write nothing.
