//! What a person is asked, in every surface: it shows what will happen, and only the engine speaks for the engine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use codex_test_support::{AppServer, sse};
use serde_json::{Value, json};

use crate::acp_client::Editor;
use crate::mcp_server::McpClient;
use crate::proto::Proto;
use crate::setup::PROGRAM;

const WITHOUT_SANDBOX: &str = "This command runs without the sandbox: it can change every file that you can change, and \
                               use the network.";

/// Commands that look as if they only read.
const MISLEADING_SCRIPTS: [&str; 24] = [
    "cat payload | tee ~/x",
    "cat payload | awk '{system($0)}'",
    "cat payload | sort -o ~/x",
    "cat payload | sed '1e touch ~/x'",
    "cat payload | sed 'w /tmp/x'",
    "cat payload | xargs rg --pre sh x",
    "cat payload | xargs -I{} sed '1e {}' payload",
    "cat payload | uniq - ~/x",
    "cat payload | column -t > ~/x",
    "rg --pre ./payload x .",
    "rg --hostname-bin ./payload x",
    "tree -o ~/x .",
    "awk 'BEGIN{system(\"id\")}' payload",
    "less '+!id' payload",
    "fd . -x rm",
    "find . -name payload -fprint ~/x",
    "ag --pager ./payload x",
    "git grep -O./payload x",
    "bat --pager ./payload payload",
    "nl payload | tee ~/x",
    "head -n 1 payload | sh",
    "ls | xargs sed -n 1w/tmp/x",
    "./sub/cat payload",
    "python3 -c 'import os; os.listdir(exec(\"1\"))'",
];

/// Commands that only read.
const READING_SCRIPTS: [&str; 4] = [
    "cat payload",
    "ls",
    "grep -n x payload",
    "find . -name '*.rs'",
];

/// Texts by which a model may try to speak for the engine, or to hide something.
const FORGED_REASONS: [&str; 8] = [
    "need it",
    "This command runs in the sandbox.",
    "x”\n\nThis command runs in the sandbox. It was checked. “",
    "x\u{2028}The engine: harmless\u{2029}",
    "\u{202e}xobdnas eht ni snur ti\u{202c}",
    "\u{1b}[2K\u{1b}[1;32mapproved by the administrator\u{1b}[0m\r",
    "a\u{200b}b\u{2060}c\u{feff}\u{ad}\u{e0041}",
    "fine                                                                                ... or not",
];

/// A call of the shell tool that leaves the sandbox.
fn escalated(command: &str, justification: Option<&str>) -> Value {
    json!({ "command": command, "sandbox_permissions": "require_escalated", "justification": justification })
}

/// The file of a scenario in which the model makes these calls, one after the other.
fn scenario(folder: &Path, calls: &[Value]) -> PathBuf {
    let reply = |call: &Value| json!({ "steps": [{ "tool": { "name": "shell_command", "arguments": call } }] });
    let mut replies: Vec<Value> = calls.iter().map(reply).collect();
    replies.push(json!({ "steps": [{ "message": "Done." }] }));
    let settings = json!({ "approval_policy": "on-request", "sandbox_mode": "read-only" });
    let scenario = json!({ "description": "Questions.", "settings": settings, "replies": replies });
    let path = folder.join("scenario.json");
    fs::write(&path, scenario.to_string()).unwrap();
    path
}

/// The params of the questions of an app-server, and the items of the turn. All are declined.
async fn asked_by_app_server(calls: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let (asked, items, _) = played_by_app_server(calls, &[]).await;
    (asked, items)
}

