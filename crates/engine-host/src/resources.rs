//! Resources shared by all engines of a process: HTTP connections, the login, known models.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use codex_config::Config;
use codex_core::{Ports, ProviderModel, RandomIds, SystemClock, SystemProcesses};
use codex_environments::Environments;
use codex_exec::Launcher;
use codex_http::{HttpPool, HttpSettings, ProxySettings};
use codex_login::{Accounts, LoginSettings};
use codex_mcp_client::{McpConnector, McpLogins};
use codex_model_client::{
    ClientDependencies, ClientIdentity, CredentialSource, HttpModelClient, ModelCatalog,
    ModelClient, ModelStore, SystemClock as ModelClock,
};
use codex_protocol::{AuthMode, Provider};
use codex_rollout::RolloutWriter;

use crate::environment::variable;
use crate::mcp_servers;
use crate::wiring::{ORIGINATOR, identity, login_settings, non_blank, provider};

/// Resources shared by all engines of the process.
#[derive(Debug)]
pub struct EngineResources {
    http: Arc<HttpPool>,
    accounts: Arc<Accounts>,
    environments: Arc<Environments>,
    mcp_logins: McpLogins,
}

/// A connection pool with the certificates and proxies of the environment.
pub fn http_pool() -> HttpPool {
    let extra_roots = non_blank("CODEX_CA_CERTIFICATE").or_else(|| non_blank("SSL_CERT_FILE"));
    HttpPool::new(HttpSettings {
        extra_roots: extra_roots.map(PathBuf::from),
        proxies: ProxySettings::from_environment(&variable),
    })
}

impl EngineResources {
    pub fn new(config: &Config) -> Self {
        Self::with_login(login_settings(config))
    }

    pub fn with_login(settings: LoginSettings) -> Self {
        codex_private_files::tighten_home(&settings.home);
        Self::without_tightening(settings)
    }

    /// The same for somebody who only looks: the rights of the home folder stay as they are.
    pub fn without_tightening(settings: LoginSettings) -> Self {
        let http = Arc::new(http_pool());
        let mcp_logins = McpLogins::in_home(&settings.home);
        let identity = identity(ORIGINATOR, None);
        let clock = Arc::new(ModelClock);
        let accounts = Accounts::new(settings, Arc::clone(&http), identity, clock);
        Self {
            environments: Arc::new(Environments::new(
                Arc::clone(&http),
                Launcher::of_this_program(),
            )),
            http,
            accounts: Arc::new(accounts),
            mcp_logins,
        }
    }

    /// The login.
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// The machines that clients have registered.
    pub fn environments(&self) -> &Arc<Environments> {
        &self.environments
    }

    /// The HTTP connections.
    pub fn connections(&self) -> &Arc<HttpPool> {
        &self.http
    }

    fn credentials(&self) -> Arc<dyn CredentialSource> {
        Arc::clone(&self.accounts) as Arc<dyn CredentialSource>
    }

    /// Connects to MCP servers, whose programs are started by `launcher`.
    pub fn connector(&self, launcher: Launcher, config: &Config) -> McpConnector {
        McpConnector {
            processes: Arc::new(SystemProcesses::new(launcher)),
            environments: Some(Arc::clone(&self.environments)),
            http: Arc::clone(&self.http),
            environment: Arc::new(variable),
            logins: self.mcp_logins.with_settings(mcp_servers::logins(config)),
            cwd: std::env::current_dir().unwrap_or_default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Whether the user has a ChatGPT login.
    pub fn has_chatgpt_login(&self) -> bool {
        let login = self.accounts.login();
        login.is_some_and(|login| login.mode() != AuthMode::Apikey)
    }

    /// The model catalogue without requests to a provider.
    pub fn catalog(&self, config: &Config) -> anyhow::Result<ModelCatalog> {
        let hosted = config.providers.get("openai");
        let hosted = hosted.context("there is no provider of hosted models")?;
        Ok(self.models(config, hosted)?.known())
    }

    /// The models to choose from. `hosted` is asked for models that are not built in.
    pub fn models(&self, config: &Config, hosted: &Provider) -> anyhow::Result<ModelStore> {
        let credentials = self.credentials();
        if let Some(list) = &config.model.catalog {
            return Ok(ModelStore::fixed(&list.json, credentials));
        }
        let identity = identity(ORIGINATOR, None);
        let version = identity.short_version().to_owned();
        let store = ModelStore::hosted(
            config.home.join("models_cache.json"),
            &version,
            self.client(provider(hosted), identity.clone()),
            Arc::new(ModelClock),
            credentials,
        );
        let own = &config.model.provider;
        let is_own = config.model.provider_id != "openai" && own.base_url.is_some();
        if !is_own || own.requires_openai_auth {
            return Ok(store);
        }
        let client = self.client(provider(own), identity);
        Ok(store.with_own(client, Arc::new(ModelClock)))
    }

    /// The client for the models of a provider.
    pub fn client(&self, provider: Provider, identity: ClientIdentity) -> Arc<dyn ModelClient> {
        self.client_with(provider, identity, self.credentials())
    }

    /// The same with other credentials than those of the login.
    pub fn client_with(
        &self,
        provider: Provider,
        identity: ClientIdentity,
        credentials: Arc<dyn CredentialSource>,
    ) -> Arc<dyn ModelClient> {
        let dependencies = ClientDependencies {
            identity,
            environment: Arc::new(variable),
            credentials,
            clock: Arc::new(ModelClock),
            http: Arc::clone(&self.http),
        };
        Arc::new(HttpModelClient::new(provider, dependencies))
    }
}

/// The ports for a model client, commands started by `launcher`, and rollouts written by `writer`.
pub fn ports(
    model: ProviderModel,
    launcher: Launcher,
    writer: RolloutWriter,
    connector: McpConnector,
) -> Ports {
    Ports {
        model: Arc::new(model),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(RandomIds),
        processes: Arc::new(SystemProcesses::new(launcher)),
        mcp: Some(connector),
        writer,
    }
}
