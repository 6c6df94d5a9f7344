//! Layer: capability. Reads a shell line: what it does, whether it is known to be safe, whether it is
//! dangerous.
//!
//! It runs nothing. What it cannot read is never called safe.
