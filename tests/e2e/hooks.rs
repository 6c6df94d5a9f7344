//! Hooks through the built server, as real scripts: which run, when, what they are told and what they decide.

use std::fs;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::newer_threads::newer_server;
use crate::setup::{server, untrusted_home};

/// A home with hooks, a server and a thread.
pub(crate) struct Hooked {
    pub(crate) model: ModelServer,
    pub(crate) home: TempDir,
    pub(crate) server: AppServer,
    pub(crate) thread: String,
}

/// What clients were told of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnMessages {
    pub(crate) messages: Vec<Value>,
}

impl TurnMessages {
    /// The ends of runs: event, status, and entries as `kind:text`.
    pub(crate) fn runs(&self) -> Vec<String> {
        let ends = self.params("hook/completed");
        ends.map(|params| shown(&params["run"])).collect()
    }

    pub(crate) fn params<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        let of_method = self.messages.iter().filter(move |m| m["method"] == method);
        of_method.map(|message| &message["params"])
    }

    pub(crate) fn items(&self) -> Vec<&str> {
        let ends = self.params("item/completed");
        ends.map(|params| params["item"]["type"].as_str().unwrap())
            .collect()
    }
}

fn shown(run: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let mut shown = format!("{} {}", word(&run["eventName"]), word(&run["status"]));
    for entry in run["entries"].as_array().unwrap() {
        shown.push_str(&format!(
            " {}:{}",
            word(&entry["kind"]),
            word(&entry["text"])
        ));
    }
    shown
}

/// A hook for all occasions of an event.
pub(crate) fn hook(command: &str) -> Value {
    json!([{ "hooks": [{ "type": "command", "command": command }] }])
}

/// A command that prints this JSON.
fn prints(output: &Value) -> String {
    format!("cat > /dev/null; echo '{output}'")
}

/// A message whose id is its text.
pub(crate) fn answer_with(text: &str) -> HttpReply {
    let mut message = sse::message(text);
    message["id"] = text.into();
    HttpReply::stream(&sse::items(&[message]))
}

pub(crate) fn calls(tool: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call("c1", tool, arguments)]))
}

pub(crate) fn runs_command(command: &str) -> HttpReply {
    calls("shell_command", &json!({ "command": command }))
}

/// A home with hooks that need no trust.
pub(crate) fn home_with(model: &ModelServer, hooks: &Value) -> TempDir {
    let home = untrusted_home(model);
    fs::write(
        home.path().join("hooks.json"),
        json!({ "hooks": hooks }).to_string(),
    )
    .unwrap();
    add(&home, "[features]\ncodex_hooks = true\n");
    home
}

pub(crate) fn add(home: &TempDir, settings: &str) {
    let file = home.path().join("config.toml");
    let config = fs::read_to_string(&file).unwrap() + settings;
    fs::write(file, config).unwrap();
}

impl Hooked {
    pub(crate) async fn with_hooks(
        hooks: Value,
        replies: impl IntoIterator<Item = HttpReply>,
    ) -> Self {
        let model = ModelServer::start(replies).await.unwrap();
        let home = home_with(&model, &hooks);
        Self::start(model, home).await
    }

    /// A client that knows all hooks.
    pub(crate) async fn start(model: ModelServer, home: TempDir) -> Self {
        let server = newer_server(&home).await;
        Self::with_server(server, model, home).await
    }

    async fn with_server(mut server: AppServer, model: ModelServer, home: TempDir) -> Self {
        let thread = server.start_thread().await;
        Self {
            model,
            home,
            server,
            thread,
        }
    }

    /// A whole turn.
    pub(crate) async fn turn(&mut self, text: &str) -> TurnMessages {
        self.server.start_turn(&self.thread, text).await;
        self.until("turn/completed").await
    }

    /// A whole compaction on request.
    async fn compact(&mut self) -> TurnMessages {
        let params = json!({ "threadId": self.thread });
        let asked = self.server.begin("thread/compact/start", params).await;
        asked.unwrap();
        self.until("turn/completed").await
    }

    pub(crate) async fn until(&mut self, method: &str) -> TurnMessages {
        let mut turn = TurnMessages::default();
        loop {
            let message = self.server.receive().await.unwrap();
            let ends = message["method"] == method;
            turn.messages.push(message);
            if ends {
                return turn;
            }
        }
    }

