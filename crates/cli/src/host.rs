//! The engine as the app-server wants it: settings by thread, an engine by provider.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context;
use codex_app_server::{
    ClientName, FeedbackSettings, Host, Identity, Prepared, Sending, ThreadSettings,
};
use codex_config::{Config, Overrides, RequestParams, Requirements};
use codex_core::{StandaloneCommands, ThreadManager};
use codex_exec::Launcher;
use codex_external_agent::Homes;
use codex_protocol::SandboxPolicy;
use codex_rollout::Writer;
use codex_skills::{Library, Rule};
use codex_thread_store::Store;

use crate::log;
use crate::scripted_model::ScriptedModel;
use crate::skills;
use crate::wiring::{self, Tracing};

/// Loads configuration and keeps an engine for each provider and client that was asked for.
#[derive(Debug)]
pub(crate) struct EngineHost {
    flags: Overrides,
    home: PathBuf,
    cwd: PathBuf,
    scripted: Option<ScriptedModel>,
    engines: Mutex<HashMap<String, Arc<ThreadManager>>>,
    tracing: Tracing,
    launcher: Launcher,
    standalone: OnceLock<Standalone>,
    store: Store,
    writer: OnceLock<Writer>,
    skills: Arc<Library>,
}

/// What is configured for methods that need no thread.
#[derive(Debug)]
struct Standalone {
    commands: Arc<StandaloneCommands>,
    requirements: Requirements,
    feedback: FeedbackSettings,
}

impl EngineHost {
    /// With a scripted model, no request ever goes to another one, whatever is configured.
    pub(crate) fn new(
        flags: Overrides,
        scripted: Option<ScriptedModel>,
        tracing: Tracing,
    ) -> anyhow::Result<Self> {
        let home = wiring::home()?;
        Ok(Self {
            skills: skills::library(flags.clone()),
            flags,
            scripted,
            cwd: std::env::current_dir().context("cannot tell the working folder")?,
            engines: Mutex::default(),
            tracing,
            launcher: Launcher::of_this_program(),
            standalone: OnceLock::new(),
            store: Store::new(&home),
            writer: OnceLock::new(),
            home,
        })
    }

    fn try_prepare(&self, settings: &ThreadSettings) -> anyhow::Result<Prepared> {
        let cwd = settings.cwd.as_ref();
        let cwd = cwd.map_or_else(|| self.cwd.clone(), |cwd| self.cwd.join(cwd));
        let mut overrides = self.flags.clone();
        overrides.add_json(&settings.overrides)?;
        let config = wiring::load_config(&cwd, &overrides, &settings.params)?;
        let mut session = wiring::session_config(&config, &cwd)?;
        session.originator = originator(&settings.client);
        session.skills = Some(Arc::clone(&self.skills));
        let manager = self.engine(&config, &settings.client)?;
        Ok(Prepared {
            manager,
            config: session,
        })
    }

    fn engine(&self, config: &Config, client: &ClientName) -> anyhow::Result<Arc<ThreadManager>> {
        let provider = match &self.scripted {
            Some(model) => wiring::provider(&model.in_place_of(&config.model.provider))?,
            None => wiring::provider(&config.model.provider)?,
        };
        let key = format!("{client:?} {provider:?}");
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = engines.get(&key) {
            return Ok(Arc::clone(engine));
        }
        let identity = wiring::identity(&originator(client), Some(client));
        let ports = wiring::ports_with(provider, identity, self.launcher.clone(), self.writer()?)?;
        let engine = Arc::new(self.tracing.engine(ports));
        engines.insert(key, Arc::clone(&engine));
        Ok(engine)
    }

