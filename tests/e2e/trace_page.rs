//! The page of a trace, with its scripts: what a person reads there, and that nothing of a session becomes more than text.

use std::fs;
use std::path::Path;

use codex_test_support::{HttpReply, sse};
use rquickjs::{CatchResultExt, Context, Ctx, Runtime};
use serde_json::{Value, json};

use crate::trace_record::{TraceBundle, Traced, message_item, response};
use crate::trace_replay::recorded;
use crate::{codex, stdout_of};

const DOCUMENT: &str = include_str!("page_document.js");

/// A page whose scripts ran in a document without a browser.
pub(crate) struct TracePage {
    context: Context,
    /// The scripts of the page are stopped when it goes.
    _runtime: Runtime,
}

impl TracePage {
    pub(crate) fn render(bundle: &Path) -> Self {
        let written = stdout_of(&codex(&["debug", "trace-view", bundle.to_str().unwrap()]));
        Self::load(&fs::read_to_string(written.trim_end()).unwrap())
    }

    pub(crate) fn load(page: &str) -> Self {
        let between = |start: &str| {
            let (_, rest) = page.split_once(start).unwrap();
            rest.split_once("</script>").unwrap().0.to_owned()
        };
        let data = between("id=\"data\">");
        let script = between("<script>");
        let runtime = Runtime::new().unwrap();
        runtime.set_max_stack_size(512 << 10);
        let context = Context::full(&runtime).unwrap();
        let page = Self {
            context,
            _runtime: runtime,
        };
        page.run::<()>(DOCUMENT);
        page.context.with(|ctx| {
            let globals = ctx.globals();
            globals.set("written", data).unwrap();
        });
        page.run::<()>("document.getElementById('data').textContent = written");
        page.run::<()>(&script);
        page
    }

    pub(crate) fn run<T: for<'js> rquickjs::FromJs<'js>>(&self, script: &str) -> T {
        self.context.with(|ctx: Ctx<'_>| {
            let result = ctx.eval::<T, _>(script).catch(&ctx);
            result.unwrap_or_else(|error| panic!("{error}"))
        })
    }

    /// What stands below the timeline.
    pub(crate) fn text(&self) -> String {
        self.run("page.text()")
    }

    pub(crate) fn part(&self, id: &str) -> String {
        self.run(&format!("page.text({})", json!(id)))
    }

    /// The same with everything open that is folded.
    fn open_text(&self) -> String {
        self.run::<()>("page.open()");
        self.text()
    }

    #[track_caller]
    fn press(&self, button: &str) {
        let is_there = self.run::<bool>(&format!("page.press({})", json!(button)));
        assert!(is_there, "no button {button}: {}", self.text());
    }
}

fn exec(call: &str, arguments: &Value) -> Vec<Value> {
    response(&[sse::function_call(call, "exec_command", arguments)])
}

/// The bundle of a session with these replies to one turn.
async fn session(params: Value, replies: &[Vec<Value>]) -> (TraceBundle, tempfile::TempDir) {
    let mut traced = Traced::start(replies).await;
    let thread = traced.server.start_thread_with(params).await;
    traced.turn(&thread).await;
    let (mut bundles, home) = traced.finish().await;
    (bundles.remove(&thread).unwrap(), home)
}

#[track_caller]
pub(crate) fn check_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("no {part} in {rest}\nof {text}");
        };
        rest = after;
    }
}

