//! The network of commands where it is limited to hosts: closed in every combination of settings, rules and requirements,
//! and the client is told which setting limits it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use codex_test_support::{AppServer, HttpReply, ModelServer, ReceivedRequest, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{PROGRAM, home_with, limited, numbered, scripted_config};

/// Settings of a user, and what limits the network there.
struct UserSettings {
    text: &'static str,
    /// Whether commands of the thread have a network without limits.
    network: bool,
    /// Whether commands of the thread have a sandbox.
    sandbox: bool,
    /// The limit for commands of these settings alone, because they belong to permissions.
    permissions: Option<&'static str>,
    /// The limit for all commands in a sandbox.
    feature: Option<&'static str>,
}

const ONLINE: &str =
    "sandbox_mode = 'workspace-write'\nsandbox_workspace_write.network_access = true\n";
const LISTED: &str =
    "features.network_proxy = { enabled = true, domains = { '127.0.0.1' = 'allow' } }\n";

fn users() -> Vec<UserSettings> {
    let user = |text, network, sandbox| UserSettings {
        text,
        network,
        sandbox,
        permissions: None,
        feature: None,
    };
    let profile = "default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n\
                   [permissions.p.network]\nenabled = true\n";
    let limited_profile = "default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n\
                   [permissions.p.network]\nenabled = true\n\
                   domains = { '127.0.0.1' = 'allow', 'localhost' = 'allow' }\n";
    let feature = Some("`features.network_proxy`");
    vec![
        user("sandbox_mode = 'read-only'\n", false, true),
        user(ONLINE, true, true),
        UserSettings {
            feature,
            ..user(concat_text(&[ONLINE, LISTED]), true, true)
        },
        UserSettings {
            feature,
            ..user(
                concat_text(&[ONLINE, "features.network_proxy = true\n"]),
                true,
                true,
            )
        },
        user(profile, true, true),
        UserSettings {
            permissions: Some("`permissions.p.network.domains`"),
            ..user(limited_profile, true, true)
        },
        user("sandbox_mode = 'danger-full-access'\n", true, false),
        UserSettings {
            feature,
            ..user(
                concat_text(&["sandbox_mode = 'danger-full-access'\n", LISTED]),
                true,
                false,
            )
        },
    ]
}

fn concat_text(parts: &[&str]) -> &'static str {
    Box::leak(parts.concat().into_boxed_str())
}

/// A rule, and whether it limits the network.
const RULES: [(&str, bool); 3] = [
    ("", false),
    (
        "network_rule(host = \"127.0.0.1\", protocol = \"http\", decision = \"allow\")\n",
        false,
    ),
    (
        "network_rule(host = \"a.test\", protocol = \"https\", decision = \"deny\")\n",
        true,
    ),
];

/// The commands of a combination that reached the port.
#[derive(Debug, PartialEq, Eq)]
struct Reached {
    /// A command of the model.
    by_model: bool,
    /// A command of the client with the policy of the settings.
    by_client: bool,
    /// The same with a sandbox that has the network.
    by_client_online: bool,
    /// The same without a sandbox.
    by_client_unconfined: bool,
    /// A command that a person typed.
    typed: bool,
}

struct Machine {
    server: AppServer,
    model: ModelServer,
    listener: TcpListener,
    /// The warnings that the client has received.
    warnings: String,
    home: TempDir,
}

impl Machine {
    async fn start(user: &UserSettings, rules: &str, requirements: Option<&str>) -> Self {
        let model = ModelServer::start([]).await.unwrap();
        let config = scripted_config(&model, "approval_policy = \"never\"");
        let tables = user.text.find('[').unwrap_or(user.text.len());
        let (top, tables) = user.text.split_at(tables);
        let home = home_with(&format!("{top}{config}{tables}"));
        fs::create_dir(home.path().join("rules")).unwrap();
        fs::write(home.path().join("rules/default.rules"), rules).unwrap();
        let limited = requirements.map(|text| limited(&home, text));
        let program = limited.as_deref().unwrap_or(Path::new(PROGRAM));
        let server = AppServer::start(program.to_str().unwrap(), home.path()).unwrap();
        let mut machine = Self {
            server,
            model,
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            warnings: String::new(),
            home,
        };
        let client = json!({ "name": "tests", "version": "1" });
        let capabilities = json!({ "experimentalApi": true });
        let params = json!({ "clientInfo": client, "capabilities": capabilities });
        machine.ask("initialize", params).await;
        machine
    }

