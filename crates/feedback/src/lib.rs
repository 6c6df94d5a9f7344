//! Layer: capability. Stores user feedback about a thread or the program, with attachments.
//!
//! A report is a folder on this machine. This crate sends nothing: [`StoredReport::body`] prepares the JSON for a
//! caller that uploads it.
//!
//! Code map: `report` (the report itself), `attachment`, `store` (the folders), `body` (the JSON for upload),
//! `archive` (a ZIP archive), `log_tail` (the latest log lines).

mod archive;
mod attachment;
mod body;
mod log_tail;
mod report;
mod store;

pub use attachment::{ReportAttachment, connectivity};
pub use log_tail::LogTail;
pub use report::{Classification, Report};
pub use store::{StoredReport, store};
