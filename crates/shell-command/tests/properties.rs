//! Properties: no input causes a panic, and quoted words are parsed back unchanged.

use codex_shell_command::{
    ProgramCheck, canonical_command, command_actions, is_dangerous, is_known_safe,
    parse_plain_commands, patch_call, quote_command, reachable_commands, segments, split_command,
    visible_command,
};
use proptest::prelude::*;

/// A machine on which every program name means the usual program.
struct Everything;

impl ProgramCheck for Everything {
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

/// Text that looks like a script often enough to get past the first checks.
fn script() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "ls", "cat", "rm -rf x", "git", "echo", "cd", "sed -n", "apply_patch", "find", "bash -c", "1,5p", "-n", "--",
            "&&", "||", ";", "|", "\n", "&", "(", ")", "{", "}", "$(", "`", "'", "\"", "\\", "$x", "${", "<<EOF\n", "EOF\n",
            "<", ">", "*", "#", "if", "then", "fi", "for", "do", "done", "=", "!", "[[", "]]", "((", "))", "<(",
        ]).prop_map(ToOwned::to_owned),
        1 => "\\PC{0,6}",
        1 => any::<char>().prop_map(String::from),
    ];
    let blank = prop_oneof![3 => Just(" "), 1 => Just("")];
    prop::collection::vec((piece, blank), 0..30).prop_map(|pieces| {
        pieces
            .into_iter()
            .map(|(piece, blank)| piece + blank)
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_script_is_read_without_panic(script in script(), shell in "bash|zsh|pwsh|cmd", flag in "-lc|-c|-Command|/c") {
        let argv = [shell, flag, script];
        let safe = is_known_safe(&argv, &Everything);
        prop_assert!(!(safe && is_dangerous(&argv)), "safe and dangerous at once");
        prop_assert!(!segments(&argv).commands.is_empty());
        prop_assert!(!reachable_commands(&argv).commands.is_empty());
        canonical_command(&argv);
        command_actions(&argv, &Everything);
        patch_call(&argv);
    }

    #[test]
    fn any_words_are_read_without_panic(argv in prop::collection::vec("\\PC{0,8}", 0..6)) {
        is_known_safe(&argv, &Everything);
        is_dangerous(&argv);
        command_actions(&argv, &Everything);
        patch_call(&argv);
        segments(&argv);
        reachable_commands(&argv);
    }

    #[test]
    fn words_come_back_from_the_line_for_people(
        words in prop::collection::vec("([ -~]|[\0-\u{20}]|[\n\té\u{a0}\u{2028}\u{202e}]|\\PC| {40}){0,12}", 0..5),
    ) {
        let line = visible_command(&words);
        prop_assert_eq!(split_command(&line), Some(words), "{}", line);
    }

    #[test]
    fn quoted_words_come_back(
        program in "[a-z]{1,8}",
        arguments in prop::collection::vec("([ -~]|[\n\té\u{a0}\u{2028}]){0,12}", 0..6),
    ) {
        let mut words = vec![program];
        words.extend(arguments);
        // Words that bash itself gives a meaning at the start of a command.
        let keywords = [
            "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
            "select", "declare", "typeset", "export", "readonly", "local", "unset", "unsetenv", "time",
        ];
        prop_assume!(!keywords.contains(&words[0].as_str()));
        prop_assert_eq!(parse_plain_commands(&quote_command(&words)), Some(vec![words]));
    }
}
