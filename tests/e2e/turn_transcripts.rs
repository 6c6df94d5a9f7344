//! Whole transcripts of turns in which more happens than a scenario can say: a person acts in the middle of them, or asks
//! for them in another way than with a prompt.

use serde_json::{Value, json};

use crate::session::{Session, ready_scenario};

fn no_answer() -> Value {
    json!({ "decision": "decline" })
}

#[tokio::test]
async fn approval_for_the_session_is_not_asked_for_again() {
    let scenario = r#"
        description = "The same command twice."
        settings = { approval_policy = "untrusted", sandbox_mode = "danger-full-access" }
        replies = [
            { steps = [{ command = "touch made" }] },
            { steps = [{ command = "touch made" }] },
            { steps = [{ message = "Twice." }] },
        ]

        [session]
        prompts = ["Make it twice."]
        answers = ["accept_for_session"]
    "#;
    insta::assert_snapshot!(Session::play_text(scenario).await);
}

#[tokio::test]
async fn patch_that_is_declined_changes_nothing() {
    let scenario = r#"
        description = "A patch that nobody wants."
        settings = { approval_policy = "untrusted", sandbox_mode = "read-only" }

        [session]
        prompts = ["Correct it."]
        answers = ["decline"]
        files = { "a.txt" = "wrong\n" }

        [[replies]]
        steps = [{ patch = '''
*** Begin Patch
*** Update File: a.txt
@@
-wrong
+right
*** End Patch''' }]

        [[replies]]
        steps = [{ message = "It is as it was." }]
    "#;
    insta::assert_snapshot!(Session::play_text(scenario).await);
}

#[tokio::test]
async fn unmatched_patch_fails_and_the_turn_continues() {
    let scenario = r#"
        description = "A patch of a line that is not there."
        settings = { approval_policy = "never", sandbox_mode = "danger-full-access" }

        [session]
        prompts = ["Correct it."]
        files = { "a.txt" = "right\n" }

        [[replies]]
        steps = [{ patch = '''
*** Begin Patch
*** Update File: a.txt
@@
-wrong
+right
*** End Patch''' }]

        [[replies]]
        steps = [{ message = "There is nothing to correct." }]
    "#;
    insta::assert_snapshot!(Session::play_text(scenario).await);
}

#[tokio::test]
async fn missing_tool_is_reported_only_to_the_model() {
    let scenario = r#"
        description = "A call of a tool that was not offered."
        replies = [
            { steps = [{ tool = { name = "fly", arguments = { to = "the moon" } } }] },
            { steps = [{ message = "I cannot fly." }] },
        ]

        [session]
        prompts = ["Fly."]
    "#;
    insta::assert_snapshot!(Session::play_text(scenario).await);
}

#[tokio::test]
async fn key_that_is_refused_fails_the_turn() {
    let scenario = r#"
        description = "The model service does not know the key."
        replies = [{ refuse = { status = 401, error = { message = "no such key" } } }]

        [session]
        prompts = ["Hello."]
    "#;
    insta::assert_snapshot!(Session::play_text(scenario).await);
}

#[tokio::test]
async fn search_of_the_model_is_an_item() {
    let scenario = r#"
        description = "The model service searches the web."

        [session]
        prompts = ["Look it up."]

        [[replies]]
        steps = [
            { item = { type = "web_search_call", id = "ws_1", status = "completed", action = { type = "search", query = "lead" } } },
            { message = "It is heavy." },
        ]
    "#;
    insta::assert_snapshot!(Session::play_text(scenario).await);
}

#[tokio::test]
async fn interrupted_turn_ends_its_open_items() {
    let mut session = Session::start(&ready_scenario("slow-answer")).await;
    let turn = session.begin("A story.").await;
    session.record_until("item/started", no_answer()).await;
    session.record_until("item/completed", no_answer()).await;
    session.record_until("item/started", no_answer()).await;
    session
        .ask("turn/interrupt", json!({ "turnId": turn }))
        .await;
    session.record_end_without_text().await;
    insta::assert_snapshot!(session.end().await);
}

