//! Readers of what others write, with inputs that are damaged in many ways, from a fixed corpus and seed. Each must return, and
//! nothing may panic.
//!
//! Traces and their shards have such tests of their own (`rollout-trace/tests/it/damage.rs`, `shards.rs`), and so have frames of
//! websockets (`transport/src/websocket/tests.rs`).
#![cfg(target_os = "linux")]

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use codex_app_server_protocol::{ClientRequest, rpc};
use codex_exec_policy::{ProgramMatching, RuleSet};
use codex_http::{SseLimits, SseParser};
use codex_json_rpc::Peer;
use codex_test_support::PseudoRandom;

/// Variants of each input of a corpus.
const VARIANTS: usize = 150;

/// The time for one input.
const LIMIT: Duration = Duration::from_secs(5);

const ENVELOPES: [&str; 6] = [
    r#"{"id":1,"method":"thread/start","params":{"cwd":"/work","approvalPolicy":"untrusted","config":{"model":"x"}}}"#,
    r#"{"id":"a","method":"turn/start","params":{"threadId":"t","input":[{"type":"text","text":"hi \u00e9"},{"type":"image","url":"data:x"}]}}"#,
    r#"{"method":"initialized"}"#,
    r#"{"id":7,"result":{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["a","b"]}}}}"#,
    r#"{"id":7,"error":{"code":-32600,"message":"no","data":null}}"#,
    r#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"config/value/write","params":{"keyPath":"a.b","value":[1,2.5e300,{}],"mergeStrategy":"replace"}}"#,
];

const EVENT_STREAMS: [&str; 3] = [
    "event: response.created\ndata: {\"type\":\"response.created\"}\n\ndata: {\"a\":1}\ndata: 2\n\n",
    "\u{feff}: comment\r\nid: 7\r\ndata: x\r\n\r\nretry: 1000\r\r",
    "data:\n\ndata: [DONE]\n\n",
];

const LOGS: [&str; 2] = [
    concat!(
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"01a1b2c3-0000-7000-8000-000000000000","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work","originator":"x","cli_version":"1"}}"#,
        "\n",
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":1,"type":"event_msg","payload":{"type":"user_message","message":"hi","images":[]}}"#,
        "\n",
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}}"#,
        "\n",
    ),
    concat!(
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"turn_context","payload":{"cwd":"/","approval_policy":"never","sandbox_policy":{"type":"read-only"},"model":"x","summary":"auto"}}"#,
        "\n",
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"compacted","payload":{"message":"m","replacement_history":[]}}"#,
        "\n",
    ),
];

const PATCHES: [&str; 2] = [
    "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@ fn x\n-old\n+new\n same\n*** End of File\n*** End Patch",
    "*** Begin Patch\n*** Add File: é.txt\n+one\n+\n*** Delete File: c\n*** End Patch\n",
];

const SCRIPTS: [&str; 3] = [
    "ls -la | grep 'a b' && cat \"x$y\" || echo ${z:-1} > out",
    "for i in $(seq 3); do git -C /x status; done <<EOF\ntext\nEOF",
    "cd a; sed -n '1,5p' f 2>&1; ((x = 1 + 2)); [[ -f a ]] && apply_patch '*** Begin Patch'",
];

const RULES: [&str; 2] = [
    "prefix_rule(pattern=[\"git\", [\"status\", \"diff\"]], decision=\"allow\", justification=\"reads\", match=[\"git status\"])\n",
    "# comment\nhost_executable(name = 'git', paths = ['/usr/bin/git'])\nprefix_rule(['rm'], 'forbidden')",
];

const SETTINGS: [&str; 2] = [
    "model = \"x\"\n[mcp_servers.a]\ncommand = \"b\"\nargs = ['c', \"\\u00e9\"]\nenv = { D = \"e\" }\n[[hooks.x]]\na = 1979-05-27T07:32:00Z\n",
    "[a.b.\"c d\"]\nx = [[1, 2], [3.5e-7, inf]]\ny = '''\nmany\n'''\n",
];

const PEER_MESSAGES: [&str; 6] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}"#,
    r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"codex","arguments":{"prompt":"hi"},"_meta":{"progressToken":1}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
    r#"[{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"m"}}]"#,
];

/// Calls `read` with the corpus as it is, and with damaged variants of it.
fn with_damage(name: &str, corpus: &[&str], mut read: impl FnMut(&[u8])) {
    let mut random = PseudoRandom::new(name.len() * 7919);
    for input in corpus {
        for number in 0..=VARIANTS {
            let mut bytes = input.as_bytes().to_vec();
            for _ in 0..number.min(1 + number % 5) {
                damage(&mut bytes, corpus, &mut random);
            }
            let begun = Instant::now();
            read(&bytes);
            let taken = begun.elapsed();
            let shown = String::from_utf8_lossy(&bytes);
            assert!(taken < LIMIT, "{name} took {taken:?}: {shown}");
        }
    }
}

