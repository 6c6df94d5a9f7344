//! Converts the configuration to that of a session.
//!
//! Its parts are made without `..`: a new one that is not decided on here does not compile.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server::queued_by_others;
use codex_checkpoints::CheckpointStore;
use codex_config::{Config, ConfigWarning, DeprecationNotice, ProjectDocSettings, ProjectDocs};
use codex_core::{InstructionFiles, SessionConfig, SessionHooks, SessionIdentity, SessionServices};
use codex_model_client::ModelCatalog;
use codex_protocol::{SandboxPolicy, SessionSource};
use codex_sandbox::{EngineFiles, hiding_rules};
use codex_thread_state::ThreadState;

use crate::notify::NotifyProgram;
use crate::program_checks::ProgramChecks;
use crate::rules::{SessionRules, rules};
use crate::session_options::{default_model, kernel_program, session_options, thread_settings};
use crate::wiring::ORIGINATOR;
use crate::{engine_files, mcp_servers};

/// The settings at the start of a session.
#[derive(Debug)]
pub struct SessionParts {
    pub config: SessionConfig,
    /// Warnings about the settings files.
    pub warnings: Vec<ConfigWarning>,
    /// Deprecated settings in use.
    pub deprecations: Vec<DeprecationNotice>,
}

/// Converts a configuration; reads files. `environment` is that of commands; `chatgpt` says whether there is a ChatGPT login, which some models require;
/// `engine_files` and `checkpoints` are those of the process.
pub fn session_parts(
    mut config: Config,
    environment: Arc<BTreeMap<OsString, OsString>>,
    cwd: &Path,
    catalog: &ModelCatalog,
    chatgpt: bool,
    engine_files: &EngineFiles,
    checkpoints: &Arc<CheckpointStore>,
) -> SessionParts {
    let SessionRules {
        rules,
        network_limits,
        mut warnings,
    } = rules(&config);
    warnings.append(&mut config.warnings);
    warnings.extend(unheld_patterns(&config));
    let deprecations = mem::take(&mut config.deprecations);
    let mut mcp_servers = mcp_servers::enabled(&config);
    let engine_files = Arc::new(engine_files::of_session(engine_files, &config));
    let checks = ProgramChecks::from_config(&config, cwd, &environment, &engine_files);
    checks.guard_servers(&mut mcp_servers);
    let notify = config.notify.take();
    let notify = notify.map(|command| NotifyProgram { command, checks });
    if let Some(Err(problem)) = notify.as_ref().map(NotifyProgram::check) {
        warnings.push(ConfigWarning::new(problem.to_string()));
    }
    let home = config.home.clone();
    let instruction_files = ProjectInstructions {
        home: home.clone(),
        settings: config.project_docs.clone(),
        engine_files: Arc::clone(&engine_files),
    };
    let model = default_model(catalog, &config.model.provider_id, chatgpt);
    let settings = thread_settings(&config, cwd, model);
    let options = session_options(config, settings, catalog, rules, network_limits);
    let has_checkpoints = options.checkpoints.is_some();
    let has_jobs = options.agent_jobs.is_some();
    let services = SessionServices {
        threads_home: home.clone(),
        environment,
        engine_files,
        kernel_program: kernel_program().unwrap_or_default(),
        instruction_files: Some(Arc::new(instruction_files)),
        mcp_servers,
        checkpoint_store: has_checkpoints.then(|| Arc::clone(checkpoints)),
        thread_state: has_jobs.then(|| Arc::new(ThreadState::of_home(&home, queued_by_others))),
        turn_ended: notify.map(|program| Arc::new(program) as _),
        // The host and the app-server add theirs.
        host_tools: None,
        mcp_approvals: None,
        suggestions: None,
        skills: None,
        plugins: None,
        hooks: SessionHooks::default(),
        client_hooks: None,
        realtime: None,
        machines: None,
        replay: None,
        home,
    };
    let mut config = SessionConfig {
        options,
        services,
        identity: new_identity(),
    };
    config.read_instructions();
    SessionParts {
        config,
        warnings,
        deprecations,
    }
}

/// That of a thread of nobody yet: the host and the app-server say whose it is.
fn new_identity() -> SessionIdentity {
    SessionIdentity {
        source: SessionSource::default(),
        originator: ORIGINATOR.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        forked_from: None,
        cache_root: None,
        thread_source: None,
        ephemeral: false,
        is_side_thread: false,
        has_legacy_history: false,
        has_paginated_history: false,
        is_unattended: false,
    }
}

/// A warning that hidden files are not hidden from commands without a sandbox, where the system cannot hide them.
fn unheld_patterns(config: &Config) -> Option<ConfigWarning> {
    let is_open = matches!(
        config.policy.sandbox_policy,
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. }
    );
    let is_unheld =
        is_open && config.secrets.has_patterns && !codex_sandbox::hides_without_sandbox();
    is_unheld.then(|| {
        ConfigWarning::new(
            "Commands run without a sandbox, and this system cannot hide files from them: they can read what \
             `secrets.deny_read` names. Tools cannot.",
        )
    })
}

/// Reads the AGENTS.md files of the home folder and of projects.
#[derive(Debug)]
struct ProjectInstructions {
    home: PathBuf,
    settings: ProjectDocSettings,
    engine_files: Arc<EngineFiles>,
}

impl ProjectInstructions {
    fn docs(&self, cwd: Option<&Path>) -> ProjectDocs {
        // Most folders have no such file, so there is nothing to hide.
        let rules = LazyCell::new(|| hiding_rules(&self.engine_files.hidden_files, cwd));
        let is_hidden = |path: &Path| rules.hides(path).is_some();
        self.settings.read_visible(&self.home, cwd, &is_hidden)
    }
}

impl InstructionFiles for ProjectInstructions {
    fn read(&self, cwd: Option<&Path>) -> Option<String> {
        let docs = self.docs(cwd);
        if let Some(error) = docs.error {
            tracing::warn!(?cwd, %error, "cannot read the project's instructions");
        }
        docs.text
    }

    fn sources(&self, cwd: Option<&Path>) -> Vec<PathBuf> {
        self.docs(cwd).files
    }

    fn below(&self, cwd: &Path, paths: &[PathBuf]) -> Vec<(PathBuf, String)> {
        let rules = LazyCell::new(|| hiding_rules(&self.engine_files.hidden_files, Some(cwd)));
        let is_hidden = |path: &Path| rules.hides(path).is_some();
        self.settings.read_below(cwd, paths, &is_hidden)
    }

    fn are_followed(&self) -> bool {
        self.settings.follow_changes
    }
}
