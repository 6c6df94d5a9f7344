//! `codex doctor` and the model service.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use codex_test_support::{HttpReply, ModelServer};
use serde_json::{Value, json};

use crate::setup::{PROGRAM, home_with, scripted_config};

/// The finding of a check, and the exit code of the whole.
fn finding(home: &Path, check: &str, variables: &[(&str, &str)]) -> (Value, Option<i32>) {
    let output = Command::new(PROGRAM)
        .args(["doctor", "--json"])
        .current_dir(home)
        .env("HOME", home)
        .env("CODEX_HOME", home)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|found| found["check"] == check).unwrap();
    (found.clone(), output.status.code())
}

#[tokio::test]
async fn service_that_answers_is_asked_for_its_models() {
    let model = ModelServer::start([]).await.unwrap();
    let list = |names: &[&str]| {
        let data: Vec<Value> = names
            .iter()
            .map(|name| json!({ "id": name, "object": "model" }))
            .collect();
        HttpReply::json(200, &json!({ "object": "list", "data": data }))
    };
    let home = home_with(&scripted_config(&model, ""));
    let examine = async || {
        let home = home.path().to_owned();
        let found = tokio::task::spawn_blocking(move || finding(&home, "model", &[]));
        found.await.unwrap()
    };
    model.push_for("/models", list(&["scripted", "other"]));
    let (found, code) = examine().await;
    assert_eq!((&found["state"], code), (&json!("ok"), Some(0)), "{found}");
    assert_eq!(found["facts"]["models"], json!(["scripted", "other"]));
    model.push_for("/models", list(&["other"]));
    let (found, code) = examine().await;
    assert_eq!(
        (&found["state"], code),
        (&json!("warning"), Some(0)),
        "{found}"
    );
    assert!(
        found["message"]
            .as_str()
            .unwrap()
            .contains("`scripted` is not among them")
    );
    model.push_for("/models", HttpReply::status(404));
    let (found, code) = examine().await;
    assert_eq!((&found["state"], code), (&json!("ok"), Some(0)), "{found}");
    model.push_for("/models", HttpReply::status(401));
    let (found, code) = examine().await;
    assert_eq!(
        (&found["state"], code),
        (&json!("error"), Some(1)),
        "{found}"
    );
}

#[test]
fn unreachable_service_error_has_its_address() {
    let home = home_with(
        "model = \"m\"\nmodel_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    let (found, code) = finding(home.path(), "model", &[]);
    assert_eq!(
        (&found["state"], code),
        (&json!("error"), Some(1)),
        "{found}"
    );
    let message = found["message"].as_str().unwrap();
    assert!(message.contains("http://127.0.0.1:1"), "{message}");
}

#[test]
fn service_is_not_asked_without_its_key_or_login() {
    for (settings, check) in [
        ("", "nobody is logged in"),
        (
            "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\nenv_key = \"MINE\"\n",
            "MINE, which has the key, is not set",
        ),
    ] {
        let home = home_with(settings);
        let (found, code) = finding(home.path(), "login", &[]);
        assert_eq!(
            (&found["state"], code),
            (&json!("warning"), Some(0)),
            "{found}"
        );
        assert_eq!(found["message"], check);
        let (found, _) = finding(home.path(), "model", &[]);
        assert!(
            found["message"].as_str().unwrap().contains("was not asked"),
            "{found}"
        );
    }
}

#[test]
fn keys_and_logins_of_proxies_are_not_shown() {
    let home = home_with(
        "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\nenv_key = \"MINE\"\n",
    );
    let variables = [
        ("MINE", "sk-secret-key"),
        ("HTTPS_PROXY", "http://me:secret-word@proxy.test:3128"),
    ];
    for check in ["login", "model", "connections"] {
        let (found, _) = finding(home.path(), check, &variables);
        assert!(!found.to_string().contains("secret"), "{found}");
    }
    let (found, _) = finding(home.path(), "connections", &variables);
    assert_eq!(found["facts"]["proxies"]["https"], "http://proxy.test:3128");
    let broken = [("CODEX_CA_CERTIFICATE", "/nowhere/roots.pem")];
    let (found, code) = finding(home.path(), "connections", &broken);
    assert_eq!(
        (&found["state"], code),
        (&json!("error"), Some(1)),
        "{found}"
    );
}

/// What is renewed here is renewed by turns; whoever looks changes nothing.
#[test]
fn login_that_has_expired_is_neither_used_nor_renewed() {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let token = format!(
        "{}.{}.c2ln",
        part(&json!({ "alg": "none" })),
        part(&json!({ "exp": 1, "https://api.openai.com/auth": { "chatgpt_account_id": "w1" } })),
    );
    let tokens = json!({
        "id_token": token, "access_token": token, "refresh_token": "r1", "account_id": "w1",
    });
    let login =
        json!({ "OPENAI_API_KEY": null, "tokens": tokens, "last_refresh": "2026-01-01T00:00:00Z" });
    let home = home_with("");
    let file = home.path().join("auth.json");
    std::fs::write(&file, login.to_string()).unwrap();
    let nowhere = [(
        "CODEX_REFRESH_TOKEN_URL_OVERRIDE",
        "http://127.0.0.1:1/token",
    )];
    let (found, code) = finding(home.path(), "login", &nowhere);
    assert_eq!(
        (&found["state"], code),
        (&json!("warning"), Some(0)),
        "{found}"
    );
    let (found, _) = finding(home.path(), "model", &nowhere);
    assert!(
        found["message"].as_str().unwrap().contains("was not asked"),
        "{found}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), login.to_string());
    let entries = std::fs::read_dir(home.path()).unwrap();
    assert_eq!(entries.count(), 2);
}

#[test]
fn address_of_the_service_is_shown_without_its_secrets() {
    let home = home_with(
        "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://me:secret-word@127.0.0.1:1/v1?key=secret-key\"\n",
    );
    let (found, _) = finding(home.path(), "model", &[]);
    assert!(!found.to_string().contains("secret"), "{found}");
}

#[test]
fn unknown_settings_are_named() {
    let home = home_with("modell = \"x\"\n");
    let (found, _) = finding(home.path(), "configuration", &[]);
    assert_eq!(found["state"], "warning", "{found}");
    assert!(found.to_string().contains("modell"), "{found}");
}

#[test]
fn network_only_limits_the_checks() {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(PROGRAM)
        .args(["doctor", "--network-only", "--json"])
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("CODEX_HOME", home.path())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    let names: Vec<_> = checks
        .map(|found| found["check"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"model") && names.contains(&"login"),
        "{names:?}"
    );
    assert!(
        !names.contains(&"git") && !names.contains(&"sandbox"),
        "{names:?}"
    );
}
