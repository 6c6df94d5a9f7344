//! The effective configuration: profiles, defaults, limits, features.

use codex_config::Feature;
use codex_config::schema::SandboxMode;
use codex_protocol::{AskForApproval, Personality, SandboxPolicy, ServiceTier, WebSearchMode};

use crate::environment::TestEnvironment;

fn sandbox(environment: &TestEnvironment) -> &'static str {
    match environment.config().policy.sandbox_policy {
        SandboxPolicy::ReadOnly { .. } => "read-only",
        SandboxPolicy::WorkspaceWrite { .. } => "workspace-write",
        SandboxPolicy::DangerFullAccess => "full",
        SandboxPolicy::ExternalSandbox { .. } => "external",
    }
}

#[test]
fn empty_configuration_gives_defaults() {
    let config = TestEnvironment::new(&[]).config();
    assert_eq!(config.model.provider_id, "openai");
    assert_eq!(config.model.model, None);
    assert_eq!(config.model.personality, Some(Personality::Pragmatic));
    assert_eq!(config.policy.approval_policy, AskForApproval::OnRequest);
    assert_eq!(config.policy.web_search, WebSearchMode::Cached);
    assert_eq!(config.policy.background_terminal_max_timeout.as_secs(), 300);
    assert!(config.policy.allow_login_shell);
    assert!(config.tools.bundled_skills);
    assert!(config.requirements.is_empty());
    assert!(config.warnings.is_empty());
    assert!(config.deprecations.is_empty());
}

#[test]
fn trust_decides_defaults_only() {
    let with = |level: &str, more: &str| {
        let text = format!("{more}\n[projects.'@/repo']\ntrust_level = '{level}'");
        TestEnvironment::user(&text).in_folder("repo/sub")
    };
    let policy = |environment: &TestEnvironment| environment.config().policy.approval_policy;
    let none = TestEnvironment::new(&[]).in_folder("repo");
    assert_eq!(
        (policy(&none), sandbox(&none)),
        (AskForApproval::OnRequest, "read-only")
    );
    let trusted = with("trusted", "");
    assert_eq!(
        (policy(&trusted), sandbox(&trusted)),
        (AskForApproval::OnRequest, "workspace-write")
    );
    let untrusted = with("untrusted", "");
    let expected = (AskForApproval::UnlessTrusted, "workspace-write");
    assert_eq!((policy(&untrusted), sandbox(&untrusted)), expected);
    let explicit = with(
        "untrusted",
        "approval_policy = 'never'\nsandbox_mode = 'read-only'",
    );
    assert_eq!(
        (policy(&explicit), sandbox(&explicit)),
        (AskForApproval::Never, "read-only")
    );
}

const PROFILES: &str = "model = 'top'\nmodel_reasoning_effort = 'low'\nprofile = 'p'\n\
    [profiles.p]\nmodel = 'profile'\nsandbox_mode = 'danger-full-access'\ninstructions = 'no'\n\
    [profiles.p.features]\nundo = true\n[features]\nundo = false\nplugins = false\n\
    [profiles.q]\ninclude_apply_patch_tool = true\nweb_search = 'live'";

#[test]
fn a_profile_is_between_files_and_flags() {
    let environment = TestEnvironment::user(PROFILES);
    let config = environment.config();
    assert_eq!(config.profile.as_deref(), Some("p"));
    assert_eq!(config.model.model.as_deref(), Some("profile"));
    assert!(config.model.reasoning_effort.is_some());
    assert!(config.features.enabled(Feature::Undo));
    assert!(!config.features.enabled(Feature::Plugins));
    assert_eq!(sandbox(&environment), "full");
    let environment = environment.flag("model=flag").flag("features.undo=false");
    assert_eq!(environment.config().model.model.as_deref(), Some("flag"));
    assert!(!environment.config().features.enabled(Feature::Undo));
    let other = TestEnvironment::user(PROFILES).flag("profile=q").config();
    assert_eq!(other.model.model.as_deref(), Some("top"));
    assert_eq!(other.policy.web_search, WebSearchMode::Live);
    assert!(other.features.enabled(Feature::ApplyPatchFreeform));
    assert_eq!(
        TestEnvironment::user(PROFILES).flag("profile=r").error(),
        "config profile `r` not found"
    );
}

