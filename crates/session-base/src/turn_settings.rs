//! The settings of one turn. They are fixed when the turn starts, but for what clients change from the next request on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use codex_apps::ToolApp;
use codex_model_client::{FactsSource, ModelInfo, ResolvedModel, TruncationMode, TurnState};
use codex_plugins::InstalledPlugin;
use codex_protocol::{
    ActivePermissions, ApprovalsReviewer, AskForApproval, CollaborationMode, EnvironmentChoice,
    Personality, ReasoningSummary, SandboxPolicy, ServiceTier, ThreadLimits, UsageLimits,
    Verbosity,
};
use codex_sandbox::NetworkLimits;
use codex_skills::SkillSet;
use serde_json::Value;

use crate::config::{ContextSections, SessionConfig};
use crate::turn_reviews::TurnReviews;

/// Instructions for the model. They stay the same for a session.
#[derive(Clone, Debug)]
pub struct Instructions {
    /// The `instructions` of every request.
    pub base: Arc<str>,
    /// From the instruction files of the working folder.
    pub user: Option<Arc<str>>,
    pub developer: Option<Arc<str>>,
    /// The commands that rules allow, as a list.
    pub allowed_commands: Arc<str>,
    /// How the agents of a team work together, if the thread is in one.
    pub team: Option<Arc<str>>,
    /// Which parts of the context the model gets.
    pub sections: ContextSections,
}

/// Whether a realtime conversation lasts, and what the model is told about it.
#[derive(Clone, Debug, Default)]
pub struct RealtimeMode {
    /// The text for its time, if it lasts.
    pub start: Option<Arc<str>>,
    /// The text for afterwards, in place of the default one.
    pub end: Option<Arc<str>>,
}

impl RealtimeMode {
    pub fn is_active(&self) -> bool {
        self.start.is_some()
    }

    /// The section that says that it has started, if it lasts.
    pub fn started(&self) -> Option<String> {
        self.start.as_deref().map(realtime_section)
    }

    /// The section that says that it is over.
    pub fn ended(&self) -> String {
        let default = include_str!("../prompts/realtime_end.md");
        realtime_section(self.end.as_deref().unwrap_or(default))
    }
}

fn realtime_section(text: &str) -> String {
    let text = text.trim_end();
    format!("<realtime_conversation>\n{text}\n</realtime_conversation>")
}

/// The settings of one turn.
#[derive(Clone, Debug)]
pub struct TurnSettings {
    pub id: Arc<str>,
    pub root_turn_id: Option<String>,
    pub cwd: PathBuf,
    /// Whether the model may run commands and work on files.
    pub has_environment: bool,
    /// Where the model may do that, the first of which is meant if it names none; empty for this machine alone, in the working
    /// folder. The working folder is a path of this machine in any case.
    pub environments: Vec<EnvironmentChoice>,
    /// The shells of other machines by the ids of their environments, once they are known.
    pub shells: OnceLock<BTreeMap<String, String>>,
    pub approval_policy: AskForApproval,
    pub sandbox_policy: SandboxPolicy,
    pub permission_profile: Option<ActivePermissions>,
    /// What limits the network of commands to certain hosts.
    pub network_limits: Arc<NetworkLimits>,
    /// The limits of the thread.
    pub limits: ThreadLimits,
    /// Those of this turn alone.
    pub turn_limits: UsageLimits,
    pub approvals_reviewer: ApprovalsReviewer,
    pub model: Arc<ModelInfo>,
    /// Where the facts about the model come from.
    pub model_facts: FactsSource,
    pub mode: CollaborationMode,
    pub summary: ReasoningSummary,
    pub service_tier: Option<ServiceTier>,
    pub verbosity: Option<Verbosity>,
    pub personality: Option<Personality>,
    pub output_schema: Option<Arc<Value>>,
    /// The metadata of the turn for the model's provider, as JSON, if there is any.
    pub metadata: Option<String>,
    /// Whether some of it is of the client.
    pub has_client_metadata: bool,
    /// Why the requested settings were refused. The turn fails with this.
    pub refused: Option<String>,
    /// The local date.
    pub date: String,
    /// The name of the time zone.
    pub timezone: String,
    pub shell: PathBuf,
    pub instructions: Instructions,
    /// What the instruction files say now, once they are read.
    pub current_instructions: OnceLock<Option<Arc<str>>>,
    /// The routing state of the provider for the requests of this turn.
    pub turn_state: TurnState,
    /// The reviews of its approvals, if a model decides about them.
    pub reviews: Option<Arc<TurnReviews>>,
    /// The skills at the begin of the turn, once they are known.
    pub skills: OnceLock<Arc<SkillSet>>,
    /// The summary of memories.
    pub memory_summary: Option<Arc<str>>,
    pub realtime: RealtimeMode,
    /// The apps that offer tools, once they are known.
    pub apps: OnceLock<Vec<Arc<ToolApp>>>,
    /// The plugins at the begin of the turn, if there are any.
    pub plugins: Option<Arc<Vec<InstalledPlugin>>>,
    /// The ids of the plugins that contribute nothing to the thread.
    pub disabled_plugins: Vec<String>,
    /// Whether this is for a call of a script that an earlier turn began. What was granted for the turn is not for it.
    pub is_of_earlier_turn: bool,
    /// Whether that script may do less than the turn.
    pub is_narrowed: bool,
}

