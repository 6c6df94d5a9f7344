//! The commands that look at a bundle: where they write, and what their exit statuses say.

use std::fs;

use codex_test_support::{HttpReply, ModelServer};
use serde_json::Value;

use crate::exec::{ExecFolders, scenario};
use crate::trace_reduce::unpack;
use crate::{codex, stdout_of};

#[test]
fn pages_and_exports_are_written_where_asked() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = unpack(folder.path());
    let path = bundle.to_str().unwrap();
    let printed = stdout_of(&codex(&["debug", "trace-view", path]));
    let page = bundle.join("view.html");
    assert_eq!(printed.trim_end(), page.to_str().unwrap());
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .starts_with("<!doctype html>")
    );
    for format in ["perfetto", "otlp-json"] {
        let file = bundle.join(format!("{format}.out"));
        let output = file.to_str().unwrap();
        stdout_of(&codex(&[
            "debug",
            "trace-export",
            path,
            "--format",
            format,
            "-o",
            output,
        ]));
        serde_json::from_slice::<serde_json::Value>(&fs::read(file).unwrap()).unwrap();
    }
}

#[test]
fn trajectory_has_one_step_per_answer_with_results() {
    let place = ExecFolders::new();
    let traces = tempfile::tempdir().unwrap();
    let scenario = scenario("approve-command.toml");
    let bypass = "--dangerously-bypass-approvals-and-sandbox";
    let mut session = place.command(&["--scenario", &scenario, bypass, "hi"]);
    session.env("CODEX_ROLLOUT_TRACE_ROOT", traces.path());
    stdout_of(&session.output().unwrap());
    let bundle = fs::read_dir(traces.path()).unwrap().next().unwrap();
    let bundle = bundle.unwrap().path();
    let path = bundle.to_str().unwrap();
    let written = stdout_of(&codex(&["debug", "trace-export", path, "--format", "atif"]));
    let trajectory = fs::read_to_string(written.trim_end()).unwrap();
    let trajectory: Value = serde_json::from_str(&trajectory).unwrap();
    assert_eq!(trajectory["schema_version"], "ATIF-v1.7");
    let steps = trajectory["steps"].as_array().unwrap();
    let numbers: Vec<u64> = (steps.iter())
        .map(|step| step["step_id"].as_u64().unwrap())
        .collect();
    assert!(numbers.into_iter().eq(1..=steps.len() as u64));
    let (mut calls, mut tokens) = (0, 0);
    for step in steps {
        let made = step["tool_calls"].as_array().into_iter().flatten();
        let made: Vec<&Value> = made.map(|call| &call["tool_call_id"]).collect();
        calls += made.len();
        assert!(made.is_empty() || step["source"] == "agent");
        let results = step["observation"]["results"].as_array();
        for result in results.into_iter().flatten() {
            assert!(made.contains(&&result["source_call_id"]), "{step}");
        }
        tokens += step["metrics"]["prompt_tokens"]
            .as_u64()
            .unwrap_or_default();
    }
    assert!(calls > 0);
    assert_eq!(trajectory["final_metrics"]["total_prompt_tokens"], tokens);
    assert_eq!(trajectory["final_metrics"]["total_steps"], steps.len());
}

/// What a collector gets is OTLP in its binary form, with contents only on request.
#[tokio::test]
async fn spans_are_sent_to_a_collector() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = unpack(folder.path());
    let collector = ModelServer::start([]).await.unwrap();
    collector.always(HttpReply::status(200));
    let address = collector.base_url();
    let (address, _) = address.rsplit_once('/').unwrap();
    for contents in [&[][..], &["--contents"]] {
        let bundle = bundle.to_str().unwrap().to_owned();
        let arguments = [
            "debug",
            "trace-export",
            &bundle,
            "--send",
            address,
            "--header",
            "x-team: ours",
        ];
        let arguments: Vec<String> = [&arguments, contents]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let sent = tokio::task::spawn_blocking(move || {
            codex(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
        });
        stdout_of(&sent.await.unwrap());
    }
    let requests = collector.requests();
    let is_in =
        |body: &[u8], text: &str| body.windows(text.len()).any(|part| part == text.as_bytes());
    for (number, request) in requests.iter().enumerate() {
        assert_eq!(request.path, "/v1/traces");
        assert_eq!(
            request.header("content-type"),
            Some("application/x-protobuf")
        );
        assert_eq!(request.header("x-team"), Some("ours"));
        assert!(is_in(&request.body, "invoke_agent /root"));
        assert_eq!(is_in(&request.body, "gen_ai.input.messages"), number == 1);
    }
    assert_eq!(requests.len(), 2);
    collector.always(HttpReply::status(415));
    let arguments = [
        "debug",
        "trace-export",
        bundle.to_str().unwrap(),
        "--send",
        address,
    ];
    let arguments = arguments.map(str::to_owned);
    let refused =
        tokio::task::spawn_blocking(move || codex(&arguments.each_ref().map(String::as_str)));
    let refused = refused.await.unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("415"));
}