#[tokio::test]
async fn truncated_output_is_marked_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let command = "seq 1 100000; echo at the end >&2";
    let replies = [
        exec("c1", &json!({ "cmd": command })),
        response(&[message_item("Done.")]),
    ];
    let (bundle, _home) = session(json!({ "cwd": folder.path() }), &replies).await;
    let page = TracePage::render(&bundle.0);
    let text = page.open_text();
    assert!(text.contains("what it did not see is marked"), "{text}");
    let of_seen = |seen: &str, printed: &str| {
        let call = format!(
            "JSON.stringify(omittedIn({}, {}))",
            json!(printed),
            json!(seen)
        );
        serde_json::from_str::<Value>(&page.run::<String>(&call)).unwrap()
    };
    let mark = "…17 tokens truncated…";
    let numbers: Vec<String> = (1..100).map(|number| number.to_string()).collect();
    let printed = numbers.join("\n") + "\n";
    let seen = format!("Output:\n{}{mark}{}", &printed[..50], &printed[201..]);
    assert_eq!(of_seen(&seen, &printed), json!([50, 201]));
    // With a text around it, a mark on a line of its own, and lines that repeat.
    let seen = format!(
        "Exit code: 0\nOutput:\n{}\n{mark}\n{}at the end\n",
        &printed[..50],
        &printed[201..]
    );
    assert_eq!(of_seen(&seen, &printed), json!([50, 201]));
    let repeated = "same line\n".repeat(50);
    let seen = format!("Output:\n{}{mark}{}", &repeated[..95], &repeated[405..]);
    assert_eq!(of_seen(&seen, &repeated), json!([95, 405]));
    // What does not fit is not guessed.
    let seen = format!("Output:\nanother text\n{mark}\nand its end");
    assert_eq!(of_seen(&seen, &printed), Value::Null);
    assert_eq!(of_seen("all of it", &printed), Value::Null);
}

#[tokio::test]
async fn page_shows_each_call_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("old-copy")).unwrap();
    let tests = "echo 'ok 1'; echo '48 passed, 2 failed'; exit 1";
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** End Patch";
    let replies = [
        exec(
            "c1",
            &json!({ "cmd": tests, "workdir": folder.path().join("old-copy") }),
        ),
        response(&[sse::custom_call("p1", "apply_patch", patch)]),
        exec("c2", &json!({ "cmd": "seq 1 30" })),
        response(&[message_item("Everything is done.")]),
    ];
    let (bundle, _home) = session(json!({ "cwd": folder.path() }), &replies).await;
    let page = TracePage::render(&bundle.0);
    let text = page.text();
    let line = format!("$ {tests} (in old-copy/) → 1, 48 passed, 2 failed, ");
    let parts = [
        "What happened",
        &line,
        "patch new.txt (+2 −0) → completed, ",
        "$ seq 1 30 → 0, 30 lines, ",
        "Everything is done.",
    ];
    check_order(&text, &parts);
    assert!(text.contains("Exit code not 0 (1)"), "{text}");
    assert!(page.part("totals").contains("1exit code not 0"));
    let list = page.part("timeline-text");
    assert_eq!(list.matches("$ seq 1 30").count(), 1, "{list}");
    assert!(
        list.contains("tool of /root: $ seq 1 30 → 0, 30 lines"),
        "{list}"
    );
    let open = page.open_text();
    assert!(!open.contains("{\\\""), "escaped twice: {open}");
    let details = "viewer.select(data.spans.findIndex((span) => span.kind === 'command'))";
    page.run::<()>(details);
    let open = page.open_text();
    assert!(!open.contains("{\\\""), "escaped twice: {open}");
    check_order(&open, &["exec_command", "exit code", "(in old-copy/) → 1"]);
}

#[tokio::test]
async fn trace_story_starts_at_last_failure() {
    let mut traced = Traced::start(&[]).await;
    let thread = traced.thread().await;
    for (words, fails) in [("Read it", false), ("Break it", true), ("Mend it", false)] {
        let reply = HttpReply::status(400).body("refused");
        traced.model.always(if fails {
            reply
        } else {
            HttpReply::stream(&sse::text(&format!("done: {words}")))
        });
        let input = json!([{ "type": "text", "text": words }]);
        let params = json!({ "threadId": thread, "input": input });
        traced.server.call("turn/start", params).await.unwrap();
        traced.server.wait_for("turn/completed").await.unwrap();
    }
    let (bundles, _home) = traced.finish().await;
    let page = TracePage::render(&bundles[&thread].0);
    page.run::<()>("page.open()");
    let text = page.text();
    check_order(
        &text,
        &[
            "Turns (3), shown from turn 2 on",
            "1. Read it",
            "2. Break it",
            "3. Mend it",
            "The request failed: ",
            "done: Mend it",
        ],
    );
    let (_, story) = text.split_once("shown from turn 2 on").unwrap();
    let (story, _) = story.split_once("Inferences").unwrap();
    assert!(!story.contains("done: Read it"), "{story}");
    page.press("1. Read it");
    check_order(&page.text(), &["done: Read it", "done: Mend it"]);
}

