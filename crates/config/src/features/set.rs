//! The set of enabled features.

use std::fmt;

use super::Feature;

/// The set of enabled features.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FeatureSet(u64);

const _: () = assert!(Feature::ALL.len() <= 64, "a feature needs a bit of its own");

impl Default for FeatureSet {
    fn default() -> Self {
        let mut set = Self(0);
        for feature in Feature::ALL {
            set.set(*feature, feature.default_enabled());
        }
        set
    }
}

impl FeatureSet {
    /// Whether a feature is enabled.
    pub fn enabled(self, feature: Feature) -> bool {
        self.0 & Self::bit(feature) != 0
    }

    /// Enables or disables a feature.
    pub fn set(&mut self, feature: Feature, enabled: bool) {
        if enabled {
            self.0 |= Self::bit(feature);
        } else {
            self.0 &= !Self::bit(feature);
        }
    }

    fn bit(feature: Feature) -> u64 {
        1 << (feature as u64)
    }
}

impl fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = Feature::ALL
            .iter()
            .filter(|feature| self.enabled(**feature));
        f.debug_set()
            .entries(on.map(|feature| feature.key()))
            .finish()
    }
}
