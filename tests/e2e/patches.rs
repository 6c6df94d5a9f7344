//! Odd patches through the doors that a model has: the function, the free-form tool, a shell command.
//!
//! What a patch does is tried in `apply-patch`; here it is that every door leads to it, with the same
//! word for the model and the same files.

use std::fs;
use std::path::Path;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::newer_threads::newer_server;
use crate::setup::{catalogue_entry, scripted_home, server};

/// A patch, what the model is told of it, and what is in the folder afterwards. Before, there are
/// `a.txt` of three lines, `crlf.txt`, `bytes` that are no text, the folder `folder`, and `link` to `a.txt`.
struct Case {
    body: &'static str,
    output: PatchOutput,
    /// Files and what they hold; nothing if they are gone.
    after: &'static [(&'static str, Option<&'static str>)],
}

enum PatchOutput {
    /// It is applied, and this line says to what, below the folder of the patch.
    Applied(&'static str),
    /// It is not, and this is a part of the reason.
    Failed(&'static str),
}
use PatchOutput::{Applied, Failed};

const TEXT_BEFORE: &str = "one\ntwo\nthree\n";

const CASES: [Case; 27] = [
    Case {
        body: "",
        output: Failed("patch rejected: empty patch"),
        after: &[],
    },
    Case {
        body: "*** Add File: d/e/x.txt\n+x\n",
        output: Applied("A {}d/e/x.txt"),
        after: &[("d/e/x.txt", Some("x\n"))],
    },
    Case {
        body: "*** Add File: empty\n",
        output: Applied("A {}empty"),
        after: &[("empty", Some(""))],
    },
    Case {
        body: "*** Add File: a.txt\n+new\n",
        output: Applied("A {}a.txt"),
        after: &[("a.txt", Some("new\n"))],
    },
    Case {
        body: "*** Add File: folder\n+x\n",
        output: Failed("folder"),
        after: &[("a.txt", Some(TEXT_BEFORE))],
    },
    Case {
        body: "*** Add File: n\n\n",
        output: Failed("is not a valid hunk header"),
        after: &[("n", None)],
    },
    Case {
        body: "*** Add File: q/../x.txt\n+x\n",
        output: Applied("A {}q/../x.txt"),
        after: &[("x.txt", Some("x\n"))],
    },
    Case {
        body: "*** Delete File: nope\n",
        output: Failed("No such file or directory (os error 2)"),
        after: &[],
    },
    Case {
        body: "*** Delete File: folder\n",
        output: Failed("Is a directory (os error 21)"),
        after: &[],
    },
    Case {
        body: "*** Delete File: link\n",
        output: Applied("D {}link"),
        after: &[("link", None), ("a.txt", Some(TEXT_BEFORE))],
    },
    Case {
        body: "*** Update File: nope\n@@\n-x\n+y\n",
        output: Failed("Failed to read file to update"),
        after: &[],
    },
    Case {
        body: "*** Update File: a.txt\n",
        output: Failed("Update file hunk for path '{}a.txt' is empty"),
        after: &[],
    },
    Case {
        body: "*** Update File: a.txt\n-two\n+2\n",
        output: Applied("M {}a.txt"),
        after: &[("a.txt", Some("one\n2\nthree\n"))],
    },
    Case {
        body: "*** Update File: a.txt\n@@\n-nothing\n+2\n",
        output: Failed("Failed to find expected lines in"),
        after: &[("a.txt", Some(TEXT_BEFORE))],
    },
    Case {
        body: "*** Update File: a.txt\n@@ nowhere\n-two\n+2\n",
        output: Failed("Failed to find context 'nowhere' in"),
        after: &[("a.txt", Some(TEXT_BEFORE))],
    },
    Case {
        body: "*** Update File: a.txt\n@@\n+four\n",
        output: Applied("M {}a.txt"),
        after: &[("a.txt", Some("one\ntwo\nthree\nfour\n"))],
    },
    Case {
        body: "*** Update File: a.txt\n@@\n-one\n-two\n-three\n",
        output: Applied("M {}a.txt"),
        after: &[("a.txt", Some(""))],
    },
    Case {
        body: "*** Update File: a.txt\n*** Move to: d/b.txt\n@@\n-two\n+2\n",
        output: Applied("M {}d/b.txt"),
        after: &[("a.txt", None), ("d/b.txt", Some("one\n2\nthree\n"))],
    },
    Case {
        body: "*** Update File: a.txt\n*** Move to: a.txt\n@@\n-two\n+2\n",
        output: Applied("M {}a.txt"),
        after: &[("a.txt", Some("one\n2\nthree\n"))],
    },
    Case {
        body: "*** Update File: link\n@@\n-two\n+2\n",
        output: Applied("M {}link"),
        after: &[("a.txt", Some("one\n2\nthree\n"))],
    },
    Case {
        body: "*** Update File: crlf.txt\n@@\n-two\n+2\n",
        output: Applied("M {}crlf.txt"),
        after: &[("crlf.txt", Some("one\r\n2\r\n"))],
    },
    Case {
        body: "*** Update File: bytes\n@@\n-x\n+y\n",
        output: Failed("stream did not contain valid UTF-8"),
        after: &[],
    },
    Case {
        body: "*** Update File: a.txt\n@@\n-two\n+2\n*** Update File: a.txt\n@@\n-2\n+zwei\n",
        output: Applied("M {}a.txt"),
        after: &[("a.txt", Some("one\nzwei\nthree\n"))],
    },
    Case {
        body: "*** Add File: n\n+x\n*** Update File: n\n@@\n-x\n+y\n",
        output: Applied("A {}n"),
        after: &[("n", Some("y\n"))],
    },
    Case {
        body: "*** Add File: n\n+x\n*** Update File: a.txt\n@@\n-nothing\n+2\n",
        output: Failed("Failed to find expected lines in"),
        after: &[("n", None), ("a.txt", Some(TEXT_BEFORE))],
    },
    Case {
        body: "*** Update File: a.txt\n@@\n one\n+*** y\n",
        output: Applied("M {}a.txt"),
        after: &[("a.txt", Some("one\n*** y\ntwo\nthree\n"))],
    },
    Case {
        body: "*** Frobnicate: x\n",
        output: Failed("is not a valid hunk header"),
        after: &[],
    },
];

impl Case {
    fn patch(&self) -> String {
        format!("*** Begin Patch\n{}*** End Patch", self.body)
    }

    fn prepare(folder: &Path) {
        fs::create_dir_all(folder.join("folder")).unwrap();
        fs::write(folder.join("a.txt"), TEXT_BEFORE).unwrap();
        fs::write(folder.join("crlf.txt"), "one\r\ntwo\r\n").unwrap();
        fs::write(folder.join("bytes"), [0xff, b'\n']).unwrap();
        std::os::unix::fs::symlink("a.txt", folder.join("link")).unwrap();
    }

    #[track_caller]
    fn check(&self, caller: &PatchCaller, output: &str, folder: &Path) {
        let place = format!("{}: {}", caller.name, self.body);
        let below = if caller.is_there {
            String::new()
        } else {
            format!("{}/", folder.file_name().unwrap().display())
        };
        let said = "Success. Updated the following files:\n";
        match self.output {
            Applied(line) => {
                let line = line.replace("{}", &below);
                assert!(
                    output.contains(&format!("{said}{line}")),
                    "{place}\n{output}"
                );
            }
            Failed(reason) => {
                let reason = reason.replace("{}", &below);
                assert!(output.contains(&reason), "{place}\n{output}");
                assert!(!output.contains(said), "{place}\n{output}");
            }
        }
        for (name, expected) in self.after {
            let content = fs::read_to_string(folder.join(name)).ok();
            assert_eq!(content.as_deref(), *expected, "{place}: {name}");
        }
    }
}

/// A way to have a patch applied.
struct PatchCaller {
    name: &'static str,
    /// Whether it leads into the folder of the patch; the patch names it otherwise.
    is_there: bool,
    /// The form in which the model is offered the tool.
    offered: Option<&'static str>,
    call: fn(&str, &Case) -> Value,
}

/// What a catalogue says of the scripted model.
fn model_with(patches: Option<&str>) -> Value {
    let mut model = catalogue_entry();
    model["apply_patch_tool_type"] = json!(patches);
    model
}

/// Has the model make a call for each case, each in a folder of its own.
async fn check(caller: PatchCaller) {
    let places: Vec<String> = (0..CASES.len())
        .map(|number| format!("c{number}"))
        .collect();
    let calls = places
        .iter()
        .zip(&CASES)
        .map(|(place, case)| (caller.call)(place, case));
    let replies: Vec<_> = calls
        .map(|call| sse::items(&[call]))
        .chain([sse::text("done")])
        .map(|events| HttpReply::stream(&events))
        .collect();
    let model = ModelServer::start(replies).await.unwrap();
    let settings = "approval_policy = \"never\"\nmodel_catalog_json = \"models.json\"";
    let home = scripted_home(&model, settings);
    let models = json!({ "models": [model_with(caller.offered)] });
    fs::write(home.path().join("models.json"), models.to_string()).unwrap();
    for place in &places {
        Case::prepare(&home.path().join(place));
    }
    let mut server = server(&home).await;
    let started = server.start_thread().await;
    let ended = server.run_turn(&started, "go").await;
    assert_eq!(ended["status"], "completed");
    let request = model.request(CASES.len()).await.json();
    let input = request["input"].as_array().unwrap();
    for (place, case) in places.iter().zip(&CASES) {
        let is_it = |item: &&Value| item["call_id"] == **place && item.get("output").is_some();
        let output = &input.iter().find(is_it).unwrap()["output"];
        case.check(&caller, &text_of(output), &home.path().join(place));
        // What was applied is a file change; what does not fit is none in a thread of 0.117.
        let items = ended["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["id"] == **place);
        let status = item.map(|item| {
            (
                item["type"].as_str().unwrap(),
                item["status"].as_str().unwrap(),
            )
        });
        match case.output {
            Applied(_) => assert_eq!(
                status,
                Some(("fileChange", "completed")),
                "{}: {}",
                caller.name,
                case.body
            ),
            Failed(_) => assert_ne!(
                status,
                Some(("fileChange", "completed")),
                "{}: {}",
                caller.name,
                case.body
            ),
        }
    }
    server.finish().await.unwrap();
}

/// The text that an output holds, as it is or in an object.
fn text_of(output: &Value) -> String {
    let text = output.as_str().unwrap();
    let object = serde_json::from_str::<Value>(text);
    let inner = object
        .ok()
        .and_then(|object| object["output"].as_str().map(str::to_owned));
    inner.unwrap_or_else(|| text.to_owned())
}

/// The patch with its paths in a folder.
fn within(place: &str, case: &Case) -> String {
    let mut patch = case.patch();
    for header in [
        "*** Add File: ",
        "*** Delete File: ",
        "*** Update File: ",
        "*** Move to: ",
    ] {
        patch = patch.replace(header, &format!("{header}{place}/"));
    }
    patch
}

#[tokio::test]
async fn through_the_function() {
    check(PatchCaller {
        name: "function",
        is_there: false,
        offered: Some("function"),
        call: |place, case| {
            let input = json!({ "input": within(place, case) });
            sse::function_call(place, "apply_patch", &input)
        },
    })
    .await;
}

#[tokio::test]
async fn through_the_free_form_tool() {
    check(PatchCaller {
        name: "free form",
        is_there: false,
        offered: Some("freeform"),
        call: |place, case| sse::custom_call(place, "apply_patch", &within(place, case)),
    })
    .await;
}

#[tokio::test]
async fn through_a_shell_command() {
    check(PatchCaller {
        name: "shell",
        is_there: true,
        offered: None,
        call: |place, case| {
            let script = format!("cd {place} && apply_patch <<'EOF'\n{}\nEOF", case.patch());
            sse::function_call(place, "shell_command", &json!({ "command": script }))
        },
    })
    .await;
}

#[tokio::test]
async fn failed_patch_is_item_with_changes() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-four\n+4\n*** End Patch\n";
    let call = sse::function_call("call-1", "apply_patch", &json!({ "input": patch }));
    let replies = [sse::items(&[call]), sse::text("done")];
    let replies = replies.map(|events| HttpReply::stream(&events));
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "model_catalog_json = \"models.json\"");
    let models = json!({ "models": [model_with(Some("function"))] });
    fs::write(home.path().join("models.json"), models.to_string()).unwrap();
    fs::write(home.path().join("a.txt"), TEXT_BEFORE).unwrap();
    let mut server = newer_server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    let mut told = Vec::new();
    loop {
        let message = server.receive().await.unwrap();
        let item = &message["params"]["item"];
        if item["type"] == "fileChange" {
            let change = &item["changes"][0];
            assert_eq!(change["diff"], "@@\n-four\n+4\n");
            assert!(change["path"].as_str().unwrap().ends_with("/a.txt"));
            told.push((message["method"].clone(), item["status"].clone()));
        }
        if message["method"] == "turn/completed" {
            break;
        }
    }
    let expected = [("item/started", "inProgress"), ("item/completed", "failed")];
    let expected = expected.map(|(method, status)| (json!(method), json!(status)));
    assert_eq!(told, expected);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn patch_progress_is_reported_while_it_streams() {
    let body = "*** Begin Patch\n*** Add File: b.txt\n+x\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n";
    let mut call = sse::custom_call("call-1", "apply_patch", "");
    let mut events = vec![sse::created("r"), sse::added(&call)];
    for piece in body.split_inclusive('\n') {
        events.push(json!({ "type": "response.custom_tool_call_input.delta", "item_id": "i", "delta": piece }));
    }
    call["input"] = body.into();
    events.extend([sse::done(&call), sse::completed("r")]);
    let replies = || {
        [
            HttpReply::stream(&events),
            HttpReply::stream(&sse::text("done")),
        ]
    };
    for is_on in [true, false] {
        let model = ModelServer::start(replies()).await.unwrap();
        let settings = format!(
            "[features]\napply_patch_freeform = true\napply_patch_streaming_events = {is_on}\n"
        );
        let home = scripted_home(&model, &settings);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), TEXT_BEFORE).unwrap();
        let mut server = server(&home).await;
        let thread = server
            .start_thread_with(json!({ "cwd": folder.path() }))
            .await;
        server.start_turn(&thread, "go").await;
        let mut updates = Vec::new();
        loop {
            let message = server.receive().await.unwrap();
            if message["method"] == "item/fileChange/patchUpdated" {
                assert_eq!(message["params"]["itemId"], "call-1");
                updates.push(message["params"]["changes"].clone());
            }
            if message["method"] == "turn/completed" {
                break;
            }
        }
        let update = json!({ "type": "update", "move_path": null });
        let whole = json!([
            { "path": "a.txt", "kind": update, "diff": "@@\n-one\n+1\n" },
            { "path": "b.txt", "kind": { "type": "add" }, "diff": "x\n" },
        ]);
        assert_eq!(updates.last(), is_on.then_some(&whole), "{updates:?}");
        if is_on {
            assert_eq!(
                updates[0][0]["path"], "b.txt",
                "the file is told as soon as it is named"
            );
        }
        server.finish().await.unwrap();
    }
}
