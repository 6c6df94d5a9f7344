//! Agents: threads that a thread starts.

use codex_core::{AgentSettings, SpawnedAgent, Thread, UpdateSettings};
use codex_protocol::*;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::*;

async fn driver() -> Driver {
    driver_with(AgentSettings::default()).await
}

async fn driver_with(settings: AgentSettings) -> Driver {
    Driver::with_config(|config| config.options.agents = Some(settings)).await
}

fn spawn(id: &str) -> ResponseItem {
    call("spawn_agent", json!({ "message": "look" }), id)
}

/// Runs a turn in which the model makes one call.
async fn turn_with(driver: &mut Driver, item: ResponseItem) -> Value {
    driver.model.push(ModelReply::Events(calls(vec![item])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    driver.submit_text("go").await;
    driver.turn_over().await;
    last_output(driver)
}

/// The output of the latest call of the thread itself; text, or JSON if it is that.
fn last_output(driver: &Driver) -> Value {
    let text = outputs(&last_input(driver)).pop().unwrap();
    let text = text.as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The last request of the thread itself.
fn last_input(driver: &Driver) -> Value {
    let sent = driver.model.sent();
    let own = sent
        .iter()
        .rposition(|request| request.context.subagent.is_none());
    driver.model.inputs()[own.unwrap()].clone()
}

/// Starts an agent whose model does not respond, and takes it.
async fn start_stalled(driver: &mut Driver) -> Box<SpawnedAgent> {
    driver.model.push_to_agent(ModelReply::Silence);
    let output = turn_with(driver, spawn("spawn")).await;
    let agent = driver.agents.recv().await.unwrap();
    assert_eq!(output["agent_id"], agent.started.thread.id().as_str());
    agent
}

async fn until_closed(thread: &Thread) {
    let closed = async {
        while thread.submit(Op::Interrupt).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    timeout(TEST_TIMEOUT, closed).await.expect("the agent ends");
}

async fn until(agent: &mut SpawnedAgent, wanted: impl Fn(&EventMsg) -> bool) -> EventMsg {
    loop {
        let next = timeout(TEST_TIMEOUT, agent.started.events.next()).await;
        let event = next.expect("in time").expect("the agent is open");
        if wanted(&event.msg) {
            return event.msg;
        }
    }
}

fn is_over(msg: &EventMsg) -> bool {
    matches!(msg, EventMsg::TurnComplete(_))
}

fn notices(input: &Value) -> Vec<String> {
    let mut texts = texts(input, "user");
    texts.retain(|text| text.starts_with("<subagent_notification>"));
    texts
}

#[tokio::test]
async fn agent_has_permissions_of_starting_turn() {
    let mut driver = driver().await;
    let patch = ThreadSettingsPatch {
        sandbox_policy: Some(SandboxPolicy::DangerFullAccess),
        permission_profile: Some(ActivePermissions {
            id: ":danger-full-access".to_owned(),
            extends: None,
        }),
        approvals_reviewer: Some(ApprovalsReviewer::GuardianSubagent),
        ..ThreadSettingsPatch::default()
    };
    let own = driver.thread.call(UpdateSettings(patch)).await.unwrap();
    let agent = start_stalled(&mut driver).await;
    let given = agent.started.thread.settings();
    assert_eq!(given.permission_profile, own.permission_profile);
    assert_eq!(given.approvals_reviewer, own.approvals_reviewer);
}

#[tokio::test]
async fn parent_waits_for_the_last_agent_message() {
    let mut driver = driver().await;
    let (feed, fed) = fed();
    driver.model.push_to_agent(fed);
    driver
        .model
        .push(ModelReply::Events(calls(vec![spawn("spawn")])));
    let (parent, answer) = crate::support::fed();
    driver.model.push(answer);
    driver
        .model
        .push(ModelReply::Events(message_events("all done", &[])));
    driver.submit_text("go").await;
    driver
        .until(|msg| matches!(msg, EventMsg::CollabAgentSpawnEnd(_)))
        .await;
    let agent = driver.agents.recv().await.unwrap();
    let id = agent.started.thread.id().to_string();
    let wait = call("wait_agent", json!({ "targets": [id] }), "wait");
    calls(vec![wait])
        .into_iter()
        .for_each(|event| parent.send(event).unwrap());
    drop(parent);
    driver
        .until(|msg| matches!(msg, EventMsg::CollabWaitingBegin(_)))
        .await;
    message_events("found it", &[])
        .into_iter()
        .for_each(|event| feed.send(event).unwrap());
    driver.turn_over().await;
    driver.assert_ends();

    let input = last_input(&driver);
    assert_well_formed(&input);
    let waited = last_output(&driver);
    assert_eq!(waited["status"][&id], json!({ "completed": "found it" }));
    assert_eq!(waited["timed_out"], false);
    assert_eq!(notices(&input).len(), 1, "one notice: {input:#}");
    assert!(notices(&input)[0].contains("found it"));

    let requests = driver.model.sent();
    let asked = requests
        .iter()
        .find(|request| request.context.subagent.is_some());
    let tools = serde_json::to_string(&asked.unwrap().tools).unwrap();
    for own in ["spawn_agent", "request_user_input"] {
        assert!(!tools.contains(own), "an agent has no {own}");
    }
    let path = agent.started.thread.rollout_path().unwrap();
    let file = std::fs::read_to_string(path).unwrap();
    let meta: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    let origin = &meta["payload"]["source"]["subagent"]["thread_spawn"];
    assert_eq!(origin["parent_thread_id"], driver.thread.id().as_str());
    assert_eq!(origin["agent_nickname"], meta["payload"]["agent_nickname"]);
    assert!(meta["payload"]["agent_nickname"].is_string());
}

#[tokio::test]
async fn parent_gets_the_agent_result_with_its_next_request() {
    let mut driver = driver().await;
    let (feed, fed) = fed();
    driver.model.push_to_agent(fed);
    turn_with(&mut driver, spawn("spawn")).await;
    let mut agent = driver.agents.recv().await.unwrap();
    message_events("late", &[])
        .into_iter()
        .for_each(|event| feed.send(event).unwrap());
    until(&mut agent, is_over).await;
    // The agent is reported before the next request is handled.
    let id = agent.started.thread.id().to_string();
    let wait = call("wait_agent", json!({ "targets": [id] }), "wait");
    turn_with(&mut driver, wait).await;
    let input = last_input(&driver);
    assert_eq!(notices(&input).len(), 1);
    assert!(notices(&input)[0].contains("late"));
}

#[tokio::test]
async fn agents_end_with_their_thread() {
    let mut driver = driver().await;
    let mut agent = start_stalled(&mut driver).await;
    let id = driver.thread.id().clone();
    assert!(driver.manager.close(&id).await);
    until(&mut agent, |msg| matches!(msg, EventMsg::ShutdownComplete)).await;
    until_closed(&agent.started.thread).await;
    assert_eq!(driver.manager.ids(), []);
}

#[tokio::test]
async fn interrupting_a_turn_leaves_its_agents_at_work() {
    let mut driver = driver().await;
    let (feed, fed) = fed();
    driver.model.push_to_agent(fed);
    turn_with(&mut driver, spawn("spawn")).await;
    let mut agent = driver.agents.recv().await.unwrap();
    let id = agent.started.thread.id().to_string();
    let wait = call("wait_agent", json!({ "targets": [id] }), "wait");
    driver.model.push(ModelReply::Events(calls(vec![wait])));
    driver.submit_text("wait").await;
    driver
        .until(|msg| matches!(msg, EventMsg::CollabWaitingBegin(_)))
        .await;
    driver.submit(Op::Interrupt).await;
    driver.turn_over().await;
    driver.assert_ends();
    message_events("still here", &[])
        .into_iter()
        .for_each(|event| feed.send(event).unwrap());
    until(&mut agent, is_over).await;
}

#[tokio::test]
async fn closed_agent_makes_room_for_another() {
    let mut driver = driver_with(AgentSettings {
        max_threads: 1,
        ..AgentSettings::default()
    })
    .await;
    let agent = start_stalled(&mut driver).await;
    let refused = turn_with(&mut driver, spawn("second")).await;
    assert_eq!(
        refused,
        "collab spawn failed: agent thread limit reached (max 1)"
    );
    let target = agent.started.thread.id().to_string();
    let close = call("close_agent", json!({ "target": target }), "close");
    let closed = turn_with(&mut driver, close.clone()).await;
    assert_eq!(closed, json!({ "previous_status": "running" }));
    until_closed(&agent.started.thread).await;
    let again = turn_with(&mut driver, close).await;
    assert_eq!(again, format!("agent with id {target} not found"));
    start_stalled(&mut driver).await;
    driver.assert_ends();
}

#[tokio::test]
async fn agent_continues_after_new_input_and_after_a_close() {
    let mut driver = driver().await;
    driver
        .model
        .push_to_agent(ModelReply::Events(message_events("one", &[])));
    turn_with(&mut driver, spawn("spawn")).await;
    let mut agent = driver.agents.recv().await.unwrap();
    until(&mut agent, is_over).await;
    let id = agent.started.thread.id().to_string();
    let more = call(
        "send_input",
        json!({ "target": id, "message": "more" }),
        "send",
    );

    driver
        .model
        .push_to_agent(ModelReply::Events(message_events("two", &[])));
    let sent = turn_with(&mut driver, more.clone()).await;
    assert!(sent["submission_id"].is_string());
    until(&mut agent, is_over).await;

    let close = call("close_agent", json!({ "target": id }), "close");
    turn_with(&mut driver, close).await;
    until_closed(&agent.started.thread).await;
    let resume = call("resume_agent", json!({ "id": id }), "resume");
    let resumed = turn_with(&mut driver, resume).await;
    assert_eq!(resumed, json!({ "status": "pending_init" }));
    let mut again = driver.agents.recv().await.unwrap();
    assert_eq!(again.started.thread.id().as_str(), id);
    assert_eq!(again.first.as_ref().unwrap().message, "look");

    driver
        .model
        .push_to_agent(ModelReply::Events(message_events("three", &[])));
    turn_with(&mut driver, more).await;
    until(&mut again, is_over).await;
    let requests = driver.model.sent();
    let last = requests
        .iter()
        .rposition(|request| request.context.subagent.is_some());
    let input = driver.model.inputs()[last.unwrap()].clone();
    let said = texts(&input, "assistant");
    assert_eq!(said, ["one", "two"], "it knows what it knew");
    driver.assert_ends();
}

#[tokio::test]
async fn agent_can_inherit_the_history_of_its_parent() {
    let mut driver = driver().await;
    driver
        .model
        .push(ModelReply::Events(message_events("earlier", &[])));
    driver.submit_text("before").await;
    driver.turn_over().await;
    driver
        .model
        .push_to_agent(ModelReply::Events(message_events("yes", &[])));
    let fork = json!({ "message": "look", "fork_context": true });
    turn_with(&mut driver, call("spawn_agent", fork, "spawn")).await;
    let mut agent = driver.agents.recv().await.unwrap();
    until(&mut agent, is_over).await;
    let requests = driver.model.sent();
    let asked = requests
        .iter()
        .position(|request| request.context.subagent.is_some());
    let input = driver.model.inputs()[asked.unwrap()].clone();
    assert_well_formed(&input);
    assert_eq!(texts(&input, "assistant"), ["earlier"]);
    assert_eq!(texts(&input, "user").last().unwrap(), "look");
    let output = outputs(&input).pop().unwrap();
    assert!(output.as_str().unwrap().contains("you are an agent"));
    assert_eq!(agent.first.unwrap().message, "before");
}

#[tokio::test]
async fn agent_inherits_turn_policies_and_asks_for_itself() {
    let mut driver = driver().await;
    driver
        .submit(Op::OverrideTurnContext(Box::new(OverrideTurnContext {
            approval_policy: Some(AskForApproval::UnlessTrusted),
            ..OverrideTurnContext::default()
        })))
        .await;
    let runs = calls(vec![script("print hi", "run")]);
    driver.model.push_to_agent(ModelReply::Events(runs));
    driver
        .model
        .push_to_agent(ModelReply::Events(message_events("ran", &[])));
    turn_with(&mut driver, spawn("spawn")).await;
    let mut agent = driver.agents.recv().await.unwrap();
    let asks = |msg: &EventMsg| matches!(msg, EventMsg::ExecApprovalRequest(_));
    let EventMsg::ExecApprovalRequest(asked) = until(&mut agent, asks).await else {
        unreachable!("that is what was waited for");
    };
    let id = asked.approval_id.clone().unwrap_or(asked.call_id.clone());
    let answer = Op::ExecApproval {
        id,
        turn_id: None,
        decision: ReviewDecision::Approved,
    };
    agent.started.thread.submit(answer).await.unwrap();
    until(&mut agent, is_over).await;
    assert_eq!(driver.processes.launches().len(), 1);
    assert_eq!(driver.count("exec_approval_request"), 0);
}

#[tokio::test]
async fn agent_without_a_listening_client_is_not_started() {
    let mut driver = driver().await;
    driver.agents.close();
    let refused = turn_with(&mut driver, spawn("spawn")).await;
    assert_eq!(refused, "collab spawn failed: nobody would hear the agent");
    driver.assert_ends();
    let closed = async {
        while driver.manager.ids().len() > 1 {
            tokio::task::yield_now().await;
        }
    };
    timeout(TEST_TIMEOUT, closed)
        .await
        .expect("nothing is left");
}

#[tokio::test]
async fn a_call_that_makes_no_sense_is_refused() {
    let nobody = "00000000-0000-7000-8000-000000000000";
    let not_found = format!("agent with id {nobody} not found");
    let refusals = [
        ("spawn_agent", json!({}), "Provide one of: message or items"),
        (
            "spawn_agent",
            json!({ "message": "x", "items": [] }),
            "Provide either message or items, but not both",
        ),
        (
            "spawn_agent",
            json!({ "message": " " }),
            "Empty message can't be sent to an agent",
        ),
        (
            "spawn_agent",
            json!({ "items": [] }),
            "Items can't be empty",
        ),
        (
            "spawn_agent",
            json!({ "message": "x", "agent_type": "nobody" }),
            "unknown agent_type 'nobody'",
        ),
        (
            "send_input",
            json!({ "target": nobody, "message": "x" }),
            &not_found,
        ),
        ("close_agent", json!({ "target": nobody }), &not_found),
        ("resume_agent", json!({ "id": nobody }), &not_found),
        (
            "wait_agent",
            json!({ "targets": [] }),
            "agent ids must be non-empty",
        ),
        (
            "wait_agent",
            json!({ "targets": [nobody], "timeout_ms": 0 }),
            "timeout_ms must be greater than zero",
        ),
    ];
    let mut driver = driver().await;
    for (tool, arguments, refusal) in refusals {
        let output = turn_with(&mut driver, call(tool, arguments, "c")).await;
        assert_eq!(output, refusal);
    }
    let gone = json!({ "targets": [nobody] });
    let output = turn_with(&mut driver, call("wait_agent", gone, "c")).await;
    assert_eq!(output["status"][nobody], "not_found");
    driver.assert_ends();
}
