//! The flags that change settings for one run. They may stand before and after a command.

use clap::Args;
use codex_config::Overrides;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SettingsFlags {
    /// A setting in place of the configured one, for example `model="gpt-5.4"`.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Switches a feature on.
    #[arg(long, value_name = "FEATURE")]
    enable: Vec<String>,
    /// Switches a feature off.
    #[arg(long, value_name = "FEATURE")]
    disable: Vec<String>,
}

impl SettingsFlags {
    /// These, and then those, which win.
    pub(crate) fn followed_by(mut self, later: Self) -> Self {
        self.config.extend(later.config);
        self.enable.extend(later.enable);
        self.disable.extend(later.disable);
        self
    }

    pub(crate) fn overrides(&self) -> anyhow::Result<Overrides> {
        self.over(Overrides::default())
    }

    /// Adds one, whose value is TOML.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.config.push(format!("{key}={value}"));
    }

    /// Adds them to the arguments of another process.
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

    /// These on top of others.
    pub(crate) fn over(&self, mut overrides: Overrides) -> anyhow::Result<Overrides> {
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
