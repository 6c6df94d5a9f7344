//! Starting a review: what the reviewer gets of the thread's own.

use std::sync::{Arc, OnceLock};

use codex_protocol::{
    AskForApproval, CodexErrorInfo, ModeKind, ReviewRequest, ReviewTarget, SessionSource,
    SubAgentSource,
};

use super::settings::{ToolCache, for_turn};
use super::task::TaskKind;
use super::{Services, Session, TurnOverrides};
use crate::config::WebSearch;
use crate::review::{RUBRIC, Reviewer, run};
use crate::tools::TerminalRegistry;

impl Session {
    /// Reviews code as a task of its own. One that runs is replaced.
    pub(super) async fn review(&mut self, id: String, request: ReviewRequest) {
        if let ReviewTarget::Custom { instructions } = &request.target
            && instructions.trim().is_empty()
        {
            let message = "Review prompt cannot be empty";
            return self.error(&id, message, CodexErrorInfo::Other);
        }
        let settings = self.turn_settings(&id, TurnOverrides::default());
        let reviewer = self.reviewer(&id);
        let body = |scope, conversation| run(scope, conversation, reviewer, request);
        self.start(TaskKind::Review, settings, body).await;
    }

    /// The thread's own settings, but nobody is asked and nothing is for others.
    fn reviewer(&self, id: &str) -> Reviewer {
        let services = self.services.for_reviewer();
        let mut settings = (*self.settings()).clone();
        let model = services.config.review_model.clone();
        settings.model = model.unwrap_or(settings.model);
        (settings.mode, settings.mode_instructions) = (ModeKind::Default, None);
        settings.approval_policy = AskForApproval::Never;
        let (own, mut tools) = (TurnOverrides::default(), ToolCache::default());
        let settings = for_turn(&settings, id, own, &services, &mut tools);
        Reviewer {
            services: Arc::new(services),
            settings: Arc::new(settings),
        }
    }
}

impl Services {
    fn for_reviewer(&self) -> Self {
        let mut config = self.config.clone();
        config.source = SessionSource::SubAgent(SubAgentSource::Review);
        config.web_search = WebSearch::default();
        config.agents = None;
        config.turn_ended = None;
        config.features.request_permissions = false;
        config.features.exec_permissions = false;
        config.features.default_mode_questions = false;
        Self {
            model: Arc::clone(&self.model),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            processes: Arc::clone(&self.processes),
            terminals: TerminalRegistry::default(),
            mcp: self.mcp.clone(),
            mcp_connector: None,
            timeout_pauses: self.timeout_pauses.clone(),
            emitter: self.emitter.for_reviewer(),
            mailbox: self.mailbox.clone(),
            threads: self.threads.clone(),
            spawn_tool: OnceLock::new(),
            agent_tree: self.agent_tree.clone(),
            instructions: Arc::from(RUBRIC),
            user_instructions: self.user_instructions.clone(),
            developer_instructions: self.developer_instructions.clone(),
            dynamic_tools: Vec::new(),
            config,
        }
    }
}
