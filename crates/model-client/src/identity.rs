//! The identity of the program in requests.

/// The program on whose behalf requests are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The name of the client, or the default.
    pub originator: String,
    /// The version of this program.
    pub version: String,
    pub user_agent: String,
}

/// The platform of the program.
#[derive(Clone, Copy, Debug)]
pub struct Platform<'a> {
    pub os: &'a str,
    pub os_version: &'a str,
    /// The processor architecture.
    pub architecture: &'a str,
    pub terminal: &'a str,
}

impl ClientIdentity {
    /// Creates an identity; `client` is the name and version of the client program.
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

    /// The three numbers of the version, which the server's list of models depends on.
    pub fn short_version(&self) -> &str {
        let end = self.version.find(['-', '+']).unwrap_or(self.version.len());
        &self.version[..end]
    }
}

/// Replaces characters that are not allowed in a header.
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