    /// What the model was sent in a request.
    pub(crate) fn sent(&self, request: usize) -> String {
        self.model.requests()[request].json()["input"].to_string()
    }

    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join(name)).unwrap_or_default()
    }

    pub(crate) async fn finish(self) {
        self.server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn turn_hooks_run_in_order() {
    let log = hook("cat >> input; echo >> input");
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreModelRequest",
        "PostModelRequest",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionEnd",
    ];
    let hooks: Value = events
        .map(|event| (event.to_owned(), log.clone()))
        .into_iter()
        .collect();
    let mut hooked =
        Hooked::with_hooks(hooks, [runs_command("echo hi"), answer_with("done")]).await;
    let turn = hooked.turn("hello").await;
    assert!(
        turn.runs().iter().all(|run| run.ends_with(" completed")),
        "{:?}",
        turn.runs()
    );
    let ids: Vec<&Value> = turn
        .params("hook/started")
        .map(|params| &params["run"]["id"])
        .collect();
    let path = hooked.home.path().join("hooks.json");
    assert_eq!(
        ids[0],
        &json!(format!("session-start:4:{}", path.display()))
    );
    let of_tool = format!("pre-tool-use:2:{}:", path.display());
    let is_of_tool = |id: &&Value| id.as_str().unwrap().starts_with(&of_tool);
    assert!(ids.iter().copied().any(|id| is_of_tool(&id)), "{ids:?}");
    let home = hooked.home.path().to_owned();
    let (thread, server) = (hooked.thread, hooked.server);
    server.finish().await.unwrap();
    let text = fs::read_to_string(home.join("input")).unwrap();
    let inputs: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = inputs
        .iter()
        .map(|input| input["hook_event_name"].as_str().unwrap())
        .collect();
    let expected = [
        "SessionStart",
        "UserPromptSubmit",
        "PreModelRequest",
        "PostModelRequest",
        "PreToolUse",
        "PostToolUse",
        "PreModelRequest",
        "PostModelRequest",
        "Stop",
        "SessionEnd",
    ];
    assert_eq!(names, expected);
    for input in &inputs {
        assert_eq!(input["session_id"], thread);
        let is_end = input["hook_event_name"] == "SessionEnd";
        assert!(is_end || input["model"] == "scripted", "{input}");
        assert!(
            input["transcript_path"]
                .as_str()
                .unwrap()
                .ends_with(".jsonl")
        );
        assert_eq!(input["cwd"], json!(home));
    }
    assert_eq!(inputs[0]["source"], "startup");
    assert_eq!(inputs[0].get("turn_id"), None);
    assert_eq!(inputs[1]["prompt"], "hello");
    assert_eq!(inputs[1]["permission_mode"], "default");
    assert!(inputs[3]["token_usage"]["total_tokens"].is_i64());
    assert_eq!(inputs[3]["token_usage"]["cache_write_input_tokens"], 0);
    assert_eq!(inputs[4]["tool_name"], "Bash");
    assert_eq!(inputs[4]["tool_input"], json!({ "command": "echo hi" }));
    assert_eq!(inputs[4]["tool_use_id"], "c1");
    assert_eq!(inputs[5]["tool_response"], "hi\n");
    assert_eq!(inputs[8]["last_assistant_message"], "done");
    assert_eq!(inputs[8]["stop_hook_active"], false);
    assert_eq!(inputs[9]["reason"], "other");
}

#[tokio::test]
async fn context_of_hooks_reaches_the_model() {
    let hooks = json!({
        "SessionStart": hook("echo FROM-START"),
        "UserPromptSubmit": hook("echo FROM-PROMPT"),
    });
    let mut hooked = Hooked::with_hooks(hooks, [answer_with("one"), answer_with("two")]).await;
    let turn = hooked.turn("hello").await;
    let expected = [
        "sessionStart completed context:FROM-START",
        "userPromptSubmit completed context:FROM-PROMPT",
    ];
    assert_eq!(turn.runs(), expected);
    let input = hooked.sent(0);
    let at = |text: &str| {
        input
            .find(text)
            .unwrap_or_else(|| panic!("{text} in {input}"))
    };
    assert!(at("FROM-START") < at("hello") && at("hello") < at("FROM-PROMPT"));
    let again = hooked.turn("again").await;
    assert_eq!(
        again.runs(),
        ["userPromptSubmit completed context:FROM-PROMPT"]
    );
    hooked.finish().await;
}

