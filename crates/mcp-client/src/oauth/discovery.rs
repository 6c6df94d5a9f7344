//! Finds the authorization server of an MCP server.
//!
//! A server describes itself as a resource and names its authorization servers, or it is its own authorization server, with
//! metadata or, as in the revision 2025-03-26, without. RFC 8414 and RFC 9728 define the addresses of the metadata; both
//! ways of joining a path and a well-known name are in use.

use reqwest::Url;
use serde_json::Value;

use super::challenge::Challenge;
use super::client::OAuthClient;

/// The metadata of an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthorizationServer {
    /// Its own name for itself.
    pub(super) issuer: Option<String>,
    /// Whether its callbacks say who sends them.
    pub(super) names_itself: bool,
    /// The page on which the user logs in.
    pub(super) authorization: Url,
    pub(super) token: TokenEndpoint,
    /// The endpoint for dynamic client registration, if supported.
    pub(super) registration: Option<Url>,
    /// The scopes that the MCP server asks for, or else those that are supported.
    pub(super) scopes: Vec<String>,
    /// The resource that tokens are for, if the MCP server describes itself.
    pub(super) resource: Option<String>,
}

/// Where tokens are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TokenEndpoint {
    pub(super) url: Url,
    /// The ways in which clients may show who they are, if it names them.
    methods: Option<Vec<String>>,
}

impl TokenEndpoint {
    fn takes(&self, method: &str) -> bool {
        let methods = self.methods.as_ref();
        methods.is_some_and(|methods| methods.iter().any(|known| known == method))
    }

    /// Whether the secret of a client belongs into the form, as basic authentication is not taken.
    pub(super) fn takes_secret_in_form(&self) -> bool {
        self.takes("client_secret_post") && !self.takes("client_secret_basic")
    }

    /// The way that a new client announces.
    pub(super) fn method_of_new_client(&self) -> &'static str {
        let known = ["none", "client_secret_basic", "client_secret_post"];
        let taken = known.into_iter().find(|method| self.takes(method));
        taken.unwrap_or("none")
    }
}

/// What an MCP server says about itself as a resource.
#[derive(Debug, Default)]
struct ProtectedResource {
    resource: Option<String>,
    servers: Vec<Url>,
    scopes: Vec<String>,
}

/// Finds the authorization server of an MCP server, if it has metadata.
///
/// # Errors
/// A request failed, or the MCP server describes another resource than itself.
pub(crate) async fn discover(
    oauth_client: &OAuthClient,
) -> Result<Option<AuthorizationServer>, String> {
    let challenge = Challenge::request(oauth_client).await?;
    Ok(find(oauth_client, &challenge).await?.found)
}

/// The same. A server that demands a login and publishes no metadata is assumed to be its own authorization server, with
/// the endpoints of the revision 2025-03-26.
///
/// # Errors
/// Those of [`discover`].
pub(super) async fn discover_or_assume(
    oauth_client: &OAuthClient,
) -> Result<Option<AuthorizationServer>, String> {
    let challenge = Challenge::request(oauth_client).await?;
    let Discovery { found, is_silent } = find(oauth_client, &challenge).await?;
    let may_assume = is_silent && challenge.demands_login;
    Ok(found.or_else(|| may_assume.then(|| assumed(&oauth_client.server, challenge.scopes))))
}

/// The result of a search for metadata.
#[derive(Debug)]
struct Discovery {
    found: Option<AuthorizationServer>,
    /// Whether the server publishes nothing at all, usable or not.
    is_silent: bool,
}

async fn find(oauth_client: &OAuthClient, challenge: &Challenge) -> Result<Discovery, String> {
    let resource = described_resource(oauth_client, challenge).await?;
    let is_described = resource.is_some();
    let resource = resource.unwrap_or_default();
    let found = |mut found: AuthorizationServer| {
        if !challenge.scopes.is_empty() {
            found.scopes.clone_from(&challenge.scopes);
        } else if !resource.scopes.is_empty() {
            found.scopes.clone_from(&resource.scopes);
        }
        found.resource.clone_from(&resource.resource);
        Discovery {
            found: Some(found),
            is_silent: false,
        }
    };
    for place in &resource.servers {
        match described(oauth_client, place).await? {
            Metadata::Usable(server) if is_issuer(&server, place) => return Ok(found(*server)),
            Metadata::Usable(_) => {
                return Err(format!(
                    "the metadata of the authorization server `{place}` names another one"
                ));
            }
            Metadata::Unusable | Metadata::None => {}
        }
    }
    Ok(match described(oauth_client, &oauth_client.server).await? {
        Metadata::Usable(server) => found(*server),
        other => Discovery {
            found: None,
            is_silent: !is_described && matches!(other, Metadata::None),
        },
    })
}

/// Whether metadata is that of the authorization server at an address. A final slash makes no difference.
fn is_issuer(found: &AuthorizationServer, place: &Url) -> bool {
    let issuer = found.issuer.as_deref();
    issuer.is_none_or(|issuer| issuer.trim_end_matches('/') == place.as_str().trim_end_matches('/'))
}

