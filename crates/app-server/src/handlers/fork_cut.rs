//! The end of a fork that copies only a part of its source.

use std::path::Path;

use codex_app_server_protocol::v2::ThreadForkParams;

use crate::failure::Failure;
use crate::thread::Outlines;

/// The turn at which a fork ends.
#[derive(Debug)]
pub(super) enum ForkEnd {
    /// The last turn of the fork.
    After(String),
    /// The first turn that is not copied.
    Before(String),
}

impl ForkEnd {
    /// Reads the params of the request.
    pub(super) fn from_params(params: &ThreadForkParams) -> Result<Option<Self>, Failure> {
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

    /// The number of bytes that are copied; none for the whole file.
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