impl TurnSettings {
    /// The other machine that is meant if the model names none; none if that is this machine.
    pub fn first_elsewhere(&self) -> Option<&EnvironmentChoice> {
        self.environments.first().filter(|first| !first.is_local())
    }

    /// Whether commands run on this machine, if the model names none.
    pub fn is_local_first(&self) -> bool {
        self.has_environment && self.first_elsewhere().is_none()
    }

    /// The folder that is meant if the model names none, for people and the model.
    pub fn shown_cwd(&self) -> String {
        match self.first_elsewhere() {
            Some(first) => first.cwd.clone(),
            None => self.cwd.display().to_string(),
        }
    }

    /// The text of the instruction files.
    pub fn user_instructions(&self) -> Option<&str> {
        match self.current_instructions.get() {
            Some(current) => current.as_deref(),
            None => self.instructions.user.as_deref(),
        }
    }

    /// The first turn of the work that this turn is part of.
    pub fn root_turn(&self) -> &str {
        self.root_turn_id.as_deref().unwrap_or(&self.id)
    }

    /// Whether something that may be of a plugin is not to be used, because the plugin is switched off.
    pub fn disables(&self, plugin: Option<&str>) -> bool {
        plugin.is_some_and(|plugin| self.disabled_plugins.iter().any(|id| id == plugin))
    }

    /// Resolves a path of the model.
    pub fn resolve(&self, path: &str) -> PathBuf {
        match path {
            "" => self.cwd.clone(),
            path => self.cwd.join(path),
        }
    }
}

/// The facts about a model, with the overrides of the configuration.
pub fn with_overrides(model: ResolvedModel, config: &SessionConfig) -> ResolvedModel {
    let has_overrides = config.options.reasoning_summaries
        || config.options.context_window.is_some()
        || config.options.auto_compact_limit.is_some()
        || config.options.tool_output_tokens.is_some();
    if !has_overrides {
        return model;
    }
    let mut info = ModelInfo::clone(&model.info);
    info.supports_reasoning_summaries |= config.options.reasoning_summaries;
    info.context_window = config.options.context_window.or(info.context_window);
    let of_total = !config.options.compaction.counts_growth;
    let configured = config.options.auto_compact_limit.filter(|_| of_total);
    let limits = [configured, info.auto_compact_token_limit];
    info.auto_compact_token_limit = limits.into_iter().flatten().min();
    if let Some(tokens) = config.options.tool_output_tokens {
        let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
        info.truncation_policy.limit = match info.truncation_policy.mode {
            TruncationMode::Bytes => tokens.saturating_mul(4),
            TruncationMode::Tokens => tokens,
        };
    }
    ResolvedModel {
        info: Arc::new(info),
        ..model
    }
}
