//! The settings as clients see them.

use codex_config::LayerSource;
use serde_json::json;

use crate::environment::TestEnvironment;

#[test]
fn every_known_key_is_shown() {
    let view = TestEnvironment::new(&[]).view().unwrap();
    let config = view.config.as_object().unwrap();
    let set: Vec<&str> = config
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, _)| key.as_str())
        .collect();
    let mut expected = [
        "checkpoints",
        "profiles",
        "mcp_servers",
        "plugins",
        "shell_environment_policy",
        "environments",
        "features",
        "model_providers",
        "rollout_trace",
        "traces",
    ];
    expected.sort_unstable();
    let mut sorted = set.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(config.len(), 121);
    assert_eq!(
        config["features"],
        json!({
            "apps": true, "plugins": true, "tool_search": false, "tool_suggest": true,
            "tool_call_mcp_elicitation": true,
        }),
    );
    assert!(view.origins.is_empty());
}

#[test]
fn values_are_shown_as_they_were_read() {
    let mut environment = TestEnvironment::user(
        "zzz = 1\nlog_dir = 'logs'\nprofile = 'p'\n[profiles.p]\nmodel = 'x'\n[tools]\nweb_search = true\n\
         [apps.a]\n[agents.r]\ndescription = 'd'\n[agents]\nmax_threads = 2\n\
         [features]\ncollab = false\napps = false\n",
    );
    environment
        .host
        .insert(codex_config::Feature::ToolSearch, true);
    let view = environment.view().unwrap();
    let config = &view.config;
    assert_eq!(config["zzz"], json!(null));
    assert_eq!(config["model"], json!(null));
    assert_eq!(
        environment.shorten(config["log_dir"].as_str().unwrap()),
        "@/home/logs"
    );
    assert_eq!(config["profiles"]["p"]["model"], json!("x"));
    assert_eq!(
        config["tools"],
        json!({"web_search": null, "view_image": null})
    );
    assert_eq!(config["apps"]["_default"], json!(null));
    assert_eq!(config["apps"]["a"]["enabled"], json!(true));
    assert_eq!(config["agents"]["max_threads"], json!(2));
    assert_eq!(config["agents"]["r"]["description"], json!("d"));
    assert_eq!(
        config["features"],
        json!({
            "collab": false, "apps": false, "plugins": true, "tool_search": true, "tool_suggest": true,
            "tool_call_mcp_elicitation": true,
        }),
    );
}

#[test]
fn layers_and_origins() {
    let environment = TestEnvironment::new(&[
        ("etc/config.toml", "model = 's'\nnotify = ['a', 'b']"),
        ("home/config.toml", "model = 'u'"),
        ("repo/.codex/config.toml", "model = 'p'"),
    ])
    .in_folder("repo")
    .flag("review_model=r");
    let view = environment.view().unwrap();
    let names: Vec<String> = view
        .layers
        .iter()
        .map(|layer| environment.shorten(&layer.metadata.source.to_string()))
        .collect();
    assert_eq!(
        names,
        [
            "flags",
            "@/repo/.codex/config.toml",
            "@/home/config.toml",
            "@/etc/config.toml"
        ],
    );
    let project = &view.layers[1];
    assert!(project.disabled_reason.is_some());
    assert_eq!(project.config, json!({"model": "p"}));
    let origins: Vec<(&str, String)> = view
        .origins
        .iter()
        .map(|(path, layer)| {
            (
                path.as_str(),
                environment.shorten(&layer.source.to_string()),
            )
        })
        .collect();
    assert_eq!(
        origins,
        [
            ("model", "@/home/config.toml".to_owned()),
            ("notify.0", "@/etc/config.toml".to_owned()),
            ("notify.1", "@/etc/config.toml".to_owned()),
            ("review_model", "flags".to_owned()),
        ],
    );
    let user = view
        .layers
        .iter()
        .find(|layer| matches!(layer.metadata.source, LayerSource::User { .. }));
    assert_eq!(
        user.unwrap().metadata.version,
        view.origins["model"].version
    );
}

#[test]
fn broken_settings_are_errors_by_kind() {
    let error = |text: &str| {
        let environment = TestEnvironment::user(text);
        environment.shorten(&environment.view().unwrap_err().to_string())
    };
    assert!(
        error("a = = 1")
            .starts_with("failed to read configuration layers: @/home/config.toml:1:5: ")
    );
    assert!(error("model = 1").starts_with("invalid configuration: @/home/config.toml:1:9: "));
    assert_eq!(
        error("profile = 'x'"),
        "failed to resolve feature override precedence: config profile `x` not found",
    );
}
