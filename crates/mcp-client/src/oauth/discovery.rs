//! Finds the authorization server of an MCP server.
//!
//! A server may be its own authorization server or name another one. RFC 8414 and RFC 9728 define the addresses of
//! the metadata; both ways of joining a path and a well-known name are in use.

use reqwest::Url;
use serde_json::Value;

use super::client::OAuthClient;

/// The metadata of an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthorizationServer {
    /// The page on which the user logs in.
    pub(super) authorization: Url,
    /// The token endpoint.
    pub(super) token: Url,
    /// The endpoint for dynamic client registration, if supported.
    pub(super) registration: Option<Url>,
    /// The scopes that it supports.
    pub(super) scopes: Vec<String>,
}

/// Finds the authorization server of an MCP server, if it has one.
///
/// # Errors
/// A request failed.
pub(crate) async fn discover(
    oauth_client: &OAuthClient,
) -> Result<Option<AuthorizationServer>, String> {
    if let Some(found) = described(oauth_client, &oauth_client.server).await? {
        return Ok(Some(found));
    }
    for place in named(oauth_client).await? {
        if let Some(found) = described(oauth_client, &place).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The authorization server at an address, if its metadata is there.
async fn described(
    oauth_client: &OAuthClient,
    address: &Url,
) -> Result<Option<AuthorizationServer>, String> {
    for place in descriptions(address) {
        let answer = oauth_client.metadata(&place).await?;
        if answer.status == 200
            && let Some(found) = read(&answer.json(), &oauth_client.server)
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The authorization servers that the MCP server names: where its challenge points, or at the well-known addresses.
async fn named(oauth_client: &OAuthClient) -> Result<Vec<Url>, String> {
    let challenge = oauth_client.challenge().await?;
    let led = challenge.as_deref().and_then(resource_metadata);
    let led = led.and_then(|place| oauth_client.server.join(place).ok());
    let usual = well_known(&oauth_client.server, "oauth-protected-resource");
    for place in led.into_iter().chain(usual) {
        let answer = oauth_client.metadata(&place).await?;
        let Value::Array(servers) = &answer.json()["authorization_servers"] else {
            continue;
        };
        let servers = servers.iter().filter_map(Value::as_str);
        return Ok(servers.filter_map(|url| Url::parse(url).ok()).collect());
    }
    Ok(Vec::new())
}

/// The addresses at which an authorization server may publish its metadata.
fn descriptions(address: &Url) -> Vec<Url> {
    let mut places = well_known(address, "oauth-authorization-server");
    // A server with a path rather publishes below its path, so the root comes last.
    let root = places.pop();
    let mut others = well_known(address, "openid-configuration");
    if places.is_empty() {
        return root.into_iter().chain(others).collect();
    }
    others.pop();
    places.into_iter().chain(others).chain(root).collect()
}

/// The addresses of a well-known name: before the path, after the path and without it.
fn well_known(address: &Url, name: &str) -> Vec<Url> {
    let path = address.path().trim_matches('/');
    let mut paths = Vec::new();
    if !path.is_empty() {
        paths.push(format!("/.well-known/{name}/{path}"));
        paths.push(format!("/{path}/.well-known/{name}"));
    }
    paths.push(format!("/.well-known/{name}"));
    let at = |path: String| {
        let mut place = address.clone();
        place.set_path(&path);
        place.set_query(None);
        place.set_fragment(None);
        place
    };
    paths.into_iter().map(at).collect()
}

/// The address in the `resource_metadata` parameter of a challenge.
fn resource_metadata(challenge: &str) -> Option<&str> {
    let (_, rest) = challenge.split_once("resource_metadata=")?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(place, _)| place),
        None => rest.split([',', ' ']).next(),
    }
}

/// Reads metadata. `None` if a required endpoint is missing or not usable.
fn read(json: &Value, server: &Url) -> Option<AuthorizationServer> {
    let endpoint = |name: &str| {
        let url = Url::parse(json[name].as_str()?).ok()?;
        is_fit(&url, server).then_some(url)
    };
    let methods = json["code_challenge_methods_supported"].as_array();
    if methods.is_some_and(|methods| !methods.iter().any(|method| method == "S256")) {
        return None;
    }
    let mut scopes = Vec::<String>::new();
    for scope in json["scopes_supported"].as_array().into_iter().flatten() {
        let scope = scope.as_str().unwrap_or_default().trim();
        if !scope.is_empty() && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    Some(AuthorizationServer {
        authorization: endpoint("authorization_endpoint")?,
        token: endpoint("token_endpoint")?,
        registration: endpoint("registration_endpoint"),
        scopes,
    })
}

/// Only web addresses are accepted, as browsers open other schemes too, programs included. Plain HTTP is accepted
/// only if the MCP server itself uses it.
fn is_fit(url: &Url, server: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && server.scheme() == "http")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn paths(address: &str) -> Vec<String> {
        let places = descriptions(&url(address));
        places.iter().map(|place| place.path().to_owned()).collect()
    }

    #[test]
    fn servers_describe_themselves_at_known_places() {
        assert_eq!(
            paths("https://h/a/b?c"),
            [
                "/.well-known/oauth-authorization-server/a/b",
                "/a/b/.well-known/oauth-authorization-server",
                "/.well-known/openid-configuration/a/b",
                "/a/b/.well-known/openid-configuration",
                "/.well-known/oauth-authorization-server",
            ]
        );
        assert_eq!(
            paths("https://h/"),
            [
                "/.well-known/oauth-authorization-server",
                "/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn challenges_lead_to_descriptions() {
        let table = [
            (
                r#"Bearer resource_metadata="https://h/x""#,
                Some("https://h/x"),
            ),
            (
                r#"Bearer realm="r", resource_metadata=/x, error="e""#,
                Some("/x"),
            ),
            ("Bearer", None),
            (r#"Bearer resource_metadata="open"#, None),
        ];
        for (challenge, expected) in table {
            assert_eq!(resource_metadata(challenge), expected, "{challenge}");
        }
    }

    #[test]
    fn only_web_addresses_are_taken() {
        let of = |authorization: &str, server: &str| {
            let json = json!({ "authorization_endpoint": authorization, "token_endpoint": "https://h/t",
                "scopes_supported": [" a ", "b", "a", "", 1] });
            read(&json, &url(server))
        };
        let found = of("https://h/a", "https://s/").unwrap();
        assert_eq!(
            (found.registration, found.scopes),
            (None, vec!["a".to_owned(), "b".to_owned()])
        );
        assert!(of("http://h/a", "http://s/").is_some());
        for authorization in [
            "http://h/a",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "-x",
            "",
        ] {
            assert_eq!(of(authorization, "https://s/"), None, "{authorization}");
        }
        let weak = json!({ "authorization_endpoint": "https://h/a", "token_endpoint": "https://h/t",
            "code_challenge_methods_supported": ["plain"] });
        assert_eq!(read(&weak, &url("https://s/")), None);
    }
}
