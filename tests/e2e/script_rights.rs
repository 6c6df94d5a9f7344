//! What a turn began never gets more rights than that turn had: scripts, what they start, consoles and terminals.

use codex_test_support::{HttpReply, sse};
use serde_json::{Value, json};

use crate::code_mode::{ENABLED_SETTINGS, Scripted, script, wait};

const CONSOLE: &str = "approval_policy = \"never\"\n[features]\njs_repl = true";

/// Waits for the file `go`, then runs the rest. A call that runs at the end of its turn fails.
const WAITING_SCRIPT: &str = "yield_control(); \
                     const look = () => tools.exec_command({ cmd: 'test -e go && echo yes || true' }) \
                         .then((result) => result.output.includes('yes'), () => false); \
                     while (!(await look())) { \
                         await new Promise((next) => setTimeout(next, 20)); \
                     } ";

fn under(sandbox: &str) -> Value {
    json!({ "sandboxPolicy": { "type": sandbox } })
}

impl Scripted {
    fn has(&self, name: &str) -> bool {
        self.home.path().join(name).exists()
    }

    fn make(&self, name: &str) {
        std::fs::write(self.home.path().join(name), "").unwrap();
    }

    /// Begins a script in a turn, and lets a later turn have its end. Returns what it printed there.
    async fn begin_and_end(&mut self, begin: Value, source: &str, end: Value) -> Vec<String> {
        let source = format!("{WAITING_SCRIPT}{source}");
        let begun = self.outputs_under(begin, [script("c0", &source)]).await;
        assert_eq!(begun[0], ["Script running with cell ID 1"]);
        self.make("go");
        let call = wait("c1", &json!({ "cell_id": "1" }));
        let mut ended = self.outputs_under(end, [call]).await;
        ended.remove(0)
    }
}

fn console(call: &str, source: &str) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::custom_call(call, "js_repl", source)]))
}

fn call(call: &str, tool: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call(call, tool, arguments)]))
}

const WRITING_SCRIPT: &str = "text((await tools.exec_command({ cmd: 'echo x > written' })).output); \
                      text(await tools.apply_patch('*** Begin Patch\\n*** Add File: patched\\n+x\\n*** End Patch').catch(String))";

