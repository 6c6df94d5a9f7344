//! Errors name the file, the place in it and the setting; unknown keys are only warned of.

use codex_config::{Config, ConfigWarning, Feature, TextPosition};
use codex_sandbox::LimitedCommands;

use crate::environment::TestEnvironment;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(
        TestEnvironment::user(text).error(),
        format!("@/home/config.toml:{expected}")
    );
}

#[test]
fn a_value_of_the_wrong_type_is_found() {
    check(
        "\nmodel = 3\n",
        "2:9: invalid type: integer `3`, expected a string\nin `model`",
    );
    check(
        "[features]\na = true\nundo = 'yes'\n",
        "3:8: invalid type: string \"yes\", expected a boolean\nin `features.undo`",
    );
    check(
        "[tui]\ntheme = 'ä'\n[mcp_servers.\"a b\"]\n  args = [ 'x', 1 ]\ncommand = 'c'\n",
        "4:17: invalid type: integer `1`, expected a string\nin `mcp_servers.\"a b\".args.1`",
    );
    check(
        "approval_policy = { granular = { rules = 1 } }",
        "1:42: invalid type: integer `1`, expected a boolean\nin `approval_policy.granular.rules`",
    );
    check(
        "sandbox_mode = 'all'",
        "1:16: unknown variant `all`, expected one of `read-only`, `workspace-write`, `danger-full-access`\nin `sandbox_mode`",
    );
    check(
        "mcp_oauth_callback_port = 0",
        "1:27: invalid value: integer `0`, expected a nonzero u16\nin `mcp_oauth_callback_port`",
    );
    check(
        "[mcp_servers.x]\nenabled = true",
        "1:14: invalid transport\nin `mcp_servers.x`",
    );
    check(
        "model_provider = 'x'\n[model_providers.x]\nname = 'X'\nwire_api = 'chats'",
        "4:12: unknown variant `chats`, expected `responses` or `chat`\nin `model_providers.x.wire_api`",
    );
    check(
        "[otel.exporter.otlp-http]\nprotocol = 'json'",
        "1:16: missing field `endpoint`\nin `otel.exporter.otlp-http`",
    );
    check(
        "permissions.p.filesystem.'/x' = 'all'",
        "1:33: unknown variant `all`, expected one of `read`, `write`, `deny`, `none`\nin `permissions.p.filesystem.\"/x\"`",
    );
}

#[test]
fn unknown_value_is_left_out_with_a_warning() {
    let text = "\
web_search = 'everything'
personality = 'grumpy'
[profiles.p]
model_verbosity = 'endless'
[projects.'/x']
trust_level = 'maybe'
[model_providers.x]
name = 'X'
wire_api = 'telepathy'
[otel.exporter.carrier-pigeon]
[mcp_servers.s]
command = 'c'
[mcp_servers.s.tools.t]
approval_mode = 'writes'
[history]
persistence = 'some'
[[tool_suggest.discoverables]]
type = 'thing'
id = 'a'
[[tool_suggest.discoverables]]
type = 'plugin'
id = 'b'
";
    let environment = TestEnvironment::user(text);
    let mut warnings = environment.warnings();
    warnings.sort();
    assert_eq!(
        warnings,
        [
            "Settings that have no effect here: `otel`",
            "The value of `history.persistence` is not known; `none` takes its place.",
            "The value of `mcp_servers.s.tools.t.approval_mode` is not known; `prompt` takes its place.",
            "The value of `model_providers.x.wire_api` is not known and is ignored.",
            "The value of `otel.exporter` is not known; `none` takes its place.",
            "The value of `personality` is not known and is ignored.",
            "The value of `profiles.p.model_verbosity` is not known and is ignored.",
            "The value of `projects.\"/x\".trust_level` is not known and is ignored.",
            "The value of `tool_suggest.discoverables.0.type` is not known and is ignored.",
            "The value of `web_search` is not known; `disabled` takes its place.",
        ],
    );
    let config = environment.config();
    assert!(!config.providers.contains_key("x"));
    let personality = config
        .warnings
        .iter()
        .find(|warning| warning.summary.contains("personality"))
        .unwrap();
    assert_eq!(
        personality.range.unwrap().start,
        TextPosition {
            line: 2,
            column: 15
        }
    );
    let shown = environment.view().unwrap().config;
    assert_eq!(shown["web_search"], "disabled");
}

#[test]
fn unknown_efforts_and_tiers_are_accepted() {
    let config =
        TestEnvironment::user("model_reasoning_effort = 'ultra'\nservice_tier = 'standard'")
            .config();
    let model = &config.model;
    assert_eq!(model.reasoning_effort.as_ref().unwrap().as_str(), "ultra");
    let tier = model.service_tier.as_ref().unwrap();
    assert_eq!(tier.name_in_requests(), Some("standard"));
    assert!(config.warnings.is_empty());
}

#[test]
fn a_feature_may_be_a_table() {
    let environment = TestEnvironment::user(
        "[features.code_mode]\nenabled = true\nlimit = 3\n[features.undo]\nlimit = 3\n\
         [profiles.p.features.apps]\nenabled = false\n",
    );
    let config = environment.config();
    assert!(config.features.enabled(Feature::CodeMode));
    assert!(!config.features.enabled(Feature::Undo));
    let shown = environment.view().unwrap().config;
    assert_eq!(shown["features"]["code_mode"], true);
    let environment = TestEnvironment::user("").flag("features.code_mode={enabled = true}");
    assert!(environment.config().features.enabled(Feature::CodeMode));
    check(
        "[features.undo]\nenabled = 'yes'",
        "2:11: invalid type: string \"yes\", expected a boolean\nin `features.undo.enabled`",
    );
}

