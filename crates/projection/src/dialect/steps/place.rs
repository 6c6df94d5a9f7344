//! Where an item is.

/// The thread and the turn of an item.
#[derive(Clone, Copy)]
pub(super) struct ItemPlace<'a> {
    pub(super) thread: &'a str,
    pub(super) turn: &'a str,
}
