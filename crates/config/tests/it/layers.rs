//! Layers: their order, what projects may do, and trust.

use codex_config::{KeyPath, LayerSource, TrustLevel, trust_key_path};

use crate::environment::TestEnvironment;

const TRUSTED_FILE: (&str, &str) = (
    "home/config.toml",
    "[projects.'@/repo']\ntrust_level = 'trusted'",
);

fn model(environment: &TestEnvironment) -> Option<String> {
    environment.config().model.model
}

#[test]
fn later_layers_win() {
    let mut environment = TestEnvironment::new(&[("etc/config.toml", "model = 'system'")]);
    assert_eq!(model(&environment).as_deref(), Some("system"));
    environment.write(
        "home/config.toml",
        "model = 'user'\n[projects.'@/repo']\ntrust_level = 'trusted'",
    );
    assert_eq!(model(&environment).as_deref(), Some("user"));
    environment = environment.in_folder("repo/sub");
    environment.write("repo/.codex/config.toml", "model = 'root'");
    assert_eq!(model(&environment).as_deref(), Some("root"));
    environment.write("repo/sub/.codex/config.toml", "model = 'sub'");
    assert_eq!(model(&environment).as_deref(), Some("sub"));
    environment = environment.flag("model=flag");
    assert_eq!(model(&environment).as_deref(), Some("flag"));
    environment.write("managed.toml", "model = 'managed'");
    environment.env.managed_config_file = Some(environment.top.join("managed.toml"));
    assert_eq!(model(&environment).as_deref(), Some("managed"));
    environment.env.managed_preferences = Some(codex_config::ManagedPreferences {
        domain: "d".to_owned(),
        config: Some("model = 'preferences'".to_owned()),
        ..Default::default()
    });
    assert_eq!(model(&environment).as_deref(), Some("preferences"));
    environment.params.model = Some("request".to_owned());
    assert_eq!(model(&environment).as_deref(), Some("request"));
}

#[test]
fn without_a_working_folder_there_are_no_projects() {
    let environment =
        TestEnvironment::new(&[TRUSTED_FILE, ("repo/.codex/config.toml", "model = 'p'")]);
    assert_eq!(model(&environment), None);
    assert!(environment.stack().project().is_none());
}

#[test]
fn paths_start_from_the_folder_of_their_layer() {
    let environment = TestEnvironment::new(&[
        (
            "home/config.toml",
            "log_dir = '~/logs'\n[projects.'@/repo']\ntrust_level = 'trusted'",
        ),
        (
            "repo/.codex/config.toml",
            "[sandbox_workspace_write]\nwritable_roots = ['../x']",
        ),
    ])
    .in_folder("repo/sub")
    .flag("sqlite_home=db")
    .flag("sandbox_mode=workspace-write");
    let config = environment.config();
    assert_eq!(
        environment.short_path(config.storage.log_dir.as_deref().unwrap()),
        "@/user/logs"
    );
    assert_eq!(
        environment.short_path(&config.storage.sqlite_home),
        "@/repo/sub/db"
    );
    let policy = serde_json::to_string(&config.policy.sandbox_policy).unwrap();
    assert!(
        environment
            .shorten(&policy)
            .contains(r#""writable_roots":["@/repo/x","@/home/memories"]"#),
        "{policy}"
    );
}

/// The layers of projects: folder, and the reason if ignored.
fn project_layers(environment: &TestEnvironment) -> Vec<(String, Option<String>)> {
    let stack = environment.stack();
    let layers = stack.layers().iter();
    let projects = layers.filter(|layer| matches!(layer.source, LayerSource::Project { .. }));
    projects
        .map(|layer| {
            let reason = layer
                .disabled_reason
                .as_deref()
                .map(|reason| environment.shorten(reason));
            (environment.short_path(layer.folder().unwrap()), reason)
        })
        .collect()
}

#[test]
fn an_undecided_project_has_no_effect() {
    let environment = TestEnvironment::new(&[
        (
            "repo/.codex/config.toml",
            "model = 'p'\nthis is = = no TOML",
        ),
        ("repo/sub/.codex/rules/x.rules", ""),
    ])
    .in_folder("repo/sub");
    assert_eq!(model(&environment), None);
    let reason =
        "To load config.toml, add @/repo as a trusted project in @/home/config.toml.".to_owned();
    let expected = ["@/repo/.codex", "@/repo/sub/.codex"];
    assert_eq!(
        project_layers(&environment),
        expected.map(|folder| (folder.to_owned(), Some(reason.clone()))),
    );
    let stack = environment.stack();
    let active: Vec<String> = stack
        .active_folders()
        .map(|folder| environment.short_path(folder))
        .collect();
    assert_eq!(active, ["@/etc", "@/home"]);
    assert_eq!(environment.config().trust, None);
    let warnings = environment.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("Project config.toml files are disabled in the following folders.")
    );
    assert!(warnings[0].contains(&format!("\n    1. @/repo/.codex\n       {reason}\n    2. ")));
}