/// The same with these arguments of the server, and the warnings.
async fn played_by_app_server(
    calls: &[Value],
    more: &[&str],
) -> (Vec<Value>, Vec<Value>, Vec<Value>) {
    let (home, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = scenario(home.path(), calls);
    let arguments = [more, &["--scenario", path.to_str().unwrap()]].concat();
    let mut server = AppServer::start_with(PROGRAM, home.path(), &arguments).unwrap();
    server.initialize_experimental().await;
    let thread = server
        .start_thread_with(json!({ "cwd": work.path() }))
        .await;
    server.start_turn(&thread, "go").await;
    let (mut asked, mut items, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let message = server.receive().await.unwrap();
        match message["method"].as_str() {
            Some("item/commandExecution/requestApproval") => {
                let reply = json!({ "id": message["id"], "result": { "decision": "decline" } });
                server.send(&reply).await.unwrap();
                asked.push(message["params"].clone());
            }
            Some("item/started") => items.push(message["params"]["item"].clone()),
            Some("warning") => warnings.push(message["params"]["message"].clone()),
            Some("turn/completed") => break,
            _ => {}
        }
    }
    server.finish().await.unwrap();
    (asked, items, warnings)
}

/// The params of the permission requests of an ACP agent, and the updates. All are declined.
async fn asked_by_acp(calls: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let home = tempfile::tempdir().unwrap();
    let path = scenario(home.path(), calls);
    let mut editor = Editor::start_in(home, path.to_str().unwrap());
    editor.initialize(json!({})).await;
    let refused = json!({ "outcome": { "outcome": "selected", "optionId": "reject_once" } });
    editor.answer("session/request_permission", refused);
    let session = editor.new_session().await;
    editor.prompt(&session, "go").await;
    let asked = editor.asked.iter().map(|asked| asked["params"].clone());
    (asked.collect(), editor.updates.clone())
}

/// The params of the elicitations of an MCP server. All are declined.
fn asked_by_mcp(calls: &[Value]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(folder.path(), calls);
    let mut client = McpClient::start(path.to_str().unwrap(), &json!({ "elicitation": {} }));
    let call = json!({ "name": "codex", "arguments": { "prompt": "go" } });
    let id = client.ask("tools/call", call);
    let mut asked = Vec::new();
    loop {
        let is_asked = |message: &Value| message["method"] == "elicitation/create";
        let message = client.until(|message| is_asked(message) || message["id"] == id);
        if !is_asked(&message) {
            return asked;
        }
        let reply = json!({ "decision": "denied" });
        client.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": reply }));
        asked.push(message["params"].clone());
    }
}

/// The questions of `codex proto`. All are declined. Its driver has a runtime of its own.
fn asked_by_proto(calls: &[Value]) -> Vec<Value> {
    std::thread::scope(|scope| scope.spawn(|| proto_questions(calls)).join().unwrap())
}

fn proto_questions(calls: &[Value]) -> Vec<Value> {
    let settings = "model = \"gpt-5.2-codex\"\nmodel_provider = \"scripted\"\napproval_policy = \"on-request\"\n\
                    sandbox_mode = \"read-only\"\n[features]\nunified_exec = false\n";
    let replies: Vec<_> = (calls.iter().enumerate())
        .map(|(index, call)| {
            sse::items(&[sse::function_call(
                &format!("c{index}"),
                "shell_command",
                call,
            )])
        })
        .collect();
    let mut proto = Proto::start(settings, &replies, |_| {});
    proto.submit_text("1", "go");
    let mut asked = Vec::new();
    for index in 0..calls.len() {
        let event = proto.wait_for("exec_approval_request")["msg"].clone();
        let answer =
            json!({ "type": "exec_approval", "id": format!("c{index}"), "decision": "denied" });
        proto.submit(&format!("a{index}"), &answer);
        asked.push(event);
    }
    asked
}

/// The texts of a tool call in a permission request, with the names of the options.
fn texts_of_acp(params: &Value) -> Vec<String> {
    let call = &params["toolCall"];
    let content = call["content"].as_array().into_iter().flatten();
    let content = content.filter_map(|part| part["content"]["text"].as_str());
    let options = params["options"].as_array().into_iter().flatten();
    let options = options.filter_map(|option| option["name"].as_str());
    let title = call["title"].as_str().into_iter();
    title
        .chain(content)
        .chain(options)
        .map(ToOwned::to_owned)
        .collect()
}

/// Whether a character would not show, or would change how others show.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[track_caller]
fn shows_everything(text: &str, also: &[char]) {
    let hidden: BTreeSet<char> = text
        .chars()
        .filter(|c| is_hidden(*c) && !also.contains(c))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?} in {text:?}");
    assert!(!text.contains(&" ".repeat(33)), "{text:?}");
}

/// The sentences of the engine come first and are whole; the model's words are in quotation marks after them.
#[track_caller]
fn question_states_the_escape(text: &str, justification: Option<&str>) {
    assert!(text.starts_with(WITHOUT_SANDBOX), "{text:?}");
    let Some(justification) = justification else {
        return assert!(text.ends_with("The model gives no reason."), "{text:?}");
    };
    let length = format!("({} characters): “", justification.chars().count());
    let (_, said) = text
        .split_once(&length)
        .unwrap_or_else(|| panic!("{text:?}"));
    assert!(
        said.ends_with('”') && said.matches(['“', '”']).count() == 1,
        "{text:?}"
    );
}

