//! Turns with text, and calls that need no process.

use codex_core::AllowedValues;
use codex_protocol::*;
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn text_turn_events_are_in_order() {
    let mut driver = Driver::new().await;
    driver
        .model
        .push(ModelReply::Events(message_events("hello", &["hel", "lo"])));
    let id = driver.submit_text("hi").await;
    let over = driver.turn_over().await;
    assert_eq!(over.id, id);
    let EventMsg::TurnComplete(complete) = over.msg else {
        panic!("{over:?}")
    };
    assert_eq!(complete.last_agent_message.as_deref(), Some("hello"));
    assert_eq!(complete.response_id.as_deref(), Some("resp_hello"));
    assert_eq!(
        driver.names()[1..],
        [
            "task_started",
            "item_started",
            "item_completed",
            "user_message",
            "item_started",
            "agent_message_content_delta",
            "agent_message_content_delta",
            "item_completed",
            "agent_message",
            "token_count",
            "task_complete",
        ]
    );
    driver.assert_ends();
    driver.manager.close(driver.thread.id()).await;
    assert_eq!(
        driver.lines(),
        [
            "session_meta",
            "task_started",
            "message",
            "message",
            "turn_context",
            "message",
            "user_message",
            "agent_message",
            "message",
            "token_count",
            "task_complete",
        ]
    );
}

#[tokio::test]
async fn the_next_turn_carries_the_first() {
    let mut driver = Driver::new().await;
    for text in ["one", "two"] {
        driver
            .model
            .push(ModelReply::Events(message_events(text, &[])));
        driver.submit_text(&format!("say {text}")).await;
        driver.turn_over().await;
    }
    let inputs = driver.model.inputs();
    assert_eq!(texts(&inputs[1], "assistant"), ["one"]);
    let said = texts(&inputs[1], "user");
    assert_eq!(said[1..], ["say one", "say two"]);
    assert!(said[0].starts_with("<environment_context>"));
    let first = inputs[0].as_array().unwrap();
    assert_eq!(inputs[1].as_array().unwrap()[..first.len()], first[..]);
    driver.assert_ends();
}

