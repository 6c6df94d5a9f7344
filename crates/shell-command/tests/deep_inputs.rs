//! Deeply nested scripts need only a small stack.

use codex_shell_command::{
    ProgramCheck, canonical_command, command_actions, is_dangerous, is_known_safe, patch_call,
    reachable_commands, segments,
};

/// Trusts every program, so that all nested commands are analyzed.
struct TrustAll;

impl ProgramCheck for TrustAll {
    fn is_system_program(&self, _: &str) -> bool {
        true
    }

    fn is_trusted_shell(&self, _: &str, _: &str) -> bool {
        true
    }

    fn has_variable(&self, _: &str) -> bool {
        false
    }
}

const STACK: usize = 254 * 1024;
const SIZE: usize = 4 * 1024;

#[test]
fn deep_scripts_need_no_deep_stack() {
    let pieces = [
        "(",
        "{ ",
        "$(",
        "`",
        "\"$(",
        "${a:-",
        "<(",
        "((",
        "[[ ( ",
        "if ",
        "if a; then ",
        "while ",
        "for a in b; do ",
        "case a in b) ",
        "a() {",
        "! ",
        "a && ",
        "a | ",
        "a; ",
        "cat <<E\n",
        "bash -c '",
        "env ",
        "eval ",
        "{a,",
        "a=(",
        "$((",
        "\\",
        "find -exec ",
    ];
    let work = move || {
        for piece in pieces {
            let script = piece.repeat(SIZE / piece.len()) + "ls";
            let argv = ["bash".to_owned(), "-lc".to_owned(), script];
            is_known_safe(&argv, &TrustAll);
            is_dangerous(&argv);
            segments(&argv);
            reachable_commands(&argv);
            canonical_command(&argv);
            command_actions(&argv, &TrustAll);
            patch_call(&argv);
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK);
    let ended = thread.spawn(work).map(std::thread::JoinHandle::join);
    assert!(matches!(ended, Ok(Ok(()))));
}
