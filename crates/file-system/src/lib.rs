//! Layer: capability. Files and folders for clients that have no access of their own: read, write,
//! list, copy, remove, with the rights of this process.
//!
//! It promises that nothing it is pointed at wedges it: pipes and devices are never read, links are
//! followed only where a function says so, a copy neither descends into itself nor fills up holes,
//! and no file is read beyond a limit. It decides nothing about who may do what.
//!
//! Every call blocks. Code map: `path` (what clients write), `read`, `write`, `list`, `remove`,
//! `copy`, `error`.

mod copy;
mod error;
mod list;
mod path;
mod read;
mod remove;
mod write;

pub use copy::copy;
pub use error::FileError;
pub use list::{Entry, Metadata, list, metadata};
pub use path::absolute;
pub use read::{Reading, open};
pub use remove::remove;
pub use write::{create_folder, write};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
