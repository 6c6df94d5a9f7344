//! `command/exec` and its control through the built server.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::serving::Serving;

const INVALID_REQUEST: i64 = -32600;
const PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

fn shell(script: &str) -> Value {
    json!({ "command": ["sh", "-c", script] })
}

/// A script with more members of the request.
fn shell_with(script: &str, more: Value) -> Value {
    let mut params = shell(script);
    let members = params.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    params
}

pub(crate) fn decode(text: &Value) -> Vec<u8> {
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for symbol in text.as_str().unwrap().bytes() {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// Reads deltas of a run until something that is not one comes.
async fn deltas(serving: &mut Serving) -> (Vec<u8>, usize, bool, Value) {
    let (mut bytes, mut count, mut capped) = (Vec::new(), 0, false);
    loop {
        let message = serving.server.receive().await.unwrap();
        if message["method"] != "command/exec/outputDelta" {
            return (bytes, count, capped, message);
        }
        assert!(!capped, "nothing comes after the cap");
        bytes.extend(decode(&message["params"]["deltaBase64"]));
        capped = message["params"]["capReached"].as_bool().unwrap();
        count += 1;
    }
}

/// Waits for the output of a run to hold `text`.
async fn printed(serving: &mut Serving, text: &str) {
    let mut seen = String::new();
    while !seen.contains(text) {
        let delta = serving.server.wait_for("command/exec/outputDelta").await;
        let bytes = decode(&delta.unwrap()["params"]["deltaBase64"]);
        seen.push_str(&String::from_utf8_lossy(&bytes));
    }
}

/// Waits for a process to be gone.
async fn gone(process: &str) {
    while Path::new("/proc").join(process).exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_program_runs_and_answers() {
    let mut serving = Serving::start().await;
    for (params, code, stdout, stderr) in [
        (shell("echo out; echo err >&2; exit 4"), 4, "out\n", "err\n"),
        (shell("kill -TERM $$"), 143, "", ""),
        (shell("read x; echo read $?"), 0, "read 1\n", ""),
        (
            shell("printf 'caf\\303\\251 \\377'"),
            0,
            "café \u{fffd}",
            "",
        ),
        (
            shell_with(
                "echo $FOO$HOME",
                json!({ "env": { "FOO": "foo", "HOME": null } }),
            ),
            0,
            "foo\n",
            "",
        ),
        (
            shell_with("yes | head -c 5000", json!({ "outputBytesCap": 10 })),
            0,
            "y\ny\ny\ny\ny\n",
            "",
        ),
        (
            shell_with("echo x", json!({ "outputBytesCap": 0 })),
            0,
            "",
            "",
        ),
        (
            shell_with("echo early; sleep 60", json!({ "timeoutMs": 300 })),
            124,
            "early\n",
            "",
        ),
        (shell_with("pwd", json!({ "cwd": "/usr" })), 0, "/usr\n", ""),
    ] {
        let result = serving.result("command/exec", params.clone()).await;
        let expected = json!({ "exitCode": code, "stdout": stdout, "stderr": stderr });
        assert_eq!(result, expected, "{params}");
    }
    let params = shell_with("yes | head -c 3000000", json!({ "disableOutputCap": true }));
    let result = serving.result("command/exec", params).await;
    assert_eq!(result["stdout"].as_str().unwrap().len(), 3_000_000);
    let params = shell("yes | head -c 3000000");
    let result = serving.result("command/exec", params).await;
    assert_eq!(result["stdout"].as_str().unwrap().len(), 1024 * 1024);
    serving.finish().await;
}

#[tokio::test]
async fn invalid_command_requests_are_refused() {
    let mut serving = Serving::start().await;
    let no_name = "command/exec tty or streaming requires a client-supplied processId";
    for (params, code, message) in [
        (
            json!({ "command": [] }),
            INVALID_REQUEST,
            "command must not be empty",
        ),
        (
            shell_with("", json!({ "size": { "rows": 1, "cols": 1 } })),
            PARAMS,
            "command/exec size requires tty: true",
        ),
        (
            shell_with("", json!({ "outputBytesCap": 1, "disableOutputCap": true })),
            PARAMS,
            "command/exec cannot set both outputBytesCap and disableOutputCap",
        ),
        (
            shell_with("", json!({ "timeoutMs": 1, "disableTimeout": true })),
            PARAMS,
            "command/exec cannot set both timeoutMs and disableTimeout",
        ),
        (
            shell_with("", json!({ "timeoutMs": -1 })),
            PARAMS,
            "command/exec timeoutMs must be non-negative, got -1",
        ),
        (
            shell_with(
                "",
                json!({ "tty": true, "processId": "p", "size": { "rows": 0, "cols": 1 } }),
            ),
            PARAMS,
            "command/exec size rows and cols must be greater than 0",
        ),
        (
            shell_with("", json!({ "tty": true })),
            INVALID_REQUEST,
            no_name,
        ),
        (
            shell_with("", json!({ "streamStdin": true })),
            INVALID_REQUEST,
            no_name,
        ),
        (
            shell_with("", json!({ "streamStdoutStderr": true })),
            INVALID_REQUEST,
            no_name,
        ),
        (
            json!({ "command": ["no-such-program-here"] }),
            INTERNAL_ERROR,
            "failed to spawn command: No such file or directory (os error 2)",
        ),
        (
            shell_with("", json!({ "cwd": "/no/such/folder" })),
            INTERNAL_ERROR,
            "failed to spawn command: No such file or directory (os error 2)",
        ),
        (
            json!({ "command": ["/etc/passwd"] }),
            INTERNAL_ERROR,
            "failed to spawn command: Permission denied (os error 13)",
        ),
        (
            shell_with(
                "",
                json!({ "sandboxPolicy": { "type": "workspaceWrite", "writableRoots": ["x"] } }),
            ),
            INVALID_REQUEST,
            "Invalid request: AbsolutePathBuf deserialized without a base path",
        ),
        (
            json!({ "command": ["a\u{0}b"] }),
            INTERNAL_ERROR,
            "failed to spawn command",
        ),
    ] {
        serving.refused("command/exec", params, code, message).await;
    }
    serving.finish().await;
}

#[tokio::test]
async fn command_stays_in_its_sandbox() {
    let mut serving = Serving::start().await;
    let file = serving.path("made");
    let touch = format!("touch {file}");
    let result = serving.result("command/exec", shell(&touch)).await;
    assert_ne!(result["exitCode"], 0, "read-only is the default");
    assert!(!fs::exists(&file).unwrap());
    let policy = json!({ "sandboxPolicy": { "type": "dangerFullAccess" } });
    let result = serving
        .result("command/exec", shell_with(&touch, policy))
        .await;
    assert_eq!(result["exitCode"], 0);
    assert!(fs::exists(&file).unwrap());
    fs::create_dir(serving.path("work")).unwrap();
    let policy = json!({
        "cwd": serving.path("work"),
        "sandboxPolicy": { "type": "workspaceWrite", "excludeSlashTmp": true, "excludeTmpdirEnvVar": true },
    });
    let script = "touch inside && ! touch ../outside";
    let result = serving
        .result("command/exec", shell_with(script, policy))
        .await;
    assert_eq!(result["exitCode"], 0, "{result}");
    assert!(!fs::exists(serving.path("outside")).unwrap());
    serving.finish().await;
}

#[tokio::test]
async fn input_and_output_are_streamed() {
    let mut serving = Serving::start().await;
    let streamed = json!({ "processId": "cat", "streamStdin": true, "streamStdoutStderr": true });
    let run = serving.server.begin(
        "command/exec",
        shell_with("cat; echo end >&2", streamed.clone()),
    );
    let run = run.await.unwrap();
    // Without waiting for anything: the name is known at once.
    let params = json!({ "processId": "cat", "deltaBase64": "aGVsbG8K" });
    assert_eq!(
        serving.result("command/exec/write", params.clone()).await,
        json!({})
    );
    let delta = serving
        .server
        .wait_for("command/exec/outputDelta")
        .await
        .unwrap();
    let expected = json!({
        "processId": "cat", "stream": "stdout", "deltaBase64": "aGVsbG8K", "capReached": false,
    });
    assert_eq!(delta["params"], expected);
    let duplicate = "duplicate active command/exec process id: \"cat\"";
    let again = shell_with("true", streamed);
    serving
        .refused("command/exec", again, INVALID_REQUEST, duplicate)
        .await;
    let size = json!({ "processId": "cat", "size": { "rows": 1, "cols": 2 } });
    let no_terminal = "failed to resize PTY: process is not attached to a PTY";
    serving
        .refused("command/exec/resize", size, INVALID_REQUEST, no_terminal)
        .await;
    let nothing = json!({ "processId": "cat" });
    let either = "command/exec/write requires deltaBase64 or closeStdin";
    serving
        .refused("command/exec/write", nothing, PARAMS, either)
        .await;
    let bad = json!({ "processId": "cat", "deltaBase64": "***" });
    let symbol = "invalid deltaBase64: Invalid symbol 42, offset 0.";
    serving
        .refused("command/exec/write", bad, PARAMS, symbol)
        .await;
    let close = json!({ "processId": "cat", "closeStdin": true });
    serving.result("command/exec/write", close).await;
    let delta = serving
        .server
        .wait_for("command/exec/outputDelta")
        .await
        .unwrap();
    assert_eq!(delta["params"]["stream"], "stderr");
    let result = serving.server.reply_to(run).await.unwrap();
    let expected = json!({ "exitCode": 0, "stdout": "", "stderr": "" });
    assert_eq!(result["result"], expected);
    let gone = "no active command/exec for process id \"cat\"";
    for method in ["write", "terminate", "resize"] {
        let params = json!({
            "processId": "cat", "closeStdin": true, "size": { "rows": 1, "cols": 2 },
        });
        let method = format!("command/exec/{method}");
        serving
            .refused(&method, params, INVALID_REQUEST, gone)
            .await;
    }
    serving.finish().await;
}

#[tokio::test]
async fn command_input_arrives_in_order_until_it_is_closed() {
    let mut serving = Serving::start().await;
    let named = json!({ "processId": "sort", "streamStdin": true });
    let script = "cat; read x < /dev/null; exec <&-; sleep 0";
    let run = serving
        .server
        .begin("command/exec", shell_with(script, named));
    let run = run.await.unwrap();
    let mut writes = Vec::new();
    for letter in ["YQ==", "Yg==", "Yw=="] {
        let params = json!({ "processId": "sort", "deltaBase64": letter });
        let write = serving.server.begin("command/exec/write", params).await;
        writes.push(write.unwrap());
    }
    for write in writes {
        let reply = serving.server.reply_to(write).await.unwrap();
        assert_eq!(reply["result"], json!({}));
    }
    let close = json!({ "processId": "sort", "deltaBase64": "ZAo=", "closeStdin": true });
    serving.result("command/exec/write", close).await;
    let result = serving.server.reply_to(run).await.unwrap();
    assert_eq!(result["result"]["stdout"], "abcd\n");
    // One that goes on after its input was closed.
    let named = json!({ "processId": "s", "streamStdin": true });
    let run = serving
        .server
        .begin("command/exec", shell_with("cat; sleep 60", named));
    let run = run.await.unwrap();
    let close = json!({ "processId": "s", "closeStdin": true });
    serving.result("command/exec/write", close.clone()).await;
    let closed = "stdin is already closed";
    serving
        .refused("command/exec/write", close, INVALID_REQUEST, closed)
        .await;
    let stop = json!({ "processId": "s" });
    serving.result("command/exec/terminate", stop).await;
    let result = serving.server.reply_to(run).await.unwrap();
    assert_eq!(result["result"]["exitCode"], -1);
    // One that reads nothing can still be stopped.
    let named = json!({ "processId": "n", "streamStdin": true });
    let run = serving
        .server
        .begin("command/exec", shell_with("sleep 60", named));
    let run = run.await.unwrap();
    let much = "YWFh".repeat(100_000);
    for _ in 0..2 {
        let params = json!({ "processId": "n", "deltaBase64": much });
        serving
            .server
            .begin("command/exec/write", params)
            .await
            .unwrap();
    }
    serving
        .result("command/exec/terminate", json!({ "processId": "n" }))
        .await;
    let result = serving.server.reply_to(run).await.unwrap();
    assert_eq!(result["result"]["exitCode"], -1);
    // No input was asked for.
    let run = serving.server.begin(
        "command/exec",
        shell_with("sleep 60", json!({ "processId": "o" })),
    );
    let run = run.await.unwrap();
    let params = json!({ "processId": "o", "deltaBase64": "eA==" });
    let not_enabled = "stdin streaming is not enabled for this command/exec";
    serving
        .refused("command/exec/write", params, INVALID_REQUEST, not_enabled)
        .await;
    serving
        .result("command/exec/terminate", json!({ "processId": "o" }))
        .await;
    serving.server.reply_to(run).await.unwrap();
    serving.finish().await;
}

#[tokio::test]
async fn ended_terminal_has_its_exit_code() {
    let mut serving = Serving::start().await;
    let tty = json!({ "processId": "t", "tty": true, "disableTimeout": true });
    let command = shell_with("echo on; exec sleep 600", tty);
    let run = serving.server.begin("command/exec", command).await;
    printed(&mut serving, "on\r\n").await;
    let stop = json!({ "processId": "t" });
    serving.result("command/exec/terminate", stop).await;
    let ended = serving.server.reply_to(run.unwrap()).await.unwrap();
    let expected = json!({ "exitCode": 137, "stdout": "", "stderr": "" });
    assert_eq!(ended["result"], expected);
    serving.finish().await;
}

#[tokio::test]
async fn a_terminal_has_a_size_and_takes_keys() {
    let mut serving = Serving::start().await;
    let tty = json!({ "processId": "t", "tty": true, "size": { "rows": 10, "cols": 33 } });
    let script = "stty size; read x; stty size; read y; echo got $x$y; cat";
    let run = serving
        .server
        .begin("command/exec", shell_with(script, tty))
        .await;
    printed(&mut serving, "10 33\r\n").await;
    let size = json!({ "processId": "t", "size": { "rows": 20, "cols": 44 } });
    serving.result("command/exec/resize", size).await;
    let zero = json!({ "processId": "t", "size": { "rows": 20, "cols": 0 } });
    let positive = "command/exec size rows and cols must be greater than 0";
    serving
        .refused("command/exec/resize", zero, PARAMS, positive)
        .await;
    let params = json!({ "processId": "t", "deltaBase64": "YQo=" });
    serving.result("command/exec/write", params).await;
    printed(&mut serving, "20 44\r\n").await;
    let params = json!({ "processId": "t", "deltaBase64": "Ygo=" });
    serving.result("command/exec/write", params).await;
    printed(&mut serving, "got ab\r\n").await;
    let close = json!({ "processId": "t", "closeStdin": true });
    serving.result("command/exec/write", close).await;
    let result = serving.server.reply_to(run.unwrap()).await.unwrap();
    let expected = json!({ "exitCode": 0, "stdout": "", "stderr": "" });
    assert_eq!(result["result"], expected);
    serving.finish().await;
}

#[tokio::test]
async fn much_output_arrives_whole_and_before_the_reply() {
    let mut serving = Serving::start().await;
    let size = 50 * 1024 * 1024;
    let streamed = json!({
        "processId": "much", "streamStdoutStderr": true, "disableOutputCap": true, "timeoutMs": 60000,
    });
    let script = format!("head -c {size} /dev/zero");
    let run = serving
        .server
        .begin("command/exec", shell_with(&script, streamed))
        .await;
    let (mut length, mut clean) = (0, true);
    let result = loop {
        let message = serving.server.receive().await.unwrap();
        if message["id"] == run.as_ref().ok().copied().unwrap() {
            break message;
        }
        // Zeros are `A`s.
        let delta = message["params"]["deltaBase64"].as_str().unwrap();
        let padding = delta.bytes().rev().take_while(|byte| *byte == b'=').count();
        length += delta.len() / 4 * 3 - padding;
        clean &= delta.bytes().all(|byte| byte == b'A' || byte == b'=');
    };
    assert_eq!(result["result"]["exitCode"], 0);
    assert_eq!((length, clean), (size, true));
    serving.finish().await;
}

#[tokio::test]
async fn last_delta_marks_the_reached_cap() {
    let mut serving = Serving::start().await;
    for (cap, expected, count) in [(5, "12345", 1), (3, "123", 1), (0, "", 1)] {
        let streamed =
            json!({ "processId": "c", "streamStdoutStderr": true, "outputBytesCap": cap });
        let params = shell_with("printf 12345; sleep 0.05; printf 6", streamed);
        serving.server.begin("command/exec", params).await.unwrap();
        let (bytes, found, capped, reply) = deltas(&mut serving).await;
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
        assert_eq!((found, capped), (count, true));
        assert_eq!(reply["result"]["exitCode"], 0);
    }
    serving.finish().await;
}

#[tokio::test]
async fn runs_end_with_the_connection() {
    let mut serving = Serving::start().await;
    let full = json!({ "type": "dangerFullAccess" });
    let streamed = json!({
        "processId": "x", "streamStdoutStderr": true, "disableTimeout": true, "sandboxPolicy": full,
    });
    let script = "setsid sleep 1000 & echo $! $$; wait";
    serving
        .server
        .begin("command/exec", shell_with(script, streamed))
        .await
        .unwrap();
    let delta = serving
        .server
        .wait_for("command/exec/outputDelta")
        .await
        .unwrap();
    let text = String::from_utf8(decode(&delta["params"]["deltaBase64"])).unwrap();
    serving.server.abandon().await.unwrap();
    for process in text.split_whitespace() {
        gone(process).await;
    }
}
