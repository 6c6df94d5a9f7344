//! Layer: vocabulary. The v1 protocol: submissions, events, model items, turn items, policies and the
//! lines of a rollout file.
//!
//! Data only, no I/O.