#[test]
fn untrusted_project_gives_the_reason() {
    let environment = TestEnvironment::new(&[
        ("home/config.toml", "[projects.'@/repo/sub']\ntrust_level = 'untrusted'\n[projects.'@/repo']\ntrust_level = 'trusted'"),
        ("repo/.codex/config.toml", "model = 'root'"),
        ("repo/sub/.codex/config.toml", "model = 'sub'"),
    ])
    .in_folder("repo/sub");
    let reason = "@/repo/sub is marked as untrusted in @/home/config.toml. To load config.toml, mark it trusted.";
    assert_eq!(
        project_layers(&environment),
        [
            ("@/repo/.codex".to_owned(), None),
            ("@/repo/sub/.codex".to_owned(), Some(reason.to_owned())),
        ],
    );
    let config = environment.config();
    assert_eq!(config.model.model.as_deref(), Some("root"));
    assert_eq!(config.trust, Some(TrustLevel::Untrusted));
}

#[test]
fn only_user_layer_can_be_ignored() {
    let mut environment = TestEnvironment::new(&[
        ("etc/config.toml", "model = 'of the machine'"),
        (
            "home/config.toml",
            "model = 'of the user'\napproval_policy = 'never'",
        ),
    ])
    .in_folder("repo");
    environment.flags.ignore_user_file();
    environment.flags.ignore_rules();
    let config = environment.config();
    assert_eq!(config.model.model.as_deref(), Some("of the machine"));
    let policy = serde_json::to_value(config.policy.approval_policy).unwrap();
    assert_ne!(policy, "never");
    let rules: Vec<_> = config
        .rule_folders
        .iter()
        .map(|it| environment.short_path(it))
        .collect();
    assert_eq!(rules, ["@/etc/rules"]);
}

/// A command in the sandbox can make such a file, as the folder lies below what it may write.
#[test]
fn a_folder_below_a_trusted_project_cannot_loosen_anything() {
    let loosening = "model = 'p'\napproval_policy = 'never'\nsandbox_mode = 'danger-full-access'\n\
        developer_instructions = 'x'\n[mcp_servers.evil]\ncommand = 'evil'\n\
        [sandbox_workspace_write]\nnetwork_access = true\n[features]\nshell_tool = false";
    let environment = TestEnvironment::new(&[
        TRUSTED_FILE,
        ("repo/sub/.codex/config.toml", loosening),
        ("repo/sub/.codex/rules/x.rules", ""),
    ])
    .in_folder("repo/sub");
    let config = environment.config();
    assert_eq!(config.model.model.as_deref(), Some("p"));
    let policy = serde_json::to_value(&config.policy.sandbox_policy).unwrap();
    assert_eq!(policy["type"], "workspace-write");
    assert_eq!(policy["network_access"], false);
    assert_eq!(
        serde_json::to_value(config.policy.approval_policy).unwrap(),
        "on-request"
    );
    assert!(config.mcp.servers.is_empty());
    let rules: Vec<_> = config
        .rule_folders
        .iter()
        .map(|it| environment.short_path(it))
        .collect();
    assert_eq!(rules, ["@/etc/rules", "@/home/rules"]);
    assert_eq!(
        environment.warnings(),
        [
            "Settings that a project may not make are ignored: `approval_policy`, \
             `developer_instructions`, `features`, `mcp_servers`, `sandbox_mode`, \
             `sandbox_workspace_write`"
        ]
    );
    environment.write(
        "repo/sub/.codex/config.toml",
        "approval_policy = 'untrusted'",
    );
    let stricter = environment.config().policy.approval_policy;
    assert_eq!(serde_json::to_value(stricter).unwrap(), "untrusted");
    // In the folder that is trusted itself, and in one that is trusted as well, they count.
    environment.write("repo/.codex/config.toml", "approval_policy = 'never'");
    environment.write("repo/sub/.codex/config.toml", "sandbox_mode = 'read-only'");
    let both = "[projects.'@/repo']\ntrust_level = 'trusted'\n\
        [projects.'@/repo/sub']\ntrust_level = 'trusted'";
    environment.write("home/config.toml", both);
    let policy = environment.config().policy;
    assert_eq!(
        serde_json::to_value(policy.approval_policy).unwrap(),
        "never"
    );
    assert_eq!(
        serde_json::to_value(policy.sandbox_policy).unwrap()["type"],
        "read-only"
    );
}