#[test]
fn approvals_instructions_and_tools_are_exported() {
    let (bundle, _folder) = crate::trace_replay::recorded("tour.toml");
    let path = bundle.to_str().unwrap();
    let export = |contents: &[&str]| {
        let arguments = ["debug", "trace-export", path, "--format", "otlp-json"];
        let written = stdout_of(&codex(&[&arguments, contents].concat()));
        fs::read_to_string(written.trim_end()).unwrap()
    };
    let (plain, whole) = (export(&[]), export(&["--contents"]));
    for text in [&plain, &whole] {
        assert_eq!(text.matches("\"codex.approval\"").count(), 3);
        assert!(text.contains("codex.question.waited_ms"));
    }
    let contents = [
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
        "codex.question.text",
        "discount",
    ];
    for word in contents {
        assert!(whole.contains(word), "{word}");
        assert!(!plain.contains(word), "{word}");
    }
}

#[test]
fn all_differences_of_two_runs_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = unpack(&folder.path().join("a"));
    let other = unpack(&folder.path().join("b"));
    let log = other.join("trace.jsonl");
    let changed = fs::read_to_string(&log).unwrap();
    let model = r#""model":""#;
    assert!(changed.contains(model));
    fs::write(&log, changed.replace(model, r#""model":"other-"#)).unwrap();
    let page = folder.path().join("diff.html");
    let [bundle, other, page] = [&bundle, &other, &page].map(|path| path.to_str().unwrap());
    let shown = codex(&[
        "debug",
        "trace-diff",
        bundle,
        other,
        "--json",
        "--page",
        page,
    ]);
    assert_eq!(shown.status.code(), Some(1));
    let printed = String::from_utf8(shown.stdout).unwrap();
    let shown: serde_json::Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    let differences = shown["differences"].as_array().unwrap();
    assert!(
        differences
            .iter()
            .all(|difference| difference["left"]["what"] == "request")
    );
    assert!(!differences.is_empty(), "{shown}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<mark>other-</mark>"), "{page}");
    let first = codex(&["debug", "trace-diff", bundle, other, "--first"]);
    let printed = String::from_utf8(first.stdout).unwrap();
    assert_eq!(printed.matches("the runs differ").count(), 1, "{printed}");
}

#[test]
fn redacted_copy_is_the_same_run_with_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = unpack(&folder.path().join("bundle"));
    let copies = ["plain", "marked"].map(|name| folder.path().join(name));
    let [bundle, plain, marked] =
        [&bundle, &copies[0], &copies[1]].map(|path| path.to_str().unwrap());
    stdout_of(&codex(&["debug", "trace-redact", bundle, plain]));
    stdout_of(&codex(&["debug", "trace-redact", bundle, marked, "--text"]));
    let diff = |other: &str| codex(&["debug", "trace-diff", bundle, other]);
    assert_eq!(diff(plain).status.code(), Some(0));
    let parted = diff(marked);
    assert_eq!(parted.status.code(), Some(1));
    let said = String::from_utf8(parted.stdout).unwrap();
    assert!(
        said.starts_with("the runs differ in /root\nA: turn 1, event "),
        "{said}"
    );
    assert_eq!(diff("/no/such/bundle").status.code(), Some(2));
}

#[test]
fn every_trace_command_reports_damage() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole", "cut"].map(|name| unpack(&folder.path().join(name)));
    let log = fs::read_to_string(cut.join("trace.jsonl")).unwrap();
    fs::write(cut.join("trace.jsonl"), format!("{log}{{\"torn")).unwrap();
    let [whole, cut] = [&whole, &cut].map(|path| path.to_str().unwrap());
    for arguments in [
        &["trace-view", cut][..],
        &["trace-export", cut, "--format", "perfetto"],
        &["trace-diff", whole, cut],
        &["trace-diff", cut, whole],
    ] {
        let output = codex(&[&["debug"], arguments].concat());
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("damage: line "), "{arguments:?}: {said}");
    }
}
