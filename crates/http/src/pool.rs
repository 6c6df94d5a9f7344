//! The connection pool of the process, shared by all providers and threads.
//!
//! Certificates are loaded for the first HTTPS URL, because reading the system's bundle takes longer than a whole
//! turn. The client for plain HTTP has no certificates.
//!
//! Every HTTP request of this program uses a client from here, so that one redirect policy applies: see
//! [`crate::redirect`].

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use reqwest::{Client, NoProxy, Proxy, StatusCode};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::environment::{Environment, non_blank};
use crate::redirect;

/// Settings of the pool.
#[derive(Clone, Default)]
pub struct HttpSettings {
    /// A PEM file with additional trusted certificates.
    pub extra_roots: Option<PathBuf>,
    /// The proxies.
    pub proxies: ProxySettings,
}

/// The proxies, in the usual notation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// For `http` URLs.
    pub http: Option<String>,
    /// For `https` URLs.
    pub https: Option<String>,
    /// Hosts that are reached without a proxy.
    pub except: Option<String>,
}

impl ProxySettings {
    /// Reads the usual variables. They are ignored inside the macOS sandbox.
    pub fn from_environment(environment: &dyn Environment) -> Self {
        if environment.variable("CODEX_SANDBOX").as_deref() == Some("seatbelt") {
            return Self::default();
        }
        let either = |name: &str| {
            non_blank(environment, name)
                .or_else(|| non_blank(environment, &name.to_ascii_lowercase()))
        };
        let all = either("ALL_PROXY");
        Self {
            http: either("HTTP_PROXY").or_else(|| all.clone()),
            https: either("HTTPS_PROXY").or(all),
            except: either("NO_PROXY"),
        }
    }

    fn list(&self) -> Result<Vec<Proxy>, reqwest::Error> {
        let http = self.http.as_ref().map(Proxy::http);
        let https = self.https.as_ref().map(Proxy::https);
        let except = match &self.except {
            Some(hosts) => format!("{LOOPBACK},{hosts}"),
            None => LOOPBACK.to_owned(),
        };
        let except = || NoProxy::from_string(&except);
        let proxies = [http, https].into_iter().flatten();
        proxies.map(|proxy| Ok(proxy?.no_proxy(except()))).collect()
    }
}

/// Hosts on this machine, which a proxy cannot reach.
const LOOPBACK: &str = "localhost,127.0.0.1,::1";

/// A certificate file or a proxy setting is unusable.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up connections: {0}")]
pub struct HttpSetupError(String);

/// Why a POST request failed.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The pool could not be set up.
    #[error(transparent)]
    Setup(#[from] HttpSetupError),
    /// The connection failed.
    #[error("{0}")]
    Connection(String),
    /// The server redirects to another origin, where nothing is sent.
    #[error("{0}")]
    Redirected(String),
    /// The server replied with an error status.
    #[error("the answer is {0}")]
    Refused(StatusCode),
}

/// A connection pool.
pub struct HttpPool {
    settings: HttpSettings,
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
}

impl HttpPool {
    /// A pool without connections. Creating it is cheap.
    pub fn new(settings: HttpSettings) -> Self {
        Self {
            settings,
            plain: OnceLock::new(),
            secure: OnceLock::new(),
        }
    }

