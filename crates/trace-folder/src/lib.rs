//! Layer: engine. A folder of trace bundles: lists, searches, packs and deletes them.
//!
//! A bundle is a folder `trace-…`, or the same folder packed into one file `trace-….tar.zst`. [`OpenBundle`] gives
//! either form as a folder.

mod archive;
mod entry;
mod error;
mod open;
mod pack;
mod prune;
mod rollout;
mod search;
mod summary;

pub use archive::UnpackLimit;
pub use entry::{BundleEntry, bundles_at, bundles_in};
pub use error::TraceFolderError;
pub use open::OpenBundle;
pub use pack::{PackedBundle, pack};
pub use prune::{Retention, expired};
pub use search::{Match, Pattern, search};
pub use summary::{BundleState, BundleSummary};
