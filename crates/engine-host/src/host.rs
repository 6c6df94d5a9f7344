//! The host of the app-server: loads settings per thread and keeps an engine per provider.

mod extensions;
mod feedback_support;
mod startup_settings;
mod stores;
mod thread_engines;
mod user_places;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use codex_app_server::{ClientName, Configuration, PreparedThread, RequestedSettings};
use codex_apps::AppCatalog;
use codex_checkpoints::CheckpointStore;
use codex_config::schema::WindowsSandbox;
use codex_config::{Config, ConfigWarning, Feature, LayerStack, Overrides};
use codex_core::{
    Ports, ProviderModel, RealtimeService, StandaloneCommands, ThreadManager, ToolSuggestions,
    WritableFiles,
};
use codex_exec::Launcher;
use codex_hooks::{HookCatalog, HookPlace};
use codex_mcp_client::McpLoginSettings;
use codex_memories::MemoryStore;
use codex_model_client::{ModelCatalog, ModelStore};
use codex_plugins::{InstalledPlugin, PluginRegistry};
use codex_projection::dialect::is_named_to_providers;
use codex_protocol::{Provider, SessionSource};
use codex_rollout::RolloutWriter;
use codex_sandbox::LimitedCommands;
use codex_skills::SkillLibrary;
use codex_thread_store::ThreadStore;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::engine_files::engine_files;
use crate::environment::{user_home, variable};
use crate::hook_decisions::{self, LiveHookDecisions};
use crate::mcp_servers::{self, StoredApprovals};
use crate::realtime::ProviderRealtime;
use crate::resources::{self, EngineResources};
use crate::rules::{SessionRules, rules};
use crate::scripted_model::ScenarioModel;
use crate::session_settings::{SessionParts, session_parts};
use crate::suggestions::ConfiguredSuggestions;
use crate::wiring::{self, TraceRecorder};
use crate::{
    agent_roles, app_sources, carriers, checkpoints, hooks, log, machines, memories,
    plugin_sources, skills,
};

/// An engine and its model catalogue.
type EngineEntry = (Arc<ThreadManager>, Arc<ModelCatalog>);

/// Above this number of engines, those without threads are dropped.
const IDLE_ENGINES: usize = 32;

/// What threads must have in common to share an engine.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EngineKey {
    provider: Provider,
    client: ClientName,
    mcp_logins: McpLoginSettings,
}

/// Loads configuration and keeps an engine for each provider and client.
#[derive(Debug)]
pub struct EngineHost {
    resources: EngineResources,
    configuration: Arc<Configuration>,
    models: Arc<ModelStore>,
    scripted: Option<ScenarioModel>,
    engines: Mutex<HashMap<EngineKey, EngineEntry>>,
    warnings: Vec<ConfigWarning>,
    tracing: TraceRecorder,
    launcher: Launcher,
    commands: Arc<StandaloneCommands>,
    store: ThreadStore,
    writer: OnceLock<RolloutWriter>,
    skills: Arc<SkillLibrary>,
    plugins: Arc<PluginRegistry>,
    apps: Arc<AppCatalog>,
    checkpoints: Arc<CheckpointStore>,
    memories: Arc<MemoryStore>,
    source: SessionSource,
    port_changes: Option<PortChanges>,
}

/// Puts other ports in place of those of the system, for a simulated machine.
#[derive(Clone)]
pub struct PortChanges(Arc<dyn Fn(&mut Ports) + Send + Sync>);

impl PortChanges {
    /// What `change` puts in place.
    pub fn new(change: impl Fn(&mut Ports) + Send + Sync + 'static) -> Self {
        Self(Arc::new(change))
    }
}

impl std::fmt::Debug for PortChanges {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PortChanges")
    }
}

/// The purpose of the server.
#[derive(Debug)]
pub enum HostPurpose {
    /// Serve clients of any kind.
    Clients,
    /// Serve an editor, which may log in with a key of the environment.
    Editor { environment_key: Option<String> },
    /// Run one turn without a UI. The API key replaces any other login.
    Exec { api_key: Option<String> },
    /// Run many rows without a UI.
    Batch {
        api_key: Option<String>,
        /// Keeps the threads, instead of the home folder.
        threads: PathBuf,
        /// Commands cannot change it.
        run_folder: PathBuf,
    },
}