    /// The client for a URL.
    ///
    /// # Errors
    /// Connections cannot be set up: a file of certificates or a proxy is not usable.
    pub fn client(&self, url: &str) -> Result<&Client, HttpSetupError> {
        let (slot, secure) = if is_plain(url) {
            (&self.plain, false)
        } else {
            (&self.secure, true)
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = self.build(secure);
        let client = client.map_err(|error| HttpSetupError(error.to_string()))?;
        Ok(slot.get_or_init(|| client))
    }

    /// Posts JSON to a URL that does not belong to a provider.
    ///
    /// # Errors
    /// The request failed or was refused.
    pub async fn post_json(&self, url: &str, body: Vec<u8>) -> Result<(), PostError> {
        let client = self.client(url)?;
        let request = client.post(url).header("content-type", "application/json");
        let sent = request.body(body).send().await;
        let response = sent.map_err(|error| PostError::Connection(error_text(error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let refused = redirect::refused(status.as_u16(), response.headers());
        Err(refused.map_or(PostError::Refused(status), PostError::Redirected))
    }

    fn build(&self, secure: bool) -> Result<Client, Box<dyn Error + Send + Sync>> {
        let roots = if secure {
            self.roots()?
        } else {
            RootCertStore::empty()
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut builder = Client::builder()
            .no_proxy()
            .redirect(redirect::policy())
            .referer(false)
            .tls_backend_preconfigured(tls);
        for proxy in self.settings.proxies.list()? {
            builder = builder.proxy(proxy);
        }
        Ok(builder.build()?)
    }

    fn roots(&self) -> Result<RootCertStore, Box<dyn Error + Send + Sync>> {
        let mut roots = RootCertStore::empty();
        let system = rustls_native_certs::load_native_certs();
        for error in &system.errors {
            tracing::warn!(%error, "cannot load some of the system's certificates");
        }
        roots.add_parsable_certificates(system.certs);
        if let Some(path) = &self.settings.extra_roots {
            let place = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
            let bundle = std::fs::read(path).map_err(|error| place(&error))?;
            for certificate in CertificateDer::pem_slice_iter(&bundle) {
                let certificate = certificate.map_err(|error| place(&error))?;
                roots.add(certificate).map_err(|error| place(&error))?;
            }
        }
        Ok(roots)
    }
}

impl fmt::Debug for HttpPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Proxy URLs may hold passwords.
        formatter.debug_struct("HttpPool").finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpSettings")
            .finish_non_exhaustive()
    }
}

fn is_plain(url: &str) -> bool {
    const SCHEME: &str = "http://";
    url.get(..SCHEME.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(SCHEME))
}

/// The text of an error: its last cause, which has the reason, without the outer ones, which repeat where it
/// happened. Query and password of the URL are left out, because they may be secret.
#[must_use]
pub fn error_text(mut error: reqwest::Error) -> String {
    if let Some(url) = error.url_mut() {
        remove_secrets(url);
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let detail = error.to_string();
        if !text.contains(&detail) {
            text = format!("{text}: {detail}");
        }
        cause = error.source();
    }
    text
}

/// Removes the parts of a URL that may be secrets: its query and its password.
pub fn remove_secrets(url: &mut reqwest::Url) {
    url.set_query(None);
    // This fails for URLs that cannot have a password.
    let _ = url.set_password(None);
}

/// An address as it may be shown: without a query, and without a login, also if it is no URL.
#[must_use]
pub fn without_secrets(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    format!("{scheme}{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_addresses_have_no_login_and_no_query() {
        for (address, shown) in [
            ("http://proxy:3128", "http://proxy:3128"),
            ("http://me:p@ss@proxy:3128", "http://proxy:3128"),
            ("me:pass@proxy:3128", "proxy:3128"),
            ("https://a.test/v1?key=sk-1", "https://a.test/v1"),
            ("https://me:word@a.test/v1#x", "https://a.test/v1"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }

    #[test]
    fn plain_urls_load_no_certificates() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n";
        std::fs::write(file.path(), text).unwrap();
        let missing = PathBuf::from("/no/such/bundle.pem");
        for path in [file.path().to_owned(), missing] {
            let start = format!("cannot set up connections: {}: ", path.display());
            let pool = HttpPool::new(HttpSettings {
                extra_roots: Some(path),
                ..HttpSettings::default()
            });
            assert!(pool.client("HTTP://localhost:1/v1").is_ok());
            let error = pool.client("https://localhost:1/v1").unwrap_err();
            assert!(error.to_string().starts_with(&start), "{error}");
        }
    }

    #[test]
    fn proxies_follow_the_usual_variables() {
        let variables = |name: &str| {
            let value = match name {
                "http_proxy" => "http://a",
                "ALL_PROXY" => "http://b",
                "NO_PROXY" => "localhost",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let expected = ProxySettings {
            http: Some("http://a".to_owned()),
            https: Some("http://b".to_owned()),
            except: Some("localhost".to_owned()),
        };
        assert_eq!(ProxySettings::from_environment(&variables), expected);
        let sandboxed = |name: &str| match name {
            "CODEX_SANDBOX" => Some("seatbelt".to_owned()),
            other => variables(other),
        };
        let none = ProxySettings::default();
        assert_eq!(ProxySettings::from_environment(&sandboxed), none);
    }
}
