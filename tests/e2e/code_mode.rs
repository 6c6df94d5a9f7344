//! Scripts of the model: what they can do, what they cannot, and how long they run.

use std::fs;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{numbered, scripted_home, server};
use crate::stdout_of;
use crate::trace_record::Traced;
use crate::usage_limits::catalogue;

pub(crate) const ENABLED_SETTINGS: &str =
    "approval_policy = \"never\"\n[features]\ncode_mode = true\napply_patch_freeform = true";

pub(crate) fn script(call: &str, source: &str) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::custom_call(call, "exec", source)]))
}

pub(crate) fn wait(call: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call(call, "wait", arguments)]))
}

/// A thread whose model writes scripts.
pub(crate) struct Scripted {
    pub(crate) model: ModelServer,
    pub(crate) server: AppServer,
    pub(crate) thread: String,
    pub(crate) home: TempDir,
}

impl Scripted {
    pub(crate) async fn start(settings: &str) -> Self {
        let model = ModelServer::start([]).await.unwrap();
        model.always(HttpReply::stream(&sse::text("done")));
        let home = scripted_home(&model, settings);
        let mut server = server(&home).await;
        let params = json!({ "cwd": home.path() });
        let thread = server.start_thread_with(params).await;
        Self {
            model,
            server,
            thread,
            home,
        }
    }

    /// Runs a turn in which the model makes these calls, one after the other. Returns their outputs.
    pub(crate) async fn outputs(
        &mut self,
        calls: impl IntoIterator<Item = HttpReply>,
    ) -> Vec<Vec<String>> {
        self.outputs_under(json!({}), calls).await
    }

    /// The same in a turn with these params.
    pub(crate) async fn outputs_under(
        &mut self,
        mut params: Value,
        calls: impl IntoIterator<Item = HttpReply>,
    ) -> Vec<Vec<String>> {
        let before = self.model.requests().len();
        let mut count = 0;
        for call in calls {
            self.model.push(call);
            count += 1;
        }
        let end = numbered(sse::text("done"));
        self.model.push(HttpReply::stream(&end));
        params["threadId"] = self.thread.as_str().into();
        params["input"] = json!([{ "type": "text", "text": "go" }]);
        self.server.result("turn/start", params).await;
        // Agents have turns of their own.
        loop {
            let completed = self.server.wait_for("turn/completed").await.unwrap();
            if completed["params"]["threadId"] == self.thread.as_str() {
                break;
            }
        }
        // Agents send requests with fewer outputs in between.
        let requests = self.model.requests().split_off(before);
        let requests: Vec<Value> = requests.iter().map(|one| one.json()).collect();
        let last = requests.iter().map(outputs_of).max_by_key(Vec::len);
        let outputs = last.unwrap();
        let own = outputs[outputs.len() - count..].iter();
        own.map(|item| texts(&item["output"])).collect()
    }

    /// Runs scripts in one turn. Returns what each printed, behind its state.
    pub(crate) async fn run(&mut self, sources: &[&str]) -> Vec<Vec<String>> {
        let calls = sources.iter().enumerate();
        self.outputs(calls.map(|(number, source)| script(&format!("c{number}"), source)))
            .await
    }
}

fn outputs_of(request: &Value) -> Vec<&Value> {
    let input = request["input"].as_array().unwrap().iter();
    input.filter(|item| item.get("output").is_some()).collect()
}

/// The texts of an output. The state is its first line alone.
fn texts(output: &Value) -> Vec<String> {
    let mut texts: Vec<String> = match output {
        Value::Array(items) => items
            .iter()
            .map(|item| item["text"].as_str().or(item["image_url"].as_str()))
            .map(|text| text.unwrap().to_owned())
            .collect(),
        text => vec![text.as_str().unwrap().to_owned()],
    };
    if let Some(state) = texts[0].lines().next() {
        texts[0] = state.to_owned();
    }
    texts
}

