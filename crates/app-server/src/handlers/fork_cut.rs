//! Where a fork ends that does not take the whole of its source.

use std::path::Path;

use codex_app_server_protocol::v2::ThreadForkParams;

use crate::failure::Failure;
use crate::thread::Outlines;

/// The turn at which a fork ends.
#[derive(Debug)]
pub(super) enum Cut {
    /// It is the last one that the fork has.
    After(String),
    /// It is the first one that the fork does not have.
    Before(String),
}

impl Cut {
    /// What the request asks for.
    pub(super) fn of(params: &ThreadForkParams) -> Result<Option<Self>, Failure> {
        match (&params.last_turn_id, &params.before_turn_id) {
            (None, None) => Ok(None),
            (Some(last), None) => Ok(Some(Self::After(last.clone()))),
            (None, Some(before)) => Ok(Some(Self::Before(before.clone()))),
            (Some(_), Some(_)) => {
                let message = "`beforeTurnId` cannot be combined with `lastTurnId`";
                Err(Failure::invalid(message))
            }
        }
    }

    /// How much of the file the fork takes; all of it where nothing follows.
    pub(super) fn place(&self, path: &Path, outlines: &Outlines) -> Result<Option<u64>, Failure> {
        let outline = outlines.get(path).map_err(|error| {
            let path = path.display();
            Failure::invalid(format!("failed to load rollout `{path}`: {error}"))
        })?;
        let (Self::After(turn) | Self::Before(turn)) = self;
        let found = outline.ids().position(|id| id == turn);
        let found = found.ok_or_else(|| Failure::invalid(format!("turn not found: {turn}")))?;
        Ok(match self {
            Self::After(_) => outline.beginning_of(found + 1),
            Self::Before(_) => outline.beginning_of(found),
        })
    }
}
