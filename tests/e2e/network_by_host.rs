//! The network of commands where it is limited to hosts, in combinations of settings, rules and requirements: a port of this
//! machine is reached only where its address is listed and nothing closes it.
//!
//! Where the system cannot limit the network to hosts, it is closed, and these tests are skipped; tests of the sandbox hold that.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

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

const ONLINE_PERMISSIONS: &str =
    "sandbox_mode = 'workspace-write'\nsandbox_workspace_write.network_access = true\n";
const LISTED_PERMISSIONS: &str =
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
        user(ONLINE_PERMISSIONS, true, true),
        UserSettings {
            feature,
            ..user(
                concat_text(&[ONLINE_PERMISSIONS, LISTED_PERMISSIONS]),
                true,
                true,
            )
        },
        UserSettings {
            feature,
            ..user(
                concat_text(&[ONLINE_PERMISSIONS, "features.network_proxy = true\n"]),
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
                concat_text(&["sandbox_mode = 'danger-full-access'\n", LISTED_PERMISSIONS]),
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

/// Which lists apply to a command, and whether they name the address of this machine.
#[derive(Clone, Copy, Default)]
struct AppliedLists {
    feature: Option<bool>,
    permissions: bool,
    rule: bool,
    administrator: Option<bool>,
}

impl AppliedLists {
    /// Whether the port is reached. None if nothing limits the network.
    fn reach(self) -> Option<bool> {
        let users: Vec<bool> = (self.feature.into_iter())
            .chain(self.permissions.then_some(true))
            .collect();
        if users.is_empty() && !self.rule && self.administrator.is_none() {
            return None;
        }
        let is_named = users.contains(&true) || self.administrator == Some(true);
        let by_users = users.iter().all(|listed| *listed);
        let by_administrator = match self.administrator {
            Some(listed) => listed || (!users.is_empty() && by_users),
            None => true,
        };
        Some(is_named && by_users && by_administrator)
    }
}

/// Tries every command.
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

    let administrator = required
        .filter(|(_, limits)| *limits)
        .map(|(text, _)| text.contains("'127.0.0.1' = 'allow'"));
    let feature = user.feature.map(|_| user.text.contains("'127.0.0.1'"));
    let in_sandbox = AppliedLists {
        feature,
        permissions: false,
        rule: rules.1,
        administrator,
    };
    let of_settings = AppliedLists {
        permissions: user.permissions.is_some(),
        ..in_sandbox
    };
    let for_all = AppliedLists {
        administrator,
        ..AppliedLists::default()
    };
    let of_model = AppliedLists {
        rule: rules.1,
        ..for_all
    };
    let (model_lists, client_lists) = if user.sandbox {
        (of_settings, of_settings)
    } else {
        (of_model, for_all)
    };
    let expected = Reached {
        by_model: user.network && model_lists.reach().unwrap_or(true),
        by_client: user.network && client_lists.reach().unwrap_or(true),
        by_client_online: in_sandbox.reach().unwrap_or(true),
        by_client_unconfined: for_all.reach().unwrap_or(true),
        typed: for_all.reach().unwrap_or(true),
    };
    let reached = Reached {
        by_model,
        by_client,
        by_client_online,
        by_client_unconfined,
        typed,
    };
    assert_eq!(reached, expected, "{name}");
    assert!(!told.contains("have no network"), "{name}: {told}");
    machine.server.finish().await.unwrap();
}

/// Whether this system can limit the network to hosts.
fn is_possible() -> bool {
    let possible = codex_sandbox::probe().limits_hosts();
    if !possible {
        println!("skipped: commands cannot have a network of their own here");
    }
    possible
}

#[tokio::test]
async fn settings_and_rules_limit_the_network_to_listed_hosts() {
    if !is_possible() {
        return;
    }
    for user in users() {
        for rules in RULES {
            check(&user, rules, None).await;
        }
    }
}

#[tokio::test]
#[ignore = "needs mounts in a user namespace; .ci/run runs it"]
async fn administrator_host_list_limits_all_commands() {
    if !is_possible() {
        return;
    }
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
async fn turn_with_limited_network_lists_the_reachable_hosts() {
    if !is_possible() {
        return;
    }
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
    let told = machine
        .model
        .requests()
        .last()
        .map(ReceivedRequest::json)
        .unwrap();
    let told = told["input"].to_string();
    assert!(
        told.contains("Commands reach only hosts that are allowed; none is listed."),
        "{told}"
    );
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn permissions_of_a_turn_open_their_hosts() {
    if !is_possible() {
        return;
    }
    let user = UserSettings {
        text: "default_permissions = ':read-only'\n[permissions.p]\nextends = ':workspace'\n\
               [permissions.p.network]\nenabled = true\ndomains = { '127.0.0.1' = 'allow' }\n",
        ..users().swap_remove(0)
    };
    let mut machine = Machine::start(&user, "", None).await;
    let thread = machine.start_thread().await;
    assert!(!machine.turn(&thread, json!({})).await);
    assert!(machine.turn(&thread, json!({ "permissions": "p" })).await);
    let command = json!(["/bin/bash", "-c", machine.probe()]);
    let params = json!({ "command": command, "permissionProfile": "p" });
    let result = machine.ask("command/exec", params).await;
    assert!(reached(result["stdout"].as_str().unwrap()));
    assert!(!machine.run(None).await);
    assert!(!machine.warnings.contains("have no network"));
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
    let is_reached = machine.turn(&thread, json!({ "permissions": "p" })).await;
    assert_eq!(is_reached, codex_sandbox::probe().limits_hosts());
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

/// A rule that asks about this machine, and settings under which people may be asked.
const ASKING_RULE: &str =
    "network_rule(host = \"127.0.0.1\", protocol = \"http\", decision = \"prompt\")\n";

impl Machine {
    /// A turn that connects to the port twice, in two commands. Returns the questions, and the outputs that the model gets.
    async fn asked_about_hosts(
        &mut self,
        thread: &str,
        answer: &Value,
    ) -> (Vec<Value>, Vec<String>) {
        for call in ["first", "second"] {
            let arguments = json!({ "command": self.probe() });
            let call = sse::function_call(call, "shell_command", &arguments);
            self.model
                .push(HttpReply::stream(&numbered(sse::items(&[call]))));
        }
        self.model
            .push(HttpReply::stream(&numbered(sse::text("done"))));
        let before = self.model.requests().len();
        let input = json!([{ "type": "text", "text": "go" }]);
        let params = json!({ "threadId": thread, "input": input, "approvalPolicy": "on-request" });
        self.ask("turn/start", params).await;
        let mut questions = Vec::new();
        loop {
            let message = self.receive().await;
            if message["method"] == "item/commandExecution/requestApproval" {
                let id = message["id"].clone();
                questions.push(message["params"].clone());
                let reply = json!({ "id": id, "result": { "decision": answer } });
                self.server.send(&reply).await.unwrap();
            } else if message["method"] == "turn/completed" {
                break;
            }
        }
        let requests = self.model.requests();
        let mut outputs = Vec::new();
        for request in &requests[before..] {
            let input = request.json()["input"].clone();
            let last = input.as_array().unwrap().last().unwrap().clone();
            if last["type"] == "function_call_output" {
                outputs.push(last["output"].as_str().unwrap().to_owned());
            }
        }
        (questions, outputs)
    }

    fn rules(&self) -> String {
        fs::read_to_string(self.home.path().join("rules/default.rules")).unwrap()
    }
}

/// Settings under which one list allows this machine and another one does not, so that a person is asked.
const ALLOWED_BY_ONE_LIST: &str = "default_permissions = 'p'\n\
    features = { network_proxy = { enabled = true, domains = { '127.0.0.1' = 'allow' } }, unified_exec = true }\n\
    [permissions.p]\nextends = ':workspace'\n\
    [permissions.p.network]\nenabled = true\ndomains = { 'a.test' = 'allow' }\n";

fn amendment(action: &str) -> Value {
    let rule = json!({ "host": "127.0.0.1", "action": action });
    json!({ "applyNetworkPolicyAmendment": { "network_policy_amendment": rule } })
}

#[tokio::test]
async fn each_answer_to_a_host_question_is_followed() {
    if !is_possible() {
        return;
    }
    for (answer, asked, reaches, rule) in [
        (json!("accept"), 2, true, None),
        (json!("acceptForSession"), 1, true, None),
        (amendment("allow"), 1, true, Some("allow")),
        (amendment("deny"), 1, false, Some("deny")),
        (json!("decline"), 2, false, None),
    ] {
        let user = UserSettings {
            text: ALLOWED_BY_ONE_LIST,
            ..users().swap_remove(1)
        };
        let mut machine = Machine::start(&user, "", None).await;
        let thread = machine.start_thread().await;
        let (questions, outputs) = machine.asked_about_hosts(&thread, &answer).await;
        assert_eq!(questions.len(), asked, "{answer}");
        assert_eq!(outputs.len(), 2, "{answer}");
        for output in &outputs {
            assert_eq!(reached(output), reaches, "{answer}: {output}");
            let is_told = output.contains("Network: the connection to 127.0.0.1 port");
            assert_eq!(is_told, !reaches, "{answer}: {output}");
        }
        let port = machine.listener.local_addr().unwrap().port();
        let question = &questions[0];
        let id = question["itemId"].as_str().unwrap();
        let begin = format!("network#local#socks5Tcp#127.0.0.1#{port}#");
        assert!(id.starts_with(&begin), "{id}");
        let context = &question["networkApprovalContext"];
        assert_eq!(
            *context,
            json!({ "host": "127.0.0.1", "protocol": "socks5Tcp" })
        );
        let proposed = json!([
            { "host": "127.0.0.1", "action": "allow" },
            { "host": "127.0.0.1", "action": "deny" },
        ]);
        assert_eq!(question["proposedNetworkPolicyAmendments"], proposed);
        let offered = json!(["accept", "acceptForSession", amendment("allow"), "cancel"]);
        assert_eq!(question["availableDecisions"], offered);
        assert!(question["command"].is_null());
        let reason = question["reason"].as_str().unwrap();
        assert!(reason.contains("not in the lists of hosts"), "{reason}");
        let written = machine.rules();
        match rule {
            Some(action) => {
                let verb = if action == "allow" { "Allow" } else { "Deny" };
                let line = format!(
                    "network_rule(host=\"127.0.0.1:{port}\", protocol=\"socks5_tcp\", decision=\"{action}\", \
                     justification=\"{verb} socks5_tcp access to 127.0.0.1\")\n"
                );
                assert_eq!(written, line);
            }
            None => assert_eq!(written, ""),
        }
        // What holds for the session holds in the next turn, and not in another thread.
        if answer == json!("acceptForSession") {
            let (questions, outputs) = machine.asked_about_hosts(&thread, &answer).await;
            assert!(questions.is_empty() && outputs.iter().all(|output| reached(output)));
            let other = machine.start_thread().await;
            let (questions, _) = machine.asked_about_hosts(&other, &json!("decline")).await;
            assert_eq!(questions.len(), 2);
        }
        machine.server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn prompting_host_rule_excludes_an_allowing_amendment() {
    if !is_possible() {
        return;
    }
    // A client that sends one all the same has the host for the session.
    for (answer, asked) in [(json!("accept"), 2), (amendment("allow"), 1)] {
        let user = UserSettings {
            text: ONLINE_PERMISSIONS,
            ..users().swap_remove(1)
        };
        let mut machine = Machine::start(&user, ASKING_RULE, None).await;
        let thread = machine.start_thread().await;
        let (questions, outputs) = machine.asked_about_hosts(&thread, &answer).await;
        assert_eq!(questions.len(), asked, "{answer}");
        assert!(outputs.iter().all(|output| reached(output)), "{answer}");
        let offered = json!(["accept", "acceptForSession", "cancel"]);
        assert_eq!(questions[0]["availableDecisions"], offered);
        let proposed = json!([{ "host": "127.0.0.1", "action": "deny" }]);
        assert_eq!(questions[0]["proposedNetworkPolicyAmendments"], proposed);
        let reason = questions[0]["reason"].as_str().unwrap();
        assert!(
            reason.contains("a rule or the administrator wants you to be asked"),
            "{reason}"
        );
        assert_eq!(machine.rules(), ASKING_RULE);
        machine.server.finish().await.unwrap();
    }
}

impl Machine {
    /// Starts a turn with one call after the other.
    async fn start_calls(&mut self, thread: &str, calls: &[(&str, Value)]) {
        for (index, (tool, arguments)) in calls.iter().enumerate() {
            let call = sse::function_call(&format!("c{index}"), tool, arguments);
            self.model
                .push(HttpReply::stream(&numbered(sse::items(&[call]))));
        }
        self.model
            .push(HttpReply::stream(&numbered(sse::text("done"))));
        let input = json!([{ "type": "text", "text": "go" }]);
        let params = json!({ "threadId": thread, "input": input, "approvalPolicy": "on-request" });
        self.ask("turn/start", params).await;
    }

    async fn question(&mut self) -> Value {
        self.until(|message| message["method"] == "item/commandExecution/requestApproval")
            .await
    }

    async fn accept(&mut self, question: &Value) {
        let reply = json!({ "id": question["id"], "result": { "decision": "accept" } });
        self.server.send(&reply).await.unwrap();
    }

    async fn end_of_turn(&mut self) {
        self.until(|message| message["method"] == "turn/completed")
            .await;
    }

    /// A thread that may write in a folder.
    async fn start_thread_in(&mut self, folder: &Path) -> String {
        let started = self.ask("thread/start", json!({ "cwd": folder })).await;
        started["thread"]["id"].as_str().unwrap().to_owned()
    }
}

async fn until_there_is(file: &Path) {
    let exists = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let exists = tokio::time::timeout(Duration::from_secs(60), exists);
    exists.await.unwrap();
}

#[tokio::test]
async fn a_question_about_a_host_ends_with_its_command() {
    if !is_possible() {
        return;
    }
    let user = UserSettings {
        text: ALLOWED_BY_ONE_LIST,
        ..users().swap_remove(1)
    };
    let mut machine = Machine::start(&user, "", None).await;
    let folder = tempfile::tempdir().unwrap();
    let thread = machine.start_thread_in(folder.path()).await;
    let probe = machine.probe();
    let leaves = format!("({probe}) >/dev/null 2>&1 & until [ -e asked ]; do sleep 0.01; done");
    let calls = [
        ("shell_command", json!({ "command": leaves })),
        (
            "shell_command",
            json!({ "command": format!("{probe} # second") }),
        ),
    ];
    machine.start_calls(&thread, &calls).await;
    let first = machine.question().await;
    fs::write(folder.path().join("asked"), "").unwrap();
    let resolved = machine
        .until(|message| message["method"] == "serverRequest/resolved")
        .await;
    assert_eq!(resolved["params"]["requestId"], first["id"]);
    let second = machine.question().await;
    let reason = second["params"]["reason"].as_str().unwrap();
    assert!(reason.contains("# second"), "{reason}");
    // The answer to the question that was withdrawn decides nothing.
    machine.accept(&first).await;
    machine.accept(&second).await;
    machine.end_of_turn().await;
    let last = machine.model.requests().last().unwrap().json();
    assert!(reached(
        &last["input"].as_array().unwrap().last().unwrap()["output"].to_string()
    ));
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn host_answer_applies_to_the_shown_command_only() {
    if !is_possible() {
        return;
    }
    let user = UserSettings {
        text: ALLOWED_BY_ONE_LIST,
        ..users().swap_remove(1)
    };
    let mut machine = Machine::start(&user, "", None).await;
    let folder = tempfile::tempdir().unwrap();
    let thread = machine.start_thread_in(folder.path()).await;
    let probe = machine.probe();
    let waits = format!("until [ -e go ]; do sleep 0.01; done; touch one; ({probe}) > result");
    let follows = format!("touch go two; {probe}");
    let calls = [
        (
            "exec_command",
            json!({ "cmd": waits, "yield_time_ms": 250 }),
        ),
        (
            "exec_command",
            json!({ "cmd": follows, "yield_time_ms": 30000 }),
        ),
    ];
    machine.start_calls(&thread, &calls).await;
    let mut shown = Vec::new();
    for _ in 0..2 {
        let question = machine.question().await;
        // Both are on their way to connect.
        until_there_is(&folder.path().join("one")).await;
        until_there_is(&folder.path().join("two")).await;
        let reason = question["params"]["reason"].as_str().unwrap();
        shown.push(reason.contains("touch one"));
        machine.accept(&question).await;
    }
    shown.sort_unstable();
    assert_eq!(shown, [false, true]);
    machine.end_of_turn().await;
    until_there_is(&folder.path().join("result")).await;
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn surviving_terminal_reaches_hosts_allowed_for_the_session_later() {
    if !is_possible() {
        return;
    }
    let user = UserSettings {
        text: ALLOWED_BY_ONE_LIST,
        ..users().swap_remove(1)
    };
    let mut machine = Machine::start(&user, "", None).await;
    let folder = tempfile::tempdir().unwrap();
    let thread = machine.start_thread_in(folder.path()).await;
    let probe = machine.probe();
    let wait = |file: &str| format!("until [ -e {file} ]; do sleep 0.01; done");
    let waits = format!(
        "{}; ({probe}) > first; touch one; {}; ({probe}) > second; touch two",
        wait("go"),
        wait("again"),
    );
    let calls = [(
        "exec_command",
        json!({ "cmd": waits, "yield_time_ms": 250 }),
    )];
    machine.start_calls(&thread, &calls).await;
    machine.end_of_turn().await;
    let file = |name: &str| folder.path().join(name);
    fs::write(file("go"), "").unwrap();
    until_there_is(&file("one")).await;
    assert!(
        !reached(&fs::read_to_string(file("first")).unwrap()),
        "nobody is asked"
    );
    let answer = json!("acceptForSession");
    let (questions, _) = machine.asked_about_hosts(&thread, &answer).await;
    assert_eq!(questions.len(), 1);
    fs::write(file("again"), "").unwrap();
    until_there_is(&file("two")).await;
    assert!(reached(&fs::read_to_string(file("second")).unwrap()));
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn cancelled_host_question_ends_the_turn() {
    if !is_possible() {
        return;
    }
    let user = UserSettings {
        text: ONLINE_PERMISSIONS,
        ..users().swap_remove(1)
    };
    let mut machine = Machine::start(&user, ASKING_RULE, None).await;
    let thread = machine.start_thread().await;
    let (questions, outputs) = machine.asked_about_hosts(&thread, &json!("cancel")).await;
    assert_eq!((questions.len(), outputs.len()), (1, 0));
    machine.server.finish().await.unwrap();
}

#[tokio::test]
async fn refused_host_under_policy_never_names_the_allowing_setting() {
    if !is_possible() {
        return;
    }
    for (text, rules, expected) in [
        (
            ALLOWED_BY_ONE_LIST,
            "",
            "it is not listed, and the approval policy lets nobody be asked; `domains` of the permissions",
        ),
        (
            ONLINE_PERMISSIONS,
            ASKING_RULE,
            "a rule or the administrator wants a person to decide, and the approval policy lets nobody be asked",
        ),
    ] {
        let user = UserSettings {
            text,
            ..users().swap_remove(1)
        };
        let mut machine = Machine::start(&user, rules, None).await;
        let thread = machine.start_thread().await;
        assert!(!machine.turn(&thread, json!({})).await);
        let requests = machine.model.requests();
        let input = requests.last().unwrap().json()["input"].to_string();
        assert!(input.contains(expected), "{input}");
        machine.server.finish().await.unwrap();
    }
}

#[test]
fn trial_run_lists_the_hosts_of_a_command() {
    if !is_possible() {
        return;
    }
    let home = home_with("");
    let script = "for host in a.test/443 93.184.216.40/80 b.test/5432 a.test/443 127.0.0.1/9; do \
                  (exec 3<>/dev/tcp/$host) 2>/dev/null && echo REACHED; done; exit 3";
    let output = std::process::Command::new(PROGRAM)
        .args(["sandbox", "--network-log", "--", "/bin/bash", "-c", script])
        .env("CODEX_HOME", home.path())
        .current_dir(home.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "network_rule(host=\"a.test\", protocol=\"https\", decision=\"allow\")\n\
         network_rule(host=\"93.184.216.40\", protocol=\"http\", decision=\"allow\")\n\
         network_rule(host=\"b.test:5432\", protocol=\"socks5_tcp\", decision=\"allow\")\n"
    );
}

#[test]
fn trial_run_for_hosts_reaches_no_allowed_host() {
    if !is_possible() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo REACHED; \
         (exec 3<>/dev/tcp/a.test/443) 2>/dev/null && echo REACHED; true"
    );
    let permissions = "default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n\
                       [permissions.p.network]\nenabled = true\n\
                       domains = { '127.0.0.1' = 'allow', 'a.test' = 'allow' }\n";
    let rules = "network_rule(host = \"a.test\", protocol = \"https\", decision = \"allow\")\n\
                 network_rule(host = \"127.0.0.1\", protocol = \"socks5_tcp\", decision = \"allow\")\n";
    for settings in [
        permissions,
        "",
        ONLINE_PERMISSIONS,
        "sandbox_mode = 'danger-full-access'\n",
    ] {
        let home = home_with(settings);
        fs::create_dir(home.path().join("rules")).unwrap();
        fs::write(home.path().join("rules/default.rules"), rules).unwrap();
        let output = std::process::Command::new(PROGRAM)
            .args(["sandbox", "--network-log", "--", "/bin/bash", "-c", &script])
            .env("CODEX_HOME", home.path())
            .current_dir(home.path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "network_rule(host=\"a.test\", protocol=\"https\", decision=\"allow\")\n",
            "{settings}"
        );
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}
