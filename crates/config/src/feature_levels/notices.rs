//! Deprecation notices for settings of features.

use toml::Table;

use super::FeatureLevel;
use crate::features::Feature;

/// A deprecated setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeprecationNotice {
    /// What is deprecated.
    pub summary: String,
    /// What to write instead.
    pub details: Option<String>,
}

/// The notices for merged settings.
pub(crate) fn deprecation_notices(merged: &Table) -> Vec<DeprecationNotice> {
    let mut notices: Vec<DeprecationNotice> = FeatureLevel::settings(merged)
        .switches()
        .filter_map(|(key, feature, enabled)| notice(key, feature?, enabled))
        .collect();
    if merged.contains_key("experimental_instructions_file") {
        notices.push(DeprecationNotice {
            summary: "`experimental_instructions_file` has no effect any more; \
                      `model_instructions_file` takes its place."
                .to_owned(),
            details: Some(
                "Move the setting to `model_instructions_file`, whose file replaces the base \
                 instructions."
                    .to_owned(),
            ),
        });
    }
    notices
}

fn notice(key: &str, feature: Feature, enabled: bool) -> Option<DeprecationNotice> {
    if matches!(
        feature,
        Feature::WebSearchRequest | Feature::WebSearchCached
    ) {
        let mode = if !enabled {
            "disabled"
        } else if feature == Feature::WebSearchCached {
            "cached"
        } else {
            "live"
        };
        return Some(DeprecationNotice {
            summary: format!(
                "`[features].{key}` is deprecated because web search is enabled by default."
            ),
            details: Some(format!(
                "Set `web_search = \"{mode}\"` at the top level or in a profile of config.toml instead."
            )),
        });
    }
    if key == feature.key() {
        return None;
    }
    let now = feature.key();
    Some(DeprecationNotice {
        summary: format!("`[features].{key}` is deprecated. Use `[features].{now}` instead."),
        details: Some(format!(
            "Write `{now} = {enabled}` under `[features]` in config.toml, or start with `--{} {now}`.",
            if enabled { "enable" } else { "disable" },
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_keys_and_web_search_have_notices() {
        let merged =
            "features = { collab = true, web_search_cached = true, undo = true, nope = true }"
                .parse()
                .unwrap();
        let summaries: Vec<String> = deprecation_notices(&merged)
            .into_iter()
            .map(|notice| notice.summary)
            .collect();
        assert_eq!(
            summaries,
            [
                "`[features].collab` is deprecated. Use `[features].multi_agent` instead.",
                "`[features].web_search_cached` is deprecated because web search is enabled by default.",
            ],
        );
    }
}
