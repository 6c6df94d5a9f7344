//! End-to-end tests: they drive the built binary as its users do, and hold the repository to its own
//! rules.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic and speak"
)]

#[cfg(target_os = "linux")]
mod accepted_input;
mod account;
#[cfg(target_os = "linux")]
mod acp;
#[cfg(target_os = "linux")]
mod acp_check;
mod acp_client;
#[cfg(target_os = "linux")]
mod acp_features;
#[cfg(target_os = "linux")]
mod acp_listeners;
mod acp_sessions;
#[cfg(target_os = "linux")]
mod agent_jobs;
mod agents;
mod app_search;
#[cfg(target_os = "linux")]
mod app_server;
mod app_suggestions;
#[cfg(target_os = "linux")]
mod approval_reviews;
#[cfg(target_os = "linux")]
mod approvals;
mod apps;
#[cfg(target_os = "linux")]
mod batch;
mod broken_stores;
#[cfg(target_os = "linux")]
mod cell_isolation;
mod checked_paths;
mod checkpoints;
#[cfg(target_os = "linux")]
mod client_check;
#[cfg(target_os = "linux")]
mod client_hooks;
mod closed_agents;
mod code_mode;
#[cfg(target_os = "linux")]
mod command_exec;
mod command_line;
#[cfg(target_os = "linux")]
mod compactions;
mod configured;
mod context_use;
#[cfg(target_os = "linux")]
mod cut_answers;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod dead_mounts;
mod debug_send;
#[cfg(target_os = "linux")]
mod demo;
#[cfg(target_os = "linux")]
mod disabled_plugins;
mod doctor;
mod documents;
#[cfg(target_os = "linux")]
mod editor_terminals;
#[cfg(target_os = "linux")]
mod environment_settings;
mod environments;
#[cfg(target_os = "linux")]
mod escapes;
#[cfg(target_os = "linux")]
mod exec;
#[cfg(target_os = "linux")]
mod exec_flags;
#[cfg(target_os = "linux")]
mod exec_input;
#[cfg(target_os = "linux")]
mod exec_server;
#[cfg(target_os = "linux")]
mod exec_threads;
#[cfg(target_os = "linux")]
mod failing_commands;
mod fallbacks;
#[cfg(target_os = "linux")]
mod few_threads;
#[cfg(target_os = "linux")]
mod filesystem;
#[cfg(target_os = "linux")]
mod fuzzy_search;
mod generate;
mod git;
#[cfg(target_os = "linux")]
mod hidden_files;
#[cfg(target_os = "linux")]
mod hook_plugins;
mod hook_runs;
mod hook_tools;
mod hook_trust;
mod hook_typing;
#[cfg(target_os = "linux")]
mod hooks;
#[cfg(target_os = "linux")]
mod images;
#[cfg(unix)]
mod interrupted_turns;
mod item_ends;
#[cfg(target_os = "linux")]
mod kits;
mod large_threads;
mod late_readers;
#[cfg(target_os = "linux")]
mod later_threads;
mod layers;
mod legacy_threads;
#[cfg(target_os = "linux")]
mod limits;
mod listed_models;
mod listeners;
#[cfg(target_os = "linux")]
mod logging;
#[cfg(target_os = "linux")]
mod long_lines;
#[cfg(target_os = "linux")]
mod machines;
mod many_clients;
#[cfg(target_os = "linux")]
mod mcp_check;
mod mcp_commands;
#[cfg(target_os = "linux")]
mod mcp_event_streams;
#[cfg(target_os = "linux")]
mod mcp_http;
#[cfg(target_os = "linux")]
mod mcp_logins;
#[cfg(target_os = "linux")]
mod mcp_namespaces;
mod mcp_process;
#[cfg(target_os = "linux")]
mod mcp_revisions;
#[cfg(target_os = "linux")]
mod mcp_sandbox;
#[cfg(target_os = "linux")]
mod mcp_server;
#[cfg(target_os = "linux")]
mod mcp_servers;
#[cfg(target_os = "linux")]
mod memories;
mod message_checks;
mod method_pairs;
#[cfg(target_os = "linux")]
mod model_websocket;
#[cfg(target_os = "linux")]
mod module_layers;
#[cfg(target_os = "linux")]
mod network_by_host;
mod newer_clients;
#[cfg(target_os = "linux")]
mod newer_details;
mod newer_filing;
mod newer_history;
mod newer_homes;
mod newer_methods;
mod newer_requests;
mod newer_search;
#[cfg(target_os = "linux")]
mod newer_settings;
mod newer_state;
mod newer_threads;
mod newer_values;
#[cfg(target_os = "linux")]
mod newest_methods;
mod notices;
#[cfg(target_os = "linux")]
mod numbered_files;
mod oauth_server;
#[cfg(target_os = "linux")]
mod odd_lines;
#[cfg(target_os = "linux")]
mod other_machine;
mod outside_programs;
#[cfg(target_os = "linux")]
mod overload;
#[cfg(target_os = "linux")]
mod packages;
#[cfg(target_os = "linux")]
mod patches;
#[cfg(target_os = "linux")]
mod permission_profiles;
#[cfg(target_os = "linux")]
mod pipes;
#[cfg(unix)]
mod planted_files;
mod platform_code;
mod plugin_commands;
mod plugin_folders;
mod plugin_repositories;
mod plugins;
#[cfg(target_os = "linux")]
mod prefix_breaks;
#[cfg(target_os = "linux")]
mod private_files;
#[cfg(target_os = "linux")]
mod project_settings;
mod prompt_cache;
#[cfg(target_os = "linux")]
mod proto;
#[cfg(target_os = "linux")]
mod proto_forms;
#[cfg(target_os = "linux")]
mod proto_listeners;
mod proto_tasks;
mod questions;
#[cfg(target_os = "linux")]
mod queue_handover;
#[cfg(target_os = "linux")]
mod readme;
#[cfg(target_os = "linux")]
mod real_servers;
#[cfg(target_os = "linux")]
mod realtime;
#[cfg(target_os = "linux")]
mod redirects;
mod release_flips;
mod release_signs;
mod remote_plugins;
#[cfg(target_os = "linux")]
mod repeated_secrets;
#[cfg(target_os = "linux")]
mod request_order;
mod reverts;
mod reviews;
mod rules_everywhere;
#[cfg(target_os = "linux")]
mod samples;
mod scenarios;
mod script_rights;
#[cfg(target_os = "linux")]
mod serving;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod setup;
#[cfg(target_os = "linux")]
mod shutdown;
#[cfg(target_os = "linux")]
mod skills;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod stored_threads;
#[cfg(target_os = "linux")]
mod strict_config;
#[cfg(target_os = "linux")]
mod teams;
#[cfg(target_os = "linux")]
mod thread_commands;
mod thread_export;
#[cfg(target_os = "linux")]
mod thread_settings;
mod threads;
#[cfg(target_os = "linux")]
mod trace_explain;
mod trace_folder;
mod trace_live;
mod trace_page;
mod trace_record;
mod trace_reduce;
#[cfg(target_os = "linux")]
mod trace_replay;
mod trace_replay_order;
#[cfg(target_os = "linux")]
mod trace_scenario;
mod trace_shards;
#[cfg(target_os = "linux")]
mod trace_unusual;
mod trace_view;
#[cfg(target_os = "linux")]
mod transcript;
#[cfg(target_os = "linux")]
mod trust;
mod turn_settings;
mod turn_transcripts;
#[cfg(target_os = "linux")]
mod typed_commands;
mod typescript;
#[cfg(target_os = "linux")]
mod undo;
#[cfg(target_os = "linux")]
mod unnamed_folders;
mod usage_limits;
mod utilities;
mod vocabulary;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the built binary with these arguments.
fn codex(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(arguments)
        // Each payload in a file of its own, which tests read and change.
        .env("CODEX_ROLLOUT_TRACE_SCHEMA", "1")
        .output()
        .unwrap()
}

/// What a successful run printed.
#[track_caller]
fn stdout_of(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}
