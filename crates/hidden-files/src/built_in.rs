//! The built-in list: places where programs keep keys, tokens and logins.
//!
//! All are in the home folder of the user, at fixed places, so that no folder of a project is searched for them and no file of a
//! project is hidden by surprise.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::matcher::{PatternList, PatternOwner};
use crate::pattern::{Pattern, PatternError};
use crate::real_path::RealFolders;

/// Below the home folder. A line with `!` is an exception of lines before it.
const PATTERNS: &[&str] = &[
    // Private keys.
    ".ssh/*",
    "!.ssh/*.pub",
    "!.ssh/authorized_keys*",
    "!.ssh/config",
    "!.ssh/config.d",
    "!.ssh/known_hosts*",
    ".gnupg/private-keys-v1.d",
    ".gnupg/secring.gpg",
    ".config/age",
    ".config/sops/age",
    // Clouds.
    ".aws/cli/cache",
    ".aws/credentials",
    ".aws/login/cache",
    ".aws/sso/cache",
    ".azure/accessTokens.json",
    ".azure/msal_token_cache.*",
    ".azure/service_principal_entries.*",
    ".boto",
    ".config/doctl/config.yaml",
    ".config/gcloud/access_tokens.db",
    ".config/gcloud/application_default_credentials.json",
    ".config/gcloud/credentials.db",
    ".config/gcloud/legacy_credentials",
    ".config/hcloud/cli.toml",
    ".config/rclone/rclone.conf",
    ".fly/config.yml",
    ".kube/cache/oidc-login",
    ".kube/config",
    ".oci",
    ".s3cfg",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    // Registries, repositories and databases.
    ".cache/huggingface/token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".config/glab-cli/config.yml",
    ".config/hub",
    ".docker/config.json",
    ".gem/credentials",
    ".git-credentials",
    ".local/share/containers/auth.json",
    ".m2/settings-security.xml",
    ".mylogin.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "_netrc",
    // Stores of passwords.
    ".config/Bitwarden CLI",
    ".config/op",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".password-store",
    "Library/Keychains",
    // Browsers.
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/google-chrome*",
    ".config/microsoft-edge*",
    ".config/opera",
    ".config/vivaldi",
    ".mozilla",
    ".var/app/org.mozilla.firefox",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Chromium",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Microsoft Edge",
    "Library/Cookies",
    "Library/Safari",
    "snap/chromium",
    "snap/firefox",
];

/// The list that was made last. To make it takes longer than everything else that a session begins with. Nobody waits for
/// another one who looks at the file system.
static LAST_LIST: Mutex<Option<BuiltInList>> = Mutex::new(None);

struct BuiltInList {
    home: PathBuf,
    lines: Vec<Line>,
    /// Where the links of the folders of the lines lead.
    folders: Vec<PathBuf>,
    list: Option<Arc<PatternList>>,
}

struct Line {
    pattern: Pattern,
    is_exception: bool,
}

/// The list for a home folder. It is made again when the links there have changed.
pub(crate) fn list(home: &Path) -> Result<Arc<PatternList>, PatternError> {
    let last = LAST_LIST.lock().take().filter(|last| last.home == home);
    let mut last = last.unwrap_or_else(|| BuiltInList {
        home: home.to_owned(),
        lines: lines(home),
        folders: Vec::new(),
        list: None,
    });
    let folders = real_folders(home, &last.lines);
    let known = last.list.take().filter(|_| last.folders == folders);
    let list = match known {
        Some(list) => list,
        None => {
            let patterns = patterns(&last.lines, &folders);
            Arc::new(PatternList::of_patterns(PatternOwner::BuiltIn, patterns)?)
        }
    };
    last.list = Some(Arc::clone(&list));
    last.folders = folders;
    *LAST_LIST.lock() = Some(last);
    Ok(list)
}

fn lines(home: &Path) -> Vec<Line> {
    let lines = PATTERNS.iter().filter_map(|text| {
        let exception = text.strip_prefix('!');
        let below = exception.unwrap_or(text);
        Some(Line {
            pattern: Pattern::parse(&format!("~/{below}"), Some(home)).ok()?,
            is_exception: exception.is_some(),
        })
    });
    lines.collect()
}

/// The patterns of the lines, and the same ones where links lead.
fn patterns(lines: &[Line], folders: &[PathBuf]) -> Vec<Pattern> {
    let patterns = lines.iter().zip(folders).flat_map(|(line, real)| {
        let behind_links = line.pattern.behind_links(real.clone());
        let both = std::iter::once(line.pattern.clone()).chain(behind_links);
        let mark = if line.is_exception { "!" } else { "" };
        both.map(move |pattern| Pattern {
            line: format!("{mark}{}", pattern.line),
            ..pattern
        })
    });
    patterns.collect()
}

/// Where the links of the folders of lines lead.
fn real_folders(home: &Path, lines: &[Line]) -> Vec<PathBuf> {
    let mut known = RealFolders::below(home);
    let folders = lines.iter().filter_map(|line| line.pattern.folder());
    folders.map(|folder| known.real(folder)).collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_pattern_is_used() {
        let home = Path::new("/no/home");
        let lines = lines(home);
        let folders = real_folders(home, &lines);
        assert_eq!(patterns(&lines, &folders).len(), PATTERNS.len());
    }
}
