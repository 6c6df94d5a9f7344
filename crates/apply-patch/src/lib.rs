//! Layer: capability. Patches: parse, verify against files, apply as a whole or not at all, and diff.
//!
//! It asks nobody for permission; the caller passes the gate first.
