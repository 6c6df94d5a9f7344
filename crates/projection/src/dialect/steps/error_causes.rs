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

    /// The error with `other` as its cause, if the cause is not among these.
    pub(crate) fn older(self, error: &TurnError) -> Option<TurnError> {
        let is_known = match error.codex_error_info.as_ref()? {
            CodexErrorInfo::SessionBudgetExceeded
            | CodexErrorInfo::ModelNotFound
            | CodexErrorInfo::RateLimitExceeded
            | CodexErrorInfo::FlexUnavailable
            | CodexErrorInfo::PolicyCapacityUnavailable => self.has_all,
            CodexErrorInfo::CyberPolicy => self.has_cyber_policy,
            CodexErrorInfo::BioPolicy => self.has_bio_policy,
            _ => true,
        };
        (!is_known).then(|| TurnError {
            codex_error_info: Some(CodexErrorInfo::Other),
            ..error.clone()
        })
    }
}
