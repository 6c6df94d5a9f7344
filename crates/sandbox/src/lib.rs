//! Layer: capability. Turns a sandbox policy into enforcement by the operating system.
//!
//! It owns the promise that a policy is enforced at a known level or the command is refused.
