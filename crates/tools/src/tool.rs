//! The interface of a tool.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use codex_model_client::ToolSpec;
use codex_protocol::{FunctionCallOutputBody, HookEventName, RawText};
use codex_session_base::events::TurnEmitter;
use codex_session_base::gate::Gate;
use codex_session_base::input::InputQueue;
use codex_session_base::questions::{Question, QuestionAnswer, QuestionRequest};
use codex_session_base::session_context::SessionContext;
use codex_session_base::turn_settings::TurnSettings;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::call::ToolCall;
use super::command_format::OutputLayout;
use super::hook_input::tool_use;
use super::services::ToolServices;
use super::turn_checkpoints::TurnCheckpoint;
use super::turn_diff::TurnDiffTracker;

/// Why a call has no output of its own.
#[derive(Debug)]
pub enum ToolFailure {
    /// The text is the output, and the turn continues.
    Model(String),
    /// The turn stops.
    Aborted,
}

/// The outcome of a call.
pub type ToolResult = Result<FunctionCallOutputBody, ToolFailure>;

/// A tool.
pub trait Tool: Debug + Send + Sync {
    /// The entry in the `tools` of a request.
    fn spec(&self) -> ToolSpec;

    /// Whether calls may run in parallel with others that may.
    fn is_parallel(&self) -> bool {
        false
    }

    /// Whether the hooks around calls run for it.
    fn has_hooks(&self) -> bool {
        true
    }

    /// Carries a call out. Dropping the future stops it and ends what it started.
    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult>;
}

/// What a call is carried out with.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub call: ToolCall,
    pub settings: Arc<TurnSettings>,
    pub session: Arc<SessionContext>,
    pub services: Arc<ToolServices>,
    /// The layout of outputs that the model expects.
    pub layout: OutputLayout,
    /// Whether the model is offered the patch tool.
    pub has_patch_tool: bool,
    pub emitter: TurnEmitter,
    pub input_queue: Arc<InputQueue>,
    pub diff: TurnDiffTracker,
    pub checkpoint: TurnCheckpoint,
    /// Cancelled when the response that the call is part of has ended.
    pub response_ended: CancellationToken,
    /// Takes the output of a command that has ended well, if hooks want it.
    pub command_output: Option<Arc<OnceLock<String>>>,
}

impl ToolContext {
    /// The gate for this call.
    pub fn gate(&self) -> Gate {
        Gate {
            requests: self.services.requests.gate.clone(),
            settings: Arc::clone(&self.settings),
            call_id: self.call.id.clone(),
            response_ended: self.response_ended.clone(),
            session: Arc::clone(&self.session),
            tool: (self.session.has_hooks(HookEventName::PermissionRequest))
                .then(|| tool_use(&self.call, "")),
        }
    }

    /// Hands the output of a command that has ended well to the hooks that want it.
    pub fn command_ended(&self, output: impl FnOnce() -> String) {
        if let Some(wanted) = &self.command_output {
            wanted.get_or_init(output);
        }
    }

    /// Sets the result for a script, if one made the call.
    pub fn set_value(&self, value: impl FnOnce() -> Value) {
        if let Some(script) = &self.call.script {
            script.set(value());
        }
    }

    /// Asks the client. None if the turn ends without an answer.
    pub async fn ask_client(&self, question: Question) -> Option<QuestionAnswer> {
        let question = Box::new(question);
        let questions = &self.services.requests.questions;
        questions
            .ask(|reply| QuestionRequest { question, reply })
            .await
    }
}

/// A single text as output.
pub fn text(text: impl Into<RawText>) -> ToolResult {
    Ok(FunctionCallOutputBody::Text(text.into()))
}
