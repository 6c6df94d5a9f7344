use super::*;

fn model(id: &str, efforts: &[&str]) -> Value {
    let efforts: Vec<_> = efforts
        .iter()
        .map(|effort| json!({ "reasoningEffort": effort, "description": "" }))
        .collect();
    json!({ "model": id, "displayName": id, "description": "", "supportedReasoningEfforts": efforts,
            "defaultReasoningEffort": "medium" })
}

fn settings(approval: &str, sandbox: &str) -> Settings {
    let models = [model("a", &["low", "medium"]), model("b", &["medium"])];
    let models = models.iter().filter_map(ModelChoice::read).collect();
    let reply = json!({ "model": "a", "reasoningEffort": "low", "approvalPolicy": approval,
                        "sandbox": { "type": sandbox }, "serviceTier": null });
    let workspace = json!({ "writable_roots": ["/x"], "network_access": true });
    Settings::opened(&reply, models, &workspace, &[json!("/x"), json!("/y")])
}

fn select(value: &str) -> SessionConfigOptionValue {
    SessionConfigOptionValue::ValueId {
        value: value.to_owned().into(),
    }
}

#[test]
fn modes_match_options() {
    let settings = settings("on-request", "readOnly");
    let modes = json!(settings.mode_state());
    assert_eq!(modes["currentModeId"], "read-only");
    assert_eq!(modes["availableModes"].as_array().unwrap().len(), 3);
    let options = json!(settings.options(ClientFeatures::default()));
    let ids: Vec<_> = options
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["id"].clone())
        .collect();
    assert_eq!(
        ids,
        [
            "mode",
            "collaboration_mode",
            "model",
            "reasoning_effort",
            "fast-mode"
        ]
    );
    assert_eq!(options[0]["currentValue"], "read-only");
    assert_eq!(options[3]["currentValue"], "low");
    assert_eq!(options[4]["currentValue"], "off");
}

#[test]
fn current_model_is_listed() {
    let settings = settings("on-request", "readOnly");
    let models = json!(settings.model_state());
    assert_eq!(models["currentModelId"], "a[low]");
    let ids = models["availableModels"].as_array().unwrap().iter();
    let ids: Vec<_> = ids.map(|model| model["modelId"].clone()).collect();
    assert_eq!(ids, ["a[low]", "a[medium]", "b[medium]"]);
}

#[test]
fn unlisted_model_can_be_chosen_with_its_effort() {
    let mut settings = settings("on-request", "readOnly");
    settings.take(&json!({ "model": "own", "effort": "high" }));
    let change = settings.change("model", &select("b")).unwrap();
    settings.assume(&change);
    let models = json!(settings.model_state());
    assert_eq!(models["availableModels"][0]["modelId"], "own[high]");
    let change = settings.change("model", &select("own")).unwrap();
    settings.assume(&change);
    assert_eq!(
        (settings.model.as_str(), settings.effort.as_deref()),
        ("own", Some("high"))
    );
    assert_eq!(json!(settings.model_state())["currentModelId"], "own[high]");
    assert!(settings.change("reasoning_effort", &select("high")).is_ok());
    assert!(settings.change("reasoning_effort", &select("low")).is_err());
}

#[test]
fn adapter_mode_names_are_accepted() {
    let settings = settings("on-request", "readOnly");
    for (alias, mode) in [
        ("agent", "workspace-write"),
        ("auto", "workspace-write"),
        ("full-access", "agent-full-access"),
    ] {
        let change = settings.change_mode(alias).unwrap();
        assert_eq!(change, settings.change_mode(mode).unwrap());
    }
    let fast = json!({ "serviceTier": "fast" });
    assert_eq!(settings.change_mode("fast-mode").unwrap(), fast);
}

#[test]
fn unusual_settings_are_the_configured_mode() {
    let settings = settings("untrusted", "workspaceWrite");
    let modes = json!(settings.mode_state());
    assert_eq!(modes["currentModeId"], "configured");
    assert_eq!(modes["availableModes"].as_array().unwrap().len(), 4);
    assert_eq!(settings.change_mode("configured").unwrap(), json!({}));
}

#[test]
fn workspace_joins_configured_and_client_folders() {
    let change = settings("on-request", "readOnly")
        .change_mode("workspace-write")
        .unwrap();
    assert_eq!(
        change["sandboxPolicy"]["writableRoots"],
        json!(["/x", "/y"])
    );
    assert_eq!(change["sandboxPolicy"]["networkAccess"], true);
}

#[test]
fn an_effort_that_another_model_lacks_becomes_its_default() {
    let mut settings = settings("on-request", "readOnly");
    let change = settings.change("model", &select("b")).unwrap();
    let expected =
        json!({ "model": "b", "reasoning_effort": "medium", "developer_instructions": null });
    assert_eq!(change["collaborationMode"]["settings"], expected);
    settings.assume(&change);
    assert_eq!(
        (settings.model.as_str(), settings.effort.as_deref()),
        ("b", Some("medium"))
    );
}

#[test]
fn unknown_session_options_are_refused() {
    let settings = settings("on-request", "readOnly");
    for (option, value) in [
        ("mode", "x"),
        ("model", "x"),
        ("reasoning_effort", "x"),
        ("x", "y"),
    ] {
        let error = settings.change(option, &select(value)).unwrap_err();
        assert_eq!(i32::from(error.code), -32602);
    }
    let boolean = SessionConfigOptionValue::Boolean { value: true };
    assert!(settings.change("mode", &boolean).is_err());
    assert_eq!(
        settings.change("fast-mode", &boolean).unwrap(),
        json!({ "serviceTier": "fast" })
    );
}
