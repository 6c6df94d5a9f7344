//! The built-in list: places where programs keep keys, tokens and logins.
//!
//! All are in the home folder of the user, at fixed places, so that no folder of a project is searched for them and no file of a
//! project is hidden by surprise.

use std::path::Path;

use crate::pattern::Pattern;

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

/// The patterns for a home folder, and the lines that are exceptions.
pub(crate) fn patterns(home: &Path) -> Vec<Pattern> {
    let patterns = PATTERNS.iter().filter_map(|text| {
        let (exception, below) = match text.strip_prefix('!') {
            Some(below) => ("!", below),
            None => ("", *text),
        };
        let pattern = Pattern::parse(&format!("~/{below}"), Some(home)).ok()?;
        Some(
            [Some(pattern.clone()), pattern.behind_links()].map(|pattern| {
                let pattern = pattern?;
                let line = format!("{exception}{}", pattern.line);
                Some(Pattern { line, ..pattern })
            }),
        )
    });
    patterns.flatten().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_pattern_is_used() {
        assert_eq!(patterns(Path::new("/no/home")).len(), PATTERNS.len());
    }
}