impl EngineHost {
    /// With a scripted model, no request is sent to a configured provider.
    pub fn new(
        flags: Overrides,
        scripted: Option<ScenarioModel>,
        tracing: TraceRecorder,
        purpose: HostPurpose,
    ) -> anyhow::Result<Self> {
        let (mut threads, mut run_folder) = (None, None);
        let (source, api_key, environment_key) = match purpose {
            HostPurpose::Clients => (SessionSource::default(), None, None),
            HostPurpose::Editor { environment_key } => {
                (SessionSource::default(), None, environment_key)
            }
            HostPurpose::Exec { api_key } => (SessionSource::Exec, api_key, None),
            HostPurpose::Batch {
                api_key,
                threads: home,
                run_folder: run,
            } => {
                (threads, run_folder) = (Some(home), Some(run));
                (SessionSource::Exec, api_key, None)
            }
        };
        let cwd = std::env::current_dir().context("cannot determine the working folder")?;
        let configuration = Configuration::new(wiring::config_environment()?, flags, cwd)?;
        let mut login = wiring::login_settings(configuration.startup());
        login.api_key = api_key.map(|key| key.trim().into());
        login.environment_key = environment_key.map(Into::into);
        let resources = EngineResources::with_login(login);
        let config = configuration.startup();
        carriers::register(resources.environments(), config, configuration.cwd());
        let hosted = config.providers.get("openai");
        let hosted = hosted.context("there is no provider of hosted models")?;
        let models = match &scripted {
            Some(model) => resources.models(config, &model.in_place_of(hosted))?,
            None => resources.models(config, hosted)?,
        };
        let rules = rules(config);
        let warnings = startup_warnings(config, rules, &resources);
        let launcher = Launcher::of_this_program();
        let folder = configuration.cwd().to_owned();
        let commands = standalone_commands(config, launcher.clone(), folder);
        // Rules name what is there; the folder may be named through a link.
        let real = run_folder
            .as_ref()
            .and_then(|path| path.canonicalize().ok());
        commands
            .engine_files
            .program_files
            .add(run_folder.into_iter().chain(real));
        let (home, databases) = match &threads {
            Some(folder) => (folder, folder),
            None => (&config.home, &config.storage.sqlite_home),
        };
        let store = ThreadStore::kept_in(home, databases);
        let memories = Arc::new(MemoryStore::in_folder(databases));
        let checkpoints = checkpoints::store(config, home);
        checkpoints::maintain(&checkpoints);
        tracing.keep_within(config.storage.traces);
        tracing.record_within(config.storage.rollout_trace);
        if let Some(folder) = &config.storage.log_dir {
            log::keep_in(folder);
        }
        Ok(Self {
            skills: skills::library(configuration.flags().clone()),
            plugins: Arc::default(),
            apps: Arc::default(),
            resources,
            models: Arc::new(models),
            warnings,
            configuration: Arc::new(configuration),
            scripted,
            engines: Mutex::default(),
            tracing,
            launcher,
            commands: Arc::new(commands),
            store,
            writer: OnceLock::new(),
            checkpoints,
            memories,
            source,
            port_changes: None,
        })
    }

    /// Engines have other ports than those of the system.
    #[must_use]
    pub fn with_port_changes(mut self, changes: PortChanges) -> Self {
        self.port_changes = Some(changes);
        self
    }

    fn try_prepare(&self, settings: &RequestedSettings) -> anyhow::Result<PreparedThread> {
        let cwd = self
            .configuration
            .folder(settings.cwd.as_deref().unwrap_or_default());
        let user_files = hook_decisions::user_files(&self.configuration);
        let (mut config, layers) =
            self.configuration
                .load(&cwd, &settings.overrides, &settings.params)?;
        let has_plugins = config.features.enabled(Feature::Plugins);
        let plugins = self.add_plugins(&mut config);
        let catalog = Arc::new(match &config.model.catalog {
            Some(_) => self.resources.catalog(&config)?,
            None => self.models.known(),
        });
        let chatgpt = self.resources.has_chatgpt_login();
        let uses_account = chatgpt && config.model.provider.requires_openai_auth;
        let has_hosted_models =
            self.scripted.is_none() && wiring::is_hosted_service(&config.model.provider);
        let manager = self.engine(&config, &settings.client, &catalog)?;
        let realtime = self.realtime(&config, &settings.client);
        let is_on = config.features.enabled(Feature::MultiAgent);
        let roles = is_on.then(|| agent_roles::roles(&layers, &config));
        let environment = self.environment_of(&config);
        let hooks = self.hooks_of(&config, &layers, &plugins, &cwd, &environment);
        let machines = machines::of_config(&config, self.resources.environments());
        let memory_summary = memories::summary(&config);
        let memory_mode = memories::mode(&config);
        let made_memories = memories::generation(&config);
        let features = config.features;
        let accounts = self.resources.accounts();
        let account = app_sources::account(&config, accounts);
        let suggestions = account.as_ref().and_then(|account| {
            let (user, http) = (user_home(), self.resources.connections());
            ConfiguredSuggestions::new(&config, account, &plugins, user, &self.apps, http)
        });
        let apps = account.map(|account| app_sources::server(&config, &account));
        let SessionParts {
            config: mut session,
            mut warnings,
            deprecations,
        } = session_parts(
            config,
            environment,
            &cwd,
            &catalog,
            chatgpt,
            &self.commands.engine_files,
            &self.checkpoints,
        );
        session.services.mcp_servers.extend(apps);
        session.services.suggestions =
            suggestions.map(|known| Arc::new(known) as Arc<dyn ToolSuggestions>);
        session.services.realtime = realtime;
        self.store
            .home()
            .clone_into(&mut session.services.threads_home);
        session.services.machines = Some(machines);
        (session.options.memory_summary, session.options.memory_mode) =
            (memory_summary, memory_mode);
        session.identity.originator = originator(&settings.client);
        session.identity.source = self.source.clone();
        session.identity.is_unattended = self.source == SessionSource::Exec;
        session.services.skills = Some(self.skills_of(&settings.overrides)?);
        session.services.plugins = has_plugins.then(|| Arc::clone(&self.plugins));
        let decisions = hooks::decisions(&layers, &plugins, features);
        let decisions =
            LiveHookDecisions::new(&self.configuration, &cwd, settings, user_files, decisions);
        hooks::configure(&mut session, hooks, decisions);
        if let (Some(agents), Some((roles, odd))) = (&mut session.options.agents, roles) {
            agents.roles = roles;
            warnings.extend(odd);
        }
        let flags = self.configuration.flags().clone();
        session.services.mcp_approvals = Some(Arc::new(StoredApprovals::new(flags)));
        warnings.retain(|warning| !self.warnings.contains(warning));
        Ok(PreparedThread {
            manager,
            config: session,
            memories: made_memories,
            uses_account,
            has_hosted_models,
            overrides: settings.overrides.clone(),
            warnings,
            deprecations,
        })
    }

