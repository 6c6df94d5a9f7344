//! Profiles: a table of `config.toml`, or a file of its own in the home folder as in other releases.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};

use crate::settings_flags::SettingsFlags;

/// A larger file is refused.
const LIMIT: u64 = 1024 * 1024;

/// The settings for a profile, which stand before those of the flags that are `given`.
pub(crate) fn settings(
    home: &Path,
    name: &str,
    given: &SettingsFlags,
) -> anyhow::Result<SettingsFlags> {
    let is_name = !name.is_empty() && !name.contains(['/', '\\']);
    if !is_name {
        bail!("`{name}` is no name of a profile");
    }
    let path = home.join(format!("{name}.config.toml"));
    let text = match codex_regular_file::read_text(&path, LIMIT) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut settings = SettingsFlags::default();
            settings.set("profile", &serde_json::to_string(name)?);
            return Ok(settings);
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    if given.are_strict() {
        codex_config::refuse_unknown_settings(&path, &text)?;
    }
    let table = toml::from_str(&text).with_context(|| format!("{} is not TOML", path.display()))?;
    Ok(SettingsFlags::of_profile(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_its_own_comes_before_a_table() {
        let home = tempfile::tempdir().unwrap();
        let table = settings(home.path(), "fast", &SettingsFlags::default()).unwrap();
        assert!(format!("{table:?}").contains("profile="), "{table:?}");
        let file = home.path().join("fast.config.toml");
        std::fs::write(file, "model = 'm'\n[mcp_servers.x]\ncommand = 'c'\n").unwrap();
        let read = settings(home.path(), "fast", &SettingsFlags::default()).unwrap();
        let overrides = read.overrides().unwrap();
        assert!(
            format!("{overrides:?}").contains("mcp_servers"),
            "{overrides:?}"
        );
        assert!(settings(home.path(), "../fast", &SettingsFlags::default()).is_err());
    }
}
