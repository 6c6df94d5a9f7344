//! `request_user_input`: the model asks the user.

use codex_model_client::ToolSpec;
use codex_protocol::{
    EventMsg, ModeKind, RequestUserInputEvent, RequestUserInputOption, RequestUserInputQuestion,
};
use codex_session_base::agents::is_agent;
use codex_session_base::questions::{Question, QuestionAnswer, QuestionKey};
use codex_visible_text::{visible_line, visible_lines};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{arguments, function};
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestUserInputTool {
    /// Whether it works outside of plan mode too.
    pub in_default_mode: bool,
}

#[derive(Deserialize)]
struct RequestUserInputArguments {
    questions: Vec<AskedQuestion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedQuestion {
    id: String,
    header: String,
    question: String,
    #[serde(default)]
    options: Option<Vec<RequestUserInputOption>>,
    #[serde(default)]
    is_secret: bool,
}

/// Where somebody can answer.
pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    if !is_agent(situation.config) && !situation.config.identity.is_unattended {
        builder.offer(RequestUserInputTool {
            in_default_mode: situation.options().features.default_mode_questions,
        });
    }
}

impl Tool for RequestUserInputTool {
    fn spec(&self) -> ToolSpec {
        let option = json!({
            "type": "object",
            "properties": {
                "label": { "type": "string", "description": "A few words." },
                "description": { "type": "string", "description": "What it would mean." },
            },
            "required": ["label", "description"],
            "additionalProperties": false,
        });
        let question = json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "Names the answer." },
                "header": { "type": "string", "description": "One or two words above it." },
                "question": { "type": "string", "description": "One sentence." },
                "options": {
                    "type": "array",
                    "items": option,
                    "description": "Two or three, the one you advise first. The user can always write \
                                    another.",
                },
            },
            "required": ["id", "header", "question", "options"],
            "additionalProperties": false,
        });
        let modes = if self.in_default_mode {
            "Works in Default and Plan mode."
        } else {
            "Works in Plan mode only."
        };
        function(
            "request_user_input",
            &format!(
                "Asks the user up to three short questions and waits for the answers. {modes}"
            ),
            json!({ "questions": { "type": "array", "items": question } }),
            &["questions"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { ask(&context).await })
    }
}

async fn ask(context: &ToolContext) -> ToolResult {
    let allowed = match context.settings.mode.mode {
        ModeKind::Plan => true,
        ModeKind::Default => {
            context
                .session
                .config
                .options
                .features
                .default_mode_questions
        }
    };
    if !allowed {
        return Err(ToolFailure::Model(
            "request_user_input is unavailable in Default mode".to_owned(),
        ));
    }
    let RequestUserInputArguments { questions } = arguments(context)?;
    if questions
        .iter()
        .any(|asked| asked.options.as_ref().is_none_or(Vec::is_empty))
    {
        return Err(ToolFailure::Model(
            "request_user_input requires non-empty options for every question".to_owned(),
        ));
    }
    let question = |asked: AskedQuestion| RequestUserInputQuestion {
        id: asked.id,
        header: visible_line(&asked.header),
        question: visible_lines(&asked.question),
        is_other: true,
        is_secret: asked.is_secret,
        options: asked.options.map(|options| {
            let visible = |option: RequestUserInputOption| RequestUserInputOption {
                label: visible_line(&option.label),
                description: visible_line(&option.description),
            };
            options.into_iter().map(visible).collect()
        }),
    };
    let turn = context.settings.id.to_string();
    let event = EventMsg::RequestUserInput(RequestUserInputEvent {
        call_id: context.call.id.clone(),
        turn_id: turn.clone(),
        questions: questions.into_iter().map(question).collect(),
    });
    let key = QuestionKey::UserInput(turn.clone());
    let emitter = &context.session.emitter;
    emitter.log_question(&turn, &context.call.id).await;
    match context.ask_client(Question { key, turn, event }).await {
        Some(QuestionAnswer::UserInput(response)) => {
            text(serde_json::to_string(&response).unwrap_or_default())
        }
        _ => Err(ToolFailure::Model(
            "request_user_input was cancelled before receiving a response".to_owned(),
        )),
    }
}
