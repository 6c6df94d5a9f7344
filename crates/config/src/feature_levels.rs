//! Determines the enabled features from defaults, the host application, levels of settings, pins of requirements, and
//! dependencies between features.

mod notices;

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::features::{Feature, FeatureSet};
use crate::requirements::{RequirementViolation, Requirements};
use crate::schema::switch;

pub use notices::DeprecationNotice;
pub(crate) use notices::deprecation_notices;

/// Switches outside `[features]` from earlier releases.
const LEGACY_TOGGLES: &[(&str, Feature)] = &[
    (
        "experimental_use_freeform_apply_patch",
        Feature::ApplyPatchFreeform,
    ),
    ("experimental_use_unified_exec_tool", Feature::UnifiedExec),
];

/// Additional switches in profiles.
const PROFILE_TOGGLES: &[(&str, Feature)] =
    &[("include_apply_patch_tool", Feature::ApplyPatchFreeform)];

/// The switches of one level of settings. Legacy switches come before `[features]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureLevel<'a> {
    table: &'a Table,
    own_toggles: &'static [(&'static str, Feature)],
}

impl<'a> FeatureLevel<'a> {
    /// The level of settings outside of a profile.
    pub(crate) fn settings(table: &'a Table) -> Self {
        Self {
            table,
            own_toggles: &[],
        }
    }

    /// The level of a profile.
    pub(crate) fn profile(table: &'a Table) -> Self {
        Self {
            table,
            own_toggles: PROFILE_TOGGLES,
        }
    }
}

impl FeatureLevel<'_> {
    /// The switches of the level in order, each with its key.
    pub(crate) fn switches(&self) -> impl Iterator<Item = (&str, Option<Feature>, bool)> {
        let toggles = LEGACY_TOGGLES.iter().chain(self.own_toggles);
        let toggles = toggles.filter_map(|(key, feature)| {
            let enabled = self.table.get(*key)?.as_bool()?;
            Some((*key, Some(*feature), enabled))
        });
        let features = self.table.get("features").and_then(Value::as_table);
        let features = features
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.as_str(), Feature::parse(key), switch(value)?)));
        toggles.chain(features)
    }
}

/// Resolves features. `levels` are ordered lowest precedence first.
pub(crate) fn resolve(
    host: &BTreeMap<Feature, bool>,
    levels: &[FeatureLevel<'_>],
    requirements: &Requirements,
) -> Result<FeatureSet, RequirementViolation> {
    let mut set = FeatureSet::default();
    for (feature, enabled) in host {
        set.set(*feature, *enabled);
    }
    for level in levels {
        for (_, feature, enabled) in level.switches() {
            if let Some(feature) = feature {
                set.set(feature, enabled);
            }
        }
    }
    for (feature, enabled) in requirements.pinned_features() {
        set.set(feature, enabled);
    }
    apply_dependencies(&mut set);
    for (feature, _) in requirements.pinned_features() {
        requirements.check_feature(feature.key(), set.enabled(feature))?;
    }
    Ok(set)
}

fn apply_dependencies(set: &mut FeatureSet) {
    if set.enabled(Feature::EnableFanout) {
        set.set(Feature::MultiAgent, true);
    }
    if set.enabled(Feature::CodeModeOnly) {
        set.set(Feature::CodeMode, true);
    }
    if !set.enabled(Feature::JsRepl) {
        set.set(Feature::JsReplToolsOnly, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(levels: &[&str], requirements: &str) -> Result<FeatureSet, RequirementViolation> {
        let tables: Vec<Table> = levels.iter().map(|text| text.parse().unwrap()).collect();
        let levels: Vec<FeatureLevel<'_>> = tables.iter().map(FeatureLevel::profile).collect();
        let requirements = Requirements::for_tests(requirements);
        resolve(
            &BTreeMap::from([(Feature::ToolSearch, true)]),
            &levels,
            &requirements,
        )
    }

    #[track_caller]
    fn check(levels: &[&str], requirements: &str, expected: &[(Feature, bool)]) {
        let set = resolved(levels, requirements).unwrap();
        for (feature, enabled) in expected {
            assert_eq!(set.enabled(*feature), *enabled, "{feature:?}");
        }
    }

    #[test]
    fn later_levels_win() {
        use Feature::*;
        check(&[], "", &[(Undo, false), (Apps, true), (ToolSearch, true)]);
        check(
            &["features.tool_search = false"],
            "",
            &[(ToolSearch, false)],
        );
        check(
            &["features.undo = true", "features.undo = false"],
            "",
            &[(Undo, false)],
        );
        check(
            &["[features.code_mode]\nenabled = true\nother = 1\n[features.undo]"],
            "",
            &[(CodeMode, true), (Undo, false)],
        );
        check(
            &["experimental_use_unified_exec_tool = false"],
            "",
            &[(UnifiedExec, false)],
        );
        check(
            &["include_apply_patch_tool = true\nfeatures.apply_patch_freeform = false"],
            "",
            &[(ApplyPatchFreeform, false)],
        );
        check(
            &[
                "features.apply_patch_freeform = false",
                "include_apply_patch_tool = true",
            ],
            "",
            &[(ApplyPatchFreeform, true)],
        );
        check(
            &["features.collab = false\nfeatures.unknown = true"],
            "",
            &[(MultiAgent, false)],
        );
    }

    #[test]
    fn pins_beat_settings_and_dependencies_follow() {
        use Feature::*;
        check(
            &["features.undo = true"],
            "features.undo = false",
            &[(Undo, false)],
        );
        check(
            &[
                "features = { enable_fanout = true, multi_agent = false, code_mode_only = true, js_repl_tools_only = true }",
            ],
            "",
            &[
                (MultiAgent, true),
                (CodeMode, true),
                (JsReplToolsOnly, false),
            ],
        );
        let error = resolved(
            &["features.enable_fanout = true"],
            "features.multi_agent = false",
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "invalid value for `features`: `features.multi_agent=true` is not in the allowed set \
             [multi_agent=false] (set by test)",
        );
    }
}
