//! The input of a turn that the goal starts.

use codex_protocol::{ContentItem, FunctionCallOutputBody, ResponseItem};
use codex_thread_state::Goal;
use codex_thread_store::GOAL_CALL;

/// The objective, as a tool output because it is text of the user and not an instruction of this program; then the
/// instruction to continue.
pub(super) fn items(goal: &Goal) -> Vec<ResponseItem> {
    let call_id = format!("{GOAL_CALL}{}", uuid::Uuid::now_v7());
    let call = ResponseItem::FunctionCall {
        id: None,
        name: "goal_objective".to_owned(),
        namespace: None,
        arguments: "{}".to_owned(),
        call_id: call_id.clone(),
    };
    let output = ResponseItem::FunctionCallOutput {
        call_id,
        output: FunctionCallOutputBody::Text(goal.objective.clone().into()),
    };
    let text = vec![ContentItem::InputText {
        text: instruction(goal),
    }];
    let instruction = ResponseItem::Message {
        role: "user".to_owned(),
        content: text,
        end_turn: None,
        phase: None,
        id: None,
    };
    vec![call, output, instruction]
}

fn instruction(goal: &Goal) -> String {
    let budget = match goal.token_budget {
        None => "There is no token budget.".to_owned(),
        Some(budget) => format!(
            "The token budget is {budget}, of which {} are left.",
            (budget - goal.tokens_used).max(0)
        ),
    };
    format!(
        "<goal_continuation>Continue to work towards the goal of this thread, which the output of \
         goal_objective states. Do the next useful step now. {} tokens and {} seconds were used for it so far. \
         {budget} When the goal is reached and you have checked that it is, call update_goal with the status \
         `complete`. When you cannot go on without the user, call it with `blocked` and say what you \
         need.</goal_continuation>",
        goal.tokens_used,
        goal.milliseconds_used / 1000,
    )
}