#[tokio::test]
async fn a_script_calls_tools_and_prints() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let source = r#"
        const results = await Promise.all(
            ["one", "two"].map((word) => tools.exec_command({ cmd: `echo ${word}` })));
        text(results.map((result) => result.output.trim() + result.exit_code));
        const patch = "*** Begin Patch\n*** Add File: made\n+made\n*** End Patch";
        text(await tools.apply_patch(patch));
        text(await tools.update_plan({ plan: [{ step: "a", status: "pending" }] }));
        text(ALL_TOOLS.map((tool) => tool.name).includes("view_image"));
        await tools.exec_command([]).catch(text);
        await tools.apply_patch("nonsense").catch((error) => text(typeof error));
        store("kept", { a: 1 });
    "#;
    scripted.model.push(script("c0", source));
    scripted.model.push(script(
        "c1",
        "text(load('kept')); image('data:image/png;base64,AA', 'low')",
    ));
    scripted.server.start_turn(&scripted.thread, "go").await;
    let mut ended = Vec::new();
    loop {
        let message = scripted.server.receive().await.unwrap();
        match message["method"].as_str() {
            Some("item/completed") => {
                ended.push(
                    message["params"]["item"]["type"]
                        .as_str()
                        .unwrap()
                        .to_owned(),
                );
            }
            Some("turn/completed") => break,
            _ => {}
        }
    }
    let of_type = |kind: &str| ended.iter().filter(|one| *one == kind).count();
    assert_eq!(
        (of_type("commandExecution"), of_type("fileChange")),
        (2, 1),
        "{ended:?}"
    );
    assert!(scripted.home.path().join("made").exists());
    let last = scripted.model.request(2).await.json();
    let input = last["input"].as_array().unwrap();
    let outputs: Vec<Vec<String>> = input
        .iter()
        .filter(|item| item["type"] == "custom_tool_call_output")
        .map(|item| texts(&item["output"]))
        .collect();
    let refusal = "tool `exec_command` expects a JSON object for arguments";
    let expected: [&[&str]; 2] = [
        &[
            "Script completed",
            r#"["one0","two0"]"#,
            "{}",
            "{}",
            "true",
            refusal,
            "string",
        ],
        &["Script completed", r#"{"a":1}"#, "data:image/png;base64,AA"],
    ];
    assert_eq!(outputs, expected);
    // What a script called is not part of the conversation.
    let calls = input.iter().filter(|item| item["call_id"].is_string());
    assert_eq!(calls.count(), 4);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn the_model_is_offered_scripts_where_they_are_enabled() {
    let offered = |settings: &'static str| async move {
        let mut scripted = Scripted::start(settings).await;
        scripted.outputs([]).await;
        let request = scripted.model.request(0).await.json();
        scripted.server.finish().await.unwrap();
        let tools = request["tools"].as_array().unwrap().clone();
        let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
        (tools.iter().map(name).collect::<Vec<_>>(), tools)
    };
    let (off, _) = offered("").await;
    assert!(!off.contains(&"exec".to_owned()), "{off:?}");
    let (beside, tools) = offered("[features]\ncode_mode = true").await;
    assert_eq!(beside[..2], ["exec", "wait"]);
    let plan = tools
        .iter()
        .find(|tool| tool["name"] == "update_plan")
        .unwrap();
    let description = plan["description"].as_str().unwrap();
    assert!(description.contains("update_plan(args: {"), "{description}");
    let (only, tools) = offered("[features]\ncode_mode_only = true").await;
    // The last one is the search of the provider.
    assert_eq!(only, ["exec", "wait", "request_user_input", ""]);
    let description = tools[0]["description"].as_str().unwrap();
    assert!(description.contains("### update_plan"), "{description}");
}

#[tokio::test]
async fn catalogue_selects_the_tool_mode_of_a_model() {
    for (mode, feature, expected) in [
        ("direct", "code_mode_only", "exec_command"),
        ("code_mode", "code_mode_only", "exec,wait,exec_command"),
        (
            "code_mode_only",
            "code_mode",
            "exec,wait,request_user_input,",
        ),
        ("newer", "code_mode", "exec,wait,exec_command"),
    ] {
        let names = tools_of("tool_mode", mode, feature).await.join(",");
        assert!(names.starts_with(expected), "{mode} {feature}: {names}");
    }
}

/// The names of the tools that are offered to a model whose catalogue says this of it.
async fn tools_of(member: &str, value: &str, feature: &str) -> Vec<String> {
    let model = ModelServer::start([HttpReply::stream(&sse::text("done"))]).await;
    let model = model.unwrap();
    let settings = format!("model_catalog_json = \"models.json\"\n[features]\n{feature} = true");
    let home = scripted_home(&model, &settings);
    let mut entry: Value = serde_json::from_str(&catalogue(Value::Null)).unwrap();
    entry["models"][0][member] = value.into();
    fs::write(home.path().join("models.json"), entry.to_string()).unwrap();
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "go").await;
    let request = model.request(0).await.json();
    server.finish().await.unwrap();
    let tools = request["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned());
    names.collect()
}

