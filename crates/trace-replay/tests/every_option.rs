//! A session with every option away from its default: the trace has all of them, and the session runs again as it was.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_core::{
    AdministratorLimits, AgentJobs, AgentRole, AgentSettings, AllowedValues, CheckpointOptions,
    CodeMode, CompactionRules, ContextSections, Features, JsRepl, MessageHistory, Ports,
    ProviderModel, RandomIds, RoleSettings, SandboxKind, SessionConfig, SessionOptions,
    SystemClock, SystemProcesses, TeamSettings, ThreadManager, WebSearch,
};
use codex_exec::Launcher;
use codex_exec_policy::RuleSet;
use codex_http::{HttpPool, HttpSettings};
use codex_model_client::{
    ClientDependencies, ClientIdentity, FixedCredential, HttpModelClient, ModelCatalog, Platform,
    Provider, SystemClock as ModelClock, ToolMode,
};
use codex_protocol::{
    ActivePermissions, ApprovalsReviewer, AskForApproval, EnvironmentChoice, EventMsg, ModeKind,
    NetworkAccess, Op, Personality, ReasoningEffort, ReasoningSummary, SandboxPolicy, ServiceTier,
    ThreadLimits, ThreadSettings, UsageLimits, UserInput, UserInputOp, Verbosity, WebSearchMode,
};
use codex_rollout::{PersistedDetail, RolloutWriter};
use codex_rollout_trace::Recording;
use codex_sandbox::{HostLimit, LimitedCommands, NetworkLimits};
use codex_session_trace::{SETTINGS_EVENT, SessionSettings, Traces};
use codex_test_support::{HttpReply, ModelServer, sse};
use codex_trace_replay::{Outcome, ReplayOptions, replay};
use serde_json::json;

fn settings(cwd: &Path) -> ThreadSettings {
    ThreadSettings {
        cwd: cwd.to_owned(),
        model: "gpt-5.2".to_owned(),
        provider: "other".to_owned(),
        effort: Some(ReasoningEffort::High),
        summary: Some(ReasoningSummary::Detailed),
        service_tier: Some(ServiceTier::Fast),
        personality: Some(Personality::Friendly),
        mode: ModeKind::Plan,
        mode_instructions: Some("Plan well.".to_owned()),
        approval_policy: AskForApproval::Never,
        approvals_reviewer: ApprovalsReviewer::GuardianSubagent,
        sandbox_policy: SandboxPolicy::ExternalSandbox {
            network_access: NetworkAccess::Enabled,
        },
        permission_profile: Some(ActivePermissions {
            id: "mine".to_owned(),
            extends: None,
        }),
        host_limits: vec!["a setting".to_owned()],
        limits: ThreadLimits {
            turn: UsageLimits {
                max_requests: Some(50),
                ..UsageLimits::default()
            },
            ..ThreadLimits::default()
        },
        disabled_plugins: vec!["plugin@market".to_owned()],
        without_environment: true,
        environments: vec![EnvironmentChoice {
            id: "box".to_owned(),
            cwd: "/there".to_owned(),
            roots: vec!["/there".to_owned()],
            shell: Some("/bin/bash".to_owned()),
        }],
    }
}

fn features() -> Features {
    Features {
        shell_tool: false,
        unified_exec: false,
        apply_patch_freeform: true,
        request_permissions: true,
        exec_permissions: true,
        default_mode_questions: true,
        image_generation: true,
        patch_events: true,
        tool_search: true,
        step_model_switching: true,
    }
}

fn agents() -> AgentSettings {
    AgentSettings {
        max_threads: 3,
        max_depth: 2,
        roles: vec![AgentRole {
            name: "careful".to_owned(),
            description: "Reads twice.".to_owned(),
            nicknames: vec!["Ada".to_owned()],
            settings: Ok(RoleSettings {
                model: Some("gpt-5.1".to_owned()),
                ..RoleSettings::default()
            }),
        }],
        team: Some(TeamSettings {
            usage_hint: Some("Start few.".to_owned()),
            root_hint: Some("You lead.".to_owned()),
            ..TeamSettings::default()
        }),
    }
}

