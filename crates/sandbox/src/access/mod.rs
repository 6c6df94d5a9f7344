//! What a restricted token of Windows needs in access lists, without calls of the system: identifiers, access lists as
//! bytes, and the entries that a policy needs.
//!
//! A restricted token may write only what an entry for one of its identifiers allows. Each writable root has an identifier
//! of its own, so entries that stay behind give nothing to commands under another policy.

pub(crate) mod entries;
pub(crate) mod list;
pub(crate) mod sid;