    /// As configured when it is first needed.
    fn standalone(&self) -> anyhow::Result<&Standalone> {
        if let Some(standalone) = self.standalone.get() {
            return Ok(standalone);
        }
        let config = wiring::load_config(&self.cwd, &self.flags, &RequestParams::default())?;
        let commands = StandaloneCommands {
            launcher: self.launcher.clone(),
            cwd: self.cwd.clone(),
            environment: Arc::new(wiring::environment(&config)),
            sandbox_policy: config.policy.sandbox_policy,
        };
        let standalone = Standalone {
            commands: Arc::new(commands),
            requirements: config.requirements,
            feedback: FeedbackSettings {
                enabled: config.telemetry.feedback,
                folder: self.home.join("feedback"),
                endpoint: config.telemetry.feedback_endpoint,
            },
        };
        Ok(self.standalone.get_or_init(|| standalone))
    }

    /// The one writer of the process. The index hears of what it writes.
    fn writer(&self) -> anyhow::Result<Writer> {
        if let Some(writer) = self.writer.get() {
            return Ok(writer.clone());
        }
        let store = self.store.clone();
        let started = Writer::start_heard(Box::new(move |path| store.touched(path)));
        let started = started.context("cannot start the rollout writer")?;
        Ok(self.writer.get_or_init(|| started).clone())
    }

    fn try_default_provider(&self) -> anyhow::Result<String> {
        let config = wiring::load_config(&self.cwd, &self.flags, &RequestParams::default())?;
        Ok(config.model.provider_id)
    }
}

impl Host for EngineHost {
    fn identity(&self, client: &ClientName) -> Identity {
        let identity = wiring::identity(&originator(client), Some(client));
        Identity {
            user_agent: identity.user_agent,
            home: self.home.clone(),
        }
    }

    fn prepare(&self, settings: &ThreadSettings) -> Result<Prepared, String> {
        self.try_prepare(settings)
            .map_err(|error| format!("{error:#}"))
    }

    fn commands(&self) -> Result<Arc<StandaloneCommands>, String> {
        let standalone = self.standalone().map_err(|error| format!("{error:#}"))?;
        Ok(Arc::clone(&standalone.commands))
    }

    fn feedback(&self) -> Result<FeedbackSettings, String> {
        let standalone = self.standalone().map_err(|error| format!("{error:#}"))?;
        Ok(standalone.feedback.clone())
    }

    fn send_feedback(&self, url: String, body: Vec<u8>) -> Sending {
        let pool = wiring::other_connections();
        Box::pin(async move { pool.post_json(&url, body).await })
    }

    fn log_tail(&self) -> String {
        log::tail().text()
    }

    fn homes(&self) -> Homes {
        Homes {
            user: wiring::user_home(),
            ours: self.home.clone(),
        }
    }

    fn ignore_files(&self) -> Vec<PathBuf> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        codex_git::ignore_files(
            folder("HOME").as_deref(),
            folder("XDG_CONFIG_HOME").as_deref(),
        )
    }

    fn check_sandbox_policy(&self, policy: &SandboxPolicy) -> Result<(), String> {
        let standalone = self.standalone().map_err(|error| format!("{error:#}"))?;
        let checked = standalone.requirements.check_sandbox_policy(policy);
        checked.map_err(|violation| violation.to_string())
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn default_provider(&self) -> Result<String, String> {
        self.try_default_provider()
            .map_err(|error| format!("{error:#}"))
    }

    fn working_folder(&self) -> &Path {
        &self.cwd
    }

    fn skills(&self) -> &Arc<Library> {
        &self.skills
    }

    fn switch_skill(&self, rule: &Rule) -> Result<(), String> {
        skills::switch(rule, &self.flags).map_err(|error| format!("{error:#}"))
    }
}

/// What a client calls itself, unless the environment says otherwise.
fn originator(client: &ClientName) -> String {
    let set = std::env::var("CODEX_INTERNAL_ORIGINATOR_OVERRIDE").ok();
    set.unwrap_or_else(|| match client.name.as_str() {
        "codex-tui" | "" => wiring::ORIGINATOR.to_owned(),
        name => name.to_owned(),
    })
}
