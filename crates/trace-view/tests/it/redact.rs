//! Copies without secrets, and without text.

use std::fs;
use std::path::{Path, PathBuf};

use codex_rollout_trace::model::RolloutTrace;
use codex_rollout_trace::replay_bundle;
use codex_trace_view::{Person, RedactError, Redaction, Text, redact_bundle};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Bundle, NAMES, files};

struct Copy {
    folder: TempDir,
    done: Redaction,
}

impl Copy {
    fn redacted(bundle: &Bundle, text: Text) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let person = Person {
            home: Some("/srv/people/ada".to_owned()),
            user: Some("ada".to_owned()),
        };
        let done = redact_bundle(bundle.path(), &folder.path().join("copy"), text, &person);
        let done = done.unwrap();
        Self { folder, done }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    fn contains(&self, text: &str) -> bool {
        files(&self.path())
            .iter()
            .any(|(_, content)| content.contains(text))
    }
}

fn shape(trace: &RolloutTrace) -> [usize; 9] {
    [
        trace.threads.len(),
        trace.codex_turns.len(),
        trace.inference_calls.len(),
        trace.conversation_items.len(),
        trace.code_cells.len(),
        trace.tool_calls.len(),
        trace.terminal_operations.len(),
        trace.compactions.len(),
        trace.raw_payloads.len(),
    ]
}

const PLANTED_SECRETS: [&str; 8] = [
    "sk-proj-Zq81kdPPaw0283hdkQ",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-2211098877-abcdefGHIJ",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ0ZXN0In0.c2lnbmF0dXJl",
    "f9Kx02mmQpZ71vTe",
    "hunter2hunter2",
    "grace.hopper",
];

/// One text with every planted secret, as it may stand in a command or its output.
fn planted() -> String {
    let [openai, github, amazon, slack, web, named, password, person] = PLANTED_SECRETS;
    format!(
        "curl -H 'Authorization: Bearer {openai}' {github} {amazon} {slack} {web} \
         CLIENT_SECRET={named} password: {password} /home/{person}/work C:\\Users\\{person}\\x"
    )
}

#[test]
fn planted_secrets_are_gone_and_the_copy_reduces() {
    let bundle = Bundle::unpack("tools_and_terminals");
    let escaped = serde_json::to_string(&planted()).unwrap();
    bundle.set_model(escaped.trim_matches('"'));
    let copy = Copy::redacted(&bundle, Text::Keep);
    for secret in PLANTED_SECRETS {
        assert!(!copy.contains(secret), "{secret}");
    }
    assert!(copy.done.secrets >= 7, "{:?}", copy.done);
    let reduction = replay_bundle(copy.path()).unwrap();
    assert_eq!(shape(&reduction.trace), shape(&bundle.reduce().trace));
}

/// A kind, a text and the secret in it; the text has JSON's escapes.
fn planted_kinds() -> Vec<[String; 3]> {
    let kinds = include_str!("planted_secrets.tsv").lines();
    kinds
        .map(|line| {
            let mut fields = line.split('\t').map(|field| field.replace("\\n", "\n"));
            std::array::from_fn(|_| fields.next().unwrap())
        })
        .collect()
}

