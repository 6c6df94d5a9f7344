//! Features: switches for parts of the engine.

mod feature;
mod host;
mod notices;
mod resolve;
mod set;

pub use feature::BetaTexts;
pub use feature::Feature;
pub use feature::FeatureStage;
pub use host::HOST_FEATURES;
pub use host::HostFeatureError;
pub use notices::DeprecationNotice;
pub(crate) use notices::deprecation_notices;
pub(crate) use resolve::FeatureLevel;
pub(crate) use resolve::resolve;
pub use set::FeatureSet;
