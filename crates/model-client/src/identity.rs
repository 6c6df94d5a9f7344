//! Who asks: the names and versions that requests carry.

/// The program on whose behalf requests are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The name that the client gave itself, or the usual one.
    pub originator: String,
    /// The version of this program.
    pub version: String,
    /// The text of the `user-agent` header.
    pub user_agent: String,
}

/// The machine and the terminal that the program runs on.
#[derive(Clone, Copy, Debug)]
pub struct Platform<'a> {
    /// The operating system.
    pub os: &'a str,
    /// Its version.
    pub os_version: &'a str,
    /// The kind of processor.
    pub architecture: &'a str,
    /// The terminal.
    pub terminal: &'a str,
}

impl ClientIdentity {
    /// An identity; `client` is the name and version of the client in front of this program.
    pub fn new(
        originator: &str,
        version: &str,
        platform: Platform<'_>,
        client: Option<(&str, &str)>,
    ) -> Self {
        let Platform {
            os,
            os_version,
            architecture,
            terminal,
        } = platform;
        let mut user_agent =
            format!("{originator}/{version} ({os} {os_version}; {architecture}) {terminal}");
        if let Some((name, version)) = client {
            user_agent.push_str(&format!(" ({name}; {version})"));
        }
        Self {
            originator: header_safe(originator),
            version: version.to_owned(),
            user_agent: header_safe(&user_agent),
        }
    }

    /// The three numbers of the version, which is how the server tells its lists of models apart.
    pub fn short_version(&self) -> &str {
        let end = self.version.find(['-', '+']).unwrap_or(self.version.len());
        &self.version[..end]
    }
}

/// The text with everything that a header cannot carry replaced.
fn header_safe(text: &str) -> String {
    let safe = |character: char| match character {
        ' '..='~' => character,
        _ => '_',
    };
    text.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_names_everybody_involved() {
        let platform = Platform {
            os: "Linux",
            os_version: "6.1",
            architecture: "x86_64",
            terminal: "xtörm",
        };
        let identity = ClientIdentity::new("app", "1.2.3-beta+4", platform, Some(("ide", "9")));
        assert_eq!(
            identity.user_agent,
            "app/1.2.3-beta+4 (Linux 6.1; x86_64) xt_rm (ide; 9)"
        );
        assert_eq!(identity.short_version(), "1.2.3");
    }
}