/// Each kind where it is planted in a command, and once more on its own in what the command put out.
#[test]
fn secrets_of_every_kind_are_redacted_everywhere() {
    let bundle = Bundle::unpack("one_turn");
    let kinds = planted_kinds();
    for (number, [_, text, _]) in kinds.iter().enumerate() {
        let arguments = json!({ "cmd": text }).to_string();
        let payload =
            json!({ "payload": { "type": "function", "arguments": arguments }, "n": number });
        let path = bundle
            .path()
            .join(format!("payloads/{}.json", 100 + number));
        fs::write(path, payload.to_string()).unwrap();
    }
    let copy = Copy::redacted(&bundle, Text::Keep);
    let left: Vec<&String> = kinds
        .iter()
        .filter(|[_, _, secret]| copy.contains(secret.trim_end_matches(['=', '/'])))
        .map(|[kind, _, _]| kind)
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn known_secret_is_redacted_everywhere() {
    let bundle = Bundle::unpack("one_turn");
    let secret = "q8zr1lx0pw7t5m2k";
    for (name, payload) in [
        (
            "98",
            json!({ "cmd": format!("docker login -u ci -p {secret} registry.example.com") }),
        ),
        (
            "99",
            json!({ "output": format!("logged in with {secret}, thanks") }),
        ),
    ] {
        let path = bundle.path().join(format!("payloads/{name}.json"));
        fs::write(path, payload.to_string()).unwrap();
    }
    let log = bundle.path().join("trace.jsonl");
    let preview = json!({ "input_preview": format!("{{\"cmd\": \"echo {}...", &secret[..9]) });
    let more = format!("{}{preview}\n", fs::read_to_string(&log).unwrap());
    fs::write(&log, more).unwrap();
    let copy = Copy::redacted(&bundle, Text::Keep);
    assert!(!copy.contains(&secret[..9]));
    assert_eq!(copy.done.secrets, 2);
}

/// Where no text is to be seen, previews of arguments and names of files that are keys are not either.
#[test]
fn without_text_arguments_and_file_names_go_too() {
    let bundle = Bundle::unpack("one_turn");
    let arguments = json!({ "cmd": "cat merger", "name": "acme-merger", "n": 3 }).to_string();
    let payload = json!({
        "changes": { "plans/merger.md": { "type": "add" }, "Merger": { "type": "delete" } },
        "payload": { "type": "function", "arguments": arguments },
        "invocation": { "server": "s", "tool": "t", "arguments": { "kind": "merger" } },
    });
    fs::write(bundle.path().join("payloads/99.json"), payload.to_string()).unwrap();
    let log = bundle.path().join("trace.jsonl");
    let summary = json!({
        "type": "generic", "label": "exec_command", "input_preview": arguments, "output_preview": null,
    });
    let event = json!({
        "schema_version": 1, "seq": 99, "wall_time_unix_ms": 1, "rollout_id": "r", "thread_id": "t",
        "codex_turn_id": "u", "payload": {
            "type": "tool_call_started", "tool_call_id": "c", "model_visible_call_id": null,
            "code_mode_runtime_tool_id": null, "requester": { "type": "model" },
            "kind": { "type": "exec_command" }, "summary": summary, "invocation_payload": null,
        },
    });
    let more = format!("{}{event}\n", fs::read_to_string(&log).unwrap());
    fs::write(&log, more).unwrap();
    let copy = Copy::redacted(&bundle, Text::Mark);
    for word in ["merger", "Merger"] {
        assert!(!copy.contains(word), "{word}");
    }
    for word in ["exec_command", "generic", "\"type\":\"add\""] {
        assert!(copy.contains(word), "{word}");
    }
}

#[test]
fn secrets_in_keys_arguments_and_torn_lines_are_redacted() {
    let bundle = Bundle::unpack("one_turn");
    let payload = r#"{"client_secret":"f9Kx02mmQpZ71vTe","/home/grace.hopper/x":1,
        "arguments":"{\"api_key\":\"f9Kx02mmQpZ71vTf\",\"cwd\":\"/home/grace.hopper\"}","n":1.50}"#;
    fs::write(bundle.path().join("payloads/99.json"), payload).unwrap();
    let log = bundle.path().join("trace.jsonl");
    let torn = fs::read_to_string(&log).unwrap()
        + r#"{"seq":99,"payload":{"error":"sk-proj-Zq81kdPPaw0283hdkQ"#;
    fs::write(&log, torn).unwrap();
    let copy = Copy::redacted(&bundle, Text::Keep);
    for secret in ["f9Kx02mm", "grace", "sk-proj"] {
        assert!(!copy.contains(secret), "{secret}");
    }
    assert!(copy.contains("\"n\":1.50"), "numbers keep their digits");
}

#[test]
fn a_bundle_without_secrets_is_copied_as_it_is() {
    for name in NAMES {
        let bundle = Bundle::unpack(name);
        let copy = Copy::redacted(&bundle, Text::Keep);
        let reduction = replay_bundle(copy.path()).unwrap();
        assert_eq!(
            shape(&reduction.trace),
            shape(&bundle.reduce().trace),
            "{name}"
        );
        assert_eq!(copy.done.files, bundle.files().len(), "{name}");
    }
}

#[test]
fn without_text_the_shape_stays_and_the_words_go() {
    for name in NAMES {
        let bundle = Bundle::unpack(name);
        let original = bundle.reduce().trace;
        let copy = Copy::redacted(&bundle, Text::Mark);
        let marked = replay_bundle(copy.path()).unwrap().trace;
        assert_eq!(shape(&marked), shape(&original), "{name}");
        for item in original.conversation_items.values() {
            for part in &item.body.parts {
                if let codex_rollout_trace::model::Part::Text { text } = part
                    && let text = text.read().unwrap()
                    && text.len() > 12
                    && text.contains(' ')
                {
                    assert!(!copy.contains(&text), "{name}: {text}");
                }
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_copy_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let copy = Copy::redacted(&Bundle::unpack("one_turn"), Text::Keep);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&copy.path()), 0o700);
    assert_eq!(mode(&copy.path().join("trace.jsonl")), 0o600);
}

#[test]
fn redaction_refuses_an_existing_folder() {
    let bundle = Bundle::unpack("one_turn");
    let again = redact_bundle(bundle.path(), bundle.path(), Text::Keep, &Person::default());
    assert!(matches!(again, Err(RedactError::Occupied(_))));
}
