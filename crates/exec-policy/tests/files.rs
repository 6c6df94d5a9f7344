//! Rule files on disk: loading a folder of them, and adding rules.

use std::{fs, thread};

use codex_exec_policy::{AppendOutcome, Decision, ProgramMatching, RuleSet, append_prefix_rule};
use proptest::prelude::*;

#[test]
fn rule_folder_is_read_in_order_without_invalid_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("b.rules", "prefix_rule(['x'], 'prompt', justification='b')");
    write("a.rules", "prefix_rule(['x'], 'prompt', justification='a')");
    write("bad.rules", "prefix_rule(['x'], 'forbidden')\nnonsense(");
    write("c.txt", "prefix_rule(['x'], 'forbidden')");
    fs::create_dir(folder.path().join("d.rules")).expect("a folder");
    let mut policy = RuleSet::default();
    let mistakes = policy.add_folder(folder.path()).expect("readable");
    assert_eq!(mistakes.len(), 1);
    assert!(mistakes[0].file.ends_with("bad.rules"));
    assert_eq!((mistakes[0].line, mistakes[0].column), (2, 10));
    let matches = policy
        .check(&["x"], ProgramMatching::AsWritten)
        .matched_rules;
    let order: Vec<_> = matches
        .iter()
        .filter_map(|found| found.justification.as_deref())
        .collect();
    assert_eq!(order, ["a", "b"]);
    assert_eq!(
        policy
            .add_folder(&folder.path().join("none"))
            .expect("nothing there")
            .len(),
        0
    );
}

#[test]
fn unreadable_files_are_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.rules"), [0xff, 0xfe]).expect("written");
    let error = RuleSet::default()
        .add_folder(folder.path())
        .expect_err("not text");
    assert!(error.to_string().contains("a.rules"), "{error}");
}

#[test]
fn rules_are_appended_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rules/default.rules");
    let add = |prefix: &[&str]| {
        append_prefix_rule(&file, prefix, Decision::Allow, None).expect("appended")
    };
    assert_eq!(add(&["touch", "x"]), AppendOutcome::Added);
    assert_eq!(add(&["touch", "x"]), AppendOutcome::AlreadyPresent);
    assert_eq!(add(&["a \"b\"\\", "c\n"]), AppendOutcome::Added);
    assert_eq!(
        fs::read_to_string(&file).expect("text"),
        "prefix_rule(pattern=[\"touch\",\"x\"], decision=\"allow\")\n\
         prefix_rule(pattern=[\"a \\\"b\\\"\\\\\",\"c\\n\"], decision=\"allow\")\n"
    );
    assert!(append_prefix_rule::<&str>(&file, &[], Decision::Allow, None).is_err());
}

#[test]
fn a_line_that_is_not_finished_is_finished_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("default.rules");
    fs::write(&file, "# mine").expect("written");
    append_prefix_rule(&file, &["x"], Decision::Prompt, None).expect("appended");
    let text = fs::read_to_string(&file).expect("text");
    assert_eq!(
        text,
        "# mine\nprefix_rule(pattern=[\"x\"], decision=\"prompt\")\n"
    );
}

#[test]
fn many_writers_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("default.rules");
    thread::scope(|scope| {
        for writer in 0..8 {
            let file = &file;
            scope.spawn(move || {
                for number in 0..10 {
                    let name = format!("c{}", (writer + number) % 20);
                    append_prefix_rule(file, &[name], Decision::Allow, None).expect("appended");
                }
            });
        }
    });
    let text = fs::read_to_string(&file).expect("text");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!((lines.len(), text.lines().count()), (17, 17));
    RuleSet::default()
        .add_file("default.rules", &text)
        .expect("a good file");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn appended_rule_matches_the_approved_command(prefix in prop::collection::vec(any::<String>(), 1..5)) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("default.rules");
        append_prefix_rule(&file, &prefix, Decision::Allow, Some(codex_exec_policy::KEEPS_SANDBOX)).expect("appended");
        let mut policy = RuleSet::default();
        policy.add_folder(folder.path()).expect("readable");
        let found = policy.check(&prefix, ProgramMatching::AsWritten);
        prop_assert_eq!(found.decision, Some(Decision::Allow));
        prop_assert!(found.matched_rules.iter().all(|found| found.keeps_sandbox()));
    }

    #[test]
    fn any_text_is_read_without_panic(
        text in "\\PC{0,80}",
        pieces in prop::collection::vec(prop::sample::select(vec![
            "prefix_rule(", "pattern=", "[", "]", "(", ")", "'a'", "\"", "'", "f'{x}'", "x", "=", "+=", "+", ",", ":", ";",
            "for ", " in ", "\n", "\n  ", "\n    ", "#", "\\", "\\\n", "1", "None", "'''", "if", "pass", "é",
        ]), 0..40),
    ) {
        for text in [text, pieces.concat()] {
            let _ = RuleSet::default().add_file("p", &text);
        }
    }
}