#[tokio::test]
async fn long_context_is_cut() {
    let long = "yes abcdefghi | head -c 100000";
    let hooks = json!({ "UserPromptSubmit": [{ "hooks": [
        { "type": "command", "command": long },
        { "type": "command", "command": long, "additionalContextLimit": 100 },
    ] }] });
    let mut hooked = Hooked::with_hooks(hooks, [answer_with("done")]).await;
    hooked.turn("hello").await;
    let input = hooked.model.requests()[0].json()["input"].clone();
    let lengths: Vec<usize> = input
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["content"][0]["text"].as_str())
        .filter(|text| text.contains("abcdefghi"))
        .map(str::len)
        .collect();
    assert_eq!(lengths.len(), 2);
    assert!((9_000..11_500).contains(&lengths[0]), "{lengths:?}");
    assert!((300..700).contains(&lengths[1]), "{lengths:?}");
    hooked.finish().await;
}

#[tokio::test]
async fn a_prompt_can_be_refused() {
    for (command, expected) in [
        (
            "echo why >&2; exit 2",
            "userPromptSubmit blocked feedback:why",
        ),
        (
            r#"echo '{"continue":false,"stopReason":"enough"}'"#,
            "userPromptSubmit stopped stop:enough",
        ),
    ] {
        let hooks = json!({ "UserPromptSubmit": hook(command) });
        let mut hooked = Hooked::with_hooks(hooks, []).await;
        let turn = hooked.turn("hello").await;
        assert_eq!(turn.runs(), [expected]);
        assert_eq!(turn.items(), Vec::<&str>::new());
        assert_eq!(
            turn.params("turn/completed").next().unwrap()["turn"]["status"],
            "completed"
        );
        assert!(hooked.model.requests().is_empty());
        hooked.finish().await;
    }
}

#[tokio::test]
async fn a_session_can_be_refused() {
    let stop = json!({ "continue": false, "stopReason": "closed" });
    let hooks = json!({ "SessionStart": hook(&prints(&stop)) });
    let mut hooked = Hooked::with_hooks(hooks, []).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(turn.runs(), ["sessionStart stopped stop:closed"]);
    assert!(hooked.model.requests().is_empty());
    hooked.finish().await;
}

#[tokio::test]
async fn a_command_can_be_refused() {
    let hooks = json!({ "PreToolUse": hook("echo no touching >&2; exit 2") });
    let mut hooked =
        Hooked::with_hooks(hooks, [runs_command("touch made"), answer_with("done")]).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(turn.runs(), ["preToolUse blocked feedback:no touching"]);
    assert_eq!(turn.items(), ["userMessage", "agentMessage"]);
    let expected = "Command blocked by PreToolUse hook: no touching. Command: touch made";
    assert!(hooked.sent(1).contains(expected), "{}", hooked.sent(1));
    assert!(!hooked.home.path().join("made").exists());
    hooked.finish().await;
}

#[tokio::test]
async fn hooks_after_a_command_are_for_those_that_succeed() {
    let log = hook("cat >> input; echo >> input");
    for (arguments, expected) in [
        (
            json!({ "command": "exit 3" }),
            &["preToolUse completed"][..],
        ),
        (json!({ "command": 3 }), &[]),
    ] {
        let hooks = json!({ "PreToolUse": log, "PostToolUse": log });
        let replies = [calls("shell_command", &arguments), answer_with("done")];
        let model = ModelServer::start(replies).await.unwrap();
        let home = home_with(&model, &hooks);
        let file = home.path().join("config.toml");
        let config = fs::read_to_string(&file).unwrap();
        fs::write(&file, config.replace("untrusted", "never")).unwrap();
        let mut hooked = Hooked::start(model, home).await;
        assert_eq!(hooked.turn("hello").await.runs(), expected, "{arguments}");
        hooked.finish().await;
    }
}