/// Damages bytes once.
fn damage(bytes: &mut Vec<u8>, corpus: &[&str], random: &mut PseudoRandom) {
    let mut below = |limit: usize| random.below(limit.max(1));
    let at = below(bytes.len());
    let end = (at + 1 + below(12)).min(bytes.len());
    match below(9) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let again = bytes[at..end].repeat(1 + below(40));
            bytes.splice(at..at, again);
        }
        3 => bytes.truncate(at),
        4 => {
            let other = corpus[below(corpus.len())].as_bytes();
            let from = below(other.len());
            bytes.splice(at..end, other[from..].iter().copied());
        }
        5 => {
            let nested = ["[", "{\"a\":", "(", "$(", "\"", "'", "\\"][below(7)];
            bytes.splice(at..at, nested.repeat(1 + below(600)).into_bytes());
        }
        6 => {
            let odd = [
                "\0",
                "\r",
                "\n\n",
                "\u{feff}",
                "\u{202e}",
                "-1",
                "1e999",
                "18446744073709551616",
            ];
            bytes.splice(at..end, odd[below(odd.len())].bytes());
        }
        7 => bytes.insert(at, 0x80 | u8::try_from(below(128)).unwrap_or_default()),
        _ => bytes.splice(at..end, Vec::new()).for_each(drop),
    }
}

#[test]
fn messages_of_clients() {
    with_damage("envelopes", &ENVELOPES, |bytes| {
        if let Ok(rpc::Message::Request(request)) = serde_json::from_slice(bytes) {
            let _ = ClientRequest::read(&request.method, request.params);
        }
    });
}

#[test]
fn event_streams_of_models() {
    with_damage("event streams", &EVENT_STREAMS, |bytes| {
        // The same events come in pieces of any size.
        let events = |size: usize| {
            let mut parser = SseParser::new(SseLimits::default());
            let mut events = Vec::new();
            for mut piece in bytes.chunks(size) {
                while let Some(event) = parser.next(&mut piece) {
                    match event {
                        Ok(event) => events.push(event.to_vec()),
                        Err(_) => return events,
                    }
                }
            }
            events
        };
        assert_eq!(events(1), events(bytes.len().max(1)));
    });
}

#[test]
fn logs_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rollout.jsonl");
    with_damage("logs", &LOGS, |bytes| {
        std::fs::write(&file, bytes).unwrap();
        let mut lines = 0;
        let _ = codex_rollout::scan(&file, |line| {
            lines += usize::from(line.read().is_some());
            ControlFlow::Continue(())
        });
        // What can be read line by line can be loaded, and the other way around.
        if let Ok(loaded) = codex_rollout::load(&file) {
            assert!(loaded.items.len() <= lines + 1);
        }
    });
}

#[test]
fn patches() {
    with_damage("patches", &PATCHES, |bytes| {
        let _ = codex_apply_patch::Patch::parse(&String::from_utf8_lossy(bytes));
    });
}

#[test]
fn scripts() {
    with_damage("scripts", &SCRIPTS, |bytes| {
        let _ = codex_shell_command::parse_plain_commands(&String::from_utf8_lossy(bytes));
    });
}

#[test]
fn rules() {
    with_damage("rules", &RULES, |bytes| {
        let mut rules = RuleSet::default();
        if rules
            .add_file("rules", &String::from_utf8_lossy(bytes))
            .is_err()
        {
            // All rules of a file or none.
            let found = rules.check(&["git", "status"], ProgramMatching::AsWritten);
            assert!(found.matched_rules.is_empty());
        }
    });
}

#[test]
fn settings() {
    with_damage("settings", &SETTINGS, |bytes| {
        let _ = codex_config::parse_table(&String::from_utf8_lossy(bytes));
    });
}

#[test]
fn messages_of_editors_and_of_clients_of_mcp() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    with_damage("peers", &PEER_MESSAGES, |bytes| {
        runtime.block_on(async {
            let (peer, queue) = Peer::new("notifications/cancelled");
            let writing = tokio::spawn(queue.write_to(tokio::io::sink()));
            let mut requests = Vec::new();
            peer.read(bytes, 1024, |incoming| requests.push(incoming))
                .await
                .unwrap();
            drop((requests, peer));
            writing.abort();
        });
    });
}

#[test]
fn requests_to_exec_servers() {
    let corpus = [
        r#"{"id":1,"method":"initialize","params":{"clientName":"x"}}"#,
        r#"{"id":2,"method":"fs/readFile","params":{"path":"/no/such/file"}}"#,
        r#"{"id":3,"method":"process/read","params":{"processId":"p","afterSeq":0,"maxBytes":10,"waitMs":0}}"#,
    ];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    with_damage("exec servers", &corpus, |bytes| {
        runtime.block_on(async {
            let launcher = codex_exec::Launcher::of_this_program();
            let server = codex_exec_server::MachineServer::new(launcher, "/no/program".into(), 4);
            let connected =
                codex_transport::Service::connect(server, codex_transport::Limits::ONLY_CLIENT);
            let mut session = connected.session;
            for line in bytes.split(|byte| *byte == b'\n') {
                let line = codex_transport::InputLine::Whole(line.to_vec());
                codex_transport::MessageHandler::take(&mut session, line).await;
            }
        });
    });
}
