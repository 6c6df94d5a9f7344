//! Builds engines from configuration: providers, identity and traces.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server::ClientName;
use codex_config::schema::{CredentialsStore, RolloutTraceFile, TracesFile};
use codex_config::{
    Config, Environment, EnvironmentVariables, Feature, LoadRequest, Overrides, RequestParams,
};
use codex_core::{Observers, Ports, ThreadManager};
use codex_login::{LoginSettings, StoreKind};
use codex_model_client::{ClientIdentity, Platform};
use codex_projection::dialect::Dialect;
use codex_protocol::{Provider, Release};
use codex_rollout_trace::RecordingLimits;
use codex_rollout_trace::format::{ROOT_VARIABLE, SCHEMA_VARIABLE, Schema};
use codex_session_trace::Traces;

use crate::environment::{self, variable};
use crate::system_folder::{managed_config, system_folder};

/// The display name of the hosted provider.
const HOSTED_PROVIDER: &str = "OpenAI";

pub const ORIGINATOR: &str = "codex_cli_rs";

/// The inputs of the configuration.
pub fn config_environment() -> anyhow::Result<Environment> {
    let mut env = Environment::with_home(environment::home()?);
    env.user_home = environment::user_home();
    env.variables = EnvironmentVariables::from_lookup(variable);
    env.managed_config_file = managed_config(&env.codex_home);
    env.system_folder = system_folder();
    Ok(env)
}

/// Loads the configuration for a folder and the parameters of a request.
pub fn load_config(
    cwd: Option<&Path>,
    flags: &Overrides,
    params: &RequestParams,
) -> anyhow::Result<Config> {
    let request = LoadRequest {
        env: &config_environment()?,
        cwd,
        flags,
        params,
        host_features: &BTreeMap::new(),
    };
    Ok(Config::load(request)?)
}

/// The value of a variable, unless it is unset or blank.
pub fn non_blank(name: &str) -> Option<String> {
    variable(name).filter(|value| !value.trim().is_empty())
}

/// The login settings: the hosted service, unless variables name another one.
pub fn login_settings(config: &Config) -> LoginSettings {
    let mut settings = LoginSettings::hosted(&config.home);
    settings.store = match config.account.credentials_store {
        CredentialsStore::File => StoreKind::File,
        CredentialsStore::Keyring => StoreKind::Keyring,
        CredentialsStore::Auto => StoreKind::Auto,
        CredentialsStore::Ephemeral => StoreKind::Ephemeral,
    };
    settings.forced_method = config.account.forced_login_method;
    settings.unknown_restriction = config.account.unknown_restriction.clone();
    settings.forced_workspaces = config.account.forced_workspaces.clone();
    settings.backend_url = config.account.chatgpt_base_url.clone();
    settings.personal_token = non_blank("CODEX_ACCESS_TOKEN").map(|token| token.trim().into());
    if let Some(url) = non_blank("CODEX_AUTHAPI_BASE_URL") {
        settings.account_api_url = url;
    }
    settings.refresh_url = non_blank("CODEX_REFRESH_TOKEN_URL_OVERRIDE");
    settings.revoke_url = non_blank("CODEX_REVOKE_TOKEN_URL_OVERRIDE");
    if let Some(issuer) = non_blank("CODEX_LOGIN_ISSUER") {
        settings.issuer = issuer.trim_end_matches('/').to_owned();
    }
    if let Some(id) = non_blank("CODEX_LOGIN_CLIENT_ID") {
        settings.client_id = id;
    }
    if let Some(port) = non_blank("CODEX_LOGIN_PORT").and_then(|port| port.parse().ok()) {
        settings.callback_port = port;
    }
    settings
}

/// The identity of this program for providers.
pub fn identity(originator: &str, client: Option<&ClientName>) -> ClientIdentity {
    let platform = Platform {
        os: std::env::consts::OS,
        os_version: "unknown",
        architecture: std::env::consts::ARCH,
        terminal: "unknown",
    };
    let client = client.map(|client| (client.name.as_str(), client.version.as_str()));
    ClientIdentity::new(originator, env!("CARGO_PKG_VERSION"), platform, client)
}

/// How long the process waits at its end until traces are written.
const TRACE_TIMEOUT: Duration = Duration::from_secs(5);

/// Records traces of this process, if enabled.
#[derive(Clone, Debug, Default)]
pub struct TraceRecorder(Option<Arc<Traces>>);