#[tokio::test]
async fn every_tool_can_be_refused() {
    let plan = json!({ "plan": [{ "step": "a", "status": "pending" }] });
    let agent = json!({ "message": "go" });
    for (tool, arguments) in [("update_plan", plan), ("spawn_agent", agent)] {
        let hooks = json!({ "PreToolUse": [{
            "matcher": format!("^{tool}$"),
            "hooks": [{ "type": "command", "command": "echo no >&2; exit 2" }],
        }] });
        let mut hooked =
            Hooked::with_hooks(hooks, [calls(tool, &arguments), answer_with("done")]).await;
        hooked.turn("hello").await;
        let expected = format!("Tool call blocked by PreToolUse hook: no. Tool: {tool}");
        assert!(hooked.sent(1).contains(&expected), "{}", hooked.sent(1));
        hooked.finish().await;
    }
}

#[tokio::test]
async fn edit_and_write_hooks_refuse_patches() {
    let patch = "*** Begin Patch\n*** Add File: made\n+x\n*** End Patch\n";
    let call = sse::custom_call("c1", "apply_patch", patch);
    let replies = [HttpReply::stream(&sse::items(&[call])), answer_with("done")];
    let model = ModelServer::start(replies).await.unwrap();
    let hooks = json!({ "PreToolUse": [{
        "matcher": "Edit|Write",
        "hooks": [{ "type": "command", "command": "cat > input; echo no >&2; exit 2" }],
    }] });
    let home = home_with(&model, &hooks);
    add(&home, "apply_patch_freeform = true\n");
    let mut hooked = Hooked::start(model, home).await;
    hooked.turn("hello").await;
    let expected = "Tool call blocked by PreToolUse hook: no. Tool: apply_patch";
    assert!(hooked.sent(1).contains(expected), "{}", hooked.sent(1));
    let input: Value = serde_json::from_str(&hooked.file("input")).unwrap();
    assert_eq!(input["tool_input"]["command"], patch);
    assert!(!hooked.home.path().join("made").exists());
    hooked.finish().await;
}

#[tokio::test]
async fn arguments_can_be_replaced() {
    let output = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": { "command": "echo replaced" },
        "additionalContext": "NOTE",
    } });
    let hooks = json!({ "PreToolUse": hook(&prints(&output)) });
    let mut hooked =
        Hooked::with_hooks(hooks, [runs_command("echo asked"), answer_with("done")]).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(turn.runs(), ["preToolUse completed context:NOTE"]);
    let command = turn
        .params("item/completed")
        .find(|params| params["item"]["type"] == "commandExecution");
    assert_eq!(command.unwrap()["item"]["aggregatedOutput"], "replaced\n");
    assert!(hooked.sent(1).contains("NOTE"));
    hooked.finish().await;
}

#[tokio::test]
async fn an_output_can_be_replaced() {
    let hooks = json!({ "PostToolUse": [{ "hooks": [
        { "type": "command", "command": "echo first >&2; exit 2" },
        { "type": "command", "command": "echo second >&2; exit 2" },
    ] }] });
    let mut hooked =
        Hooked::with_hooks(hooks, [runs_command("echo SECRET"), answer_with("done")]).await;
    let turn = hooked.turn("hello").await;
    let expected = [
        "postToolUse blocked feedback:first",
        "postToolUse blocked feedback:second",
    ];
    assert_eq!(turn.runs(), expected);
    let input = hooked.model.requests()[1].json()["input"].clone();
    let output = input
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["type"] == "function_call_output");
    assert_eq!(output.unwrap()["output"], "first\n\nsecond");
    hooked.finish().await;
}

#[tokio::test]
async fn stop_hook_objection_continues_the_turn() {
    let command =
        "if grep -q '\"stop_hook_active\":true'; then exit 0; fi; echo 'go <on>' >&2; exit 2";
    let hooks = json!({ "Stop": hook(command) });
    let mut hooked = Hooked::with_hooks(hooks, [answer_with("one"), answer_with("two")]).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(
        turn.runs(),
        ["stop blocked feedback:go <on>", "stop completed"]
    );
    assert_eq!(
        turn.items(),
        ["userMessage", "agentMessage", "hookPrompt", "agentMessage"]
    );
    let path = hooked.home.path().join("hooks.json");
    let run = format!("stop:0:{}", path.display());
    let expected = format!("<hook_prompt hook_run_id=\\\"{run}\\\">go &lt;on&gt;</hook_prompt>");
    assert!(hooked.sent(1).contains(&expected), "{}", hooked.sent(1));
    let params = json!({ "threadId": hooked.thread, "includeTurns": true });
    let read = hooked.server.call("thread/read", params).await.unwrap();
    let items = read["result"]["thread"]["turns"][0]["items"].clone();
    let prompt = items
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["type"] == "hookPrompt");
    let fragments = json!([{ "text": "go <on>", "hookRunId": run }]);
    assert_eq!(prompt.unwrap()["fragments"], fragments);
    hooked.finish().await;
}

