//! What clients of a dialect are told of a change: nothing, the notification, an older form of it, or two of them.
//!
//! Each file is about one difference and asks the dialect for one behaviour. Steps know nothing of the past: what an older
//! form depends on is part of the [`Change`].

mod account_logins;
mod checkpoints;
mod command_begin;
mod declined_items;
mod diff_paths;
pub(super) mod error_causes;
mod hook_runs;
mod interrupted_items;
pub(super) mod newer_items;
mod parts;
mod place;
pub(super) mod read_paths;
mod read_states;
mod realtime_items;
mod review_items;
mod review_risks;
mod review_warnings;
mod token_usage;

use std::borrow::Cow;

use codex_app_server_protocol::ServerNotification;

use super::rows::Dialect;
use crate::{Change, Moment};

/// Whether clients of a dialect are told of a change at all.
type Filter = fn(Dialect, &Change) -> bool;

/// The older form of a notification, if it differs.
type Rewrite = fn(Dialect, &ServerNotification, &Moment) -> Option<ServerNotification>;

const FILTERS: [Filter; 8] = [
    checkpoints::is_sent,
    command_begin::is_sent,
    hook_runs::is_sent,
    interrupted_items::is_sent,
    read_states::is_sent,
    realtime_items::is_sent,
    review_warnings::is_sent,
    token_usage::is_sent,
];

const REWRITES: [Rewrite; 7] = [
    account_logins::older,
    command_begin::older,
    diff_paths::older,
    hook_runs::older,
    parts::older,
    realtime_items::older,
    review_risks::older,
];

/// What clients of one dialect are told of a change.
#[derive(Debug)]
pub enum Forms {
    Nothing,
    /// The newest form.
    Newest,
    One(Box<ServerNotification>),
    Two(Box<[ServerNotification; 2]>),
}

impl Dialect {
    /// What clients of this dialect are told of a change.
    pub fn forms(self, change: &Change) -> Forms {
        if !FILTERS.iter().all(|is_sent| is_sent(self, change)) {
            return Forms::Nothing;
        }
        let mut form = Cow::Borrowed(&change.notification);
        for older in REWRITES {
            if let Some(older) = older(self, &form, &change.moment) {
                form = Cow::Owned(older);
            }
        }
        match (declined_items::ends(self, &form, &change.moment), form) {
            (declined_items::Ends::Same, Cow::Borrowed(_)) => Forms::Newest,
            (declined_items::Ends::Same, Cow::Owned(form)) => Forms::One(Box::new(form)),
            (declined_items::Ends::Other(end), _) => Forms::One(end),
            (declined_items::Ends::After(first), form) => {
                Forms::Two(Box::new([*first, form.into_owned()]))
            }
        }
    }
}
