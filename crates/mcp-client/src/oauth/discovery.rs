//! Finding the authorisation server of a server.
//!
//! A server may be its own, or name another one. Where descriptions lie is given by RFC 8414 and RFC 9728;
//! both ways of joining a path and a well-known name are in use.

use reqwest::Url;
use serde_json::Value;

use super::caller::Caller;

/// What an authorisation server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthorizationServer {
    /// Where a person goes.
    pub(super) authorization: Url,
    /// Where tokens are given out.
    pub(super) token: Url,
    /// Where programs introduce themselves, if they can.
    pub(super) registration: Option<Url>,
    /// What can be asked for.
    pub(super) scopes: Vec<String>,
}

/// The authorisation server of a server, if it has one.
///
/// # Errors
/// Somebody who was asked did not reply.
pub(crate) async fn discover(caller: &Caller) -> Result<Option<AuthorizationServer>, String> {
    if let Some(found) = described(caller, &caller.server).await? {
        return Ok(Some(found));
    }
    for place in named(caller).await? {
        if let Some(found) = described(caller, &place).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The authorisation server whose address this is, if it describes itself.
async fn described(caller: &Caller, address: &Url) -> Result<Option<AuthorizationServer>, String> {
    for place in descriptions(address) {
        let answer = caller.question(&place).await?;
        if answer.status == 200
            && let Some(found) = read(&answer.json(), &caller.server)
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The authorisation servers that the server names: where its challenge leads, or at the usual places.
async fn named(caller: &Caller) -> Result<Vec<Url>, String> {
    let challenge = caller.challenge().await?;
    let led = challenge.as_deref().and_then(resource_metadata);
    let led = led.and_then(|place| caller.server.join(place).ok());
    let usual = well_known(&caller.server, "oauth-protected-resource");
    for place in led.into_iter().chain(usual) {
        let answer = caller.question(&place).await?;
        let Value::Array(servers) = &answer.json()["authorization_servers"] else {
            continue;
        };
        let servers = servers.iter().filter_map(Value::as_str);
        return Ok(servers.filter_map(|url| Url::parse(url).ok()).collect());
    }
    Ok(Vec::new())
}

/// Where an authorisation server may describe itself.
fn descriptions(address: &Url) -> Vec<Url> {
    let mut places = well_known(address, "oauth-authorization-server");
    // The root comes last: whoever has a path more likely describes itself there.
    let root = places.pop();
    let mut others = well_known(address, "openid-configuration");
    if places.is_empty() {
        return root.into_iter().chain(others).collect();
    }
    others.pop();
    places.into_iter().chain(others).chain(root).collect()
}

/// The places of a well-known name: before the path, behind it, and without it.
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

/// Where a challenge says that the server is described.
fn resource_metadata(challenge: &str) -> Option<&str> {
    let (_, rest) = challenge.split_once("resource_metadata=")?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(place, _)| place),
        None => rest.split([',', ' ']).next(),
    }
}

/// A description, if it is one of a server that can be used.
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

/// Browsers open anything, programs included: only web addresses are taken, and none without
/// encryption where the server itself has it.
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
