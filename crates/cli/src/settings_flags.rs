//! Flags that change settings for one run. Every command takes them, on each of its levels.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use codex_config::Overrides;

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingsFlags {
    /// Override a setting, for example `model="gpt-5.4"`.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Enable a feature.
    #[arg(long, value_name = "FEATURE")]
    enable: Vec<String>,
    /// Disable a feature.
    #[arg(long, value_name = "FEATURE")]
    disable: Vec<String>,
    /// Report unknown settings as errors with file, line and column, instead of warnings.
    #[arg(long)]
    strict_config: bool,
    /// Whether the settings of the user's file are left out.
    #[arg(skip)]
    ignores_user_file: bool,
    /// Whether the rules of the user and of projects are left out.
    #[arg(skip)]
    ignores_rules: bool,
    /// The settings of a profile with a file of its own, over which all other flags take precedence.
    #[arg(skip)]
    profile: toml::Table,
}

/// Adds the flags to all commands below this one that are needed: with those of all commands a start takes much longer.
pub(crate) fn below(command: Command, is_needed: &impl Fn(&str) -> bool) -> Command {
    command.mut_subcommands(|command| {
        let is_any = is_needed(command.get_name()) || command.get_all_aliases().any(is_needed);
        if is_any {
            below(SettingsFlags::augment_args(command), is_needed)
        } else {
            command
        }
    })
}

/// The flags of all commands below this one, in their order.
pub(crate) fn found_below(matches: &ArgMatches) -> Result<SettingsFlags, clap::Error> {
    match matches.subcommand() {
        Some((_, matches)) => {
            let own = SettingsFlags::from_arg_matches(matches)?;
            Ok(own.followed_by(found_below(matches)?))
        }
        None => Ok(SettingsFlags::default()),
    }
}

impl SettingsFlags {
    /// Whether unknown settings are an error.
    pub(crate) fn are_strict(&self) -> bool {
        self.strict_config
    }

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
        self.strict_config |= later.strict_config;
        self.ignores_user_file |= later.ignores_user_file;
        self.ignores_rules |= later.ignores_rules;
        self
    }

    /// Leaves out the settings of the user's file.
    pub(crate) fn ignore_user_file(&mut self) {
        self.ignores_user_file = true;
    }

    /// Leaves out the rules of the user and of projects.
    pub(crate) fn ignore_rules(&mut self) {
        self.ignores_rules = true;
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
        if self.strict_config {
            command.arg("--strict-config");
        }
        if self.ignores_user_file {
            command.arg("--ignore-user-config");
        }
        if self.ignores_rules {
            command.arg("--ignore-rules");
        }
    }

    /// The settings of all flags.
    pub(crate) fn overrides(&self) -> anyhow::Result<Overrides> {
        let mut overrides = Overrides::default();
        if self.strict_config {
            overrides.require_known_settings();
        }
        if self.ignores_user_file {
            overrides.ignore_user_file();
        }
        if self.ignores_rules {
            overrides.ignore_rules();
        }
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
