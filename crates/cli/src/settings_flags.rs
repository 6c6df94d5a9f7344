//! Flags that change settings for one run, before or after the subcommand.

use clap::Args;
use codex_config::Overrides;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SettingsFlags {
    /// Override a setting, for example `model="gpt-5.4"`.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Enable a feature.
    #[arg(long, value_name = "FEATURE")]
    enable: Vec<String>,
    /// Switches a feature off.
    #[arg(long, value_name = "FEATURE")]
    disable: Vec<String>,
    /// The settings of a profile with a file of its own, over which all other flags take precedence.
    #[arg(skip)]
    profile: toml::Table,
}

impl SettingsFlags {
    /// The settings of the file of a profile.
    pub(crate) fn of_profile(profile: toml::Table) -> Self {
        Self {
            profile,
            ..Self::default()
        }
    }

    /// Combines flags; `later` takes precedence.
    pub(crate) fn followed_by(mut self, later: Self) -> Self {
        self.config.extend(later.config);
        self.enable.extend(later.enable);
        self.disable.extend(later.disable);
        self.profile.extend(later.profile);
        self
    }

    /// Whether no flag was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.config.is_empty()
            && self.enable.is_empty()
            && self.disable.is_empty()
            && self.profile.is_empty()
    }

    pub(crate) fn overrides(&self) -> anyhow::Result<Overrides> {
        self.over(Overrides::default())
    }

    /// Adds a setting with a TOML value.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.config.push(format!("{key}={value}"));
    }

    /// Adds the flags to the arguments of another process.
    pub(crate) fn pass_on(&self, command: &mut tokio::process::Command) {
        for (flag, values) in [
            ("--config", &self.config),
            ("--enable", &self.enable),
            ("--disable", &self.disable),
        ] {
            for value in values {
                command.arg(flag).arg(value);
            }
        }
    }

    /// Applies these flags on top of other overrides.
    pub(crate) fn over(&self, mut overrides: Overrides) -> anyhow::Result<Overrides> {
        overrides.add_table(self.profile.clone());
        for flag in &self.config {
            overrides.add_flag(flag)?;
        }
        for feature in &self.enable {
            overrides.add_feature(feature, true)?;
        }
        for feature in &self.disable {
            overrides.add_feature(feature, false)?;
        }
        Ok(overrides)
    }
}
