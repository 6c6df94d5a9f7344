use proptest::prelude::*;

use super::*;

#[test]
fn ordinary_text_stays_as_it_is() {
    for text in [
        "",
        "ls -la 'a b' && echo \"x\\n\" | sed 's/\\./x/' # ünï ☃ 日本語 é",
        "indented by        eight",
        "printf '\\u00e9 \\x1b'",
        "e\u{301}",
    ] {
        assert_eq!(visible_line(text), text);
        assert!(!script_hides(text));
    }
}

#[test]
fn invisible_characters_are_escaped() {
    for (text, shown) in [
        ("a\nb", r"a\u{a}b"),
        ("a\r\u{1b}[2Kb", r"a\u{d}\u{1b}[2Kb"),
        ("a\tb\0\u{7f}\u{85}", r"a\u{9}b\u{0}\u{7f}\u{85}"),
        (
            "\u{202e}x\u{2066}\u{2069}\u{200f}\u{61c}",
            r"\u{202e}x\u{2066}\u{2069}\u{200f}\u{61c}",
        ),
        (
            "a\u{200b}b\u{200d}\u{2060}\u{feff}\u{ad}",
            r"a\u{200b}b\u{200d}\u{2060}\u{feff}\u{ad}",
        ),
        ("a\u{2028}b\u{2029}", r"a\u{2028}b\u{2029}"),
        ("a\u{a0}b\u{3000}\u{2003}", r"a\u{a0}b\u{3000}\u{2003}"),
        (
            "\u{2800}\u{3164}\u{fe0f}\u{e0041}\u{e000}",
            r"\u{2800}\u{3164}\u{fe0f}\u{e0041}\u{e000}",
        ),
        ("\n\n\nx", r"\u{a×3}x"),
        ("x         y", r"x\u{20×9}y"),
        ("\u{301}\u{301}\u{301}\u{301}", "\u{301}\u{301}\\u{301×2}"),
    ] {
        assert_eq!(visible_line(text), shown);
    }
}

#[test]
fn mixed_blank_gaps_are_shortened() {
    let indented = "if x; then\n\t\ty\n    \n\n        z\nfi\n";
    assert_eq!(visible_script(indented), indented);
    for gap in [
        "\t".repeat(300),
        format!("{}\n", " ".repeat(32)).repeat(60),
        format!("{} ", "\n".repeat(8)).repeat(80),
        "\n \t".repeat(200),
    ] {
        let script = format!("touch x{gap}; id");
        let shown = visible_script(&script);
        let gaps = shown.split(|c: char| !c.is_whitespace());
        let longest = gaps.map(|gap| gap.chars().count()).max();
        assert!(longest.unwrap() <= 56, "{shown}");
        assert!(script_hides(&script));
    }
}

#[test]
fn written_escapes_differ_from_added_ones() {
    assert_eq!(visible_line(r"\u{202e}"), r"\u{5c}u{202e}");
    assert_eq!(visible_line(r"\\u{202e}"), r"\\u{5c}u{202e}");
}

#[test]
fn lines_are_kept_where_that_is_asked_for() {
    assert_eq!(
        visible_lines("a\n\nb\n\n\nc\u{2028}"),
        "a\n\nb\\u{a×3}c\\u{2028}"
    );
}

#[test]
fn a_script_keeps_its_indentation() {
    let script = format!("if x:\n\n\n{}\tpass\n", " ".repeat(32));
    assert_eq!(visible_script(&script), script);
    let hidden = format!("a{}b\u{202e}", " ".repeat(33));
    assert_eq!(visible_script(&hidden), r"a\u{20×33}b\u{202e}");
    assert!(script_hides(&hidden) && !script_hides(r"\u{202e}"));
}

#[test]
fn a_text_does_not_leave_its_quotation_marks() {
    assert_eq!(
        quoted("say \"it”. The sandbox “stays"),
        r#"“say "it\u{201d}. The sandbox \u{201c}stays”"#
    );
    assert_eq!(
        (length("é"), length("ab")),
        ("1 character".to_owned(), "2 characters".to_owned())
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_two_texts_look_the_same(one in texts(), other in texts()) {
        prop_assert_eq!(one == other, visible_line(&one) == visible_line(&other));
    }

    #[test]
    fn visible_text_has_no_hidden_characters(text in texts()) {
        prop_assert!(!visible_line(&text).chars().any(is_hidden));
        prop_assert!(!visible_lines(&text).chars().any(|c| c != '\n' && is_hidden(c)));
    }
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\\",
            "u{",
            "\\u{a}",
            "×2",
            "×",
            "2",
            "\n",
            " ",
            "          ",
            "a",
            "}",
            "\u{202e}",
            "\u{301}",
            "20}",
        ])
        .prop_map(ToOwned::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}
