//! What scripts of the model cannot do: leave their cell, take more than their share, outlive their thread.

use serde_json::json;

use crate::code_mode::{ENABLED_SETTINGS, Scripted, script, wait};
use crate::setup::server;

/// How much the memory of the server may grow while scripts do what they can, in KiB. The largest output of one is 16 MiB, and
/// there are copies of it on its way.
const MOST_GROWTH: u64 = 128 << 10;

const OUT_OF_MEMORY_ERROR: &str = "Script error:\nInternalError: out of memory";
const TOO_DEEP: &str = "Script error:\nRangeError: Maximum call stack size exceeded";
const TOO_LONG: &str =
    "Script error:\nthe script printed, stored or passed to a tool more than 16 MiB at once";

/// Scripts, and how what they print ends or begins.
const ATTEMPTS: &[(&str, &str)] = &[
    // Modules, and names of other engines.
    (
        "import fs from 'fs'",
        "Script error:\nUnsupported import in exec: fs",
    ),
    (
        "await import('fs').catch(text)",
        "unsupported import in exec",
    ),
    (
        "await import('data:text/javascript,1').catch(text)",
        "unsupported import in exec",
    ),
    (
        "text(await (async () => {}).constructor('return import(\"fs\").catch(String)')())",
        "unsupported import in exec",
    ),
    ("return 1", "Script error:\nSyntaxError"),
    (
        "text([typeof console, typeof Atomics, typeof process, typeof require, typeof std, typeof os, typeof Worker].join())",
        "undefined,undefined,undefined,undefined,undefined,undefined,undefined",
    ),
    (
        "text(typeof SharedArrayBuffer + typeof WebAssembly)",
        "undefinedundefined",
    ),
    (
        "text(Object.keys((() => {}).constructor('return this')()).length)",
        "0",
    ),
    (
        "text(Function('return typeof process + typeof native')())",
        "undefinedundefined",
    ),
    // Prototypes.
    (
        "// @exec: {\"yield_time_ms\": 100}\nPromise.prototype.then = () => 1; Object.prototype.id = 7; text(typeof (await tools.update_plan({})))",
        "",
    ),
    (
        "Object.prototype.then = function (resolve) { resolve(7) }; text(typeof (await tools.update_plan({ plan: [] })))",
        "number",
    ),
    (
        "JSON.stringify = () => '{'; JSON.parse = () => null; text({ a: 1 })",
        "{\"a\":1}",
    ),
    (
        "Object.defineProperty(Object.prototype, 'type', { set() { throw 1 } }); text('set')",
        "set",
    ),
    (
        "tools.__proto__.exec_command = 1; text(typeof tools.exec_command)",
        "function",
    ),
    (
        "tools.exec_command.constructor('x', 'return this')(); text('made')",
        "made",
    ),
    (
        "throw { get stack() { throw 1 }, toString() { throw 2 } }",
        "Script error:\nthe error cannot be shown",
    ),
    (
        "throw new Proxy({}, { get() { throw 3 } })",
        "Script error:\nthe error cannot be shown",
    ),
    // Memory.
    ("text('a'.repeat(2 ** 29))", OUT_OF_MEMORY_ERROR),
    (
        "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
        OUT_OF_MEMORY_ERROR,
    ),
    ("new Uint8Array(2 ** 30)", OUT_OF_MEMORY_ERROR),
    ("new Array(2 ** 32 - 1).fill(0)", OUT_OF_MEMORY_ERROR),
    (
        "new ArrayBuffer(2 ** 40)",
        "Script error:\nRangeError: invalid array buffer length",
    ),
    (
        "let s = 'ab'; for (;;) s += s",
        "Script error:\nInternalError: string too long",
    ),
    (
        "text([...(function* () { for (;;) yield 'x'.repeat(1e5) })()].length)",
        OUT_OF_MEMORY_ERROR,
    ),
    (
        "text({ toJSON() { for (;;) this.x = 'y'.repeat(1e6) + (this.x ?? '') } })",
        OUT_OF_MEMORY_ERROR,
    ),
    (
        "const all = []; for (let i = 0; i < 1e6; i++) all.push(new Promise((done) => done(i))); await Promise.all(all)",
        OUT_OF_MEMORY_ERROR,
    ),
    // The stack.
    ("const f = () => f() + 1; f()", TOO_DEEP),
    ("const f = () => [1].map(f); f()", TOO_DEEP),
    ("class A { get x() { return this.x } } new A().x", TOO_DEEP),
    ("text(JSON.parse('['.repeat(1e6)))", TOO_DEEP),
    (
        "new RegExp('('.repeat(1e5))",
        "Script error:\nSyntaxError: too many captures",
    ),
    // Output and calls.
    (
        "for (;;) text('x'.repeat(1e6))",
        "Script error:\nthe script printed or called too much at once",
    ),
    ("text('x'.repeat(20e6))", TOO_LONG),
    ("notify('x'.repeat(20e6))", TOO_LONG),
    (
        "image('data:image/png;base64,' + 'A'.repeat(20e6))",
        TOO_LONG,
    ),
    (
        "await tools.update_plan({ plan: [{ step: 'x'.repeat(20e6), status: 'pending' }] })",
        TOO_LONG,
    ),
    (
        "store('a', 'x'.repeat(3e6))",
        "Script error:\nUnable to store \"a\". Stored values are limited to 2 MiB of JSON.",
    ),
    (
        "for (let i = 0; i < 1e4; i++) tools.update_plan({ plan: [] }); text('called')",
        "called",
    ),
    (
        "await tools['__proto__']({})",
        "Script error:\nTypeError: not a function",
    ),
    // Errors and ends.
    ("throw 'plain'", "Script error:\nplain"),
    ("const o = {}; o.o = o; text(o)", "Script error:\nTypeError"),
    ("text(1); exit(); text(2)", "1"),
    (
        "tools.exec_command({ cmd: 'sleep 60' }); text('end')",
        "end",
    ),
    (
        "setTimeout(() => tools.exec_command({ cmd: 'touch late' }), 1); text('end')",
        "end",
    ),
    (
        "setTimeout(() => { throw new Error('late') }, 1); await new Promise(() => {})",
        "Script error:\nError: late",
    ),
    ("text('alive')", "alive"),
];

