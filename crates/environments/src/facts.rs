//! What an exec server says about its machine, checked.

use serde::Deserialize;

use crate::path::RemotePath;

/// The longest text of a fact.
const MAX_TEXT: usize = 4096;

/// The shell of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellFacts {
    pub name: String,
    pub path: String,
}

/// What a machine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    pub shell: ShellFacts,
    /// The folder in which its exec server was started.
    pub cwd: Option<RemotePath>,
    pub home: Option<RemotePath>,
    /// Its operating system.
    pub system: Option<String>,
    /// The version of its exec server.
    pub version: Option<String>,
}

/// As it is sent. Members that are not known are left out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SentFacts {
    shell: SentShell,
    cwd: Option<String>,
    user_home_dir: Option<String>,
    platform_os: Option<String>,
    executor_version: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SentShell {
    name: String,
    path: String,
}

impl SentFacts {
    /// The error is a sentence.
    pub(crate) fn check(self) -> Result<MachineFacts, String> {
        let texts = [
            Some(&self.shell.name),
            Some(&self.shell.path),
            self.platform_os.as_ref(),
            self.executor_version.as_ref(),
        ];
        let is_odd = |text: &String| text.len() > MAX_TEXT || text.chars().any(char::is_control);
        if texts.into_iter().flatten().any(is_odd) {
            return Err("it sends unreadable facts about its machine".to_owned());
        }
        if self.platform_os.as_deref() == Some("windows") {
            return Err("it is a machine with Windows, which is not supported".to_owned());
        }
        if RemotePath::new(&self.shell.path).is_none() {
            return Err("it names a shell that is no absolute path".to_owned());
        }
        let path = |uri: Option<String>| uri.as_deref().and_then(RemotePath::of_uri);
        Ok(MachineFacts {
            shell: ShellFacts {
                name: self.shell.name,
                path: self.shell.path,
            },
            cwd: path(self.cwd),
            home: path(self.user_home_dir),
            system: self.platform_os,
            version: self.executor_version,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn checked(value: Value) -> Result<MachineFacts, String> {
        serde_json::from_value::<SentFacts>(value).unwrap().check()
    }

    #[test]
    fn odd_facts_are_refused() {
        let shell = json!({ "name": "sh", "path": "/bin/sh" });
        assert!(checked(json!({ "shell": shell, "cwd": "file:///a" })).is_ok());
        for wrong in [
            json!({ "shell": { "name": "sh", "path": "sh" } }),
            json!({ "shell": { "name": "s\nh", "path": "/bin/sh" } }),
            json!({ "shell": shell, "executorVersion": "x".repeat(5000) }),
            json!({ "shell": shell, "platformOs": "windows" }),
        ] {
            assert!(checked(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
