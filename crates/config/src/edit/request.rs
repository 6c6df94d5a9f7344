//! The parameters of an edit.

use std::collections::BTreeMap;
use std::path::Path;

use super::change::ConfigEdit;
use crate::environment::Environment;
use crate::features::Feature;
use crate::overrides::Overrides;

/// A request to edit settings.
#[derive(Clone, Copy, Debug)]
pub struct EditRequest<'a> {
    pub env: &'a Environment,
    /// The flags of the process, which may override the new values.
    pub flags: &'a Overrides,
    /// Features that the host application switched.
    pub host_features: &'a BTreeMap<Feature, bool>,
    /// The absolute path of the file. Only the user's file is allowed.
    pub file: Option<&'a Path>,
    /// The version that the edits are based on.
    pub expected_version: Option<&'a str>,
    /// The edits, in order.
    pub edits: &'a [ConfigEdit],
}
