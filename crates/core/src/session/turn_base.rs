//! Making turns.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use codex_model_client::{ResolvedModel, TurnState};
use codex_plugins::InstalledPlugin;
use codex_protocol::{
    ApprovalsReviewer, AskForApproval, SandboxPolicy, SessionSource, SubAgentSource, ThreadId,
    ThreadLimits, ThreadSettings,
};
use codex_sandbox::NetworkLimits;
use codex_session_base::budget::TurnBudget;
use codex_session_base::input::StopSignal;
use codex_session_base::ports::Model;
use codex_session_base::session_context::SessionContext;
use codex_session_base::turn_settings::{Instructions, TurnSettings, with_overrides};
use codex_tools::{
    McpTools, ToolEnvironments, ToolServices, ToolSet, ToolSituation, TurnCheckpoint,
    TurnDiffTracker, TurnTools,
};

use super::state::TurnOverrides;
use crate::turn::{NextStep, TurnItemIds, TurnScope};

/// What the turns of a session share.
#[derive(Clone, Debug)]
pub(crate) struct TurnBase {
    pub(crate) session: Arc<SessionContext>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tool_services: Arc<ToolServices>,
    pub(crate) instructions: Instructions,
    /// The thread at the root of its agents; none for itself.
    pub(crate) root: Option<ThreadId>,
}

impl TurnBase {
    /// The scope of a new turn.
    pub(super) fn scope(
        &self,
        settings: &ThreadSettings,
        id: &str,
        overrides: TurnOverrides,
        cache: &mut ToolCache,
    ) -> TurnScope {
        let (model, tools) = cache.get(settings, self);
        TurnScope {
            diff: TurnDiffTracker::for_settings(settings),
            checkpoint: TurnCheckpoint::new(
                self.tool_services.recorder.clone(),
                id,
                self.session.clock.now().as_second(),
            ),
            budget: TurnBudget::new(
                &self.session.budget,
                &ThreadLimits {
                    turn: overrides.limits.or(settings.limits.turn),
                    ..settings.limits
                },
                &self.session.clock,
            ),
            settings: Arc::new(self.turn_settings(settings, id, overrides, model)),
            session: Arc::clone(&self.session),
            model: Arc::clone(&self.model),
            tool_services: Arc::clone(&self.tool_services),
            tools: Arc::new(TurnTools::new(tools)),
            input_queue: Arc::default(),
            item_ids: TurnItemIds::default(),
            next_step: NextStep::default(),
            fallbacks_taken: Arc::default(),
            stop: StopSignal::default(),
        }
    }

    /// What limits the network of commands: the limits of the session, and those of the permissions in force.
    fn network_limits(&self, settings: &ThreadSettings) -> Arc<NetworkLimits> {
        let limits = self.session.config.options.network_limits.clone();
        Arc::new(limits.with_settings(&settings.host_limits))
    }

    fn turn_settings(
        &self,
        settings: &ThreadSettings,
        id: &str,
        overrides: TurnOverrides,
        model: ResolvedModel,
    ) -> TurnSettings {
        let config = &self.session.config;
        let zone = self.session.clock.zone();
        let reviews = settings.approval_policy == AskForApproval::OnRequest
            && settings.approvals_reviewer == ApprovalsReviewer::GuardianSubagent;
        let now = self.session.clock.now().to_zoned(zone.clone());
        TurnSettings {
            id: Arc::from(id),
            cwd: settings.cwd.clone(),
            approval_policy: settings.approval_policy,
            sandbox_policy: settings.sandbox_policy.clone(),
            permission_profile: settings.permission_profile.clone(),
            network_limits: self.network_limits(settings),
            limits: settings.limits,
            turn_limits: overrides.limits,
            approvals_reviewer: settings.approvals_reviewer,
            summary: (settings.summary).unwrap_or(model.info.default_reasoning_summary),
            verbosity: model.info.verbosity(config.options.verbosity),
            model_facts: model.source,
            model: model.info,
            mode: settings.collaboration_mode(),
            service_tier: overrides
                .service_tier
                .or_else(|| settings.service_tier.clone()),
            personality: settings.personality,
            output_schema: overrides.schema.map(Arc::new),
            has_client_metadata: overrides.metadata.keys().any(|name| !is_reserved(name)),
            metadata: self.metadata(
                (id, overrides.root_turn_id.as_deref().unwrap_or(id)),
                &settings.sandbox_policy,
                overrides.metadata,
            ),
            root_turn_id: overrides.root_turn_id,
            refused: overrides.refused,
            date: now.strftime("%Y-%m-%d").to_string(),
            timezone: zone.iana_name().unwrap_or("Etc/UTC").to_owned(),
            shell: config.options.shell.clone(),
            has_environment: !settings.without_environment,
            environments: settings.environments.clone(),
            shells: OnceLock::new(),
            instructions: self.instructions.clone(),
            turn_state: TurnState::default(),
            reviews: reviews.then(Arc::default),
            current_instructions: OnceLock::new(),
            skills: OnceLock::new(),
            memory_summary: config.options.memory_summary.as_deref().map(Arc::from),
            realtime: overrides.realtime,
            apps: OnceLock::new(),
            plugins: self.plugins(&settings.disabled_plugins),
            disabled_plugins: settings.disabled_plugins.clone(),
            is_of_earlier_turn: false,
            is_narrowed: false,
        }
    }