#[tokio::test]
async fn notify_program_gets_turns_not_ended_by_hooks() {
    let stop = prints(&json!({ "continue": false }));
    let once = format!("if [ -e later ]; then exit 0; fi; touch later; {stop}");
    let model = ModelServer::start([answer_with("one"), answer_with("two")])
        .await
        .unwrap();
    let home = home_with(&model, &json!({ "Stop": hook(&once) }));
    let notice = home.path().join("notice");
    let program = format!("printf '%s\\n' \"$1\" >> {}", notice.display());
    let file = home.path().join("config.toml");
    let config = fs::read_to_string(&file).unwrap();
    let notify = format!("notify = ['/bin/sh', '-c', '''{program}''', 'sh']\n");
    fs::write(&file, notify + &config).unwrap();
    let mut hooked = Hooked::start(model, home).await;
    assert_eq!(hooked.turn("first").await.runs(), ["stop stopped"]);
    assert_eq!(hooked.turn("second").await.runs(), ["stop completed"]);
    let told = loop {
        let told = hooked.file("notice");
        if told.ends_with('\n') {
            break told;
        }
        tokio::task::yield_now().await;
    };
    let told: Vec<Value> = (told.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["last-assistant-message"], "two");
    hooked.finish().await;
}

#[tokio::test]
async fn endless_hook_objections_end_the_turn() {
    let hooks = json!({ "Stop": hook("echo more >&2; exit 2") });
    let mut hooked = Hooked::with_hooks(hooks, []).await;
    hooked.model.always(answer_with("done"));
    let turn = hooked.turn("hello").await;
    assert_eq!(hooked.model.requests().len(), 11);
    let warning = turn.params("warning").next().unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(warning.contains("10 times"), "{warning}");
    hooked.finish().await;
}

#[tokio::test]
async fn hooks_answer_in_place_of_a_person() {
    let decision = |decision: Value| {
        prints(&json!({ "hookSpecificOutput": {
            "hookEventName": "PermissionRequest", "decision": decision,
        } }))
    };
    for (decision, made) in [
        (decision(json!({ "behavior": "allow" })), true),
        (
            decision(json!({ "behavior": "deny", "message": "NOT-TODAY" })),
            false,
        ),
    ] {
        let hooks = json!({ "PermissionRequest": hook(&decision) });
        let mut hooked =
            Hooked::with_hooks(hooks, [runs_command("touch made"), answer_with("done")]).await;
        let turn = hooked.turn("hello").await;
        assert!(
            turn.params("item/commandExecution/requestApproval")
                .next()
                .is_none()
        );
        assert_eq!(hooked.home.path().join("made").exists(), made);
        assert_eq!(hooked.sent(1).contains("NOT-TODAY"), !made);
        hooked.finish().await;
    }
}

#[tokio::test]
async fn a_compaction_can_be_stopped() {
    let stop = json!({ "continue": false, "stopReason": "keep it" });
    let command = format!("cat > input; echo '{stop}'");
    let hooks = json!({ "PreCompact": [{
        "matcher": "manual", "hooks": [{ "type": "command", "command": command }],
    }] });
    let mut hooked = Hooked::with_hooks(hooks, [answer_with("done")]).await;
    hooked.turn("hello").await;
    let turn = hooked.compact().await;
    assert_eq!(turn.runs(), ["preCompact stopped stop:keep it"]);
    assert_eq!(
        turn.params("turn/completed").next().unwrap()["turn"]["status"],
        "interrupted"
    );
    assert_eq!(hooked.model.requests().len(), 1);
    assert!(hooked.file("input").contains("\"trigger\":\"manual\""));
    hooked.finish().await;
}

