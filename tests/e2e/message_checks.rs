//! No test reads messages of the program beside the clients that check all of them.

use std::fs;

use crate::repository;

/// What starts a server or opens a connection, and the files that may have it: those of clients that check every message,
/// and those that read no message at all.
const WAYS: &[(&str, &[&str])] = &[
    (
        ".arg(\"app-server\")",
        &[
            "logging",
            "packages",
            "release_signs",
            "serving",
            "trace_folder",
        ],
    ),
    ("exec \\\"$0\\\" app-server", &["few_threads"]),
    (".arg(\"acp\")", &["acp_client"]),
    (".arg(\"mcp-server\")", &["mcp_server"]),
    (".arg(\"proto\")", &["proto"]),
    ("serving::unread", &["filesystem", "shutdown"]),
    (".write_noise(", &["odd_lines"]),
    ("connect_to_other(", &["acp_listeners", "exec_server"]),
    ("tokio_tungstenite", &[]),
];

#[test]
fn programs_are_started_only_where_every_message_is_checked() {
    let mut ways = Vec::new();
    for file in fs::read_dir(repository().join("tests/e2e")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|kind| kind != "rs") || name == "message_checks" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let found = WAYS.iter().filter(|(way, _)| text.contains(way));
        let wrong = found.filter(|(_, files)| !files.contains(&&*name));
        ways.extend(wrong.map(|(way, _)| format!("{name}: {way}")));
    }
    assert!(ways.is_empty(), "{ways:#?}");
}
