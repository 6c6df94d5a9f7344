//! Layer: capability. The append-only log of a thread and the index over all of them.
//!
//! The log is the truth; the index is a cache that can be deleted at any time.