#[tokio::test]
async fn oldest_clients_get_their_known_hooks() {
    let hooks = json!({
        "UserPromptSubmit": hook("true"),
        "PreModelRequest": hook("true"),
        "PreCompact": hook("echo ran > compacted"),
        "Stop": hook("true"),
    });
    let replies = [answer_with("done"), answer_with("short")];
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_with(&model, &hooks);
    let mut hooked = Hooked::with_server(server(&home).await, model, home).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(
        turn.runs(),
        ["userPromptSubmit completed", "stop completed"]
    );
    let compaction = hooked.compact().await;
    assert_eq!(compaction.runs(), Vec::<String>::new());
    assert_eq!(hooked.file("compacted"), "ran\n");
    hooked.finish().await;
}

#[tokio::test]
async fn a_session_starts_again_after_a_compaction() {
    let hooks = json!({ "SessionStart": [{
        "matcher": "compact", "hooks": [{ "type": "command", "command": "echo AFTER-COMPACTION" }],
    }] });
    let replies = ["one", "summary", "two"].map(answer_with);
    let mut hooked = Hooked::with_hooks(hooks, replies).await;
    assert!(hooked.turn("hello").await.runs().is_empty());
    hooked.compact().await;
    let turn = hooked.turn("go on").await;
    let run = "sessionStart completed context:AFTER-COMPACTION";
    assert_eq!(turn.runs(), [run]);
    assert!(hooked.sent(2).contains("AFTER-COMPACTION"));
    hooked.finish().await;
}

#[tokio::test]
async fn input_of_a_running_turn_is_asked_about_too() {
    let command = "if grep -q bad; then echo no >&2; exit 2; fi";
    let hooks = json!({ "UserPromptSubmit": hook(command) });
    let mut hooked =
        Hooked::with_hooks(hooks, [runs_command("read x < fifo"), answer_with("done")]).await;
    let fifo = hooked.home.path().join("fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let started = hooked.server.start_turn(&hooked.thread, "good").await;
    let asked = hooked.until("item/commandExecution/requestApproval").await;
    let id = asked.messages.last().unwrap()["id"].clone();
    let turn = started["id"].clone();
    let input = json!([{ "type": "text", "text": "bad" }]);
    let params = json!({ "threadId": hooked.thread, "expectedTurnId": turn, "input": input });
    hooked.server.call("turn/steer", params).await.unwrap();
    let answer = json!({ "id": id, "result": { "decision": "decline" } });
    hooked.server.send(&answer).await.unwrap();
    let turn = hooked.until("turn/completed").await;
    assert_eq!(turn.runs(), ["userPromptSubmit blocked feedback:no"]);
    assert_eq!(hooked.model.requests().len(), 1);
    hooked.finish().await;
}

#[tokio::test]
async fn agents_have_hooks_of_their_own() {
    let log = hook("printf '%s\\n' \"$(cat)\" >> input");
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "SubagentStart",
        "SubagentStop",
        "Stop",
    ];
    let hooks: Value = events
        .map(|event| (event.to_owned(), log.clone()))
        .into_iter()
        .collect();
    let task = json!({ "message": "make it", "agent_type": "worker" });
    let replies = [calls("spawn_agent", &task), answer_with("started")];
    let mut hooked = Hooked::with_hooks(hooks, replies).await;
    hooked.model.push_for_agent(answer_with("made"));
    hooked.server.start_turn(&hooked.thread, "hello").await;
    hooked.until("turn/completed").await;
    hooked.until("turn/completed").await;
    let text = hooked.file("input");
    let inputs: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |event: &str| -> Vec<&Value> {
        let of_event = inputs
            .iter()
            .filter(|input| input["hook_event_name"] == event);
        of_event.collect()
    };
    assert_eq!(events.map(|event| of(event).len()), [1; 5]);
    for input in &inputs {
        assert_eq!(input["session_id"], hooked.thread);
    }
    let (start, stop) = (of("SubagentStart")[0], of("SubagentStop")[0]);
    assert_eq!(start["agent_type"], "worker");
    assert_eq!(start["agent_id"], stop["agent_id"]);
    assert_ne!(start["agent_id"], hooked.thread);
    assert_eq!(stop["last_assistant_message"], "made");
    hooked.finish().await;
}