#[tokio::test]
async fn page_shows_context_before_and_after_a_compaction() {
    let mut traced = Traced::start(&[]).await;
    traced
        .model
        .always(HttpReply::stream(&sse::text("the first answer")));
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    traced
        .model
        .always(HttpReply::stream(&sse::text("what came of it so far")));
    let params = json!({ "threadId": thread });
    traced
        .server
        .call("thread/compact/start", params)
        .await
        .unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    traced
        .model
        .always(HttpReply::stream(&sse::text("the last answer")));
    traced.turn(&thread).await;
    let (bundles, _home) = traced.finish().await;
    let page = TracePage::render(&bundles[&thread].0);
    page.press("Show earlier turns");
    let text = page.open_text();
    check_order(
        &text,
        &[
            "the first answer",
            "----",
            "The context was compacted",
            "before ",
            "after ",
            "Summary",
            "what came of it so far",
            "Dropped (",
            "the first answer",
            "the last answer",
        ],
    );
    assert!(text.contains("the context was compacted"), "{text}");
}

#[test]
fn trace_story_has_questions_with_their_waiting_time() {
    let (bundle, _folder) = recorded("tour.toml");
    let page = TracePage::render(&bundle);
    let text = page.text();
    check_order(
        &text,
        &[
            "$ sh check.sh; cat discount.sh → 0, 10 lines, ",
            "for a person",
            "exec approval request",
            "→ approved, after ",
            "patch discount.sh (+1 −1) → completed",
        ],
    );
    assert!(text.contains("What fills the context of the last request"));
    assert!(text.contains("tool exec_command"), "{text}");
    let stops = "page.count((one) => one.className === 'bar' && one.tabIndex === 0)";
    assert_eq!(page.run::<i32>(stops), 1, "the chart is one stop");
}

/// Traces are data of strangers.
#[tokio::test]
async fn trace_page_escapes_hostile_session_content() {
    let evil = "</script><img src=x onerror=alert(1)><script>alert(2)</script>";
    let deep = "[".repeat(50_000);
    let long = "A".repeat(3 << 20);
    let arguments = json!({ "cmd": format!("printf '%s' '{evil}'"), "__proto__": { "x": evil }, "constructor": deep });
    let mut replies = vec![
        exec("c1", &arguments),
        response(&[sse::function_call("c2", evil, &json!({ "a": evil }))]),
        response(&[sse::function_call("__proto__", "exec_command", &json!("{"))]),
        response(&[sse::custom_call(
            "constructor",
            "apply_patch",
            &format!("*** Begin Patch\n*** Add File: {evil}\n+{long}\n*** End Patch"),
        )]),
    ];
    replies.push(response(&[message_item(&format!("{evil}{deep}"))]));
    let (bundle, _home) = session(json!({}), &replies).await;
    let page = TracePage::render(&bundle.0);
    let text = page.open_text();
    assert!(text.contains(evil), "shown as text");
    let tags = page.run::<String>("page.tags()");
    for tag in ["img", "script", "iframe", "a"] {
        let mut tags = tags.split(' ');
        // An ordinary element `article` is no link.
        assert!(!tags.any(|one| one == tag), "{tag} in {tags:?}");
    }
    // Every place of the page, not only the overview.
    page.run::<()>("data.spans.forEach((_, at) => { viewer.select(at); page.open(); })");
    // Payloads that are no JSON or are gone.
    for (number, file) in fs::read_dir(bundle.0.join("payloads")).unwrap().enumerate() {
        let path = file.unwrap().path();
        match number % 3 {
            0 => fs::write(path, "{\"half\": ").unwrap(),
            1 => fs::write(path, "null").unwrap(),
            _ => {}
        }
    }
    let path = bundle.0.to_str().unwrap();
    let written = codex(&["debug", "trace-view", path]);
    assert_eq!(written.status.code(), Some(3), "damage is told");
    let written = String::from_utf8(written.stdout).unwrap();
    let page = TracePage::load(&fs::read_to_string(written.trim_end()).unwrap());
    assert!(page.text().contains("What is wrong with the bundle"));
    page.run::<()>("data.spans.forEach((_, at) => { viewer.select(at); page.open(); })");
}
