//! Features: switches for parts of the engine.

mod feature;
mod host;
mod listed;
mod set;

pub use feature::{BetaTexts, Feature, FeatureStage};
pub use host::{HOST_FEATURES, HostFeatureError};
pub use listed::{LISTED_BETA_FEATURES, LISTED_FEATURES, is_without_effect};
pub use set::FeatureSet;
