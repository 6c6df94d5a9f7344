//! Layer: capability. Reports of users about a thread or the program, with what they attach.
//!
//! A report is a folder on this machine, and stays there. To whom it goes from there is not this
//! crate's business: [`Stored::body`] makes one text of it for whoever sends it.
//!
//! Code map: `report` (what is said), `attachment` (what comes with it), `store` (where it is kept), `body` (what is sent),
//! `log_tail` (the last that the program logged).

mod attachment;
mod body;
mod log_tail;
mod report;
mod store;

pub use attachment::{Attachment, connectivity};
pub use log_tail::LogTail;
pub use report::{Classification, Report};
pub use store::{Stored, store};
