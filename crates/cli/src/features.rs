//! `codex features`: lists features and their state, and sets them in the user's file.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use codex_config::{
    ConfigEdit, EditRequest, Feature, FeatureStage, KeyPath, MergeStrategy, RequestParams,
    SettingChange, edit_user_config, is_without_effect,
};
use codex_engine_host::wiring;

use crate::print;
use crate::settings_flags::SettingsFlags;

#[derive(Debug, Subcommand)]
pub(crate) enum FeaturesCommand {
    /// List all features: name, stage, and whether enabled.
    List,
    /// Enable a feature in config.toml.
    Enable(FeatureArguments),
    /// Disable a feature in config.toml.
    Disable(FeatureArguments),
}

#[derive(Debug, Args)]
pub(crate) struct FeatureArguments {
    /// The name of the feature, as it is listed.
    feature: String,
}

pub(crate) fn run(command: &FeaturesCommand, settings: &SettingsFlags) -> anyhow::Result<()> {
    match command {
        FeaturesCommand::List => list(settings),
        FeaturesCommand::Enable(arguments) => set(&arguments.feature, true, settings),
        FeaturesCommand::Disable(arguments) => set(&arguments.feature, false, settings),
    }
}

/// Writes the switch of a feature.
fn set(name: &str, enabled: bool, settings: &SettingsFlags) -> anyhow::Result<()> {
    let known = Feature::parse(name);
    let key = match known {
        Some(feature) => feature.key(),
        None if is_without_effect(name) => name,
        None => bail!("Unknown feature flag: {name}. See: codex features list"),
    };
    let path = KeyPath::from_segments(["features", key]).context("the key of the feature")?;
    let edited = edit_user_config(EditRequest {
        env: &wiring::config_environment()?,
        flags: &settings.overrides()?,
        host_features: &BTreeMap::new(),
        file: None,
        expected_version: None,
        edits: &[ConfigEdit {
            path,
            change: SettingChange::Set(enabled.into(), MergeStrategy::Replace),
        }],
    })?;
    let mut out = print::output();
    let what = if enabled { "Enabled" } else { "Disabled" };
    writeln!(out, "{what} feature `{key}` in config.toml.")?;
    if known.is_none() || known.is_some_and(|it| it.stage() == FeatureStage::Removed) {
        writeln!(out, "It has no effect in this version.")?;
    }
    if let Some(overridden) = edited.overridden {
        writeln!(out, "{}", overridden.message)?;
    }
    Ok(())
}

fn list(settings: &SettingsFlags) -> anyhow::Result<()> {
    let cwd = std::env::current_dir()?;
    let overrides = settings.overrides()?;
    let config = wiring::load_config(Some(&cwd), &overrides, &RequestParams::default())?;
    let mut features: Vec<Feature> = Feature::ALL.to_vec();
    features.sort_by_key(|feature| feature.key());
    let names = features.iter().map(|feature| feature.key().len()).max();
    let stages = features.iter().map(|feature| stage(*feature).len()).max();
    let (names, stages) = (names.unwrap_or(0), stages.unwrap_or(0));
    let mut out = print::output();
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
