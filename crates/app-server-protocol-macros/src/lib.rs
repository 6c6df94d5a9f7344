//! Layer: vocabulary. Derive macros of the vocabulary crates.
//!
//! They turn what is said once about a type (its tag, what of it is experimental) into code; they
//! hold no knowledge of any single type.
