//! Features: switches for parts of the engine.

mod feature;
mod host;
mod newer;
mod set;

pub use feature::{BetaTexts, Feature, FeatureStage};
pub use host::{HOST_FEATURES, HostFeatureError};
pub use newer::{BETA_IN_0_169, FEATURES_OF_0_169, is_without_effect};
pub use set::FeatureSet;