#[tokio::test]
async fn calls_are_answered_in_order_in_next_request() {
    let mut driver = Driver::new().await;
    let bad = call("update_plan", json!({ "plan": 7 }), "b");
    let unknown = call("no_such_tool", json!({}), "c");
    driver.model.push(ModelReply::Events(calls(vec![
        plan_call("a"),
        bad,
        unknown,
    ])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    driver.submit_text("plan").await;
    driver.turn_over().await;
    let outputs = outputs(&driver.model.inputs()[1]);
    assert_eq!(outputs[0], "Plan updated");
    assert!(
        outputs[1]
            .as_str()
            .unwrap()
            .starts_with("failed to parse function arguments: ")
    );
    assert_eq!(outputs[2], "unsupported call: no_such_tool");
    assert!(driver.names().contains(&"plan_update".to_owned()));
    driver.assert_ends();
}

#[tokio::test]
async fn a_client_can_go_back_to_an_earlier_response() {
    let mut driver = Driver::new().await;
    for text in ["one", "two", "three"] {
        driver
            .model
            .push(ModelReply::Events(message_events(text, &[])));
    }
    driver.submit_text("first").await;
    driver.turn_over().await;
    driver.submit_text("second").await;
    driver.turn_over().await;
    let back = UserInputOp {
        items: vec![text_input("other")],
        last_response_id: Some("resp_one".to_owned()),
        ..UserInputOp::default()
    };
    driver.submit(Op::UserInput(back)).await;
    driver.turn_over().await;
    let last = driver.model.inputs().pop().unwrap();
    assert_eq!(texts(&last, "user")[1..], ["first", "other"]);
    assert_eq!(texts(&last, "assistant"), ["one"]);
    driver.assert_ends();
}

#[tokio::test]
async fn only_changed_settings_are_sent_to_the_model() {
    let mut driver = Driver::new().await;
    for text in ["one", "two", "three"] {
        driver
            .model
            .push(ModelReply::Events(message_events(text, &[])));
    }
    driver.submit_text("first").await;
    driver.turn_over().await;
    driver.submit_text("second").await;
    driver.turn_over().await;
    driver
        .submit(Op::OverrideTurnContext(Box::new(OverrideTurnContext {
            approval_policy: Some(AskForApproval::OnRequest),
            ..OverrideTurnContext::default()
        })))
        .await;
    driver.submit_text("third").await;
    driver.turn_over().await;
    let developer: Vec<usize> = driver
        .model
        .inputs()
        .iter()
        .map(|input| texts(input, "developer").len())
        .collect();
    assert_eq!(developer, [1, 1, 2]);
}

#[tokio::test]
async fn allowed_commands_are_in_the_model_context() {
    let rules = "prefix_rule(['cargo', 'test'])\nprefix_rule(['rm'], 'forbidden')";
    for (policy, is_told) in [
        (AskForApproval::OnRequest, true),
        (AskForApproval::Never, false),
    ] {
        let mut driver = Driver::with_config(|config| {
            config.options.settings.approval_policy = policy;
            config.options.rules.add_file("mine.rules", rules).unwrap();
        })
        .await;
        driver
            .model
            .push(ModelReply::Events(message_events("hello", &[])));
        driver.submit_text("hi").await;
        driver.turn_over().await;
        let context = texts(&driver.model.inputs()[0], "developer").concat();
        assert_eq!(
            context.contains("\n- [\"cargo\", \"test\"]\n"),
            is_told,
            "{context}"
        );
    }
}

#[tokio::test]
async fn unsupported_operation_is_an_error_and_the_thread_continues() {
    let mut driver = Driver::new().await;
    driver.submit(Op::DropMemories).await;
    let event = driver.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    assert!(format!("{event:?}").contains("`drop_memories` is not supported"));
    driver
        .model
        .push(ModelReply::Events(message_events("ok", &[])));
    driver.submit_text("still there?").await;
    driver.turn_over().await;
    driver.assert_ends();
}

#[tokio::test]
async fn generated_image_is_shown_and_kept() {
    let mut driver = Driver::new().await;
    let image = ResponseItem::ImageGenerationCall {
        id: "ig_1".to_owned(),
        status: "completed".to_owned(),
        revised_prompt: None,
        result: "aGk=".to_owned(),
    };
    driver.model.push(ModelReply::Events(calls(vec![image])));
    driver.submit_text("draw").await;
    driver.turn_over().await;
    driver.assert_ends();
    let path = driver.seen.iter().find_map(|event| match &event.msg {
        EventMsg::ImageGenerationEnd(end) => end.saved_path.clone(),
        _ => None,
    });
    assert_eq!(std::fs::read(path.unwrap()).unwrap(), b"hi");
}

#[tokio::test]
async fn a_plan_is_an_item_of_its_own() {
    let mut driver = Driver::new().await;
    let settings = Settings {
        model: "mock-model".to_owned(),
        reasoning_effort: None,
        developer_instructions: None,
    };
    let change = OverrideTurnContext {
        collaboration_mode: Some(CollaborationMode {
            mode: ModeKind::Plan,
            settings,
        }),
        ..OverrideTurnContext::default()
    };
    driver
        .submit(Op::OverrideTurnContext(Box::new(change)))
        .await;
    let text = "Here:\n<proposed_plan>\n1. look\n</proposed_plan>\n";
    let deltas = [
        "He",
        "re:\n<prop",
        "osed_plan>\n1. lo",
        "ok\n</proposed_plan>",
        "\n",
    ];
    driver
        .model
        .push(ModelReply::Events(message_events(text, &deltas)));
    let turn = driver.submit_text("plan").await;
    let over = driver.turn_over().await;
    let EventMsg::TurnComplete(complete) = over.msg else {
        panic!("{over:?}")
    };
    assert_eq!(complete.last_agent_message.as_deref(), Some("Here:\n"));
    driver.assert_ends();
    let plan = driver.seen.iter().find_map(|event| match &event.msg {
        EventMsg::ItemCompleted(event) => match &event.item {
            TurnItem::Plan(plan) => Some(plan.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(
        plan,
        Some(PlanItem {
            id: format!("{turn}-plan"),
            text: "1. look\n".to_owned()
        })
    );
    let streamed: String = driver
        .seen
        .iter()
        .filter_map(|event| match &event.msg {
            EventMsg::PlanDelta(delta) => Some(delta.delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(streamed, "1. look\n");
}

#[tokio::test]
async fn personality_is_sent_once_per_change() {
    let mut driver = Driver::with_config(|config| {
        config.options.settings.personality = Some(Personality::Pragmatic)
    })
    .await;
    let mut specs = Vec::new();
    let changes = [
        None,
        Some(Personality::Friendly),
        None,
        Some(Personality::None),
        Some(Personality::Pragmatic),
    ];
    for personality in changes {
        let change = OverrideTurnContext {
            personality,
            ..OverrideTurnContext::default()
        };
        driver
            .submit(Op::OverrideTurnContext(Box::new(change)))
            .await;
        driver
            .model
            .push(ModelReply::Events(message_events("ok", &[])));
        driver.submit_text("hi").await;
        driver.turn_over().await;
        let said = texts(&driver.model.inputs().pop().unwrap(), "developer");
        let is_spec = |text: &&String| text.starts_with("<personality_spec>");
        specs.push(said.iter().filter(is_spec).count());
    }
    assert_eq!(specs, [1, 2, 2, 2, 3]);
}

#[tokio::test]
async fn turn_overrides_persist_except_the_output_schema() {
    let mut driver = Driver::new().await;
    let schema = serde_json::json!({ "type": "object" });
    let first = UserTurn {
        items: vec![text_input("hi")],
        final_output_json_schema: Some(schema.clone()),
        cwd: driver.home.path().display().to_string(),
        approval_policy: AskForApproval::Never,
        sandbox_policy: SandboxPolicy::DangerFullAccess,
        model: "other-model".to_owned(),
        effort: Some(ReasoningEffort::High),
        summary: Some(ReasoningSummary::Detailed),
        service_tier: Update::Set(ServiceTier::Fast),
        collaboration_mode: None,
        personality: None,
        last_response_id: None,
        approvals_reviewer: None,
    };
    driver
        .model
        .push(ModelReply::Events(message_events("one", &[])));
    driver.submit(Op::UserTurn(Box::new(first))).await;
    driver.turn_over().await;
    driver
        .model
        .push(ModelReply::Events(message_events("two", &[])));
    driver.submit_text("again").await;
    driver.turn_over().await;
    let sent = driver.model.sent();
    let schemas: Vec<_> = sent
        .iter()
        .map(|sent| sent.output_schema.as_ref())
        .collect();
    assert_eq!(schemas, [Some(&schema), None]);
    for request in &sent {
        assert_eq!(request.model, "other-model");
        assert_eq!(request.service_tier, Some(ServiceTier::Fast));
        assert_eq!(request.reasoning, None, "the model has no setting for it");
    }
}

#[tokio::test]
async fn forbidden_setting_leaves_every_setting_as_it_was() {
    let mut driver = Driver::with_config(|config| {
        config.options.settings.approval_policy = AskForApproval::OnRequest;
        config.options.limits.approval_policies = Some(AllowedValues {
            values: vec![AskForApproval::OnRequest],
            origin: "the administrator".to_owned(),
        });
    })
    .await;
    let change = OverrideTurnContext {
        approval_policy: Some(AskForApproval::Never),
        model: Some("other-model".to_owned()),
        ..OverrideTurnContext::default()
    };
    driver
        .submit(Op::OverrideTurnContext(Box::new(change)))
        .await;
    let refused = driver.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    assert!(format!("{refused:?}").contains("(set by the administrator)"));
    driver
        .model
        .push(ModelReply::Events(message_events("ok", &[])));
    driver.submit_text("hi").await;
    driver.turn_over().await;
    assert_eq!(driver.model.sent()[0].model, "mock-model");
}