#[test]
fn the_file_at_fault_is_named() {
    let environment = TestEnvironment::new(&[
        ("etc/config.toml", "[features]\nundo = true"),
        ("home/config.toml", "model = 'm'\nreview_model = 1"),
    ]);
    assert!(environment.error().starts_with("@/home/config.toml:2:16: "));
    let flags = TestEnvironment::user("model = 'm'").flag("model=1");
    assert_eq!(
        flags.error(),
        "invalid type: integer `1`, expected a string\nin `model`"
    );
}

#[test]
fn settings_of_features_are_known() {
    let environment = TestEnvironment::user(
        "[features.network_proxy]\nenabled = true\ndomains = { 'a.test' = 'allow' }\nno_such_key = 1\n\
         [features.multi_agent_v2]\nenabled = true\n[features.apps]\nenabled = true\nno_such_key = 1\n",
    );
    let warnings = environment.load().unwrap().warnings;
    let unknown: Vec<_> = (warnings.iter())
        .filter(|warning| warning.summary.starts_with("Unknown settings"))
        .map(|warning| warning.summary.as_str())
        .collect();
    let expected = "Unknown settings are ignored: `features.apps.no_such_key`, `features.network_proxy.no_such_key`";
    assert_eq!(unknown, [expected]);
}

#[test]
fn unusable_network_settings_close_the_network() {
    let closes = |text: &str| {
        let environment = TestEnvironment::user(text);
        assert!(environment.load().is_err(), "{text}");
        let config = Config::without_files(environment.request()).unwrap();
        config
            .policy
            .network_limits
            .apply(LimitedCommands::Confined)
    };
    assert!(!closes("model = 5"));
    assert!(!closes("model = 5\n[features]\nnetwork_proxy = false"));
    for text in [
        "model = 5\n[features]\nnetwork_proxy = true",
        "model = 5\n[features.network_proxy]\ndomains = { 'a.test' = 'allow' }",
        "features.network_proxy = 'yes'",
        "model = 5\n[profiles.p.features.network_proxy]\nenabled = true",
        "features = 1",
        "model =",
    ] {
        assert!(closes(text), "{text}");
    }
}

#[test]
fn a_place_has_a_start_and_an_end() {
    let environment = TestEnvironment::user("model = [\"ä\"]\n");
    let warning = ConfigWarning::using_defaults(&environment.load().unwrap_err());
    assert_eq!(warning.summary, "Invalid configuration; using defaults.");
    assert_eq!(
        environment.short_path(&warning.path.unwrap()),
        "@/home/config.toml"
    );
    let range = warning.range.unwrap();
    assert_eq!(range.start, TextPosition { line: 1, column: 9 });
    assert_eq!(
        range.end,
        TextPosition {
            line: 1,
            column: 13
        }
    );
}

#[test]
fn a_syntax_error_comes_before_everything_else() {
    let environment = TestEnvironment::user("model = 3\nb = [1,\n");
    assert!(environment.error().starts_with("@/home/config.toml:"));
    let not_text = TestEnvironment::new(&[]);
    std::fs::write(not_text.top.join("home/config.toml"), [0xff, 0xfe]).unwrap();
    assert!(
        not_text
            .error()
            .starts_with("Failed to read config file @/home/config.toml: ")
    );
}

#[test]
fn other_errors_stop_loading_too() {
    let table = [
        ("model_provider = 'x'", "Model provider `x` not found"),
        (
            "model_provider = 'ollama-chat'",
            "`model_provider = \"ollama-chat\"` is no longer supported. Use `ollama` instead.",
        ),
        (
            "model_provider = 'mine'\n[model_providers.mine]\nname = 'M'\nbase_ur = 'http://127.0.0.1:1'",
            "missing field `base_url`: the address of the model provider, for example \
             \"http://127.0.0.1:8080/v1\"\nin `model_providers.mine`",
        ),
        (
            "agents.max_depth = 0",
            "agents.max_depth must be at least 1",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(TestEnvironment::user(text).error(), expected);
    }
}

#[test]
fn bad_limits_stop_loading() {
    let environment =
        TestEnvironment::new(&[("etc/requirements.toml", "allowed_approval_policies = []")]);
    assert_eq!(
        environment.error(),
        "field `allowed_approval_policies` cannot be empty (set by @/etc/requirements.toml)",
    );
}

#[test]
fn unknown_keys_are_warned_of_by_file() {
    let environment = TestEnvironment::new(&[
        ("etc/config.toml", "modle = 'x'"),
        (
            "home/config.toml",
            "model = 'm'\nnope = 1\n[tui]\nodd = { x = 1 }\n[profiles.p]\ninstructions = 'x'",
        ),
    ]);
    let warnings = environment.config().warnings;
    let shown: Vec<(String, String)> = warnings
        .iter()
        .map(|warning| {
            (
                environment.short_path(warning.path.as_ref().unwrap()),
                warning.summary.clone(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (
                "@/etc/config.toml".to_owned(),
                "Unknown settings are ignored: `modle`".to_owned()
            ),
            (
                "@/home/config.toml".to_owned(),
                "Unknown settings are ignored: `nope`, `profiles.p.instructions`, `tui.odd`"
                    .to_owned(),
            ),
        ],
    );
}

#[test]
fn old_ways_of_saying_things_have_notices() {
    let environment =
        TestEnvironment::user("features.collab = true\nexperimental_instructions_file = 'x'");
    let summaries: Vec<String> = environment
        .config()
        .deprecations
        .into_iter()
        .map(|notice| notice.summary)
        .collect();
    assert_eq!(summaries.len(), 2);
    assert!(summaries[0].contains("`[features].collab` is deprecated"));
}
