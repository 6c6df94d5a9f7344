//! `[auto_review]`: the reviewer that decides about approvals in place of a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the reviewer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AutoReviewFile {
    /// Its instructions, in place of the built-in ones. Those of an administrator take precedence.
    pub policy: Option<String>,
}