/// The endpoints of a server without metadata.
fn assumed(place: &Url, scopes: Vec<String>) -> AuthorizationServer {
    let endpoint = |path: &str| {
        let mut url = place.clone();
        url.set_path(path);
        url.set_query(None);
        url.set_fragment(None);
        url
    };
    AuthorizationServer {
        issuer: None,
        names_itself: false,
        authorization: endpoint("/authorize"),
        token: TokenEndpoint {
            url: endpoint("/token"),
            methods: None,
        },
        registration: Some(endpoint("/register")),
        scopes,
        resource: None,
    }
}

/// What is published at the addresses for metadata.
enum Metadata {
    None,
    Unusable,
    Usable(Box<AuthorizationServer>),
}

/// The metadata of an authorization server at an address.
async fn described(oauth_client: &OAuthClient, address: &Url) -> Result<Metadata, String> {
    let mut described = Metadata::None;
    for place in descriptions(address) {
        let answer = oauth_client.metadata(&place).await?;
        if answer.status == 200 {
            match read(&answer.json(), &oauth_client.server) {
                Some(found) => return Ok(Metadata::Usable(Box::new(found))),
                None => described = Metadata::Unusable,
            }
        }
    }
    Ok(described)
}

/// What the MCP server says about itself: where its challenge points, or at the well-known addresses.
async fn described_resource(
    oauth_client: &OAuthClient,
    challenge: &Challenge,
) -> Result<Option<ProtectedResource>, String> {
    let server = &oauth_client.server;
    let led = challenge.resource_metadata.as_deref();
    let led = led.and_then(|place| server.join(place).ok());
    let usual = well_known(server, "oauth-protected-resource");
    for place in led.into_iter().chain(usual) {
        let json = oauth_client.metadata(&place).await?.json();
        let Value::Array(servers) = &json["authorization_servers"] else {
            continue;
        };
        let servers = servers.iter().filter_map(Value::as_str);
        let resource = json["resource"].as_str();
        if let Some(resource) = resource
            && !is_resource_of(resource, server)
        {
            return Err(format!(
                "the server describes another resource: `{}`",
                super::replies::readable(resource)
            ));
        }
        return Ok(Some(ProtectedResource {
            resource: resource.map(str::to_owned),
            servers: servers.filter_map(|url| Url::parse(url).ok()).collect(),
            scopes: scopes(&json["scopes_supported"]),
        }));
    }
    Ok(None)
}

/// Whether a server belongs to a resource: it is on the same origin, at the path of the resource or below.
fn is_resource_of(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let path = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(path);
    resource.origin() == server.origin()
        && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
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
    let methods = json["token_endpoint_auth_methods_supported"].as_array();
    let methods = methods.map(|methods| {
        let methods = methods.iter().filter_map(Value::as_str);
        methods.map(str::to_owned).collect()
    });
    Some(AuthorizationServer {
        issuer: json["issuer"].as_str().map(str::to_owned),
        names_itself: json["authorization_response_iss_parameter_supported"] == true,
        authorization: endpoint("authorization_endpoint")?,
        token: TokenEndpoint {
            url: endpoint("token_endpoint")?,
            methods,
        },
        registration: endpoint("registration_endpoint"),
        scopes: scopes(&json["scopes_supported"]),
        resource: None,
    })
}

/// Scopes without blanks and repetitions.
fn scopes(json: &Value) -> Vec<String> {
    let mut scopes = Vec::<String>::new();
    for scope in json.as_array().into_iter().flatten() {
        let scope = scope.as_str().unwrap_or_default().trim();
        if !scope.is_empty() && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
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
    fn a_server_belongs_to_its_own_resource_alone() {
        let table = [
            ("https://h/mcp", true),
            ("https://h/mcp/", true),
            ("https://h/", true),
            ("https://h", true),
            ("https://h/mc", false),
            ("https://h/mcp/tools", false),
            ("https://other/mcp", false),
            ("http://h/mcp", false),
            ("h", false),
        ];
        for (resource, expected) in table {
            let found = is_resource_of(resource, &url("https://h/mcp"));
            assert_eq!(found, expected, "{resource}");
        }
    }

    #[test]
    fn client_authentication_follows_the_server_metadata() {
        let of = |methods: Value| {
            let json = json!({ "authorization_endpoint": "https://h/a", "token_endpoint": "https://h/t",
                "token_endpoint_auth_methods_supported": methods });
            let token = read(&json, &url("https://s/")).unwrap().token;
            (token.method_of_new_client(), token.takes_secret_in_form())
        };
        assert_eq!(of(Value::Null), ("none", false));
        assert_eq!(of(json!(["none", "client_secret_post"])), ("none", true));
        assert_eq!(
            of(json!(["client_secret_post"])),
            ("client_secret_post", true)
        );
        let both = json!(["client_secret_post", "client_secret_basic"]);
        assert_eq!(of(both), ("client_secret_basic", false));
        assert_eq!(of(json!(["private_key_jwt"])), ("none", false));
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
