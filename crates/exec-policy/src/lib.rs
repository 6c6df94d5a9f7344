//! Layer: capability. Prefix rules over commands: reads rule files, matches commands against them and
//! appends amendments.
//!
//! It decides by rule only; what to do when no rule speaks is for the caller.
