//! Layer: capability. File operations for clients without access of their own: read, write, list, copy, remove, with the
//! permissions of this process.
//!
//! No operation blocks forever: pipes and devices are never read, links are followed only where documented, a copy never
//! enters itself and keeps holes, and reads are limited in size. This crate makes no access decisions.
//!
//! Every call blocks. Code map: `path` (client paths), `read`, `write`, `list`, `remove`, `copy`, `error`.

mod copy;
mod error;
mod list;
mod path;
mod read;
mod remove;
mod write;

pub use copy::copy;
pub use error::FileError;
pub use list::{FolderEntry, PathMetadata, list, metadata};
pub use path::absolute;
pub use read::{FileReader, open};
pub use remove::remove;
pub use write::{create_folder, write};

#[cfg(test)]
#[cfg(unix)]
mod tests;
