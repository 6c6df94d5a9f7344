//! One version of the format into the other.
//!
//! A line and its payload are converted one after the other, in the order of the log, so that a recorder can write schema 2
//! while the session runs ([`Upgrade`]). What has no counterpart is left out and counted by name.

mod bundle;
mod downgrade;
mod grown;
mod items;
mod unshard;
mod upgrade;

use std::collections::BTreeMap;

use crate::format::{Event, Schema};
use crate::ids::{ThreadId, TurnId};

pub use bundle::{ConvertError, convert_bundle, copy_with_payloads};
pub(crate) use downgrade::Downgrade;
pub(crate) use upgrade::Upgrade;

/// What a conversion did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    pub from: Schema,
    pub to: Schema,
    /// How many events the copy has.
    pub events: u64,
    /// What has no counterpart, and how often it was there.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// An event that a conversion adds, in the thread and turn of the one beside it.
pub(crate) struct AddedEvent {
    pub(crate) thread: Option<ThreadId>,
    pub(crate) turn: Option<TurnId>,
    pub(crate) event: Event,
    /// What its payload holds, if it has one.
    pub(crate) payload: Option<Vec<u8>>,
}

/// What a line becomes.
#[derive(Default)]
pub(crate) struct ConvertedEvent {
    pub(crate) before: Vec<AddedEvent>,
    /// Whether the line itself stays.
    pub(crate) is_kept: bool,
    pub(crate) after: Vec<AddedEvent>,
}
