//! Layer: capability. Configuration: layers and their origins, requirements, edits that keep comments.
//!
//! It owns how a setting got its value. The environment and the home directory come in as values.
