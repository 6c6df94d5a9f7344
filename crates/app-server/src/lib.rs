//! Layer: surface. Threads, turns and items over JSON-RPC: transports, router, handlers and the
//! projection of engine events onto the wire.
//!
//! It owns the wire: one reply per request, one end per turn and item. It runs nothing itself; every
//! effect is asked of the engine.