    /// The environment of commands.
    fn environment_of(&self, config: &Config) -> Arc<BTreeMap<OsString, OsString>> {
        let own_policy = &self.configuration.startup().shell_environment;
        if config.shell_environment == *own_policy {
            Arc::clone(&self.commands.environment)
        } else {
            Arc::new(wiring::command_environment(config))
        }
    }

    /// All hooks of a folder, also if the feature is disabled. Reads files.
    fn hooks_of(
        &self,
        config: &Config,
        layers: &LayerStack,
        plugins: &[InstalledPlugin],
        cwd: &Path,
        environment: &BTreeMap<OsString, OsString>,
    ) -> HookCatalog {
        let engine = &self.commands.engine_files;
        let policy = &config.policy.sandbox_policy;
        let writable = WritableFiles::for_policy(policy, cwd, environment, engine);
        let place = HookPlace {
            cwd,
            environment,
            may_write: &|path| writable.may_write(path),
            record: None,
        };
        hooks::catalog(layers, plugins, &config.home, &place)
    }

    /// Reads the enabled plugins, and adds their MCP servers to the configuration.
    fn add_plugins(&self, config: &mut Config) -> Arc<Vec<InstalledPlugin>> {
        if !config.features.enabled(Feature::Plugins) {
            return Arc::default();
        }
        self.plugins.set(plugin_sources::add_to(config));
        self.plugins.current()
    }

    /// The realtime conversations of a thread.
    fn realtime(&self, config: &Config, client: &ClientName) -> Option<Arc<dyn RealtimeService>> {
        let provider = match &self.scripted {
            Some(model) => model.in_place_of(&config.model.provider),
            None => wiring::provider(&config.model.provider),
        };
        let (accounts, pool) = (self.resources.accounts(), self.resources.connections());
        let realtime =
            ProviderRealtime::of_config(config, provider, &originator(client), accounts, pool)?
                .scripted(self.scripted.is_some())
                .with_threads(self.store.clone());
        Some(Arc::new(realtime))
    }

    /// The skills of a thread: those of all threads, unless its request has settings about skills.
    fn skills_of(&self, overrides: &Map<String, Value>) -> anyhow::Result<Arc<SkillLibrary>> {
        let is_about_skills = |key: &String| key == "skills" || key.starts_with("skills.");
        if !overrides.keys().any(is_about_skills) {
            return Ok(Arc::clone(&self.skills));
        }
        let mut flags = self.configuration.flags().clone();
        flags.add_json(overrides)?;
        Ok(skills::library_of_thread(flags))
    }

    /// The engine for a provider and client. If the model catalogue has changed, new threads get a new engine; running
    /// threads keep theirs.
    fn engine(
        &self,
        config: &Config,
        client: &ClientName,
        catalog: &Arc<ModelCatalog>,
    ) -> anyhow::Result<Arc<ThreadManager>> {
        let mut provider = match &self.scripted {
            Some(model) => wiring::provider(&model.in_place_of(&config.model.provider)),
            None => wiring::provider(&config.model.provider),
        };
        wiring::configure_provider(&mut provider, config);
        self.engine_of(provider, config, client, catalog)
    }

