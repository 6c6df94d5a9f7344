//! The challenges (`WWW-Authenticate`) of MCP servers: where they describe themselves, and which scopes they demand.

use super::client::OAuthClient;

/// The longest list of scopes that is taken over.
const LONGEST_SCOPES: usize = 4096;

/// What a server replies to a request that it does not let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Whether the request needs a login.
    pub(crate) demands_login: bool,
    /// Where the server describes itself.
    pub(super) resource_metadata: Option<String>,
    pub(crate) scopes: Vec<String>,
    /// Whether the login of the request lacks scopes.
    pub(crate) demands_more_scopes: bool,
}

impl Challenge {
    /// The challenge to requests without authorization. Some servers know no GET, and only POST needs a login there.
    pub(super) async fn request(oauth_client: &OAuthClient) -> Result<Self, String> {
        let read = oauth_client.challenge().await?;
        if read.demands_login {
            return Ok(read);
        }
        oauth_client.challenge_of_post().await
    }

    pub(crate) fn read(status: u16, header: Option<&str>) -> Self {
        let header = header.unwrap_or_default();
        let scopes = parameter(header, "scope").unwrap_or_default();
        let scopes = if scopes.len() > LONGEST_SCOPES {
            ""
        } else {
            scopes
        };
        Self {
            demands_login: status == 401,
            resource_metadata: parameter(header, "resource_metadata").map(str::to_owned),
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
            demands_more_scopes: status == 403
                && parameter(header, "error") == Some("insufficient_scope"),
        }
    }
}

/// A parameter of a challenge.
fn parameter<'header>(header: &'header str, name: &str) -> Option<&'header str> {
    let mut rest = header;
    loop {
        let (before, value) = rest.split_once(name)?;
        rest = value;
        let Some(value) = value.strip_prefix('=') else {
            continue;
        };
        if !before.is_empty() && !before.ends_with([' ', ',', '\t']) {
            continue;
        }
        return match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').map(|(value, _)| value),
            None => value.split([',', ' ']).next(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_name_descriptions_and_scopes() {
        let table = [
            (
                r#"Bearer resource_metadata="https://h/x", scope="a  b""#,
                Some("https://h/x"),
                vec!["a", "b"],
            ),
            (
                r#"Bearer realm="r", resource_metadata=/x, error="e""#,
                Some("/x"),
                vec![],
            ),
            ("Bearer", None, vec![]),
            (r#"Bearer resource_metadata="open"#, None, vec![]),
            (r#"Bearer xscope="no", scope=a"#, None, vec!["a"]),
        ];
        for (header, place, scopes) in table {
            let challenge = Challenge::read(401, Some(header));
            assert!(challenge.demands_login && !challenge.demands_more_scopes);
            assert_eq!(challenge.resource_metadata.as_deref(), place, "{header}");
            assert_eq!(challenge.scopes, scopes, "{header}");
        }
        let long = format!("Bearer scope=\"{}\"", "a ".repeat(LONGEST_SCOPES));
        assert!(Challenge::read(401, Some(&long)).scopes.is_empty());
    }

    #[test]
    fn a_login_may_lack_scopes() {
        let header = r#"Bearer error="insufficient_scope", scope="a""#;
        assert!(Challenge::read(403, Some(header)).demands_more_scopes);
        assert!(!Challenge::read(401, Some(header)).demands_more_scopes);
        assert!(!Challenge::read(403, None).demands_more_scopes);
    }
}
