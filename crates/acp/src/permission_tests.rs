use super::*;

fn command(more: &Value) -> CommandExecutionRequestApprovalParams {
    let mut params = json!({ "threadId": "t", "turnId": "u", "itemId": "c", "cwd": "/w",
                             "command": "/bin/sh -c 'rm x'", "commandActions": [] });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    serde_json::from_value(params).unwrap()
}

fn ids(choices: &PermissionChoices) -> Vec<String> {
    let options = choices.options();
    options
        .iter()
        .map(|option| option.option_id.0.to_string())
        .collect()
}

fn selected(id: &str) -> Option<RequestPermissionOutcome> {
    let outcome = json!({ "outcome": "selected", "optionId": id });
    Some(serde_json::from_value(outcome).unwrap())
}

#[test]
fn command_choices_match_the_engine() {
    let rule = json!(["rm", "x"]);
    let available = json!([
        "accept",
        { "acceptWithExecpolicyAmendment": { "execpolicy_amendment": rule } },
        "cancel",
    ]);
    let choices = command_choices(&command(&json!({ "availableDecisions": available })));
    let expected = [
        "allow_once",
        "accept_execpolicy_amendment",
        "reject_once",
        "cancel",
    ];
    assert_eq!(ids(&choices), expected);
    let answer = choices.answer(selected("accept_execpolicy_amendment").as_ref());
    assert_eq!(answer["decision"], available[1]);
    assert!(choices.options()[1].name.ends_with("`rm x`"));
}

#[test]
fn default_choices_apply_without_engine_choices() {
    let hosts = json!([{ "host": "a.example", "action": "allow" }, { "host": "b.example", "action": "deny" }]);
    let choices = command_choices(&command(
        &json!({ "proposedNetworkPolicyAmendments": hosts }),
    ));
    let expected = [
        "allow_once",
        "allow_for_session",
        "host_rule_2",
        "host_rule_3",
        "reject_once",
        "cancel",
    ];
    assert_eq!(ids(&choices), expected);
    let kinds: Vec<_> = choices.options().iter().map(|option| option.kind).collect();
    assert_eq!(
        kinds[2..4],
        [
            PermissionOptionKind::AllowAlways,
            PermissionOptionKind::RejectAlways
        ]
    );
}

#[test]
fn unknown_choice_declines() {
    let choices = command_choices(&command(&json!({})));
    assert_eq!(choices.answer(None), json!({ "decision": "decline" }));
    assert_eq!(
        choices.answer(selected("odd").as_ref()),
        json!({ "decision": "decline" })
    );
    let cancelled = Some(RequestPermissionOutcome::Cancelled);
    assert_eq!(
        choices.answer(cancelled.as_ref()),
        json!({ "decision": "cancel" })
    );
}

#[test]
fn pending_command_shows_itself_and_its_reason() {
    let texts = json!({ "reason": "writes", "justification": "writes", "engineNotice": "In it." });
    let call = json!(command_call(&command(&texts)));
    assert_eq!(call["title"], "rm x");
    assert_eq!(call["kind"], "execute");
    let content: Vec<_> = call["content"].as_array().unwrap().iter().collect();
    assert_eq!(content[0]["content"]["text"], "In it.");
    assert_eq!(
        content[1]["content"]["text"],
        "The model's reason (6 characters): “writes”"
    );
}

#[test]
fn a_question_claims_no_reading_and_hides_nothing() {
    let action = json!([{ "type": "read", "command": "cat a", "name": "a", "path": "/w/a" }]);
    let hidden = json!({ "command": "./bash -c $'cat a\\u202e\\n'", "commandActions": action });
    let call = json!(command_call(&command(&hidden)));
    assert_eq!(call["kind"], "execute");
    assert_eq!(call["title"], "./bash -c $'cat a\\u202e\\n'");
    let usual = json!({ "command": "/bin/bash -lc $'cat a\\u202e\\nb'", "commandActions": [] });
    let call = json!(command_call(&command(&usual)));
    assert_eq!(call["title"], "cat a\\u{202e}\\u{a}b");
}

#[test]
fn tool_approval_lasts_as_long_as_the_engine_allows() {
    let about = json!({ "persist": ["session", "always"] });
    let choices = tool_choices(&about);
    assert_eq!(
        ids(&choices),
        [
            "allow_once",
            "allow_for_session",
            "allow_always",
            "reject_once"
        ]
    );
    assert_eq!(
        choices.answer(selected("allow_always").as_ref())["_meta"]["persist"],
        "always"
    );
    assert_eq!(
        ids(&tool_choices(&Value::Null)),
        ["allow_once", "reject_once"]
    );
}