#[tokio::test]
async fn input_during_a_turn_is_an_item_of_it() {
    let scenario = r#"
        description = "A question, and room for more input while it is open."
        replies = [
            { steps = [{ tool = { name = "wait_here", arguments = {} } }] },
            { steps = [{ message = "Both are done." }] },
        ]
    "#;
    let mut session = Session::start_with(scenario, waiting_tool()).await;
    let turn = session.begin("Do the first.").await;
    session.hold_until("item/tool/call").await;
    let more = json!([{ "type": "text", "text": "And the second." }]);
    let params = json!({ "expectedTurnId": turn, "input": more });
    session.ask("turn/steer", params).await;
    session.answer_held(tool_result()).await;
    session.record_until("turn/completed", no_answer()).await;
    insta::assert_snapshot!(session.end().await);
}

#[tokio::test]
async fn tool_of_the_client_is_run_by_the_client() {
    let scenario = r#"
        description = "A tool that the client has brought along."
        replies = [
            { steps = [{ tool = { name = "wait_here", arguments = { for = "a while" } } }] },
            { steps = [{ message = "It waited." }] },
        ]
    "#;
    let mut session = Session::start_with(scenario, waiting_tool()).await;
    session.begin("Wait.").await;
    session.record_until("turn/completed", tool_result()).await;
    insta::assert_snapshot!(session.end().await);
}

#[tokio::test]
async fn compaction_is_a_turn_of_its_own() {
    let scenario = r#"
        description = "A turn, and the summary of it."
        replies = [
            { steps = [{ message = "Lead is heavy." }] },
            { steps = [{ message = "We talked about lead." }] },
        ]
    "#;
    let mut session = Session::start_text(scenario).await;
    session.begin("What is heavy?").await;
    session.record_until("turn/completed", no_answer()).await;
    session.ask("thread/compact/start", json!({})).await;
    session.record_until("turn/completed", no_answer()).await;
    insta::assert_snapshot!(session.end().await);
}

#[tokio::test]
async fn review_is_a_turn_with_its_findings() {
    let scenario = r#"
        description = "A review that finds nothing."
        replies = [{ steps = [{ message = '{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"All is well.","overall_confidence_score":0.9}' }] }]
    "#;
    let mut session = Session::start_text(scenario).await;
    let target = json!({ "type": "custom", "instructions": "Look at a.txt." });
    session
        .ask("review/start", json!({ "target": target }))
        .await;
    session.record_until("turn/completed", no_answer()).await;
    insta::assert_snapshot!(session.end().await);
}

#[tokio::test]
async fn command_of_the_person_is_an_item() {
    let scenario = r#"
        description = "Nothing is asked of the model."
        settings = { sandbox_mode = "danger-full-access" }
        replies = [{ steps = [{ message = "I was not asked." }] }]
    "#;
    let mut session = Session::start_text(scenario).await;
    session
        .ask("thread/shellCommand", json!({ "command": "echo mine" }))
        .await;
    session.record_until("turn/completed", no_answer()).await;
    insta::assert_snapshot!(session.end().await);
}

#[tokio::test]
async fn turns_that_are_taken_back_leave_the_thread() {
    let scenario = r#"
        description = "Two turns, of which the second is taken back."
        replies = [
            { steps = [{ message = "One." }] },
            { steps = [{ message = "Two." }] },
            { steps = [{ message = "Another two." }] },
        ]
    "#;
    let mut session = Session::start_text(scenario).await;
    for prompt in ["First.", "Second."] {
        session.begin(prompt).await;
        session.record_until("turn/completed", no_answer()).await;
    }
    session
        .ask("thread/rollback", json!({ "numTurns": 1 }))
        .await;
    session.begin("Second, again.").await;
    session.record_until("turn/completed", no_answer()).await;
    insta::assert_snapshot!(session.end().await);
}

/// Params of a thread with a tool that the client runs.
fn waiting_tool() -> Value {
    let tool = json!({
        "name": "wait_here", "description": "Waits.", "inputSchema": { "type": "object" }
    });
    json!({ "dynamicTools": [tool] })
}

fn tool_result() -> Value {
    json!({ "success": true, "contentItems": [{ "type": "inputText", "text": "Done." }] })
}
