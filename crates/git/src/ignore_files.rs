//! Finds the user's ignore file for all repositories.

use std::path::{Path, PathBuf};

/// A longer file of settings does not count.
const SETTINGS_LIMIT: u64 = 1024 * 1024;

/// The ignore file that the user's settings name, or the default one. It may not exist.
#[must_use]
pub fn ignore_files(home: Option<&Path>, config_home: Option<&Path>) -> Vec<PathBuf> {
    let folder = match (config_home, home) {
        (Some(folder), _) if !folder.as_os_str().is_empty() => Some(folder.join("git")),
        (_, home) => home.map(|home| home.join(".config/git")),
    };
    // The last file that git reads takes precedence, so it comes first here.
    let settings = [
        home.map(|home| home.join(".gitconfig")),
        folder.as_ref().map(|folder| folder.join("config")),
    ];
    let named = settings
        .into_iter()
        .flatten()
        .filter_map(|path| codex_regular_file::read_text(&path, SETTINGS_LIMIT).ok())
        .find_map(|text| excludes_file(&text));
    match (named, home) {
        (Some(named), Some(home)) => match named.strip_prefix("~/") {
            Some(rest) => vec![home.join(rest)],
            None => vec![PathBuf::from(named)],
        },
        (Some(named), None) => vec![PathBuf::from(named)],
        (None, _) => folder
            .map(|folder| folder.join("ignore"))
            .into_iter()
            .collect(),
    }
}

/// The value of `excludesFile` in the section `[core]`.
fn excludes_file(settings: &str) -> Option<String> {
    let mut in_core = false;
    let mut found = None;
    for line in settings.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section
                .trim_end_matches(']')
                .trim()
                .eq_ignore_ascii_case("core");
        } else if let Some((name, value)) = line.split_once('=')
            && in_core
            && name.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_the_file() {
        let text = "[user]\nexcludesfile = no\n[Core]\n  excludesFile = \"~/x\"\n";
        assert_eq!(excludes_file(text).as_deref(), Some("~/x"));
        assert_eq!(excludes_file("[core]\neditor = vi"), None);
    }

    #[test]
    fn without_settings_it_is_the_usual_one() {
        let home = tempfile::tempdir().unwrap();
        let usual = home.path().join(".config/git/ignore");
        assert_eq!(ignore_files(Some(home.path()), None), [usual]);
        let own = ignore_files(Some(home.path()), Some(Path::new("/own")));
        assert_eq!(own, [Path::new("/own/git/ignore")]);
        std::fs::write(
            home.path().join(".gitconfig"),
            "[core]\nexcludesfile=~/mine\n",
        )
        .unwrap();
        let mine = ignore_files(Some(home.path()), None);
        assert_eq!(mine, [home.path().join("mine")]);
        assert!(ignore_files(None, None).is_empty());
    }
}
