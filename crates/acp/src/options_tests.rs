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
fn modes_and_options_say_the_same() {
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
        ["mode", "collaboration_mode", "model", "reasoning_effort"]
    );
    assert_eq!(options[0]["currentValue"], "read-only");
    assert_eq!(options[3]["currentValue"], "low");
}

#[test]
fn what_no_mode_says_is_a_mode_of_its_own() {
    let settings = settings("untrusted", "workspaceWrite");
    let modes = json!(settings.mode_state());
    assert_eq!(modes["currentModeId"], "configured");
    assert_eq!(modes["availableModes"].as_array().unwrap().len(), 4);
    assert_eq!(settings.change_mode("configured").unwrap(), json!({}));
}

#[test]
fn the_workspace_has_the_configured_folders_and_those_of_the_client() {
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
fn what_is_not_there_is_refused() {
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