#[tokio::test]
async fn read_only_script_cannot_write_in_a_later_turn() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let full = || under("dangerFullAccess");
    let printed = scripted
        .begin_and_end(under("readOnly"), WRITING_SCRIPT, full())
        .await;
    assert_eq!(printed[0], "Script completed", "{printed:?}");
    assert!(!scripted.has("written"), "{printed:?}");
    assert!(!scripted.has("patched"), "{printed:?}");
    // The turn itself may write.
    let own = "await tools.exec_command({ cmd: 'echo x > own' })";
    scripted.outputs_under(full(), [script("c2", own)]).await;
    assert!(scripted.has("own"));
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn script_cannot_write_in_read_only_turn() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let printed = scripted
        .begin_and_end(under("dangerFullAccess"), WRITING_SCRIPT, under("readOnly"))
        .await;
    assert_eq!(printed[0], "Script completed", "{printed:?}");
    assert!(!scripted.has("written") && !scripted.has("patched"));
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn script_under_an_incompatible_policy_is_refused() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let begin = json!({ "sandboxPolicy": { "type": "readOnly" }, "approvalPolicy": "untrusted" });
    let source = "text(await tools.exec_command({ cmd: 'echo x > written' }).catch(String))";
    // Under the policy of the beginning, the first question would wait for an answer.
    let begun =
        format!("yield_control(); await new Promise((next) => setTimeout(next, 200)); {source}");
    scripted.outputs_under(begin, [script("c0", &begun)]).await;
    let end = json!({ "sandboxPolicy": { "type": "dangerFullAccess" }, "approvalPolicy": "never" });
    let call = wait("c1", &json!({ "cell_id": "1" }));
    let printed = scripted.outputs_under(end, [call]).await;
    let text = printed[0].join("\n");
    assert!(text.contains("begun under other permissions"), "{text}");
    assert!(!scripted.has("written"));
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn terminals_and_agents_of_a_script_keep_its_rights() {
    let settings = format!("{ENABLED_SETTINGS}\nmulti_agent = true");
    let mut scripted = Scripted::start(&settings).await;
    scripted.model.push_for_agent(call(
        "agent",
        "exec_command",
        &json!({ "cmd": "echo x > by_agent; echo tried" }),
    ));
    let source = "const shell = await tools.exec_command({ cmd: 'bash', tty: true, yield_time_ms: 250 }); \
                  text(JSON.stringify(await tools.write_stdin({ session_id: shell.session_id, chars: 'echo x > by_terminal; echo tried\\n', yield_time_ms: 500 }))); \
                  const agent = await tools.multi_agent_v1__spawn_agent({ message: 'write' }); \
                  text(JSON.stringify(await tools.multi_agent_v1__wait_agent({ targets: [agent.agent_id], timeout_ms: 10000 })))";
    let printed = scripted
        .begin_and_end(under("readOnly"), source, under("dangerFullAccess"))
        .await;
    assert_eq!(printed[0], "Script completed", "{printed:?}");
    assert!(printed[1].contains("tried"), "{printed:?}");
    assert!(!scripted.has("by_terminal"), "{printed:?}");
    assert!(!scripted.has("by_agent"), "{printed:?}");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn read_only_script_cannot_direct_later_agents_or_terminals() {
    let settings = format!("{ENABLED_SETTINGS}\nmulti_agent = true");
    let mut scripted = Scripted::start(&settings).await;
    let source = "const ids = JSON.parse((await tools.exec_command({ cmd: 'cat ids' })).output); \
                  text(await tools.write_stdin({ session_id: ids.session, chars: 'echo x > by_terminal\\n' }).catch(String)); \
                  text(await tools.multi_agent_v1__send_input({ target: ids.agent, message: 'write' }).catch(String))";
    let waiting = format!("{WAITING_SCRIPT}{source}");
    scripted
        .outputs_under(under("readOnly"), [script("c0", &waiting)])
        .await;
    scripted
        .model
        .push_for_agent(HttpReply::stream(&sse::text("waiting")));
    let open = "const shell = await tools.exec_command({ cmd: 'bash', tty: true, yield_time_ms: 250 }); \
                const agent = await tools.multi_agent_v1__spawn_agent({ message: 'wait' }); \
                await tools.exec_command({ cmd: `echo '${JSON.stringify({ session: shell.session_id, agent: agent.agent_id })}' > ids; touch go` })";
    let calls = [script("c1", open), wait("c2", &json!({ "cell_id": "1" }))];
    let printed = scripted
        .outputs_under(under("dangerFullAccess"), calls)
        .await;
    let text = printed[1].join("\n");
    assert!(
        text.contains("started with more permissions"),
        "{printed:?}"
    );
    assert!(text.contains("begun with fewer permissions"), "{text}");
    assert!(!scripted.has("by_terminal"));
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn console_is_begun_anew_when_rights_change() {
    let mut scripted = Scripted::start(CONSOLE).await;
    let leaves = "var kept = 1; \
                  (async () => { for (;;) { \
                      await codex.tool('exec_command', { cmd: 'echo x > written' }); \
                  } })(); \
                  console.log('left')";
    let outputs = scripted
        .outputs_under(under("readOnly"), [console("c0", leaves)])
        .await;
    assert_eq!(outputs[0], ["left"]);
    let looks = "await codex.tool('exec_command', { cmd: 'sleep 0.3' }); console.log(typeof kept)";
    let outputs = scripted
        .outputs_under(under("dangerFullAccess"), [console("c1", looks)])
        .await;
    let text = outputs[0].join("\n");
    assert!(text.starts_with("The console was started anew"), "{text}");
    assert!(!scripted.has("written"), "{text}");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn narrower_turn_can_only_interrupt_a_wider_terminal() {
    let mut scripted = Scripted::start("approval_policy = \"never\"").await;
    let start = json!({ "cmd": "bash", "tty": true, "yield_time_ms": 250 });
    let outputs = scripted
        .outputs_under(
            under("dangerFullAccess"),
            [call("c0", "exec_command", &start)],
        )
        .await;
    let _ = outputs;
    let last = scripted.model.requests().pop().unwrap().json();
    let output = last["input"].as_array().unwrap().iter();
    let text = output
        .filter_map(|item| item["output"].as_str())
        .next_back();
    let (_, after) = text.unwrap().split_once("session ID ").unwrap();
    let id: i64 = after.split_whitespace().next().unwrap().parse().unwrap();
    let types = |chars: &str| json!({ "session_id": id, "chars": chars, "yield_time_ms": 250 });
    let calls = [
        call("c1", "write_stdin", &types("echo x > written\n")),
        call("c2", "write_stdin", &types("\u{3}")),
        call("c3", "write_stdin", &types("")),
    ];
    let outputs = scripted.outputs_under(under("readOnly"), calls).await;
    assert!(
        outputs[0][0]
            .starts_with("write_stdin failed: the command was started with more permissions")
    );
    assert!(!outputs[1][0].contains("failed"), "{outputs:?}");
    assert!(!scripted.has("written"));
    let calls = [call("c4", "write_stdin", &types("echo x > written\n"))];
    scripted
        .outputs_under(under("dangerFullAccess"), calls)
        .await;
    assert!(scripted.has("written"));
    scripted.server.finish().await.unwrap();
}