/// Every option differs from its default. A new one does not compile until it has a value here.
fn options(cwd: &Path) -> SessionOptions {
    let mut rules = RuleSet::default();
    let text = "prefix_rule([\"git\", [\"log\", \"show\"]], \"allow\")\n\
                prefix_rule([\"head\"], \"forbidden\", justification = \"no\")\n\
                network_rule(\"example.com\", protocol = \"https\", decision = \"deny\")\n\
                host_executable(name = \"git\", paths = [\"/usr/bin/git\"])\n";
    rules.add_file("default.rules", text).unwrap();
    let mut network_limits = NetworkLimits::default();
    network_limits.add(HostLimit::closing(
        "network.hosts",
        LimitedCommands::OfModel,
    ));
    SessionOptions {
        settings: settings(cwd),
        model_fallbacks: vec!["gpt-5.2".to_owned()],
        usage_limit_wait: Duration::from_secs(7),
        review_model: Some("gpt-5.1".to_owned()),
        verbosity: Some(Verbosity::High),
        limits: AdministratorLimits {
            approval_policies: Some(AllowedValues {
                values: vec![AskForApproval::Never],
                origin: "the administrator".to_owned(),
            }),
            sandboxes: Some(AllowedValues {
                values: vec![SandboxKind::ReadOnly, SandboxKind::ExternalSandbox],
                origin: "the administrator".to_owned(),
            }),
        },
        rules,
        network_limits,
        base_instructions: Some("Base.".to_owned()),
        developer_instructions: Some("Developer.".to_owned()),
        compact_prompt: Some("Compact.".to_owned()),
        user_instructions: Some("User.".to_owned()),
        memory_summary: Some("The port is 8080.".to_owned()),
        memory_mode: Some("disabled".to_owned()),
        reviewer_policy: Some("Be strict.".to_owned()),
        context_sections: ContextSections {
            permissions: false,
            environment: false,
            time: false,
            modes: false,
            apps: false,
        },
        dynamic_tools: vec![
            serde_json::from_value(json!({
                "name": "lookup", "description": "Looks up.", "inputSchema": { "type": "object" },
            }))
            .unwrap(),
        ],
        web_search: WebSearch {
            mode: WebSearchMode::Cached,
            live_with_full_access: true,
            options: None,
        },
        features: features(),
        mcp_namespaces: true,
        code_mode: Some(CodeMode {
            mode: ToolMode::CodeMode,
            excluded_namespaces: vec!["mail".to_owned()],
        }),
        js_repl: Some(JsRepl { only: true }),
        checkpoints: Some(CheckpointOptions { commands: true }),
        message_history: MessageHistory {
            keep: false,
            max_bytes: Some(1),
        },
        tool_output_tokens: Some(500),
        context_window: Some(100_000),
        auto_compact_limit: Some(90_000),
        compaction: CompactionRules {
            counts_growth: true,
            after_turn_percent: Some(80),
        },
        shell: PathBuf::from("/bin/zsh"),
        takes_openai_forms: true,
        allow_login_shell: false,
        restricted_token: true,
        longest_poll: Duration::from_millis(1500),
        stream_max_retries: 1,
        agents: Some(agents()),
        agent_jobs: Some(AgentJobs {
            max_runtime: Duration::from_secs(7),
        }),
        detail: PersistedDetail::Extended,
        raw_items: true,
        replay_events: false,
        show_raw_reasoning: true,
        reasoning_summaries: true,
        prompt_cache_notices: true,
        hook_warnings: vec!["a hook is odd".to_owned()],
        serves_queue: true,
    }
}

fn ports(model: &ModelServer) -> Ports {
    let platform = Platform {
        os: "any",
        os_version: "1",
        architecture: "any",
        terminal: "none",
    };
    let dependencies = ClientDependencies {
        identity: ClientIdentity::new("test", "1", platform, None),
        environment: Arc::new(|_: &str| None),
        credentials: Arc::new(FixedCredential::default()),
        clock: Arc::new(ModelClock),
        http: Arc::new(HttpPool::new(HttpSettings::default())),
    };
    let provider = Provider::new("Test", Some(model.base_url()));
    let client = HttpModelClient::new(provider, dependencies);
    Ports {
        model: Arc::new(ProviderModel::new(
            Arc::new(client),
            Arc::new(ModelCatalog::bundled()),
        )),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(RandomIds),
        processes: Arc::new(SystemProcesses::new(Launcher::of_this_program())),
        mcp: None,
        writer: RolloutWriter::start().unwrap(),
    }
}

/// Runs a turn of a session with these options, and returns what was recorded.
async fn record(home: &Path, traces: &Path, options: SessionOptions) -> Recording {
    let model = ModelServer::start([HttpReply::stream(&sse::text("done"))])
        .await
        .unwrap();
    let traces = Arc::new(Traces::below(traces));
    let observers = Arc::clone(&traces) as Arc<dyn codex_core::Observers>;
    let manager = ThreadManager::new(ports(&model)).observed_by(Some(observers));
    let mut config = SessionConfig::new(home, home, "");
    config.options = options;
    let mut started = manager.start(config).unwrap();
    let items = vec![UserInput::Text {
        text: "go".to_owned(),
        text_elements: Vec::new(),
    }];
    let input = UserInputOp {
        items,
        ..UserInputOp::default()
    };
    started.thread.submit(Op::UserInput(input)).await.unwrap();
    loop {
        let event = started.events.next().await.unwrap();
        assert!(!matches!(event.msg, EventMsg::Error(_)), "{event:?}");
        if let EventMsg::TurnComplete(_) = event.msg {
            break;
        }
    }
    manager.close(started.thread.id()).await;
    assert!(traces.flush(Duration::from_secs(60)));
    let bundle = std::fs::read_dir(traces.root()).unwrap().next().unwrap();
    Recording::read(&bundle.unwrap().path()).unwrap()
}

/// The settings in a recording.
fn recorded_settings(recording: &Recording) -> SessionSettings {
    let mut payloads = recording.events().iter().filter_map(|event| {
        let event = serde_json::to_value(&event.payload).unwrap();
        (event["event_type"] == SETTINGS_EVENT).then(|| event["event_payload"].clone())
    });
    let payload = serde_json::from_value(payloads.next().unwrap()).unwrap();
    recording.json(&payload).unwrap()
}

#[tokio::test]
async fn session_with_every_option_away_from_its_default_replays() {
    let (home, traces) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let options = options(home.path());
    let defaults = serde_json::to_value(SessionOptions::new("", "")).unwrap();
    let given = serde_json::to_value(&options).unwrap();
    for (name, value) in given.as_object().unwrap() {
        assert_ne!(*value, defaults[name], "{name} has its default");
    }
    let recording = record(home.path(), traces.path(), options.clone()).await;
    assert_eq!(*recorded_settings(&recording).options(), options);
    let outcome = replay(recording, ReplayOptions::default()).await.unwrap();
    assert!(matches!(outcome, Outcome::Same(_)), "{outcome:?}");
}
