//! Files that models do not read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[secrets]`. What neither models nor their commands read. A key that is not known might hide something, so it is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecretsFile {
    /// Patterns of hidden files and folders, in the syntax of gitignore. Each begins with `**/`, `~/` or `/`.
    pub deny_read: Option<Vec<String>>,
    /// Whether keys, credentials and stores of browsers in the home folder are hidden. Default: true.
    pub built_in: Option<bool>,
}
