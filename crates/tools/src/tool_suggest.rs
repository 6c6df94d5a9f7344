//! `tool_suggest`: asks the user to connect an app or to install a plugin that would help.

use std::fmt::Write as _;
use std::sync::Arc;

use codex_apps::APPS_SERVER;
use codex_model_client::ToolSpec;
use codex_protocol::{
    ElicitationAction, ElicitationRequest, ElicitationRequestEvent, EventMsg, RequestId,
};
use codex_session_base::config::{SuggestionKind, ToolSuggestion};
use codex_session_base::questions::{Question, QuestionAnswer, QuestionKey};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{arguments, function};
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// How much of a description the model is told.
const DESCRIPTION: usize = 300;
/// How many candidates the model is told.
const MAX_LISTED: usize = 50;

/// The tool.
#[derive(Debug)]
pub(crate) struct ToolSuggestTool(Arc<[ToolSuggestion]>);

#[derive(Deserialize)]
struct SuggestArguments {
    tool_type: SuggestionKind,
    action_type: String,
    tool_id: String,
    suggest_reason: String,
}

impl ToolSuggestTool {
    pub(crate) fn new(mut candidates: Vec<ToolSuggestion>) -> Self {
        candidates.truncate(MAX_LISTED);
        Self(candidates.into())
    }
}

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    let suggestions = &situation.mcp.suggestions;
    if !suggestions.is_empty() {
        builder.offer(ToolSuggestTool::new(suggestions.clone()));
    }
}

impl Tool for ToolSuggestTool {
    fn spec(&self) -> ToolSpec {
        let mut description = "Asks the user to connect an app or to install a plugin that is not there \
            yet. Use it only if none of your tools can do what the user wants, and one of these clearly \
            can:\n"
            .to_owned();
        for candidate in self.0.iter() {
            let (id, name, kind) = (&candidate.id, &candidate.name, json!(candidate.kind));
            let whole = candidate.description.as_deref().unwrap_or_default();
            let start: String = whole.chars().take(DESCRIPTION).collect();
            let about = start.split_whitespace().collect::<Vec<_>>().join(" ");
            let kind = kind.as_str().unwrap_or_default();
            let _ = writeln!(description, "- {name} ({kind}, id `{id}`): {about}");
        }
        let word = |about: &str| json!({ "type": "string", "description": about });
        function(
            "tool_suggest",
            description.trim_end(),
            json!({
                "tool_type": word("connector or plugin"),
                "action_type": word("install"),
                "tool_id": word("The id from the list."),
                "suggest_reason": word("One sentence for the user: what it would help with."),
            }),
            &["tool_type", "action_type", "tool_id", "suggest_reason"],
        )
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let candidates = Arc::clone(&self.0);
        Box::pin(async move { suggest(&context, &candidates).await })
    }
}

async fn suggest(context: &ToolContext, candidates: &[ToolSuggestion]) -> ToolResult {
    let wanted: SuggestArguments = arguments(context)?;
    let refused = |text: String| Err(ToolFailure::Model(text));
    if wanted.action_type != "install" {
        return refused("action_type must be \"install\"".to_owned());
    }
    if wanted.suggest_reason.trim().is_empty() {
        return refused("suggest_reason must not be empty".to_owned());
    }
    let is_wanted =
        |known: &&ToolSuggestion| known.id == wanted.tool_id && known.kind == wanted.tool_type;
    let Some(known) = candidates.iter().find(is_wanted) else {
        return refused(format!(
            "`{}` is not among what can be suggested",
            wanted.tool_id
        ));
    };
    let confirmed = ask(context, known, &wanted.suggest_reason).await;
    let completed = confirmed && is_there(context, known).await;
    let output = json!({
        "completed": completed,
        "user_confirmed": confirmed,
        "tool_type": known.kind,
        "action_type": "install",
        "tool_id": known.id,
        "tool_name": known.name,
        "suggest_reason": wanted.suggest_reason,
    });
    context.set_value(|| output.clone());
    text(output.to_string())
}

/// Whether the user has agreed. Nobody who answers has not.
async fn ask(context: &ToolContext, known: &ToolSuggestion, reason: &str) -> bool {
    let id = RequestId::String(format!("tool_suggestion_{}", context.call.id));
    let turn = context.settings.id.to_string();
    let mut about = json!({
        "codex_approval_kind": "tool_suggestion",
        "tool_type": known.kind,
        "suggest_type": "install",
        "suggest_reason": reason,
        "tool_id": known.id,
        "tool_name": known.name,
    });
    if let Some(url) = &known.install_url {
        about["install_url"] = Value::from(url.as_str());
    }
    let event = EventMsg::ElicitationRequest(ElicitationRequestEvent {
        turn_id: Some(turn.clone()),
        server_name: APPS_SERVER.to_owned(),
        id: id.clone(),
        request: ElicitationRequest::Form {
            meta: Some(about),
            message: format!("Install {}? {reason}", known.name),
            requested_schema: json!({ "type": "object", "properties": {} }),
        },
    });
    let key = QuestionKey::Elicitation(APPS_SERVER.to_owned(), id);
    let answer = context.ask_client(Question { key, turn, event }).await;
    matches!(answer, Some(QuestionAnswer::Elicitation(reply)) if reply.action == ElicitationAction::Accept)
}

/// Whether what was suggested is there now.
async fn is_there(context: &ToolContext, known: &ToolSuggestion) -> bool {
    match known.kind {
        SuggestionKind::Connector => {
            let servers = context.services.mcp.current();
            servers.has_app_now(&known.id).await
        }
        SuggestionKind::Plugin => {
            let plugins = context.session.config.services.plugins.as_ref();
            let current = plugins.map(|plugins| plugins.current()).unwrap_or_default();
            current
                .iter()
                .any(|plugin| plugin.id.to_string() == known.id)
        }
    }
}