#[test]
fn requests_beat_everything() {
    let mut environment = TestEnvironment::user(PROFILES).flag("model=flag");
    environment.params.model = Some("request".to_owned());
    environment.params.sandbox_mode = Some(SandboxMode::WorkspaceWrite);
    environment.params.approval_policy = Some(AskForApproval::Never);
    environment.params.base_instructions = Some("base".to_owned());
    let config = environment.config();
    assert_eq!(config.model.model.as_deref(), Some("request"));
    assert_eq!(config.policy.approval_policy, AskForApproval::Never);
    assert_eq!(config.instructions.base.as_deref(), Some("base"));
    assert_eq!(sandbox(&environment), "workspace-write");
}

const LIMITS: &str = "allowed_approval_policies = ['on-request']\nallowed_sandbox_modes = ['read-only']\n\
    allowed_web_search_modes = ['cached']\nfeatures.multi_agent = false\napps.a.enabled = false\n\
    mcp_servers.good.identity.command = 'good'";

#[test]
fn settings_against_requirements_fall_back() {
    let text = "approval_policy = 'never'\nsandbox_mode = 'danger-full-access'\nweb_search = 'live'\n\
                [features]\nmulti_agent = true\n[mcp_servers.good]\ncommand = 'good'\n\
                [mcp_servers.bad]\ncommand = 'bad'";
    let environment = TestEnvironment::new(&[
        ("home/config.toml", text),
        ("etc/requirements.toml", LIMITS),
    ]);
    let config = environment.config();
    assert_eq!(config.policy.approval_policy, AskForApproval::OnRequest);
    assert_eq!(config.policy.web_search, WebSearchMode::Cached);
    assert_eq!(sandbox(&environment), "read-only");
    assert!(!config.features.enabled(Feature::MultiAgent));
    assert!(config.mcp.servers["good"].enabled);
    assert!(!config.mcp.servers["bad"].enabled);
    assert_eq!(config.mcp.disallowed.len(), 1);
    assert_eq!(
        environment.warnings(),
        [
            "Configured value for `approval_policy` is disallowed by requirements; falling back to \
             required value OnRequest. Details: invalid value for `approval_policy`: `Never` is not in \
             the allowed set [OnRequest] (set by @/etc/requirements.toml)",
            "Configured value for `sandbox_mode` is disallowed by requirements; falling back to required \
             value ReadOnly { access: FullAccess, network_access: false }. Details: invalid value for \
             `sandbox_mode`: `DangerFullAccess` is not in the allowed set [ReadOnly] (set by \
             @/etc/requirements.toml)",
            "Configured value for `web_search_mode` is disallowed by requirements; falling back to \
             required value Cached. Details: invalid value for `web_search_mode`: `Live` is not in the \
             allowed set [Disabled, Cached] (set by @/etc/requirements.toml)",
        ],
    );
}

#[test]
fn defaults_fall_back_silently() {
    let limits = "allowed_approval_policies = ['untrusted']\nallowed_sandbox_modes = ['read-only']";
    let text = "[projects.'@/repo']\ntrust_level = 'trusted'";
    let environment = TestEnvironment::new(&[
        ("home/config.toml", text),
        ("etc/requirements.toml", limits),
    ])
    .in_folder("repo");
    let config = environment.config();
    assert_eq!(config.policy.approval_policy, AskForApproval::UnlessTrusted);
    assert_eq!(sandbox(&environment), "read-only");
    assert!(config.warnings.is_empty());
}

