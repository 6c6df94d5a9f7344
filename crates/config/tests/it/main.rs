//! Loading, showing and editing configuration on disk.

#![allow(clippy::unwrap_used)]

mod effective;
mod errors;
mod layers;
mod view;
mod world;
