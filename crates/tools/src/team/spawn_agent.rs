//! `spawn_agent`: starts an agent under a name, with a task.

use std::fmt::Display;
use std::sync::Arc;

use codex_model_client::{ModelInfo, ToolSpec};
use codex_protocol::{
    EventMsg, ReasoningEffort, RolloutItem, SubAgentActivityEvent, SubAgentActivityKind,
    UserMessageEvent,
};
use codex_session_base::agents::{
    AgentMail, AgentRequest, AgentStartError, InheritedTurns, MailTurn, NewMember, TeamError,
    TeamSeat, child_path, inherited_lines,
};
use codex_session_base::config::{AgentSettings, SessionConfig, TeamSettings};
use codex_session_base::stored_thread::StoredThread;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{activity, begin, check_message, emit, message_property, refused};
use crate::agents::{AgentWishes, config_of, model_description, request, role_description};
use crate::arguments::function;
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// The tool. Its entry depends on roles and models.
#[derive(Clone, Debug)]
pub(super) struct SpawnTeamAgentTool {
    spec: Arc<ToolSpec>,
    hides_metadata: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpawnAgentArguments {
    task_name: String,
    message: String,
    fork_turns: Option<String>,
    fork_context: Option<bool>,
    agent_type: Option<String>,
    model: Option<String>,
    reasoning_effort: Option<ReasoningEffort>,
    #[serde(rename = "service_tier")]
    service_tier: Option<String>,
}

impl SpawnTeamAgentTool {
    pub(super) fn new(
        settings: &AgentSettings,
        team: &TeamSettings,
        models: &[&ModelInfo],
    ) -> Self {
        let mut description = "Starts an agent that works beside you in the same folders, and gives it its first task. \
                               Its path is yours with the name at the end. Use it only if the user, or instructions \
                               of the project, ask for agents, delegation or work in parallel. When its turn ends, you \
                               get its last words as a message."
            .to_owned();
        if let Some(hint) = &team.usage_hint {
            description.push_str("\n\n");
            description.push_str(hint);
        }
        let mut properties = json!({
            "task_name": {
                "type": "string",
                "description": "The name: lowercase letters, digits and underscores.",
            },
            "message": message_property("The task. Say what to report."),
            "fork_turns": {
                "type": "string",
                "description": "How much of the conversation the agent knows: `none`, `all`, which is usual, or the \
                                number of the latest turns.",
            },
        });
        if !team.hide_metadata {
            let role = role_description(settings);
            properties["agent_type"] = json!({ "type": "string", "description": role });
            let model = model_description(models);
            properties["model"] = json!({ "type": "string", "description": model });
            for (name, about) in [
                (
                    "reasoning_effort",
                    "How hard the agent thinks, where that should not be as you do.",
                ),
                (
                    "service_tier",
                    "The service tier of its requests, if not yours.",
                ),
            ] {
                properties[name] = json!({ "type": "string", "description": about });
            }
        }
        Self {
            spec: Arc::new(function(
                "spawn_agent",
                &description,
                properties,
                &["task_name", "message"],
            )),
            hides_metadata: team.hide_metadata,
        }
    }
}

impl Tool for SpawnTeamAgentTool {
    fn spec(&self) -> ToolSpec {
        (*self.spec).clone()
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let hides_metadata = self.hides_metadata;
        Box::pin(async move { spawn(&context, hides_metadata).await })
    }
}

async fn spawn(context: &ToolContext, hides_metadata: bool) -> ToolResult {
    let (asked, seat): (SpawnAgentArguments, TeamSeat) = begin(context).await?;
    if asked.fork_context.is_some() {
        let refusal = "fork_context is not supported in MultiAgentV2; use fork_turns instead";
        return Err(refused(refusal));
    }
    let turns = InheritedTurns::parse(asked.fork_turns.as_deref()).map_err(refused)?;
    check_message(&asked.message)?;
    let path = child_path(&seat.path, &asked.task_name).map_err(refused)?;
    let is_special =
        asked.agent_type.is_some() || asked.model.is_some() || asked.reasoning_effort.is_some();
    if turns == InheritedTurns::All && is_special {
        return Err(refused(
            "Full-history forked agents inherit the parent agent type, model, and reasoning effort; \
             leave these out, or set fork_turns to `none` or a number",
        ));
    }
    let wishes = AgentWishes {
        role: asked.agent_type,
        model: asked.model,
        reasoning_effort: asked.reasoning_effort,
    };
    let (mut config, role) = config_of(context, &wishes).await?;
    choose_tier(&mut config, asked.service_tier)?;
    let (lines, first) = match turns {
        InheritedTurns::None => (Vec::new(), None),
        turns => inherited(context, turns).await.map_err(spawn_failed)?,
    };
    let (model, reasoning_effort) = (
        config.options.settings.model.clone(),
        config.options.settings.effort.clone(),
    );
    let agent = Box::new(NewMember {
        config,
        path: path.clone(),
        role: wishes.role(),
        nicknames: role.nicknames,
        lines,
        first,
    });
    let spawned = request(context, |reply| AgentRequest::SpawnMember(agent, reply)).await?;
    let spawned = spawned.map_err(start_failed)?;
    let about = (spawned.id, path.clone());
    let started = SubAgentActivityEvent {
        model: Some(model),
        reasoning_effort,
        ..activity(context, about, SubAgentActivityKind::Started)
    };
    emit(context, started);
    let turn = MailTurn {
        root_turn_id: Some(context.settings.root_turn().to_owned()),
    };
    let mail = AgentMail::written(seat.path.clone(), path.clone(), asked.message, Some(turn));
    let delivered = seat.team.deliver(mail);
    delivered.map_err(|error| start_failed(error.into()))?;
    let mut output = json!({ "task_name": path });
    if !hides_metadata {
        output["nickname"] = spawned.nickname.into();
    }
    text(output.to_string())
}

fn choose_tier(config: &mut SessionConfig, tier: Option<String>) -> Result<(), ToolFailure> {
    let Some(tier) = tier else {
        return Ok(());
    };
    let known = serde_json::from_value(tier.clone().into());
    let known = known.map_err(|_| refused(format!("Service tier `{tier}` is not supported")))?;
    config.options.settings.service_tier = Some(known);
    Ok(())
}

/// What the agent takes over from the file of the thread, and the first message of a person in it.
async fn inherited(
    context: &ToolContext,
    turns: InheritedTurns,
) -> Result<(Vec<RolloutItem>, Option<UserMessageEvent>), String> {
    let emitter = &context.session.emitter;
    let missing = || "the thread has no file to go on from; set fork_turns to `none`".to_owned();
    let path = emitter.log_path().ok_or_else(missing)?;
    emitter.flush().await.map_err(|error| error.to_string())?;
    let hint = context.settings.instructions.team.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let stored = StoredThread::read_all(&path).map_err(|error| error.to_string())?;
        let lines = inherited_lines(stored.lines.into_iter().collect(), turns, hint.as_deref());
        let first = lines.iter().find_map(|line| match line {
            RolloutItem::EventMsg(EventMsg::UserMessage(message)) => Some(message.clone()),
            _ => None,
        });
        Ok((lines, first))
    });
    reading.await.unwrap_or_else(|error| Err(error.to_string()))
}

/// Errors about names are told as they are, others as failures of the spawn.
fn start_failed(error: AgentStartError) -> ToolFailure {
    match error {
        AgentStartError::Team(TeamError::Taken(_) | TeamError::Path(_)) => refused(error),
        _ => spawn_failed(error),
    }
}

fn spawn_failed(reason: impl Display) -> ToolFailure {
    refused(format!("collab spawn failed: {reason}"))
}