#[tokio::test]
async fn a_script_cannot_leave_its_cell() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    scripted.run(&["text('warm')"]).await;
    let before = peak_memory(&scripted);
    let sources: Vec<&str> = ATTEMPTS.iter().map(|(source, _)| *source).collect();
    let outputs = scripted.run(&sources).await;
    for ((source, expected), output) in ATTEMPTS.iter().zip(&outputs) {
        let last = output.last().unwrap();
        assert!(
            last.starts_with(expected) || last.ends_with(expected),
            "{source}: {:.300}",
            format!("{output:?}")
        );
    }
    assert!(!scripted.home.path().join("late").exists());
    if let (Some(before), Some(after)) = (before, peak_memory(&scripted)) {
        let growth = after - before;
        assert!(growth < MOST_GROWTH, "the server grew by {growth} KiB");
    }
    scripted.server.finish().await.unwrap();
}

/// The most memory that the server has had, in KiB.
fn peak_memory(scripted: &Scripted) -> Option<u64> {
    let process = scripted.server.process_id()?;
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[tokio::test]
async fn a_script_that_does_not_listen_is_terminated() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    for (number, busy) in [
        "for (;;);",
        "/^(a+)+$/.test('a'.repeat(60) + 'b')",
        "await (async function f() { await null; return f() })()",
        "await new Promise(() => {})",
    ]
    .into_iter()
    .enumerate()
    {
        let source = format!("// @exec: {{\"yield_time_ms\": 50}}\n{busy}");
        let id = (number + 1).to_string();
        let outputs = scripted
            .outputs([
                script(&format!("s{number}"), &source),
                wait(
                    &format!("w{number}"),
                    &json!({ "cell_id": id, "terminate": true }),
                ),
            ])
            .await;
        assert_eq!(
            outputs[0],
            [format!("Script running with cell ID {id}")],
            "{busy}"
        );
        assert_eq!(outputs[1], ["Script terminated"], "{busy}");
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_call_between_turns_waits_for_the_next_one() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let source = "yield_control(); \
                  for (let i = 0; i < 3; i++) { \
                      await new Promise((next) => setTimeout(next, 50)); \
                      await tools.exec_command({ cmd: 'echo ran >> count' }) \
                  } \
                  text((await tools.exec_command({ cmd: 'echo later' })).output)";
    let outputs = scripted.outputs([script("c0", source)]).await;
    assert_eq!(outputs[0], ["Script running with cell ID 1"]);
    // Its turn is over, and the script is not.
    let outputs = scripted
        .outputs([wait("c1", &json!({ "cell_id": "1" }))])
        .await;
    assert_eq!(outputs[0], ["Script completed", "later\n"]);
    let count = std::fs::read_to_string(scripted.home.path().join("count")).unwrap();
    assert_eq!(count.lines().count(), 3);
    scripted.server.finish().await.unwrap();
}

/// The children of a process.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let of_task = |task: std::io::Result<std::fs::DirEntry>| {
        let children = task.unwrap().path().join("children");
        std::fs::read_to_string(children).unwrap_or_default()
    };
    let all: String = tasks.map(of_task).collect();
    all.split_whitespace()
        .map(|id| id.parse().unwrap())
        .collect()
}

