//! The causes of errors that not every release knows.

use codex_app_server_protocol::v2::{CodexErrorInfo, TurnError};
use serde::{Deserialize, Serialize};

use crate::dialect::rows::Dialect;

/// The causes that a client knows beside those of 0.117.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownCauses {
    has_all: bool,
    has_cyber_policy: bool,
    has_bio_policy: bool,
}

impl KnownCauses {
    pub(crate) const ALL: Self = Self {
        has_all: true,
        has_cyber_policy: true,
        has_bio_policy: true,
    };

    pub(crate) fn for_dialect(dialect: Dialect) -> Self {
        Self {
            has_all: dialect.has_all_error_causes(),
            has_cyber_policy: dialect.has_cyber_policy(),
            has_bio_policy: dialect.has_bio_policy(),
        }
    }

    /// The error with another cause, if its own is not among these: an unknown model is a bad request, the rest `other`.
    pub(crate) fn older(self, error: &TurnError) -> Option<TurnError> {
        let cause = error.codex_error_info.as_ref()?;
        let is_known = match cause {
            CodexErrorInfo::SessionBudgetExceeded
            | CodexErrorInfo::ModelNotFound
            | CodexErrorInfo::RateLimitExceeded
            | CodexErrorInfo::FlexUnavailable
            | CodexErrorInfo::PolicyCapacityUnavailable => self.has_all,
            CodexErrorInfo::CyberPolicy => self.has_cyber_policy,
            CodexErrorInfo::BioPolicy => self.has_bio_policy,
            _ => true,
        };
        let older = match cause {
            CodexErrorInfo::ModelNotFound => CodexErrorInfo::BadRequest,
            _ => CodexErrorInfo::Other,
        };
        (!is_known).then(|| TurnError {
            codex_error_info: Some(older),
            ..error.clone()
        })
    }
}
