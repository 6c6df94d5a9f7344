//! Layer: engine. Trace bundles of a session: the writer, the reduced model, and the offline reducer.
//!
//! It owns the bundle format. It knows no engine type, so that a bundle can be read without one.