    fn probe(&self) -> String {
        let port = self.listener.local_addr().unwrap().port();
        format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo REACHED || echo CLOSED")
    }

    async fn receive(&mut self) -> Value {
        let message = self.server.receive().await.unwrap();
        if ["configWarning", "warning"].contains(&message["method"].as_str().unwrap_or_default()) {
            self.warnings.push_str(&message["params"].to_string());
        }
        message
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.server.begin(method, params).await.unwrap();
        loop {
            let mut message = self.receive().await;
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
        }
    }

    async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.receive().await;
            if is_it(&message) {
                return message;
            }
        }
    }

    async fn run(&mut self, policy: Option<Value>) -> bool {
        let command = json!(["/bin/bash", "-c", self.probe()]);
        let mut params = json!({ "command": command });
        if let Some(policy) = policy {
            params["sandboxPolicy"] = policy;
        }
        let result = self.ask("command/exec", params).await;
        reached(result["stdout"].as_str().unwrap())
    }

    async fn start_thread(&mut self) -> String {
        let started = self.ask("thread/start", json!({})).await;
        started["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Whether a command of the model reaches the port.
    async fn turn(&mut self, thread: &str, more: Value) -> bool {
        let arguments = json!({ "command": self.probe() });
        let call = sse::function_call("call", "shell_command", &arguments);
        self.model
            .push(HttpReply::stream(&numbered(sse::items(&[call]))));
        self.model
            .push(HttpReply::stream(&numbered(sse::text("done"))));
        let input = json!([{ "type": "text", "text": "go" }]);
        let mut params = json!({ "threadId": thread, "input": input });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        self.ask("turn/start", params).await;
        self.until(|message| message["method"] == "turn/completed")
            .await;
        let last = self.model.requests().last().map(ReceivedRequest::json);
        let input = last.unwrap()["input"].clone();
        let outputs = input.as_array().unwrap().iter().rev();
        let mut outputs = outputs.filter(|item| item["type"] == "function_call_output");
        reached(&outputs.next().unwrap()["output"].to_string())
    }

    /// Whether a command that a person typed reaches the port.
    async fn typed(&mut self, thread: &str) -> bool {
        let params = json!({ "threadId": thread, "command": self.probe() });
        self.ask("thread/shellCommand", params).await;
        let is_it = |message: &Value| {
            let item = &message["params"]["item"];
            message["method"] == "item/completed" && item["type"] == "commandExecution"
        };
        let ended = self.until(is_it).await;
        self.until(|message| message["method"] == "turn/completed")
            .await;
        reached(&ended["params"]["item"]["aggregatedOutput"].to_string())
    }
}

fn reached(output: &str) -> bool {
    let said = (output.contains("REACHED"), output.contains("CLOSED"));
    assert!(said.0 != said.1, "the script says one of both: {output}");
    said.0
}

/// Tries every command, and checks that what closes a network is named.
async fn check(user: &UserSettings, rules: (&str, bool), required: Option<(&str, bool)>) {
    let name = format!("{} | {} | {required:?}", user.text, rules.0);
    let mut machine = Machine::start(user, rules.0, required.map(|(text, _)| text)).await;
    let by_client = machine.run(None).await;
    let thread = machine.start_thread().await;
    let by_model = machine.turn(&thread, json!({})).await;
    let typed = machine.typed(&thread).await;
    let told = std::mem::take(&mut machine.warnings);
    let online = json!({ "type": "workspaceWrite", "networkAccess": true });
    let by_client_online = machine.run(Some(online)).await;
    let unconfined = json!({ "type": "dangerFullAccess" });
    let by_client_unconfined = machine.run(Some(unconfined)).await;

    let administrator = required.is_some_and(|(_, limits)| limits);
    let (by_rule, feature) = (rules.1, user.feature.is_some());
    let wants = user.network && user.permissions.is_none();
    let in_sandbox = administrator || by_rule || feature;
    let (model_limited, client_limited) = if user.sandbox {
        (in_sandbox, in_sandbox)
    } else {
        (administrator || by_rule, administrator)
    };
    let expected = Reached {
        by_model: wants && !model_limited,
        by_client: wants && !client_limited,
        by_client_online: !in_sandbox,
        by_client_unconfined: !administrator,
        typed: !administrator,
    };
    let reached = Reached {
        by_model,
        by_client,
        by_client_online,
        by_client_unconfined,
        typed,
    };
    assert_eq!(reached, expected, "{name}");
    for (closes, setting) in [
        (wants && administrator, "`experimental_network`"),
        (wants && by_rule, "network_rule(host=\\\"a.test\\\")"),
        (wants && feature && user.sandbox, "`features.network_proxy`"),
        (user.permissions.is_some(), user.permissions.unwrap_or("")),
    ] {
        assert!(
            !closes || told.contains(setting),
            "{setting}: {name}: {told}"
        );
    }
    if wants && !model_limited {
        assert!(!told.contains("have no network"), "{name}: {told}");
    }
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_network_that_settings_or_rules_limit_to_hosts_is_closed() {
    for user in users() {
        for rules in RULES {
            check(&user, rules, None).await;
        }
    }
}

#[tokio::test]
#[ignore = "needs mounts in a user namespace; .ci/run runs it"]
async fn a_network_that_an_administrator_limits_to_hosts_is_closed_for_everybody() {
    for required in [
        ("[experimental_network]\nenabled = true\n", true),
        ("[experimental_network.domains]\n'a.test' = 'deny'\n", true),
        (
            "[experimental_network.domains]\n'127.0.0.1' = 'allow'\n",
            true,
        ),
        ("[experimental_network]\nhttp_port = 3128\n", false),
    ] {
        for user in users() {
            for rules in RULES {
                check(&user, rules, Some(required)).await;
            }
        }
    }
}

#[tokio::test]
#[ignore = "needs mounts in a user namespace; .ci/run runs it"]
async fn an_administrators_hosts_are_shown_to_clients() {
    let required = "[experimental_network]\nenabled = true\nreview_domains = ['c.test']\n\
                    [experimental_network.domains]\n'a.test' = 'allow'\n'b.test' = 'deny'\n";
    let mut machine = Machine::start(&users()[0], "", Some(required)).await;
    let shown = machine.ask("configRequirements/read", json!({})).await;
    let network = &shown["requirements"]["network"];
    assert_eq!(network["enabled"], true);
    assert_eq!(
        network["domains"],
        json!({ "a.test": "allow", "b.test": "deny" })
    );
    assert_eq!(network["allowedDomains"], json!(["a.test"]));
    assert_eq!(network["deniedDomains"], json!(["b.test"]));
    assert_eq!(network["reviewDomains"], json!(["c.test"]));
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_turn_that_wants_a_limited_network_has_none_and_the_client_is_told() {
    let user = UserSettings {
        text: "sandbox_mode = 'read-only'\nfeatures.network_proxy = true\n",
        ..users().swap_remove(0)
    };
    let mut machine = Machine::start(&user, "", None).await;
    let thread = machine.start_thread().await;
    assert!(
        !machine.warnings.contains("have no network"),
        "nothing is closed yet"
    );
    let online = json!({ "sandboxPolicy": { "type": "workspaceWrite", "networkAccess": true } });
    assert!(!machine.turn(&thread, online).await);
    assert!(
        machine.warnings.contains("`features.network_proxy`"),
        "{}",
        machine.warnings
    );
    let told = machine
        .model
        .requests()
        .last()
        .map(ReceivedRequest::json)
        .unwrap();
    let told = told["input"].to_string();
    assert!(
        told.contains("Network access is restricted. Commands have no network"),
        "{told}"
    );
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn permissions_with_listed_hosts_that_a_turn_names_have_no_network_and_say_so() {
    let user = UserSettings {
        text: "default_permissions = ':read-only'\n[permissions.p]\nextends = ':workspace'\n\
               [permissions.p.network]\nenabled = true\ndomains = { '127.0.0.1' = 'allow' }\n",
        ..users().swap_remove(0)
    };
    let mut machine = Machine::start(&user, "", None).await;
    let thread = machine.start_thread().await;
    machine.warnings.clear();
    assert!(!machine.turn(&thread, json!({ "permissions": "p" })).await);
    let setting = "`permissions.p.network.domains`";
    assert!(machine.warnings.contains(setting), "{}", machine.warnings);
    machine.warnings.clear();
    let command = json!(["/bin/bash", "-c", machine.probe()]);
    let params = json!({ "command": command, "permissionProfile": "p" });
    let result = machine.ask("command/exec", params).await;
    assert!(!reached(result["stdout"].as_str().unwrap()));
    assert!(machine.warnings.contains(setting), "{}", machine.warnings);
    machine.server.finish().await.unwrap();
}

/// Settings with a limited network under which the model may ask for permissions.
const LIMITED_AND_ASKING: [&str; 2] = [
    "sandbox_mode = 'read-only'\n\
     features = { network_proxy = true, request_permissions_tool = true, exec_permission_approvals = true }\n",
    "default_permissions = 'p'\n\
     features = { request_permissions_tool = true, exec_permission_approvals = true }\n\
     [permissions.p]\nextends = ':workspace'\n\
     [permissions.p.network]\nenabled = true\ndomains = { '127.0.0.1' = 'allow' }\n",
];

impl Machine {
    /// What the model is told about a call that asks for the network. Nobody is asked.
    async fn asked_for_network(
        &mut self,
        thread: &str,
        tool: &str,
        arguments: &Value,
        more: &Value,
    ) -> String {
        let call = sse::function_call("call", tool, arguments);
        self.model
            .push(HttpReply::stream(&numbered(sse::items(&[call]))));
        self.model
            .push(HttpReply::stream(&numbered(sse::text("done"))));
        let input = json!([{ "type": "text", "text": "go" }]);
        let mut params =
            json!({ "threadId": thread, "input": input, "approvalPolicy": "on-request" });
        let more = more.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(more);
        self.ask("turn/start", params).await;
        self.until(|message| {
            let method = message["method"].as_str().unwrap_or_default();
            assert!(!method.ends_with("requestApproval"), "{message}");
            method == "turn/completed"
        })
        .await;
        let requests = self.model.requests();
        let input = requests.last().map(ReceivedRequest::json).unwrap()["input"].clone();
        let last = input.as_array().unwrap().last().cloned();
        last.unwrap()["output"].to_string()
    }
}

#[tokio::test]
async fn permissions_for_a_limited_network_are_not_asked_for() {
    let network = json!({ "network": { "enabled": true } });
    for text in LIMITED_AND_ASKING {
        let user = UserSettings {
            text,
            ..users().swap_remove(0)
        };
        let mut machine = Machine::start(&user, "", None).await;
        let started = machine.ask("thread/start", json!({})).await;
        let thread = started["thread"]["id"].as_str().unwrap().to_owned();
        // A client that repeats in each turn what it was shown lifts no limit.
        let repeated = json!({ "sandboxPolicy": started["sandbox"] });
        for more in [json!({}), repeated] {
            let arguments = json!({ "permissions": network });
            let told = machine
                .asked_for_network(&thread, "request_permissions", &arguments, &more)
                .await;
            assert!(
                told.contains("the network cannot be given."),
                "{text} {told}"
            );
            let arguments = json!({
                "command": machine.probe(),
                "sandbox_permissions": "with_additional_permissions",
                "additional_permissions": network,
                "justification": "to look",
            });
            let told = machine
                .asked_for_network(&thread, "shell_command", &arguments, &more)
                .await;
            assert!(told.contains("cannot be given."), "{text} {told}");
        }
        machine.server.finish().await.unwrap();
    }
}

/// Settings in which the named permissions `p` limit the network, and turns begin without them.
const NAMED_BY_A_TURN: &str = "default_permissions = ':read-only'\n\
     features = { request_permissions_tool = true, exec_permission_approvals = true }\n\
     [permissions.p]\nextends = ':workspace'\n\
     [permissions.p.network]\nenabled = true\ndomains = { '127.0.0.1' = 'allow' }\n";

#[tokio::test]
async fn host_limits_hold_after_a_restart() {
    let user = UserSettings {
        text: NAMED_BY_A_TURN,
        ..users().swap_remove(0)
    };
    let mut machine = Machine::start(&user, "", None).await;
    let thread = machine.start_thread().await;
    // The settings of a thread are taken over for clients of newer releases, which use this.
    machine
        .ask("thread/goal/get", json!({ "threadId": thread }))
        .await;
    assert!(!machine.turn(&thread, json!({ "permissions": "p" })).await);
    machine.server.finish().await.unwrap();
    machine.server = AppServer::start(PROGRAM, machine.home.path()).unwrap();
    let client = json!({ "name": "codex-tui", "version": "0.169.0" });
    let capabilities = json!({ "experimentalApi": true });
    let params = json!({ "clientInfo": client, "capabilities": capabilities });
    machine.ask("initialize", params).await;
    let resumed = machine
        .ask("thread/resume", json!({ "threadId": thread }))
        .await;
    assert_eq!(resumed["sandbox"]["type"], "workspaceWrite", "{resumed}");
    let arguments = json!({ "permissions": { "network": { "enabled": true } } });
    let told = machine
        .asked_for_network(&thread, "request_permissions", &arguments, &json!({}))
        .await;
    assert!(told.contains("the network cannot be given."), "{told}");
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn agents_have_the_host_limits_of_their_turn() {
    let user = UserSettings {
        text: LIMITED_AND_ASKING[1],
        ..users().swap_remove(0)
    };
    let mut machine = Machine::start(&user, "", None).await;
    let thread = machine.start_thread().await;
    let spawn = sse::function_call("spawn", "spawn_agent", &json!({ "message": "look" }));
    for reply in [sse::items(&[spawn]), sse::text("started")] {
        machine.model.push(HttpReply::stream(&numbered(reply)));
    }
    let arguments = json!({
        "command": machine.probe(),
        "sandbox_permissions": "with_additional_permissions",
        "additional_permissions": { "network": { "enabled": true } },
        "justification": "to look",
    });
    let call = sse::function_call("call", "shell_command", &arguments);
    for reply in [sse::items(&[call]), sse::text("looked")] {
        let reply = HttpReply::stream(&numbered(reply));
        machine.model.push_for_agent(reply);
    }
    let input = json!([{ "type": "text", "text": "go" }]);
    let params = json!({ "threadId": thread, "input": input, "approvalPolicy": "on-request" });
    machine.ask("turn/start", params).await;
    for _ in 0..2 {
        machine
            .until(|message| {
                let method = message["method"].as_str().unwrap_or_default();
                assert!(!method.ends_with("requestApproval"), "{message}");
                method == "turn/completed"
            })
            .await;
    }
    let told = machine.model.requests().iter().any(|request| {
        let text = request.json()["input"].to_string();
        text.contains("`additional_permissions.network` cannot be given.")
    });
    assert!(told);
    machine.server.finish().await.unwrap();
}
