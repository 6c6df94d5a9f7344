//! Unified diffs of two texts.

use std::time::Duration;

use similar::TextDiff;

/// After this time the diff is still correct but may not be minimal, so that large files do not delay a turn.
const TIME_FOR_SHORTEST: Duration = Duration::from_millis(500);

/// The hunks without file headers; empty if the texts are equal.
pub fn unified_diff(old: &str, new: &str, context_lines: usize) -> String {
    TextDiff::configure()
        .timeout(TIME_FOR_SHORTEST)
        .diff_lines(old, new)
        .unified_diff()
        .context_radius(context_lines)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::unified_diff;

    #[test]
    fn hunks_have_context_and_short_ranges() {
        assert_eq!(
            unified_diff("one\ntwo\nthree\n", "one\n2\nthree\n", 1),
            "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        );
        assert_eq!(unified_diff("", "x\n", 1), "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(unified_diff("x\n", "", 1), "@@ -1 +0,0 @@\n-x\n");
    }

    #[test]
    fn a_missing_final_newline_is_said() {
        assert_eq!(
            unified_diff("a", "a\n", 1),
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
    }

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(unified_diff("a\n", "a\n", 1), "");
    }
}