    /// The engine for a provider that is not the configured one.
    pub fn engine_with(&self, provider: Provider) -> anyhow::Result<Arc<ThreadManager>> {
        let config = self.configuration.startup();
        let catalog = Arc::new(match &config.model.catalog {
            Some(_) => self.resources.catalog(config)?,
            None => self.models.known(),
        });
        let client = ClientName {
            name: String::new(),
            version: String::new(),
        };
        self.engine_of(provider, config, &client, &catalog)
    }

    fn engine_of(
        &self,
        provider: Provider,
        config: &Config,
        client: &ClientName,
        catalog: &Arc<ModelCatalog>,
    ) -> anyhow::Result<Arc<ThreadManager>> {
        let key = EngineKey {
            provider,
            client: client.clone(),
            mcp_logins: mcp_servers::logins(config),
        };
        let mut engines = self.engines.lock();
        if let Some((engine, known)) = engines.get(&key)
            && known == catalog
        {
            return Ok(Arc::clone(engine));
        }
        let named = Some(client).filter(|client| !client.name.is_empty());
        let identity = wiring::identity(&originator(client), named);
        let client = self.resources.client(key.provider.clone(), identity);
        let model = ProviderModel::new(client, Arc::clone(catalog));
        let mut ports = resources::ports(
            model.notifying(Arc::clone(&self.models)),
            self.launcher.clone(),
            self.writer()?,
            self.resources.connector(self.launcher.clone(), config),
        );
        if let Some(PortChanges(change)) = &self.port_changes {
            change(&mut ports);
        }
        let engine = Arc::new(self.tracing.engine(ports));
        if engines.len() >= IDLE_ENGINES {
            engines.retain(|_, (engine, _)| Arc::strong_count(engine) > 1);
        }
        engines.insert(key, (Arc::clone(&engine), Arc::clone(catalog)));
        Ok(engine)
    }

    /// Writes the input that a killed process had accepted to its threads, so that the first list has it.
    pub async fn write_left_inputs(&self) {
        let writer = || self.writer().map_err(std::io::Error::other);
        codex_core::write_left_inputs(self.store.home(), &codex_core::SystemClock::new(), writer)
            .await;
    }

    /// The rollout writer of the process. It reports written files to the index.
    fn writer(&self) -> anyhow::Result<RolloutWriter> {
        if let Some(writer) = self.writer.get() {
            return Ok(writer.clone());
        }
        let store = self.store.clone();
        let started = RolloutWriter::start_observed(Box::new(move |path| store.touched(path)));
        let started = started.context("cannot start the rollout writer")?;
        Ok(self.writer.get_or_init(|| started).clone())
    }
}

/// What commands outside of threads run with.
pub fn standalone_commands(
    config: &Config,
    launcher: Launcher,
    cwd: PathBuf,
) -> StandaloneCommands {
    StandaloneCommands {
        launcher,
        cwd,
        environment: Arc::new(wiring::command_environment(config)),
        sandbox_policy: config.policy.sandbox_policy.clone(),
        network_limits: Arc::new(rules(config).network_limits.for_people()),
        host_limits: config.policy.host_limits.clone(),
        engine_files: Arc::new(engine_files(config)),
        restricted_token: config.policy.windows_sandbox == Some(WindowsSandbox::Unelevated),
    }
}

/// Warnings about the settings at start, in the order in which clients receive them.
fn startup_warnings(
    config: &Config,
    rules: SessionRules,
    resources: &EngineResources,
) -> Vec<ConfigWarning> {
    let mut warnings = config.warnings.clone();
    let own = warnings
        .iter()
        .take_while(|warning| warning.replaces_settings());
    let at = own.count();
    warnings.splice(at..at, rules.warnings);
    if config.requirements.network_limit.is_some() {
        let reason = rules.network_limits.explanation(LimitedCommands::All);
        warnings.extend(reason.map(ConfigWarning::new));
    }
    let problem = resources.accounts().problem();
    warnings.extend(problem.map(|problem| ConfigWarning {
        details: Some(problem),
        ..ConfigWarning::new("The stored login cannot be used; log in again.")
    }));
    warnings
}

/// The name of the client for providers, unless an environment variable overrides it.
fn originator(client: &ClientName) -> String {
    let set = variable("CODEX_INTERNAL_ORIGINATOR_OVERRIDE");
    set.unwrap_or_else(|| match &client.name {
        name if is_named_to_providers(name) => name.clone(),
        _ => wiring::ORIGINATOR.to_owned(),
    })
}
