//! Reviews: a reviewer with instructions and a history of its own looks at the code.
//!
//! The reviewer is a turn inside the task of the review. It has the settings of the thread but asks nobody.
//! Its events go through the emitter of the thread, which filters them. Its result is recorded in the history
//! of the thread.

mod findings;
mod target;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use codex_protocol::{
    AgentMessageContent, AgentMessageItem, CodexErrorInfo, ContentItem, EventMsg,
    ExitedReviewModeEvent, ResponseItem, ReviewOutput, ReviewRequest, ReviewTarget, TurnItem,
    UserInput,
};
use codex_session_base::history::{Conversation, user_message};
use codex_session_base::thread::OperationReply;
use futures::FutureExt;

use crate::git::Git;
use crate::turn::{self, CompletedTurn, RunningTurn, TurnError, TurnScope};

pub use findings::{review_hint, review_text};

/// The instructions of the reviewer.
pub(crate) const RUBRIC: &str = include_str!("../../prompts/review.md").trim_ascii_end();
/// The id of the message with the result.
const RESULT_ID: &str = "review_rollout_assistant";
/// The text for the model about a review that was interrupted.
const BROKEN_OFF: &str =
    "Review was interrupted. Please re-run /review and wait for it to complete.";

/// Runs a review and returns the conversation of the thread.
pub(crate) async fn run(
    scope: TurnScope,
    mut conversation: Conversation,
    reviewer: TurnScope,
    request: ReviewRequest,
    reply: OperationReply,
) -> Conversation {
    let emitter = scope.emitter();
    let hint = Some(review_hint(&request));
    emitter.emit(EventMsg::EnteredReviewMode(ReviewRequest {
        user_facing_hint: hint,
        ..request.clone()
    }));
    let guard = turn::TurnGuard::start(&scope);
    crate::git::materialise(&scope.session);
    let tools = Arc::clone(&reviewer.tool_services);
    let reviewed = AssertUnwindSafe(run_reviewer(&scope, reviewer, &request.target)).catch_unwind();
    let reviewed = pin!(reviewed.map(|ended| ended.unwrap_or_else(|_| Err(turn::panicked()))));
    let ended = scope.in_time(reviewed).await;
    tools.terminals.stop_all().await;
    let result = ended
        .as_ref()
        .map(|_| ())
        .map_err(TurnError::operation_error);
    match ended {
        Ok(output) => {
            record_result(&scope, &mut conversation, Some(output));
            turn::finish(
                &scope,
                &mut conversation,
                guard,
                Ok(CompletedTurn::default()),
            )
            .await;
        }
        Err(TurnError::Stopped) => {
            record_result(&scope, &mut conversation, None);
            let stopped = Err(TurnError::Stopped);
            turn::finish(&scope, &mut conversation, guard, stopped).await;
        }
        Err(failure) => {
            if let Some(error) = failure.event() {
                emitter.emit(EventMsg::Error(error));
            }
            record_result(&scope, &mut conversation, None);
            turn::finish_failed(&scope, &mut conversation, guard).await;
        }
    }
    reply.send(result);
    conversation
}

/// Runs the reviewer and returns its findings.
async fn run_reviewer(
    scope: &TurnScope,
    reviewer: TurnScope,
    target: &ReviewTarget,
) -> Result<ReviewOutput, TurnError> {
    let is_here = scope.settings.first_elsewhere().is_none();
    let git = is_here.then(|| Git::new(&scope.session, &scope.settings.cwd));
    let prompt = tokio::select! {
        biased;
        () = scope.stop.stopped() => return Err(TurnError::Stopped),
        prompt = target::prompt(target, git.as_ref()) => prompt.map_err(not_reviewable)?,
    };
    let scope = TurnScope {
        stop: scope.stop.clone(),
        diff: scope.diff.clone(),
        budget: scope.budget.clone(),
        ..reviewer
    };
    let turn = RunningTurn {
        scope: &scope,
        emitter: &scope.emitter(),
        conversation: &mut Conversation::default(),
    };
    let input = UserInput::Text {
        text: prompt,
        text_elements: Vec::new(),
    };
    let completed = turn.run(vec![input].into()).await?;
    let answer = completed.last_agent_message.unwrap_or_default();
    Ok(findings::parse(&answer))
}

fn not_reviewable(reason: String) -> TurnError {
    TurnError::Failed {
        message: format!("The review cannot start: {reason}"),
        info: CodexErrorInfo::BadRequest,
    }
}

/// Emits and records the result.
fn record_result(scope: &TurnScope, conversation: &mut Conversation, output: Option<ReviewOutput>) {
    let emitter = scope.emitter();
    let text = review_text(output.as_ref());
    let (results, message) = match &output {
        Some(_) => (text.clone(), text),
        None => ("None.".to_owned(), BROKEN_OFF.to_owned()),
    };
    emitter.emit(EventMsg::ExitedReviewMode(ExitedReviewModeEvent {
        review_output: output,
    }));
    let recorder = scope.recorder();
    conversation.record(action(&results), &recorder);
    let item = TurnItem::AgentMessage(AgentMessageItem {
        id: scope.session.ids.item(),
        content: vec![AgentMessageContent::Text {
            text: message.clone(),
        }],
        phase: None,
        memory_citation: None,
        is_cut: false,
    });
    emitter.item_started(item.clone());
    emitter.item_completed(item, false);
    conversation.record(answer(message), &recorder);
}

/// The message that tells the model about the review.
fn action(results: &str) -> ResponseItem {
    user_message([format!(
        "<user_action>\n<context>The user had the code reviewed by a separate reviewer, whose results \
         follow. The user may ask you to act on some of them.</context>\n<action>review</action>\n\
         <results>\n{results}\n</results>\n</user_action>"
    )])
}

fn answer(text: String) -> ResponseItem {
    ResponseItem::Message {
        role: "assistant".to_owned(),
        content: vec![ContentItem::OutputText { text }],
        end_turn: None,
        phase: None,
        id: Some(RESULT_ID.to_owned()),
    }
}
