//! Starting a review.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use codex_model_client::ThreadConnection;
use codex_protocol::{AskForApproval, CodexErrorInfo, ModeKind, Op, ReviewRequest, ReviewTarget};
use codex_session_base::session_context::{McpToolCaller, SessionContext};
use codex_session_base::thread::{OperationReply, OperationResult, TaskKind};
use codex_session_base::turn_settings::Instructions;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::state::TurnOverrides;
use super::turn_base::{ToolCache, TurnBase};
use crate::review::{RUBRIC, run};
use crate::turn::TurnScope;

/// Runs a review as a task of its own. A running task is replaced.
#[derive(Debug)]
pub struct StartReview {
    /// The id of its turn.
    pub id: String,
    /// What is reviewed.
    pub request: ReviewRequest,
    /// Gets the end of it.
    pub reply: oneshot::Sender<OperationResult>,
}

impl ThreadCall for StartReview {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        let review_request = self.request;
        let op = Op::Review { review_request };
        session.operate(self.id, op, self.reply).await;
    }
}

impl SessionActor {
    pub(super) async fn review(
        &mut self,
        id: String,
        request: ReviewRequest,
        reply: OperationReply,
    ) {
        if let ReviewTarget::Custom { instructions } = &request.target
            && instructions.trim().is_empty()
        {
            let message = "Review prompt cannot be empty".to_owned();
            return self.refuse(&id, reply, message, CodexErrorInfo::Other);
        }
        let scope = self.new_turn(&id, TurnOverrides::default());
        let reviewer = self.reviewer(&id);
        let body = |scope, conversation| run(scope, conversation, reviewer, request, reply);
        self.start(TaskKind::Review, scope, body).await;
    }

    /// The scope of the reviewer: the settings of the thread, without approvals, agents and notifications.
    fn reviewer(&self, id: &str) -> TurnScope {
        let config = self.context.config.for_review();
        let mut settings = (*self.settings()).clone();
        settings.model = config
            .options
            .review_model
            .clone()
            .unwrap_or(settings.model);
        (settings.mode, settings.mode_instructions) = (ModeKind::Default, None);
        settings.approval_policy = AskForApproval::Never;
        let (context, tools) = (&self.context, &self.base.tool_services);
        let mcp_tools: Box<dyn McpToolCaller> = Box::new(tools.mcp.clone());
        let base = TurnBase {
            session: Arc::new(SessionContext {
                config,
                clock: Arc::clone(&context.clock),
                ids: Arc::clone(&context.ids),
                processes: Arc::clone(&context.processes),
                emitter: context.emitter.for_reviewer(),
                budget: Arc::clone(&context.budget),
                connection: ThreadConnection::default(),
                beginning: Mutex::default(),
                mcp_tools: OnceLock::from(mcp_tools),
                warned_of_startup_files: AtomicBool::default(),
                models_told_of: Mutex::default(),
                last_request: Mutex::default(),
                sent_prefix: Mutex::default(),
                pins: Mutex::default(),
                background: Mutex::default(),
            }),
            model: Arc::clone(&self.base.model),
            tool_services: Arc::new(tools.for_reviewer()),
            instructions: Instructions {
                base: Arc::from(RUBRIC),
                ..self.base.instructions.clone()
            },
            root: self.base.root.clone(),
        };
        base.scope(
            &settings,
            id,
            TurnOverrides::default(),
            &mut ToolCache::default(),
        )
    }
}
