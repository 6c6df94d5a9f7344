//! The tools of the model: one file each with schema, handler and output format.
//!
//! A tool asks the gate before it has any effect; it never spawns or writes without the gate's word.

mod agents;
mod apply_patch;
mod arguments;
mod command;
mod dynamic;
mod mcp;
mod mcp_resources;
mod registry;
mod request_permissions;
mod request_user_input;
mod shell;
mod shell_command;
mod unified_exec;
mod update_plan;
mod user_shell;
mod view_image;
mod web_search;

use std::fmt::Debug;
use std::sync::Arc;

use codex_model_client::ToolSpec;
use codex_protocol::{FunctionCallOutputBody, RawText};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::gate::Gate;
use crate::session::Services;
use crate::turn::{InputQueue, ToolCall, TurnDiffTracker, TurnEmitter, TurnScope, TurnSettings};

pub(crate) use agents::SpawnAgentTool;
pub(crate) use command::parsed_command;
pub(crate) use registry::{McpTools, ToolSet, no_tools};
pub use unified_exec::BackgroundTerminal;
pub(crate) use unified_exec::TerminalRegistry;
pub(crate) use user_shell::{TypedCommand, run_user_shell};

/// Why a call has no output of its own.
#[derive(Debug)]
pub(crate) enum ToolFailure {
    /// The model is told, and the turn goes on.
    Model(String),
    /// The turn is to stop.
    Aborted,
}

/// What a call comes to.
pub(crate) type ToolResult = Result<FunctionCallOutputBody, ToolFailure>;

/// A tool.
pub(crate) trait Tool: Debug + Send + Sync {
    /// What the model is told about it: an entry of a request's `tools`.
    fn spec(&self) -> ToolSpec;

    /// Whether calls may run beside others that may.
    fn is_parallel(&self) -> bool {
        false
    }

    /// Carries a call out. Dropping the future stops it and ends what it started.
    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult>;
}

/// What a call is carried out with.
#[derive(Clone, Debug)]
pub(crate) struct ToolContext {
    pub(crate) call: ToolCall,
    pub(crate) settings: Arc<TurnSettings>,
    pub(crate) services: Arc<Services>,
    pub(crate) emitter: TurnEmitter,
    pub(crate) input_queue: Arc<InputQueue>,
    pub(crate) diff: TurnDiffTracker,
    response_ended: CancellationToken,
}

impl ToolContext {
    /// `response_ended` says that the response is over that the call stands in.
    pub(crate) fn new(
        scope: &TurnScope,
        call: &ToolCall,
        response_ended: CancellationToken,
    ) -> Self {
        Self {
            call: call.clone(),
            settings: Arc::clone(&scope.settings),
            services: Arc::clone(&scope.services),
            emitter: scope.emitter(),
            input_queue: Arc::clone(&scope.input_queue),
            diff: scope.diff.clone(),
            response_ended,
        }
    }

    /// The way through the gate for this call.
    pub(crate) fn gate(&self) -> Gate {
        Gate {
            mailbox: self.services.mailbox.clone(),
            settings: Arc::clone(&self.settings),
            call_id: self.call.id.clone(),
            response_ended: self.response_ended.clone(),
            clock: Arc::clone(&self.services.clock),
        }
    }
}

/// One text for the model.
pub(crate) fn text(text: impl Into<RawText>) -> ToolResult {
    Ok(FunctionCallOutputBody::Text(text.into()))
}