/// The process that runs the cells of the only thread, which the server has started through others.
#[cfg(target_os = "linux")]
fn kernel_of(scripted: &Scripted) -> u32 {
    let mut processes = vec![scripted.server.process_id().unwrap()];
    while let Some(process) = processes.pop() {
        let command = std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap();
        if command.split('\0').nth(1) == Some("code-mode-kernel") {
            return process;
        }
        processes.extend(children(process));
    }
    panic!("no process runs the cells")
}

#[cfg(target_os = "linux")]
fn kill(process: u32) {
    let id = process.to_string();
    let killed = std::process::Command::new("kill")
        .args(["-s", "KILL", &id])
        .status();
    assert!(killed.unwrap().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_killed_cell_ends_alone() {
    const WAITING_SCRIPT: &str = "text('begun'); yield_control(); await new Promise(() => {})";
    const KILLED_MESSAGES: [&str; 2] = [
        "Script failed",
        "Script error:\nexec runtime ended unexpectedly",
    ];
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let first = scripted.thread.clone();
    scripted.outputs([script("a0", WAITING_SCRIPT)]).await;
    let kernel = kernel_of(&scripted);
    // Another thread has a process of its own.
    let params = json!({ "cwd": scripted.home.path() });
    scripted.thread = scripted.server.start_thread_with(params).await;
    scripted.outputs([script("b0", WAITING_SCRIPT)]).await;
    let other = std::mem::replace(&mut scripted.thread, first);

    let outputs = scripted.outputs([script("a1", WAITING_SCRIPT)]).await;
    assert_eq!(outputs[0], ["Script running with cell ID 2", "begun"]);
    let cells = children(kernel);
    assert_eq!(cells.len(), 2);
    kill(cells[0]);
    let now = json!({ "cell_id": "2", "yield_time_ms": 0 });
    let outputs = scripted
        .outputs([wait("a2", &json!({ "cell_id": "1" })), wait("a3", &now)])
        .await;
    assert_eq!(outputs[0], KILLED_MESSAGES);
    assert_eq!(outputs[1], ["Script running with cell ID 2"]);

    // The process of all cells of the thread: the turn goes on, and the next script has a new one.
    kill(kernel);
    let outputs = scripted
        .outputs([
            wait("a4", &json!({ "cell_id": "2" })),
            script("a5", "text('again')"),
        ])
        .await;
    assert_eq!(outputs[0], KILLED_MESSAGES);
    assert_eq!(outputs[1], ["Script completed", "again"]);

    scripted.thread = other;
    let now = json!({ "cell_id": "1", "yield_time_ms": 0 });
    let outputs = scripted.outputs([wait("b1", &now)]).await;
    assert_eq!(outputs[0], ["Script running with cell ID 1"]);
    scripted.server.finish().await.unwrap();
}

/// The pipes of the kernel carry the lines of all cells, and lines that a cell could forge.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_cell_has_nothing_open_but_its_own_socket() {
    const WAITING_SCRIPT: &str = "text('begun'); yield_control(); await new Promise(() => {})";
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    scripted
        .outputs([
            script("a0", WAITING_SCRIPT),
            script("a1", WAITING_SCRIPT),
            script("a2", WAITING_SCRIPT),
        ])
        .await;
    let cells = children(kernel_of(&scripted));
    assert_eq!(cells.len(), 3);
    for cell in cells {
        let descriptors = std::fs::read_dir(format!("/proc/{cell}/fd")).unwrap();
        let open: Vec<_> = descriptors
            .map(|entry| std::fs::read_link(entry.unwrap().path()).unwrap())
            .map(|target| target.display().to_string())
            .collect();
        assert!(
            matches!(&open[..], [own] if own.starts_with("socket:")),
            "{open:?}"
        );
    }
    scripted.server.finish().await.unwrap();
}

/// Whether a process has not ended. Who reaps it is not ours to say.
#[cfg(target_os = "linux")]
fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_cell_outlives_its_server() {
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    scripted
        .outputs([script("c0", "yield_control(); for (;;);")])
        .await;
    let [cell] = children(kernel_of(&scripted))[..] else {
        panic!("one cell runs")
    };
    let Scripted {
        server: killed,
        home,
        ..
    } = scripted;
    killed.kill().await.unwrap();
    // Another server answers meanwhile.
    let mut other = server(&home).await;
    while is_running(cell) {
        other.call("thread/loaded/list", json!({})).await.unwrap();
    }
    other.finish().await.unwrap();
}

/// Arguments that no reader of JSON goes into are refused to the script that passes them; it and all other cells go on.
#[tokio::test]
async fn arguments_that_are_nested_too_deep_end_no_cell() {
    const WAITING_SCRIPT: &str = "text('begun'); yield_control(); await new Promise((done) => setTimeout(done, 1500)); text('goes on')";
    const PASSES: &str = "
        for (const depth of [20, 99, 101, 127, 128, 1000]) {
            let value = 1;
            for (let level = 1; level < depth; level++) value = level % 2 ? [value] : { value };
            const answer = await tools.update_plan({ value }).then(() => 'called', String);
            text(depth + ': ' + (/too deeply/.test(answer) ? 'refused' : 'passed'));
        }
        text(await tools.update_plan({ plan: [], explanation: '[{'.repeat(500) }).then(() => 'called', String));
        text('ended')";
    let mut scripted = Scripted::start(ENABLED_SETTINGS).await;
    let outputs = scripted
        .outputs([
            script("c0", WAITING_SCRIPT),
            script("c1", PASSES),
            wait("c2", &json!({ "cell_id": "1" })),
        ])
        .await;
    let expected = [
        "Script completed",
        "20: passed",
        "99: passed",
        "101: refused",
        "127: refused",
        "128: refused",
        "1000: refused",
        "called",
        "ended",
    ];
    assert_eq!(outputs[1], expected);
    assert_eq!(outputs[2], ["Script completed", "goes on"]);
    scripted.server.finish().await.unwrap();
}
