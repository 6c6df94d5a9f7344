//! Stored threads: what the index and the files say of them, as clients are shown it.

pub(crate) mod cursors;
pub(crate) mod item_pages;
pub(crate) mod load;
pub(crate) mod record;
pub(crate) mod turn_pages;
pub(crate) mod turns;
