//! Loading, showing and editing configuration on disk.

#![allow(clippy::unwrap_used)]

mod effective;
mod environment;
mod errors;
mod layers;
mod view;