impl TraceRecorder {
    /// In the newest schema, unless the environment names one.
    pub fn from_environment() -> Self {
        Self::with_usual_schema(Schema::NEWEST)
    }

    /// For a server whose clients are of this release, if one was named: in the schema that its own tools read, unless the
    /// environment names one. Whoever reads the traces of older clients has older tools.
    pub fn for_clients_of(release: Option<Release>) -> Self {
        let dialect = Dialect::of_release(release.unwrap_or(Release::FIRST));
        Self::with_usual_schema(Schema::numbered(dialect.trace_schema()).unwrap_or(Schema::NEWEST))
    }

    fn with_usual_schema(usual: Schema) -> Self {
        let root = std::env::var_os(ROOT_VARIABLE).filter(|root| !root.is_empty());
        let schema = std::env::var(SCHEMA_VARIABLE).ok().and_then(|number| {
            let schema = number.parse().ok().and_then(Schema::numbered);
            if schema.is_none() {
                tracing::warn!(%number, "no schema of traces has this number; the usual one is written");
            }
            schema
        });
        let traces = |root| Traces::below(root).in_schema(schema.unwrap_or(usual));
        Self(root.map(|root| Arc::new(traces(root))))
    }

    /// Records no more of each session than these limits allow.
    pub fn record_within(&self, limits: RolloutTraceFile) {
        if let Some(traces) = &self.0 {
            traces.record_within(RecordingLimits {
                max_bytes: limits.max_bytes,
                max_payload_bytes: limits.max_payload_bytes,
            });
        }
    }

    /// Deletes expired bundles beside everything else, if traces are recorded and a limit is configured.
    pub fn keep_within(&self, limits: TracesFile) {
        let Some(traces) = &self.0 else {
            return;
        };
        if limits == TracesFile::default() {
            return;
        }
        let folder = traces.root().to_owned();
        let started = std::thread::Builder::new()
            .name("old-traces".into())
            .spawn(move || crate::trace_retention::delete_expired(&folder, limits));
        if let Err(error) = started {
            tracing::warn!(%error, "expired traces are not deleted");
        }
    }

    /// An engine with trace recording, if enabled.
    pub fn engine(&self, ports: Ports) -> ThreadManager {
        let traces = self.0.clone();
        ThreadManager::new(ports).observed_by(traces.map(|traces| traces as Arc<dyn Observers>))
    }

    /// Waits for pending trace data, up to a time limit.
    pub fn finish(&self) {
        if let Some(traces) = &self.0
            && !traces.flush(TRACE_TIMEOUT)
        {
            tracing::warn!("the end of a trace is not written");
        }
    }
}

/// Whether requests go to the hosted service itself, not to another server in its place.
pub fn is_hosted_service(provider: &Provider) -> bool {
    provider.name == HOSTED_PROVIDER && provider.base_url.is_none()
}

/// Converts a configured provider, and adds the version header for the hosted API.
pub fn provider(configured: &Provider) -> Provider {
    let mut provider = configured.clone();
    if provider.name == HOSTED_PROVIDER {
        let headers = &mut provider.http_headers;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        headers.entry("version".to_owned()).or_insert(version);
    }
    provider
}

/// Adds what the rest of the configuration says about requests to a provider: the residency that requirements demand, and
/// whether the hosted API gets compressed requests.
pub fn configure_provider(provider: &mut Provider, config: &Config) {
    provider.takes_compressed_requests = provider.name == HOSTED_PROVIDER
        && config.features.enabled(Feature::EnableRequestCompression);
    if config.requirements.residency.is_some() {
        let name = "x-openai-internal-codex-residency".to_owned();
        provider.http_headers.insert(name, "us".to_owned());
    }
}

/// The environment variables of commands. Names and values that are not Unicode are omitted.
pub fn command_environment(config: &Config) -> BTreeMap<OsString, OsString> {
    let variables = config.shell_environment.apply(environment::all(), None);
    variables
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_in_place_of_the_hosted_service_is_not_it() {
        let is_hosted = |name: &str, url: Option<&str>| {
            is_hosted_service(&Provider::new(name, url.map(str::to_owned)))
        };
        assert!(is_hosted(HOSTED_PROVIDER, None));
        assert!(!is_hosted(
            HOSTED_PROVIDER,
            Some("http://127.0.0.1:4000/v1")
        ));
        assert!(!is_hosted("Mine", None));
    }
}
