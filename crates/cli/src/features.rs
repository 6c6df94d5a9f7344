//! `codex features`: lists features and their state.

use std::io::{self, Write};

use clap::Subcommand;
use codex_config::{Feature, FeatureStage, RequestParams};

use crate::settings_flags::SettingsFlags;
use crate::wiring;

#[derive(Debug, Subcommand)]
pub(crate) enum FeaturesCommand {
    /// List all features: name, stage, and whether enabled.
    List,
}

pub(crate) fn run(command: &FeaturesCommand, settings: &SettingsFlags) -> anyhow::Result<()> {
    let FeaturesCommand::List = command;
    let cwd = std::env::current_dir()?;
    let overrides = settings.overrides()?;
    let config = wiring::load_config(Some(&cwd), &overrides, &RequestParams::default())?;
    let mut features: Vec<Feature> = Feature::ALL.to_vec();
    features.sort_by_key(|feature| feature.key());
    let names = features.iter().map(|feature| feature.key().len()).max();
    let stages = features.iter().map(|feature| stage(*feature).len()).max();
    let (names, stages) = (names.unwrap_or(0), stages.unwrap_or(0));
    let mut out = io::stdout().lock();
    for feature in features {
        let (name, stage) = (feature.key(), stage(feature));
        let enabled = config.features.enabled(feature);
        writeln!(out, "{name:<names$}  {stage:<stages$}  {enabled}")?;
    }
    Ok(())
}

fn stage(feature: Feature) -> &'static str {
    match feature.stage() {
        FeatureStage::UnderDevelopment => "under development",
        FeatureStage::Beta => "experimental",
        FeatureStage::Stable => "stable",
        FeatureStage::Deprecated => "deprecated",
        FeatureStage::Removed => "removed",
    }
}
