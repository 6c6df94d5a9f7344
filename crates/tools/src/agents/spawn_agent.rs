//! `spawn_agent`: starts an agent with a task.

use std::sync::Arc;

use codex_model_client::{ModelInfo, ToolSpec};
use codex_protocol::{
    AgentStatus, CollabAgentSpawnBeginEvent, CollabAgentSpawnEndEvent, EventMsg,
    FunctionCallOutputBody, ReasoningEffort, ResponseItem, UserInput,
};
use codex_session_base::agents::{AgentFork, AgentHandle, AgentRequest, NewAgent};
use codex_session_base::config::AgentSettings;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::agent_config::{AgentWishes, config_of, model_description, role_description};
use super::shared::{EndEvent, read_input, read_stored, request, shown};
use crate::arguments::{arguments, function};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// Tells an agent that continues the history of its parent what it is.
const FORKED_NOTICE: &str = "From here on you are an agent that the one you were until now has started. What \
                      stands above is what your parent knew; take it as background. The next message \
                      is your task.";

/// The tool. Its entry depends on roles and models, and is made once.
#[derive(Clone, Debug)]
pub(crate) struct SpawnAgentTool(pub Arc<ToolSpec>);

#[derive(Deserialize)]
struct SpawnAgentArguments {
    message: Option<String>,
    items: Option<Vec<UserInput>>,
    agent_type: Option<String>,
    model: Option<String>,
    reasoning_effort: Option<ReasoningEffort>,
    #[serde(default)]
    fork_context: bool,
}

impl SpawnAgentTool {
    pub(crate) fn make_spec(settings: &AgentSettings, models: &[&ModelInfo]) -> Arc<ToolSpec> {
        let (role, model) = (role_description(settings), model_description(models));
        Arc::new(function(
            "spawn_agent",
            "Starts an agent in the same folder; answers its id and name. Only if the user asks for agents, \
             delegation or parallel work. Its task is complete in itself, says what to report, and is \
             nothing that your next step needs; agents that change files get files of their own. Go on \
             meanwhile: when it is done you are told its last words.",
            json!({
                "message": {
                    "type": "string",
                    "description": "What to tell the agent. Not together with items.",
                },
                "items": {
                    "type": "array",
                    "items": { "type": "object" },
                    "description": "What to tell it, in pieces: {type: text, text}, {type: image, \
                                    image_url}, {type: local_image, path}, {type: skill or mention, name, path}.",
                },
                "agent_type": { "type": "string", "description": role },
                "model": { "type": "string", "description": model },
                "reasoning_effort": {
                    "type": "string",
                    "description": "How hard it thinks, if not as you do.",
                },
                "fork_context": {
                    "type": "boolean",
                    "description": "Whether it begins with all that was said to you.",
                },
            }),
            &[],
        ))
    }
}

impl Tool for SpawnAgentTool {
    fn spec(&self) -> ToolSpec {
        (*self.0).clone()
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { call(&context).await })
    }
}

async fn call(context: &ToolContext) -> ToolResult {
    let mut asked: SpawnAgentArguments = arguments(context)?;
    let input = read_input(asked.message.take(), asked.items.take())?;
    let mut end = CollabAgentSpawnEndEvent {
        call_id: context.call.id.clone(),
        sender_thread_id: context.session.emitter.thread().clone(),
        new_thread_id: None,
        new_agent_nickname: None,
        new_agent_role: None,
        prompt: shown(&input),
        model: asked.model.clone().unwrap_or_default(),
        reasoning_effort: asked
            .reasoning_effort
            .clone()
            .unwrap_or(ReasoningEffort::Medium),
        status: AgentStatus::NotFound,
    };
    let begin = EventMsg::CollabAgentSpawnBegin(CollabAgentSpawnBeginEvent {
        call_id: end.call_id.clone(),
        sender_thread_id: end.sender_thread_id.clone(),
        prompt: end.prompt.clone(),
        model: end.model.clone(),
        reasoning_effort: end.reasoning_effort.clone(),
    });
    let end_event = EndEvent::begin(context, begin, EventMsg::CollabAgentSpawnEnd(end.clone()));
    let (mut agent, shown) = spawn(context, asked, input).await?;
    // Its turn begins at once. Its events then come before the end of this call.
    let has_begun = |status: &AgentStatus| *status != AgentStatus::PendingInit;
    let _ = agent.status.wait_for(has_begun).await;
    end.new_thread_id = Some(agent.thread.id().clone());
    end.new_agent_nickname.clone_from(&agent.nickname);
    end.new_agent_role.clone_from(&agent.role);
    end.model = shown.model;
    end.reasoning_effort = shown.effort.unwrap_or(ReasoningEffort::Medium);
    // What the call has led to. How the agent goes on is told by its own events.
    end.status = AgentStatus::PendingInit;
    end_event.end(EventMsg::CollabAgentSpawnEnd(end));
    let output = json!({ "agent_id": agent.thread.id(), "nickname": agent.nickname });
    text(output.to_string())
}

async fn spawn(
    context: &ToolContext,
    mut asked: SpawnAgentArguments,
    input: Vec<UserInput>,
) -> Result<(AgentHandle, AgentModel), ToolFailure> {
    let wishes = AgentWishes {
        role: asked.agent_type.take(),
        model: asked.model.take(),
        reasoning_effort: asked.reasoning_effort.take(),
    };
    let (config, role) = config_of(context, &wishes).await?;
    let shown = AgentModel {
        model: config.options.settings.model.clone(),
        effort: config.options.settings.effort.clone(),
    };
    let fork = if asked.fork_context {
        Some(fork(context).await.map_err(failed)?)
    } else {
        None
    };
    let agent = NewAgent {
        config,
        role: wishes.role(),
        nicknames: role.nicknames,
        fork,
        input,
        root_turn_id: context.settings.root_turn().to_owned(),
        worker: None,
    };
    let spawned = request(context, |reply| AgentRequest::Spawn(Box::new(agent), reply)).await?;
    let agent = spawned.map_err(|error| failed(error.to_string()))?;
    Ok((agent, shown))
}

/// The settings of an agent that clients see.
struct AgentModel {
    model: String,
    effort: Option<ReasoningEffort>,
}

fn failed(reason: String) -> ToolFailure {
    ToolFailure::Model(format!("collab spawn failed: {reason}"))
}

/// The whole file of the thread, for an agent that continues it.
async fn fork(context: &ToolContext) -> Result<AgentFork, String> {
    let emitter = &context.session.emitter;
    let missing = || "the thread has no file to go on from".to_owned();
    let path = emitter.log_path().ok_or_else(missing)?;
    emitter.flush().await.map_err(|error| error.to_string())?;
    Ok(AgentFork {
        source: read_stored(path).await?,
        note: ResponseItem::FunctionCallOutput {
            call_id: context.call.id.clone(),
            output: FunctionCallOutputBody::Text(FORKED_NOTICE.to_owned().into()),
        },
    })
}