    /// The plugins that are installed now, but for those that are switched off; none if there are none.
    fn plugins(&self, disabled: &[String]) -> Option<Arc<Vec<InstalledPlugin>>> {
        let mut plugins = self.session.config.services.plugins.as_ref()?.current();
        if !disabled.is_empty() {
            let plugins = Arc::make_mut(&mut plugins);
            plugins.retain(|plugin| !disabled.contains(&plugin.id.to_string()));
        }
        Some(plugins).filter(|plugins| !plugins.is_empty())
    }
}

/// The names in the metadata of a turn that clients cannot set.
const RESERVED_NAMES: [&str; 9] = [
    "root_turn_id",
    "sandbox",
    "session_id",
    "thread_id",
    "turn_id",
    "window_id",
    "forked_from_thread_id",
    "parent_thread_id",
    "subagent_kind",
];

fn is_reserved(name: &str) -> bool {
    RESERVED_NAMES.contains(&name)
}

/// What confines commands under a policy, as model servers know it.
fn sandbox_name(policy: &SandboxPolicy) -> &'static str {
    match policy {
        SandboxPolicy::DangerFullAccess => "none",
        SandboxPolicy::ExternalSandbox { .. } => "external",
        _ => match std::env::consts::OS {
            "macos" => "seatbelt",
            "windows" => "windows_sandbox",
            _ => "seccomp",
        },
    }
}

impl TurnBase {
    /// The values of the client, where the thread comes from, and the ids that they belong to. The root turn is the one
    /// of a person that led to this one, or this one itself.
    fn metadata(
        &self,
        (turn, root_turn): (&str, &str),
        policy: &SandboxPolicy,
        mut values: BTreeMap<String, String>,
    ) -> Option<String> {
        values.retain(|name, _| !is_reserved(name));
        let config = &self.session.config;
        if let Some(source) = &config.identity.forked_from {
            values.insert("forked_from_thread_id".to_owned(), source.to_string());
        }
        if let SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id, ..
        }) = &config.identity.source
        {
            values.insert("parent_thread_id".to_owned(), parent_thread_id.to_string());
            values.insert("subagent_kind".to_owned(), "thread_spawn".to_owned());
        }
        values.insert("sandbox".to_owned(), sandbox_name(policy).to_owned());
        let thread = self.session.emitter.thread().to_string();
        let parent = values.get("parent_thread_id").cloned();
        let root = self.root.as_ref().map(ToString::to_string).or(parent);
        values.insert(
            "session_id".to_owned(),
            root.unwrap_or_else(|| thread.clone()),
        );
        values.insert("thread_id".to_owned(), thread);
        values.insert("turn_id".to_owned(), turn.to_owned());
        values.insert("root_turn_id".to_owned(), root_turn.to_owned());
        serde_json::to_string(&values).ok()
    }
}

/// The model of the last turn with its tools, for the next turn.
#[derive(Debug, Default)]
pub(super) struct ToolCache(Option<CachedTools>);

#[derive(Debug)]
struct CachedTools {
    /// What was known about the model. It may be more by the next turn.
    resolved: ResolvedModel,
    model: ResolvedModel,
    policy: SandboxPolicy,
    environments: ToolEnvironments,
    tools: Arc<ToolSet>,
}

impl ToolCache {
    fn get(&mut self, settings: &ThreadSettings, base: &TurnBase) -> (ResolvedModel, Arc<ToolSet>) {
        let environments =
            ToolEnvironments::from_choices(!settings.without_environment, &settings.environments);
        let resolved = base.model.resolve(&settings.model);
        if let Some(CachedTools {
            resolved: known,
            model,
            policy,
            environments: known_environments,
            tools,
        }) = &self.0
            && Arc::ptr_eq(&known.info, &resolved.info)
            && *policy == settings.sandbox_policy
            && *known_environments == environments
        {
            return (model.clone(), Arc::clone(tools));
        }
        let model = with_overrides(resolved.clone(), &base.session.config);
        let tools = ToolSet::new(&ToolSituation {
            config: &base.session.config,
            services: &base.tool_services,
            mcp: &McpTools::default(),
            model: &model.info,
            policy: &settings.sandbox_policy,
            environments: environments.clone(),
        });
        let tools = Arc::new(tools);
        self.0 = Some(CachedTools {
            resolved,
            model: model.clone(),
            policy: settings.sandbox_policy.clone(),
            environments,
            tools: Arc::clone(&tools),
        });
        (model, tools)
    }
}
