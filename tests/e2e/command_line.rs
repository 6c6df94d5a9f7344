//! The command line itself.

use crate::codex;
use crate::stdout_of;

#[test]
fn version_is_what_clients_look_for() {
    let version = stdout_of(&codex(&["--version"]));
    assert_eq!(
        version,
        format!("codex-cli {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn help_names_the_commands() {
    let help = stdout_of(&codex(&["app-server", "--help"]));
    for command in ["generate-ts", "generate-json-schema", "generate-openrpc"] {
        assert!(help.contains(command), "{command} is not in:\n{help}");
    }
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    assert_eq!(codex(&["no-such-command"]).status.code(), Some(2));
}
