//! Layer: engine. Sessions, turns, tools, approvals and context, driven through submissions and
//! events.
//!
//! It owns what happens in a thread. It knows nothing of JSON-RPC, terminals or files of its own
//! choosing: the model, processes, the clock and ids reach it through traits.