#[tokio::test]
async fn catalogue_selects_the_agents_of_a_model() {
    for (version, feature, expected, missing) in [
        ("v2", "multi_agent", "list_agents", "send_input"),
        ("v1", "multi_agent_v2", "send_input", "list_agents"),
        ("disabled", "multi_agent", "update_plan", "spawn_agent"),
        ("newer", "multi_agent", "send_input", "list_agents"),
    ] {
        let names = tools_of("multi_agent_version", version, feature).await;
        let has = |tool: &str| names.iter().any(|name| name == tool);
        assert!(has(expected) && !has(missing), "{version}: {names:?}");
    }
}

#[tokio::test]
async fn scripts_cannot_call_tools_of_excluded_namespaces() {
    let settings =
        "[features.code_mode]\nenabled = true\nexcluded_tool_namespaces = [\"multi_agent_v1\"]";
    let mut scripted = Scripted::start(settings).await;
    let source =
        "text(ALL_TOOLS.map((tool) => tool.name).filter((name) => /agent|plan/.test(name)).join())";
    let outputs = scripted.run(&[source]).await;
    assert_eq!(outputs[0], ["Script completed", "update_plan"]);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn input_that_is_no_script_starts_none() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let outputs = scripted.run(&[" ", "// @exec: {\"a\": 1}\ntext(1)"]).await;
    assert!(
        outputs[0][0].starts_with("exec expects raw JavaScript"),
        "{outputs:?}"
    );
    assert!(
        outputs[1][0].starts_with("exec pragma only supports"),
        "{outputs:?}"
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn script_runs_until_awaited_or_terminated() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let goes_on = "text('a'); yield_control(); await tools.exec_command({ cmd: 'echo b' }).then((b) => text(b.output)); text('c')";
    let never = "// @exec: {\"yield_time_ms\": 0}\ntext('d'); for (;;);";
    let outputs = scripted
        .outputs([
            script("c0", goes_on),
            wait("c1", &json!({ "cell_id": "1" })),
            wait("c2", &json!({ "cell_id": "1" })),
            script("c3", never),
            wait("c4", &json!({ "cell_id": "2", "terminate": true })),
        ])
        .await;
    assert_eq!(outputs[0], ["Script running with cell ID 1", "a"]);
    assert_eq!(outputs[1], ["Script completed", "b\n", "c"]);
    assert_eq!(
        outputs[2],
        ["Script failed", "Script error:\nexec cell 1 not found"]
    );
    assert_eq!(outputs[3][0], "Script running with cell ID 2");
    assert_eq!(outputs[4][0], "Script terminated");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn script_output_is_sent_before_its_end() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    scripted
        .outputs([script("c0", "notify('soon'); text('end')")])
        .await;
    let last = scripted.model.request(1).await.json();
    let input = last["input"].as_array().unwrap().iter();
    let said: Vec<Value> = input
        .filter(|item| item["type"] == "custom_tool_call_output")
        .map(|item| json!([item["name"], texts(&item["output"])]))
        .collect();
    assert!(said.contains(&json!(["exec", ["soon"]])), "{said:?}");
    assert!(
        said.contains(&json!([null, ["Script completed", "end"]])),
        "{said:?}"
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_thousand_calls_complete() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let source = "const calls = []; for (let i = 0; i < 1000; i++) calls.push(tools.update_plan({ plan: [] })); \
                  text((await Promise.all(calls)).length)";
    let outputs = scripted.run(&[source]).await;
    assert_eq!(outputs[0], ["Script completed", "1000"]);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn interrupt_ends_unreported_scripts() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    scripted.model.push(script(
        "c0",
        "await tools.exec_command({ cmd: 'echo hi; sleep 60', yield_time_ms: 30000 })",
    ));
    scripted.server.start_turn(&scripted.thread, "go").await;
    let started = scripted
        .server
        .wait_for("item/commandExecution/outputDelta")
        .await
        .unwrap();
    let params = json!({ "threadId": scripted.thread, "turnId": started["params"]["turnId"] });
    scripted.server.result("turn/interrupt", params).await;
    assert_eq!(
        scripted.server.completed_turn().await["status"],
        "interrupted"
    );
    let outputs = scripted
        .outputs([wait("c1", &json!({ "cell_id": "1" }))])
        .await;
    assert_eq!(
        outputs[0],
        ["Script failed", "Script error:\nexec cell 1 not found"]
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn cells_and_their_calls_are_traced() {
    let source = "// @exec: {\"yield_time_ms\": 30000}\ntext((await tools.exec_command({ cmd: 'echo hi' })).output)";
    let replies = [sse::items(&[sse::custom_call("c0", "exec", source)])];
    let mut traced =
        Traced::start_with_features("Scripted", "", "code_mode = true", &replies).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    let (bundles, _home) = traced.finish().await;
    let bundle = &bundles[&thread];
    let call = bundle.payload("tool_call_started", "invocation_payload");
    assert_eq!(call["tool_name"], "exec_command");
    let result = bundle.payload("tool_call_ended", "result_payload");
    assert_eq!(result["type"], "code_mode_response");
    assert_eq!(result["value"]["output"], "hi\n");
    let response = bundle.payload("code_cell_ended", "response_payload");
    assert_eq!(
        response["response"]["Result"]["content_items"][0]["text"],
        "hi\n"
    );
    let folder = bundle.0.to_str().unwrap();
    stdout_of(&crate::codex(&["debug", "trace-reduce", folder]));
    let state = bundle.json("state.json");
    let cell = &state["code_cells"]["code_cell:c0"];
    assert_eq!(cell["runtime_status"], "completed", "{state}");
    let nested = cell["nested_tool_call_ids"][0].as_str().unwrap();
    assert_eq!(
        state["tool_calls"][nested]["requester"]["code_cell_id"],
        "code_cell:c0"
    );
    assert_eq!(cell["source_js"].as_str().unwrap().lines().count(), 1);
}

const CONSOLE: &str = "approval_policy = \"never\"\n[features]\njs_repl = true";

#[tokio::test]
async fn console_keeps_declared_variables() {
    let mut scripted = Scripted::start(CONSOLE).await;
    let image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let shows = format!("await codex.emitImage('{image}'); console.log('t')");
    let cases: [(&str, &[&str]); 13] = [
        (
            "let a = 1; console.log('x', a, { b: 2 }); a",
            &["x 1 { b: 2 }"],
        ),
        ("console.log(a + 1)", &["2"]),
        (
            "const r = await codex.tool('exec_command', { cmd: 'echo hi' }); console.log(r.type, r.output.includes('hi'))",
            &["function_call_output true"],
        ),
        ("await codex.tool('nope')", &["unsupported call: nope"]),
        (
            "await codex.tool('js_repl', '1')",
            &["js_repl cannot invoke itself"],
        ),
        (
            "await import('fs')",
            &["js_repl has no modules: it does not run in Node"],
        ),
        ("console.log('lost'); throw new Error('boom')", &["boom"]),
        ("const a = 2", &["Identifier 'a' has already been declared"]),
        (&shows, &["t", image]),
        (
            "{\"code\": \"1\"}",
            &[
                "js_repl is a freeform tool and expects raw JavaScript source. Send the script itself, not as JSON and without quotes.",
            ],
        ),
        (
            "console.log(typeof process, typeof text, typeof codex.cwd)",
            &["undefined undefined string"],
        ),
        (
            "// codex-js-repl: timeout_ms=100\nfor (;;);",
            &["js_repl execution timed out; kernel reset, rerun your request"],
        ),
        ("console.log(typeof a)", &["undefined"]),
    ];
    let calls = cases.iter().enumerate().map(|(number, (source, _))| {
        let call = sse::custom_call(&format!("c{number}"), "js_repl", source);
        HttpReply::stream(&sse::items(&[call]))
    });
    let reset = sse::function_call("reset", "js_repl_reset", &json!({}));
    let reset = HttpReply::stream(&sse::items(&[reset]));
    let outputs = scripted.outputs(calls.chain([reset])).await;
    for ((source, expected), output) in cases.iter().zip(&outputs) {
        assert_eq!(output, expected, "{source}");
    }
    assert_eq!(outputs.last().unwrap(), &["js_repl kernel reset"]);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn other_tools_can_be_left_to_the_console() {
    let settings = format!("{CONSOLE}\njs_repl_tools_only = true");
    let mut scripted = Scripted::start(&settings).await;
    let direct = sse::function_call("c0", "exec_command", &json!({ "cmd": "touch direct" }));
    let source = "const ran = await codex.tool('exec_command', { cmd: 'touch through' }); console.log(ran.type)";
    let through = sse::custom_call("c1", "js_repl", source);
    let calls = [direct, through].map(|call| HttpReply::stream(&sse::items(&[call])));
    let outputs = scripted.outputs(calls).await;
    let advice = "direct tool calls are disabled; use js_repl and codex.tool(...) instead";
    assert_eq!(outputs, [[advice], ["function_call_output"]]);
    assert!(scripted.home.path().join("through").exists());
    assert!(!scripted.home.path().join("direct").exists());
    scripted.server.finish().await.unwrap();
}