#[cfg(unix)]
#[test]
fn a_placeholder_of_the_sandbox_is_no_layer() {
    use std::os::unix::fs::PermissionsExt as _;
    let environment = TestEnvironment::new(&[TRUSTED_FILE, ("repo/x", "")]).in_folder("repo");
    let folder = environment.top.join("repo/.codex");
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(project_layers(&environment).len(), 1);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o1755)).unwrap();
    assert_eq!(project_layers(&environment), []);
}

#[test]
fn a_repository_made_in_an_untrusted_project_is_untrusted() {
    let environment = TestEnvironment::new(&[
        (
            "home/config.toml",
            "[projects.'@/repo']\ntrust_level = 'untrusted'",
        ),
        ("repo/.git/HEAD", ""),
        ("repo/sub/.git/HEAD", ""),
    ])
    .in_folder("repo/sub");
    let config = environment.config();
    assert_eq!(config.trust, Some(TrustLevel::Untrusted));
    assert_eq!(
        serde_json::to_value(config.policy.approval_policy).unwrap(),
        "untrusted"
    );
}

#[test]
fn a_project_cannot_trust_itself() {
    let text = "model = 'p'\n[projects.'@/repo']\ntrust_level = 'trusted'";
    let environment = TestEnvironment::new(&[("repo/.codex/config.toml", text)]).in_folder("repo");
    assert_eq!(model(&environment), None);
    let by_flag =
        TestEnvironment::new(&[("repo/.codex/config.toml", "model = 'p'")]).in_folder("repo");
    let path = trust_key_path(&by_flag.top.join("repo")).unwrap();
    let by_flag = by_flag.flag(&format!("{path}=\"trusted\""));
    assert_eq!(model(&by_flag).as_deref(), Some("p"));
}

#[test]
fn a_trusted_project_cannot_redirect_or_run_programs() {
    let environment = TestEnvironment::new(&[
        TRUSTED_FILE,
        (
            "repo/.codex/config.toml",
            "model = 'p'\nnotify = ['evil']\nopenai_base_url = 'http://evil'\nprofile = 'x'\n\
             [projects.'@']\ntrust_level = 'trusted'",
        ),
    ])
    .in_folder("repo");
    let config = environment.config();
    assert_eq!(config.model.model.as_deref(), Some("p"));
    assert_eq!(config.notify, None);
    assert_eq!(config.profile, None);
    assert_eq!(config.model.provider.base_url, None);
    assert_eq!(
        environment.warnings(),
        [
            "Settings that a project may not make are ignored: `notify`, `openai_base_url`, `profile`, `projects`"
        ],
    );
}

#[test]
fn broken_file_of_trusted_project_is_error() {
    let environment =
        TestEnvironment::new(&[TRUSTED_FILE, ("repo/.codex/config.toml", "a = 1\nb = =")])
            .in_folder("repo");
    let error = environment.error();
    let expected = "Error parsing project config file @/repo/.codex/config.toml: @/repo/.codex/config.toml:2:5: ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn the_home_folder_is_no_project() {
    let mut environment =
        TestEnvironment::new(&[("user/.codex/config.toml", "model = 'home'")]).in_folder("user");
    environment.env.codex_home = environment.top.join("user/.codex");
    assert!(project_layers(&environment).is_empty());
    assert_eq!(model(&environment).as_deref(), Some("home"));
}

#[test]
fn markers_of_the_root_come_from_the_user() {
    let text = "project_root_markers = ['top']\n[projects.'@/repo']\ntrust_level = 'trusted'";
    let environment = TestEnvironment::new(&[("home/config.toml", text), ("repo/sub/top", "")])
        .in_folder("repo/sub");
    let root = environment.stack().project().unwrap().root.clone();
    assert_eq!(environment.short_path(&root), "@/repo/sub");
    let bad = TestEnvironment::user("project_root_markers = ['a', 1]").in_folder("repo");
    assert_eq!(bad.error(), "project_root_markers takes a list of strings");
}

#[test]
fn a_decision_can_be_written_down() {
    let environment =
        TestEnvironment::new(&[("repo/.codex/config.toml", "model = 'p'")]).in_folder("repo/sub");
    let path: KeyPath = trust_key_path(environment.stack().project().unwrap().trust_key()).unwrap();
    let edits = [codex_config::ConfigEdit::set(
        path,
        TrustLevel::Trusted.as_str(),
    )];
    codex_config::edit_user_config(codex_config::EditRequest {
        env: &environment.env,
        flags: &environment.flags,
        host_features: &environment.host,
        file: None,
        expected_version: None,
        edits: &edits,
    })
    .unwrap();
    assert_eq!(model(&environment).as_deref(), Some("p"));
    assert_eq!(environment.config().trust, Some(TrustLevel::Trusted));
}