#[tokio::test]
async fn editor_question_has_whole_command() {
    let commands = [&MISLEADING_SCRIPTS[..], &READING_SCRIPTS].concat();
    let calls: Vec<_> = commands
        .iter()
        .map(|command| escalated(command, None))
        .collect();
    let (asked, updates) = asked_by_acp(&calls).await;
    assert_eq!(asked.len(), commands.len());
    for (command, params) in commands.iter().zip(&asked) {
        let call = &params["toolCall"];
        assert_eq!(call["title"], *command);
        assert_eq!(call["kind"], "execute", "{command}");
        let text = call["content"][0]["content"]["text"]
            .as_str()
            .unwrap_or_default();
        question_states_the_escape(text, None);
        for update in &updates {
            let update = &update["update"];
            if update["toolCallId"] == call["toolCallId"] {
                let claims = matches!(update["kind"].as_str(), Some("read" | "search"));
                assert!(
                    !claims || READING_SCRIPTS.contains(command),
                    "{command}: {update}"
                );
                let title = update["title"].as_str().unwrap_or(command);
                assert!(
                    title == *command || READING_SCRIPTS.contains(command),
                    "{command}: {update}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_summary_claims_reading_only_where_the_gate_agrees() {
    let commands = [&MISLEADING_SCRIPTS[..], &READING_SCRIPTS].concat();
    let calls: Vec<_> = commands
        .iter()
        .map(|command| escalated(command, None))
        .collect();
    let (asked, items) = asked_by_app_server(&calls).await;
    let begun = items
        .iter()
        .filter(|item| item["type"] == "commandExecution");
    let of_items: Vec<_> = begun.map(|item| item["commandActions"].clone()).collect();
    let of_questions: Vec<_> = asked
        .iter()
        .map(|params| params["commandActions"].clone())
        .collect();
    assert_eq!(
        (of_items.len(), of_questions.len()),
        (commands.len(), commands.len())
    );
    for (index, command) in commands.iter().enumerate() {
        for actions in [&of_items[index], &of_questions[index]] {
            let is_unknown = actions[0]["type"] == "unknown";
            assert_eq!(
                is_unknown,
                MISLEADING_SCRIPTS.contains(command),
                "{command}: {actions}"
            );
        }
    }
    for (command, params) in commands.iter().zip(asked_by_mcp(&calls)) {
        let parsed = &params["codex_parsed_cmd"];
        assert_eq!(
            parsed[0]["type"] == "unknown",
            MISLEADING_SCRIPTS.contains(command),
            "{command}: {parsed}"
        );
    }
    for (command, event) in commands.iter().zip(asked_by_proto(&calls)) {
        let parsed = &event["parsed_cmd"];
        assert_eq!(
            parsed[0]["type"] == "unknown",
            MISLEADING_SCRIPTS.contains(command),
            "{command}: {parsed}"
        );
    }
}

/// Commands made of parts, in an order that is the same each time.
fn generated(count: usize) -> Vec<String> {
    const PARTS: [&str; 30] = [
        "cat payload",
        "cat",
        "head -n 1 payload",
        "tail -1",
        "nl -ba",
        "sed -n 1p payload",
        "sed -n '1w made'",
        "sed '1e touch made'",
        "ls",
        "ls -la sub",
        "grep -rn x .",
        "rg x",
        "rg --pre ./payload x",
        "find . -name x",
        "find . -name payload -fprint made",
        "find . {-delete,}",
        "wc -l",
        "sort",
        "sort -o made",
        "uniq - made",
        "tee made",
        "awk '{print > \"made\"}'",
        "xargs -n1 sh -c",
        "tr a b",
        "cut -c1",
        "echo a",
        "true",
        "cd sub",
        "./payload",
        "sh",
    ];
    const COMMAND_SEPARATORS: [&str; 5] = [" | ", " && ", "; ", " || ", "\n"];
    let mut state = 20_260_801_u64;
    let mut next = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    let mut command = || {
        let mut command = PARTS[next(PARTS.len())].to_owned();
        for _ in 0..next(3) {
            command += COMMAND_SEPARATORS[next(COMMAND_SEPARATORS.len())];
            command += PARTS[next(PARTS.len())];
        }
        command
    };
    (0..count).map(|_| command()).collect()
}

/// Whether the command changes nothing in a folder with the files that it names.
fn changes_nothing(command: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("payload"), "#!/bin/sh\ntouch made\n").unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let status = Command::new("timeout")
        .args(["10", "/bin/bash", "-c", command])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert_ne!(status.unwrap().code(), Some(124), "{command}");
    let files = fs::read_dir(folder.path()).unwrap();
    let files: BTreeSet<_> = files.map(|file| file.unwrap().file_name()).collect();
    files == BTreeSet::from(["payload".into(), "sub".into()])
}

#[tokio::test]
async fn generated_commands_are_shown_unchanged() {
    let commands = generated(200);
    let calls: Vec<_> = commands
        .iter()
        .map(|command| escalated(command, Some("need it")))
        .collect();
    let (asked, updates) = asked_by_acp(&calls).await;
    assert_eq!(asked.len(), commands.len());
    for (command, params) in commands.iter().zip(&asked) {
        let call = &params["toolCall"];
        assert_eq!(call["title"], command.replace('\n', "\\u{a}"));
        assert_eq!(call["kind"], "execute");
        question_states_the_escape(
            call["content"][0]["content"]["text"].as_str().unwrap(),
            Some("need it"),
        );
    }
    let (asked, items) = asked_by_app_server(&calls).await;
    let begun = items
        .iter()
        .filter(|item| item["type"] == "commandExecution");
    let begun: Vec<&Value> = begun.collect();
    assert_eq!((asked.len(), begun.len()), (commands.len(), commands.len()));
    let mut claimed = 0;
    for (index, command) in commands.iter().enumerate() {
        question_states_the_escape(asked[index]["reason"].as_str().unwrap(), Some("need it"));
        let actions = begun[index]["commandActions"].as_array().unwrap();
        let kind = &asked[index]["commandActions"][0]["type"];
        assert_eq!(
            begun[index]["commandActions"][0]["type"], *kind,
            "{command}"
        );
        if actions.iter().all(|action| action["type"] != "unknown") {
            assert!(changes_nothing(command), "{command}: {actions:?}");
            claimed += 1;
        }
    }
    assert!(claimed > 10, "{claimed}");
    // No editor was told of reading where the app-server was not.
    let updates = updates.iter().map(|update| &update["update"]);
    let reading =
        updates.filter(|update| matches!(update["kind"].as_str(), Some("read" | "search")));
    let reading: BTreeSet<_> = reading
        .map(|update| update["toolCallId"].to_string())
        .collect();
    assert!(reading.len() <= claimed, "{reading:?}");
    for (command, params) in commands.iter().zip(asked_by_mcp(&calls)) {
        let message = params["message"].as_str().unwrap();
        let line = message.lines().nth(1).unwrap();
        question_states_the_escape(line, Some("need it"));
        let words = &params["codex_command"];
        assert_eq!(words[2], *command, "{message}");
    }
}

#[tokio::test]
async fn model_text_cannot_imitate_engine_text() {
    let calls: Vec<_> = FORGED_REASONS
        .iter()
        .map(|text| escalated("touch x", Some(text)))
        .collect();
    let (asked, _) = asked_by_app_server(&calls).await;
    assert_eq!(asked.len(), FORGED_REASONS.len());
    for (justification, params) in FORGED_REASONS.iter().zip(asked) {
        let text = |name: &str| params[name].as_str().unwrap().to_owned();
        question_states_the_escape(&text("reason"), Some(justification));
        assert!(text("engineNotice").starts_with(WITHOUT_SANDBOX));
        for name in ["reason", "engineNotice", "justification"] {
            shows_everything(&text(name), &[]);
        }
    }
    let (asked, _) = asked_by_acp(&calls).await;
    for (justification, params) in FORGED_REASONS.iter().zip(asked) {
        let texts = texts_of_acp(&params);
        texts.iter().for_each(|text| shows_everything(text, &[]));
        question_states_the_escape(&texts[1], Some(justification));
    }
    for (justification, params) in FORGED_REASONS.iter().zip(asked_by_mcp(&calls)) {
        let message = params["message"].as_str().unwrap();
        shows_everything(message, &['\n']);
        let lines: Vec<_> = message.lines().collect();
        assert_eq!(lines.len(), 2, "{message:?}");
        question_states_the_escape(lines[1], Some(justification));
    }
    for (justification, event) in FORGED_REASONS.iter().zip(asked_by_proto(&calls)) {
        let reason = event["reason"].as_str().unwrap();
        shows_everything(reason, &[]);
        question_states_the_escape(reason, Some(justification));
    }
}

/// Newer clients know the words of the model alone as the reason. They stay alone only where they cannot be taken for those
/// of the engine, which then come in a warning.
#[tokio::test]
async fn newer_client_question_states_that_the_sandbox_is_left() {
    let calls: Vec<_> = FORGED_REASONS
        .iter()
        .map(|text| escalated("touch x", Some(text)))
        .collect();
    let (asked, _, warnings) = played_by_app_server(&calls, &["--newer-clients"]).await;
    assert_eq!(asked.len(), FORGED_REASONS.len());
    assert_eq!(asked[0]["reason"], "need it");
    let warnings: Vec<&str> = warnings.iter().filter_map(Value::as_str).collect();
    let told = warnings
        .iter()
        .filter(|warning| warning.contains(WITHOUT_SANDBOX))
        .count();
    for (justification, params) in FORGED_REASONS.iter().zip(&asked).skip(1) {
        let reason = params["reason"].as_str().unwrap();
        shows_everything(reason, &[]);
        if reason != *justification {
            question_states_the_escape(reason, Some(justification));
        }
    }
    let alone = FORGED_REASONS
        .iter()
        .zip(&asked)
        .filter(|(text, params)| params["reason"] == **text);
    assert_eq!(alone.count(), told, "{warnings:?}");
    assert_eq!(told, 1, "{warnings:?}");
}

#[tokio::test]
async fn a_command_hides_nothing_in_any_surface() {
    let hidden = [
        "ls \u{202e}x".to_owned(),
        "ls \u{1b}[2K\u{1b}[1A x".to_owned(),
        "ls\u{2028}x \u{200b}\u{e0041}".to_owned(),
        format!("ls {}; touch x", " ".repeat(5_000)),
        format!("ls{}touch x", "\n".repeat(500)),
        "ls \r\u{b}x".to_owned(),
    ];
    let calls: Vec<_> = hidden
        .iter()
        .map(|command| escalated(command, None))
        .collect();
    let (asked, items) = asked_by_app_server(&calls).await;
    assert_eq!(asked.len(), hidden.len());
    for (command, params) in hidden.iter().zip(&asked) {
        let reason = params["reason"].as_str().unwrap();
        assert!(
            reason.contains("characters that do not show, or long gaps"),
            "{reason}"
        );
        let line = params["command"].as_str().unwrap();
        for text in [
            reason,
            line,
            params["commandActions"][0]["command"].as_str().unwrap(),
        ] {
            shows_everything(text, &[]);
        }
        // A shell reads the same command.
        let read = Command::new("/bin/bash")
            .args(["-c", &format!("printf %s {line}")])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(read.stdout).unwrap(),
            format!("/bin/bash-lc{command}")
        );
    }
    for item in items
        .iter()
        .filter(|item| item["type"] == "commandExecution")
    {
        shows_everything(item["command"].as_str().unwrap(), &[]);
    }
    let (asked, updates) = asked_by_acp(&calls).await;
    for params in &asked {
        texts_of_acp(params)
            .iter()
            .for_each(|text| shows_everything(text, &[]));
    }
    for title in updates
        .iter()
        .filter_map(|update| update["update"]["title"].as_str())
    {
        shows_everything(title, &[]);
    }
    for (command, params) in hidden.iter().zip(asked_by_mcp(&calls)) {
        shows_everything(params["message"].as_str().unwrap(), &['\n']);
        assert_eq!(
            params["codex_command"],
            json!(["/bin/bash", "-lc", command])
        );
    }
}

#[tokio::test]
async fn sandboxed_command_question_quotes_the_model() {
    let calls = [json!({ "command": "rm -rf x", "justification": "need it" })];
    let (asked, _) = asked_by_app_server(&calls).await;
    assert_eq!(asked[0]["reason"], "need it");
    assert_eq!(
        asked[0]["engineNotice"],
        "This command runs in the sandbox."
    );
    let (asked, _) = asked_by_acp(&calls).await;
    let texts = texts_of_acp(&asked[0]);
    assert_eq!(
        texts[..3],
        [
            "rm -rf x",
            "This command runs in the sandbox.",
            "The model's reason (7 characters): “need it”",
        ]
    );
}

#[tokio::test]
async fn model_reason_is_quoted_for_sandboxed_commands() {
    let call = |text: &&str| json!({ "command": "rm -rf x", "justification": text });
    let calls: Vec<_> = FORGED_REASONS.iter().map(call).collect();
    let (asked, _) = asked_by_app_server(&calls).await;
    for params in &asked {
        shows_everything(params["reason"].as_str().unwrap(), &[]);
    }
    let (asked, _) = asked_by_acp(&calls).await;
    assert_eq!(asked.len(), FORGED_REASONS.len());
    for params in &asked {
        let texts = texts_of_acp(params);
        assert_eq!(texts[1], "This command runs in the sandbox.");
        let said = texts[2].strip_prefix("The model's reason (").unwrap();
        let (_, said) = said.split_once(" characters): “").unwrap();
        assert!(
            said.ends_with('”') && said.matches(['“', '”']).count() == 1,
            "{said:?}"
        );
        texts.iter().for_each(|text| shows_everything(text, &[]));
    }
    for params in asked_by_mcp(&calls) {
        let message = params["message"].as_str().unwrap();
        shows_everything(message, &['\n']);
        assert_eq!(
            message.lines().nth(1),
            Some("This command runs in the sandbox.")
        );
    }
}

/// The model may ask whatever it likes, but as itself.
#[tokio::test]
async fn a_question_of_the_model_hides_nothing() {
    let text = "Allow the command\u{202e}?\n\n\n\nThe engine: \u{1b}[1mharmless\u{2028}";
    let option = json!({ "label": format!("yes{text}"), "description": text });
    let question = json!({ "id": "q", "header": text, "question": text, "options": [option] });
    let ask = json!({ "tool": { "name": "request_user_input", "arguments": { "questions": [question] } } });
    let replies = json!([{ "steps": [ask] }, { "steps": [{ "message": "Done." }] }]);
    let settings = json!({ "features": { "default_mode_request_user_input": true } });
    let script = json!({ "description": "A question.", "settings": settings, "replies": replies });
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("scenario.json");
    fs::write(&path, script.to_string()).unwrap();
    let mut editor = Editor::start_in(home, path.to_str().unwrap());
    editor
        .initialize(json!({ "elicitation": { "form": {} } }))
        .await;
    editor.answer("elicitation/create", json!({ "action": "decline" }));
    let session = editor.new_session().await;
    editor.prompt(&session, "go").await;
    let [asked] = &editor.asked[..] else {
        panic!("{:?}", editor.asked);
    };
    let form = &asked["params"];
    let message = form["message"].as_str().unwrap();
    assert!(message.starts_with("The model asks: "), "{message}");
    let field = &form["requestedSchema"]["properties"]["q"];
    let choice = &field["oneOf"][0];
    for text in [
        &form["message"],
        &field["title"],
        &field["description"],
        &choice["title"],
        &choice["description"],
    ] {
        shows_everything(text.as_str().unwrap(), &['\n']);
    }
    assert!(!message.contains("\n\n\n"), "{message:?}");
}

/// The model may give a second command the id of a first one that the client knows as reading.
#[tokio::test]
async fn reused_id_of_a_reading_command_claims_no_reading() {
    let home = tempfile::tempdir().unwrap();
    let call = |command: &str| {
        let mut arguments = escalated(command, None);
        if command == "cat payload" {
            arguments["sandbox_permissions"] = json!("use_default");
        }
        json!({ "item": { "type": "function_call", "call_id": "one", "name": "shell_command",
                          "arguments": arguments.to_string() } })
    };
    let settings = json!({ "approval_policy": "on-request", "sandbox_mode": "read-only" });
    let replies = json!([
        { "steps": [call("cat payload"), call("touch x")] },
        { "steps": [{ "message": "Done." }] },
    ]);
    let script = json!({ "description": "One id.", "settings": settings, "replies": replies });
    let path = home.path().join("scenario.json");
    fs::write(&path, script.to_string()).unwrap();
    let mut editor = Editor::start_in(home, path.to_str().unwrap());
    editor.initialize(json!({})).await;
    let refused = json!({ "outcome": { "outcome": "selected", "optionId": "reject_once" } });
    editor.answer("session/request_permission", refused);
    let session = editor.new_session().await;
    editor.prompt(&session, "go").await;
    let [asked] = &editor.asked[..] else {
        panic!("{:?}", editor.asked);
    };
    let call = &asked["params"]["toolCall"];
    assert_eq!(
        (&call["title"], &call["kind"]),
        (&json!("touch x"), &json!("execute"))
    );
}