#[test]
fn the_older_form_of_managed_settings_limits_too() {
    let mut environment = TestEnvironment::new(&[(
        "m.toml",
        "approval_policy = 'on-request'\nsandbox_mode = 'workspace-write'",
    )]);
    environment.env.managed_config_file = Some(environment.top.join("m.toml"));
    environment.params.approval_policy = Some(AskForApproval::Never);
    environment.params.sandbox_mode = Some(SandboxMode::DangerFullAccess);
    assert_eq!(
        environment.config().policy.approval_policy,
        AskForApproval::OnRequest
    );
    assert_eq!(sandbox(&environment), "read-only");
    environment.params.sandbox_mode = None;
    assert_eq!(sandbox(&environment), "workspace-write");
    // A name that is not allowed is not in force.
    environment.params.permissions = Some(":danger-full-access".to_owned());
    assert_eq!(sandbox(&environment), "read-only");
    assert_eq!(environment.config().policy.permissions, None);
    environment.params.permissions = Some(":workspace".to_owned());
    assert_eq!(sandbox(&environment), "workspace-write");
    assert!(environment.config().policy.permissions.is_some());
}

#[test]
fn named_permissions_or_a_mode() {
    const NAMED_PERMISSIONS: &str =
        "[permissions.p.filesystem]\n':root' = 'read'\n':project_roots' = 'write'";
    let permissions = |text: &str| TestEnvironment::user(&format!("{text}\n{NAMED_PERMISSIONS}"));
    let by_name = permissions("default_permissions = 'p'");
    assert_eq!(by_name.config().policy.permissions.unwrap().id, "p");
    assert_eq!(sandbox(&by_name), "workspace-write");
    let by_flag = permissions("default_permissions = 'p'").flag("sandbox_mode=read-only");
    assert_eq!(by_flag.config().policy.permissions, None);
    assert_eq!(sandbox(&by_flag), "read-only");
    let both = permissions("default_permissions = 'p'\nsandbox_mode = 'read-only'");
    assert!(both.config().policy.permissions.is_some());
    let table = [
        (
            "",
            "config defines `[permissions]` profiles but does not set `default_permissions`",
        ),
        (
            "default_permissions = 'x'",
            "default_permissions refers to undefined profile `x`",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(permissions(text).error(), expected);
    }
    // Those that are built in need no table.
    for (name, policy) in [
        (":read-only", "read-only"),
        (":workspace", "workspace-write"),
        (":danger-full-access", "full"),
    ] {
        let environment = TestEnvironment::user(&format!("default_permissions = '{name}'"));
        assert_eq!(sandbox(&environment), policy);
    }
    let error = TestEnvironment::user("default_permissions = 'x'").error();
    assert_eq!(
        error,
        "default_permissions requires a `[permissions]` table"
    );
}

#[test]
fn features_gate_other_settings() {
    let tier = |text: &str| TestEnvironment::user(text).config().model.service_tier;
    assert_eq!(tier("service_tier = 'fast'"), Some(ServiceTier::Fast));
    assert_eq!(
        tier("service_tier = 'fast'\nfeatures.fast_mode = false"),
        None
    );
    let style = |text: &str| TestEnvironment::user(text).config().model.personality;
    assert_eq!(style("features.personality = false"), None);
    let mut environment = TestEnvironment::new(&[]);
    environment.host.insert(Feature::Apps, false);
    assert!(!environment.config().features.enabled(Feature::Apps));
    let environment = environment.flag("features.apps=true");
    assert!(environment.config().features.enabled(Feature::Apps));
}

#[test]
fn skill_rules_of_the_user_and_of_flags_count() {
    let rules = "[[skills.config]]\nname = 'a'\nenabled = false\n[[skills.config]]\nname = 'b'\nenabled = false";
    let environment =
        TestEnvironment::new(&[("home/config.toml", rules), ("etc/config.toml", rules)])
            .flag("skills.config=[{name = 'a', enabled = true}]");
    let rules = environment.config().tools.skill_rules;
    let rules: Vec<(Option<&str>, bool)> = rules
        .iter()
        .map(|rule| (rule.name.as_deref(), rule.enabled))
        .collect();
    assert_eq!(rules, [(Some("b"), false), (Some("a"), true)]);
}

#[test]
fn files_that_settings_name_have_to_be_there() {
    let environment = TestEnvironment::user(
        "model_instructions_file = 'i.md'\nexperimental_compact_prompt_file = 'c.md'",
    );
    assert!(
        environment
            .error()
            .starts_with("failed to read model instructions file @/home/i.md: ")
    );
    environment.write("home/i.md", " \n");
    assert_eq!(
        environment.error(),
        "model instructions file is empty: @/home/i.md"
    );
    environment.write("home/i.md", " text\n");
    environment.write("home/c.md", "compact");
    let instructions = environment.config().instructions;
    assert_eq!(instructions.base.as_deref(), Some("text"));
    assert_eq!(instructions.compact_prompt.as_deref(), Some("compact"));
    let catalog = TestEnvironment::user("model_catalog_json = 'm.json'");
    catalog.write("home/m.json", "{\"models\": []}");
    assert_eq!(
        catalog.error(),
        "model_catalog_json path `@/home/m.json` must contain at least one model",
    );
    catalog.write("home/m.json", "{\"models\": [{}]}");
    assert!(catalog.config().model.catalog.is_some());
}

#[test]
fn unreadable_requirements_refuse_commands_without_thread() {
    for files in [
        &[("etc/requirements.toml", "experimental_network.domains = 3")][..],
        &[("etc/requirements.toml", "a = = 1")],
        &[("etc/managed_config.toml", "a = = 1")],
    ] {
        let mut environment = TestEnvironment::new(files);
        environment.env.managed_config_file = Some(environment.top.join("etc/managed_config.toml"));
        assert!(environment.load().is_err(), "{files:?}");
        let config = codex_config::Config::without_files(environment.request());
        let requirements = config.unwrap().requirements;
        assert!(requirements.network_limit.is_some(), "{files:?}");
        let full = requirements.check_sandbox_policy(&SandboxPolicy::DangerFullAccess);
        assert!(full.is_err(), "{files:?}");
    }
}

#[test]
fn login_restrictions_apply_despite_other_invalid_settings() {
    let environment = TestEnvironment::new(&[
        (
            "etc/config.toml",
            "forced_login_method = 'chatgpt'\nmodel = 3",
        ),
        (
            "home/config.toml",
            "forced_chatgpt_workspace_id = ['a', 'b']\nsandbox_mode = 'all'",
        ),
    ]);
    assert!(environment.load().is_err());
    let config = codex_config::Config::without_files(environment.request()).unwrap();
    assert_eq!(config.account.forced_workspaces, ["a", "b"]);
    assert!(config.account.forced_login_method.is_some());
    assert_eq!(config.model.model, None);
}

#[test]
fn each_restriction_applies_despite_other_invalid_settings() {
    let hides = |user: &str, name: &str| {
        let environment = TestEnvironment::new(&[("home/config.toml", user), ("w/x", "")]);
        assert!(environment.load().is_err(), "{user}");
        let config = codex_config::Config::without_files(environment.request()).unwrap();
        let files = config.secrets.hidden_files();
        let workspace = codex_hidden_files::WorkspaceFolder {
            folder: environment.top.join("w"),
            top: environment.top.join("w"),
        };
        let rules = files.rules(&[workspace]);
        let is_hidden = rules.hides(&environment.top.join("w").join(name)).is_some();
        (is_hidden, files.find(&rules).is_err())
    };
    let patterns = "[secrets]\ndeny_read = ['**/.env']\n";
    for invalid in [
        "model = 5\n",
        "approval_policy = 'wat'\n",
        "profile = 'none'\n",
    ] {
        let text = format!("{invalid}{patterns}");
        assert_eq!(hides(&text, ".env"), (true, false), "{text}");
        assert_eq!(hides(&text, "x"), (false, false), "{text}");
        assert!(hides(&format!("{text}built_in = 3"), ".env").1, "{text}");
    }
    assert_eq!(hides("model = 5", ".env"), (false, false));
    for text in [
        "[secrets]\ndeny_reads = ['**/.env']",
        "[secrets]\ndeny_read = '**/.env'",
        "[secrets]\ndeny_read = ['.env']",
        "secrets = ['**/.env']",
        "[secret]\ndeny_read = ['**/.env']",
        "[secrets]\ndeny_read = ['**/.env'",
    ] {
        assert_eq!(hides(text, "x"), (true, true), "{text}");
    }
}

#[test]
fn read_permissions_apply_despite_other_invalid_settings() {
    const NARROW_PERMISSIONS: &str =
        "[permissions.p.filesystem]\n'/usr' = 'read'\n'/w' = 'write'\n";
    let without_files = |text: &str, flags: &[&str]| {
        let mut environment = TestEnvironment::user(text);
        assert!(environment.load().is_err(), "{text}");
        for flag in flags {
            environment = environment.flag(flag);
        }
        codex_config::Config::without_files(environment.request()).unwrap()
    };
    let policy = |text: &str, flags: &[&str]| {
        let config = without_files(text, flags);
        assert!(
            config
                .secrets
                .hidden_files()
                .rules(&[])
                .hides("/x".as_ref())
                .is_none()
        );
        serde_json::to_string(&config.policy.sandbox_policy).unwrap()
    };
    let narrow = |text: &str| policy(text, &[]).contains(r#""readable_roots":["/usr","/w"]"#);
    let read_only = r#"{"type":"read-only"}"#;
    for invalid in ["model = 5", "approval_policy = 'wat'", "profile = 'none'"] {
        assert!(narrow(&format!(
            "{invalid}\ndefault_permissions = 'p'\n{NARROW_PERMISSIONS}"
        )));
        let mode = format!("{invalid}\nsandbox_mode = 'danger-full-access'\n{NARROW_PERMISSIONS}");
        assert_eq!(policy(&mode, &[]), read_only);
        let built_in = format!("{invalid}\ndefault_permissions = ':workspace'");
        assert_eq!(policy(&built_in, &[]), read_only);
        let full = ["default_permissions=':danger-full-access'"];
        let chosen = format!("{invalid}\ndefault_permissions = 'p'\n{NARROW_PERMISSIONS}");
        assert_eq!(policy(&chosen, &full), r#"{"type":"danger-full-access"}"#);
    }
    for closed in [
        "default_permissions = 'q'\nmodel = 5",
        "default_permissions = 5",
        "default_permission = 'p'\n[permissions.p.filesystem]\n'/usr' = 'read'",
        "default_permissions = 'p'\n[permissions.p.filesystem]\n'/usr' = 'reed'",
        "default_permissions = 'p'\n[permissions.p.filesystem]\n'usr' = 'read'",
        "[permissions.p.filesystem]\n'/usr' = 'read'",
        "permissions = 'p'",
        "model = 5\ndefault_permissions = 'p'\n[permissions.p.filesystm]\n'/usr' = 'read'",
    ] {
        let files = without_files(closed, &[]).secrets.hidden_files();
        assert!(files.find(&files.rules(&[])).is_err(), "{closed}");
    }
}

#[test]
fn command_environment_limits_apply_despite_other_invalid_settings() {
    let names = |text: &str| {
        let environment = TestEnvironment::user(text);
        assert!(environment.load().is_err(), "{text}");
        let config = codex_config::Config::without_files(environment.request()).unwrap();
        let inherited = ["PATH", "HOME", "API_KEY", "EDITOR"];
        let inherited = inherited.map(|name| (name.to_owned(), "v".to_owned()));
        let names = config.shell_environment.apply(inherited, None).into_keys();
        names.collect::<Vec<_>>()
    };
    let policy = |text: &str| names(&format!("model = 5\n[shell_environment_policy]\n{text}"));
    assert_eq!(names("model = 5"), ["API_KEY", "EDITOR", "HOME", "PATH"]);
    assert_eq!(policy("exclude = ['*KEY']"), ["EDITOR", "HOME", "PATH"]);
    assert_eq!(policy("include_only = ['PATH']"), ["PATH"]);
    for unknown in [
        "inherit = 'cor'",
        "exclude = 'API_KEY'",
        "include_only = [5]",
        "exclud = ['API_KEY']",
    ] {
        assert_eq!(policy(unknown), ["HOME", "PATH"], "{unknown}");
    }
    for text in [
        "shell_environment_policy = 'core'",
        "shell_environment_polcy.inherit = 'core'",
        "shell_environment_policy =",
    ] {
        assert_eq!(names(text), ["HOME", "PATH"], "{text}");
    }
}

#[test]
fn unknown_restriction_keys_deny_access() {
    let load = |text: &str| {
        let config = TestEnvironment::user(text).load().unwrap();
        let mut warned = config.warnings.iter();
        let warned = warned.any(|warning| warning.summary.contains("may be a restriction"));
        (config, warned)
    };
    let names = |text: &str| {
        let (config, warned) = load(&format!("[shell_environment_policy]\n{text}"));
        let inherited = ["PATH", "HOME", "API_KEY", "EDITOR"];
        let inherited = inherited.map(|name| (name.to_owned(), "v".to_owned()));
        let names = config.shell_environment.apply(inherited, None).into_keys();
        (names.collect::<Vec<_>>().join(" "), warned)
    };
    assert_eq!(
        names("exclude = ['API*']"),
        ("EDITOR HOME PATH".to_owned(), false)
    );
    assert_eq!(names("exlude = ['API*']"), ("HOME PATH".to_owned(), true));
    assert_eq!(
        names("later = 1\ninclude_only = ['PATH']"),
        ("PATH".to_owned(), true)
    );
    assert_eq!(names("later = 1\ninherit = 'none'"), (String::new(), true));

    let policy = |text: &str| {
        let (config, warned) = load(&format!("default_permissions = 'p'\n{text}"));
        let policy = serde_json::to_value(&config.policy.sandbox_policy).unwrap();
        (policy, warned)
    };
    let network = |text: &str| {
        let base = "permissions.p.extends = ':workspace'\npermissions.p.network.enabled = true\n";
        let (policy, warned) = policy(&format!("{base}{text}"));
        (policy["network_access"] == true, warned)
    };
    assert_eq!(network(""), (true, false));
    let misspelt = "permissions.p.network.domans = { 'a.test' = 'deny' }";
    assert_eq!(network(misspelt), (false, true));
    let (added, _) = policy(
        "permissions.p = { extends = 'q', network.enabled = true }\n\
         permissions.q = { extends = ':workspace', network.later = 1 }",
    );
    assert_ne!(added["network_access"], true);
    for key in [
        "filesytem = { '/x' = 'none' }",
        "netwrk.enabled = false",
        "later = 1",
    ] {
        let own = format!("permissions.p = {{ extends = ':workspace', {key} }}");
        let grants = "filesystem = { '/' = 'read', '/w' = 'write' }, workspace_roots = { '/r' = true }, \
                      network.enabled = true";
        let extended = format!(
            "permissions.p = {{ extends = 'm', {grants} }}\n\
             permissions.m = {{ extends = 'q', {grants} }}\n\
             permissions.q = {{ extends = ':workspace', {key} }}"
        );
        let full = format!(
            "permissions.p = {{ extends = 'q', filesystem = {{ ':root' = 'write' }}, network.enabled = true }}\n\
             permissions.q = {{ {key} }}"
        );
        let above = format!(
            "permissions.p = {{ extends = 'q', {grants}, {key} }}\npermissions.q = {{ {grants} }}"
        );
        for text in [own, extended, full, above] {
            let (closed, warned) = policy(&text);
            assert!(warned, "{text}");
            assert_eq!(closed["type"], "read-only", "{text}");
            assert_eq!(closed["access"]["type"], "restricted", "{text}: {closed}");
            let readable = closed["access"]["readable_roots"].as_array();
            assert!(readable.is_none_or(Vec::is_empty), "{text}: {closed}");
            assert_ne!(closed["network_access"], true, "{text}");
        }
    }
    let other = "permissions.p = { extends = ':workspace', network.enabled = true }\n\
                 permissions.q = { extends = 'p', later = 1 }";
    let (open, warned) = policy(other);
    assert!(warned && open["network_access"] == true, "{open}");

    let text = "default_permissions = ':workspace'\nmodle = 'm'\npermissions.p.later = 1\n\
                shell_environment_policy.exlude = ['A']";
    let (config, _) = load(text);
    let warnings = config.warnings.iter();
    let warned: Vec<_> = warnings
        .map(|warning| (warning.summary.as_str(), warning.path.is_some()))
        .collect();
    let of_variables = "The unknown setting `shell_environment_policy.exlude` may be a restriction: commands inherit only \
                        the variables that most programs need.";
    let of_permissions = "The unknown setting `permissions.p.later` may be a restriction: the permissions `p`, and those \
                          that extend them, grant nothing.";
    let ignored = "Unknown settings are ignored: `modle`";
    for expected in [of_variables, of_permissions, ignored] {
        assert!(warned.contains(&(expected, true)), "{warned:?}");
    }
    assert_eq!(warned.len(), 3, "{warned:?}");
}

#[test]
fn misspelt_restrictions_of_logins_are_errors_and_close_logins() {
    for text in [
        "forced_login_methods = 'chatgpt'",
        "forced_login_method = 'wat'",
        "force_chatgpt_workspace_ids = ['a']",
        "[profiles.p]\nforced_login_method = 'chatgpt'",
        "[profiles.p]\nforced_login_metod = 'chatgpt'",
        "profile = 'p'\nprofiles.p.force_chatgpt_workspace_id = 'a'",
        "model =",
    ] {
        let environment = TestEnvironment::user(text);
        assert!(environment.load().is_err(), "{text}");
        let config = codex_config::Config::without_files(environment.request()).unwrap();
        assert!(config.account.unknown_restriction.is_some(), "{text}");
    }
    let environment = TestEnvironment::user("model = 5");
    let config = codex_config::Config::without_files(environment.request()).unwrap();
    assert_eq!(config.account.unknown_restriction, None);
}

#[test]
fn restrictions_in_profiles_are_errors_that_name_them() {
    for key in ["secrets", "secret", "Secrets"] {
        let text = format!("[profiles.p.{key}]\ndeny_read = ['**/.env']");
        let environment = TestEnvironment::user(&text);
        let error = environment.load().unwrap_err().to_string();
        assert!(error.contains(&format!("profiles.p.{key}")), "{error}");
        assert!(error.contains("config.toml:1:"), "{error}");
    }
}

#[test]
fn projects_have_no_restrictions_that_could_be_misspelt() {
    let environment = TestEnvironment::new(&[
        (
            "home/config.toml",
            "projects.'@/repo'.trust_level = 'trusted'",
        ),
        ("repo/.git/x", ""),
        (
            "repo/.codex/config.toml",
            "secret = 1\n[secrets]\ndeny_reads = ['**/.env']",
        ),
    ]);
    assert!(environment.in_folder("repo").load().is_ok());
}
