//! The settings of a user that are about reaching a remote: credentials, proxies, certificates, addresses.

use std::ffi::OsString;
use std::path::Path;

use crate::program::{GitError, GitProgram};

/// Settings by their keys, in the order in which they count.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NetworkSettings(Vec<(String, String)>);

impl NetworkSettings {
    /// Those of the user, the system and the environment. Nothing is run to read them.
    pub(crate) async fn of_user(folder: &Path) -> Result<Self, GitError> {
        let question = ["config", "--list", "--null", "--show-scope", "--includes"];
        let listed = GitProgram::with_user_settings(folder)
            .run(&question)
            .await?;
        Ok(Self::read(&String::from_utf8_lossy(&listed)))
    }

    fn read(listed: &str) -> Self {
        let mut words = listed.split('\0');
        let mut settings = Vec::new();
        while let (Some(scope), Some(setting)) = (words.next(), words.next()) {
            // A key alone is a switch that is on.
            let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
            if matches!(scope, "system" | "global" | "command") && is_about_network(key) {
                settings.push((key.to_owned(), value.to_owned()));
            }
        }
        Self(settings)
    }

    /// The variables that give git these settings.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        let count = ("GIT_CONFIG_COUNT".into(), self.0.len().to_string().into());
        let settings = self.0.iter().enumerate();
        let settings = settings.flat_map(|(at, (key, value))| {
            [
                (format!("GIT_CONFIG_KEY_{at}").into(), key.into()),
                (format!("GIT_CONFIG_VALUE_{at}").into(), value.into()),
            ]
        });
        std::iter::once(count).chain(settings)
    }
}

/// The name of a section and of a setting come in lower case.
fn is_about_network(key: &str) -> bool {
    let sections = ["credential.", "http.", "url."];
    key == "core.gitproxy" || sections.iter().any(|section| key.starts_with(section))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_settings_come_from_user_only() {
        let listed = "global\0credential.helper\n!mine\0local\0http.proxy\nx\0system\0http.https://h/.sslverify\0\
                      global\0filter.x.smudge\nrun\0global\0core.fsmonitor\nrun\0global\0hook.x.command\nrun\0\
                      command\0url.ssh://h/.insteadof\nhttps://h/\0global\0uploadpack.packobjectshook\nrun\0";
        let settings = NetworkSettings::read(listed);
        let expected = [
            ("credential.helper", "!mine"),
            ("http.https://h/.sslverify", "true"),
            ("url.ssh://h/.insteadof", "https://h/"),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(settings, NetworkSettings(expected.into()));
        let variables: Vec<_> = settings.variables().collect();
        assert_eq!(variables[0], ("GIT_CONFIG_COUNT".into(), "3".into()));
        assert_eq!(
            variables[1],
            ("GIT_CONFIG_KEY_0".into(), "credential.helper".into())
        );
        assert_eq!(variables.len(), 7);
    }
}
