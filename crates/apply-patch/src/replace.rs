//! Applies the chunks of an update to the text of a file.
//!
//! First all matches are found, in file order; then the new text is built. Unchanged text keeps its spelling: a context
//! line that matched loosely stays as it is in the file, and new lines use the file's line ending. The result ends with a
//! newline unless it is empty.

use std::borrow::Cow;

use crate::error::FileProblem;
use crate::patch::{Chunk, ChunkLine};
use crate::seek::{LineIndex, SearchLimitExceeded};

/// The new text of a file.
pub(crate) fn replace(text: &str, chunks: &[Chunk]) -> Result<String, FileProblem> {
    let lines = LineIndex::new(split(text));
    let mut matches = locate(&lines, chunks)?;
    // The sort is stable, so insertions at the same line keep the order of the patch.
    matches.sort_by_key(|found| found.start);
    Ok(build(text, &matches))
}

/// The lines of one chunk and their position in the file.
struct ChunkMatch<'a> {
    start: usize,
    lines: Cow<'a, [ChunkLine]>,
}

/// The lines without their `\n`. A `\r` is kept; only the looser comparisons ignore it.
fn split(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    lines
}

fn locate<'a>(
    lines: &LineIndex<'_>,
    chunks: &'a [Chunk],
) -> Result<Vec<ChunkMatch<'a>>, FileProblem> {
    // The search starts below the last replaced lines and the last context found.
    let (mut taken, mut cursor) = (0, 0);
    let mut matches = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        for context in &chunk.contexts {
            let found = lines.seek(&[context.as_str()], cursor)?;
            cursor = 1 + found.ok_or_else(|| FileProblem::NoContext(context.clone()))?;
        }
        if chunk.lines.iter().all(|line| line.old_text().is_none()) {
            matches.push(insertion(lines, chunk, cursor));
            continue;
        }
        // At the end of the file there is only one match, so the context may be one of its lines.
        let from = if chunk.at_end { taken } else { cursor };
        let (start, found) = block(lines, chunk, from)?;
        cursor = start
            + found
                .iter()
                .filter(|line| line.old_text().is_some())
                .count();
        taken = cursor;
        matches.push(ChunkMatch {
            start,
            lines: found,
        });
    }
    Ok(matches)
}

/// The position of a chunk that only adds lines: below its context, or else at the end of the file.
fn insertion<'a>(lines: &LineIndex<'_>, chunk: &'a Chunk, cursor: usize) -> ChunkMatch<'a> {
    let start = if !chunk.contexts.is_empty() && !chunk.at_end {
        cursor
    } else if lines.last().is_some_and(|line| line.trim_end().is_empty()) {
        lines.len() - 1
    } else {
        lines.len()
    };
    ChunkMatch {
        start,
        lines: Cow::Borrowed(&chunk.lines),
    }
}

/// The position of a chunk's old lines, and the lines as they are in the file.
fn block<'a>(
    lines: &LineIndex<'_>,
    chunk: &'a Chunk,
    from: usize,
) -> Result<(usize, Cow<'a, [ChunkLine]>), FileProblem> {
    let find = |wanted: &[ChunkLine]| -> Result<Option<usize>, SearchLimitExceeded> {
        let old = old_lines(wanted);
        let Some(last) = lines.len().checked_sub(old.len()) else {
            return Ok(None);
        };
        lines.seek(&old, if chunk.at_end { last.max(from) } else { from })
    };
    if let Some(start) = find(&chunk.lines)? {
        return Ok((start, Cow::Borrowed(&chunk.lines)));
    }
    if let Some(shorter) = without_last_blank(&chunk.lines)
        && let Some(start) = find(&shorter)?
    {
        return Ok((start, Cow::Owned(shorter)));
    }
    Err(FileProblem::NoLines(old_lines(&chunk.lines).join("\n")))
}

fn old_lines(lines: &[ChunkLine]) -> Vec<&str> {
    lines.iter().filter_map(ChunkLine::old_text).collect()
}

/// The chunk without an empty old line at its end. Models often end a chunk with a blank line that is not in the file.
fn without_last_blank(lines: &[ChunkLine]) -> Option<Vec<ChunkLine>> {
    let last_old = lines.iter().rposition(|line| line.old_text().is_some())?;
    if lines[last_old].old_text() != Some("") {
        return None;
    }
    let mut lines = lines.to_vec();
    match lines[last_old] {
        ChunkLine::Context(_) => lines[last_old] = ChunkLine::Add(String::new()),
        _ => drop(lines.remove(last_old)),
    }
    if let Some(last_new) = lines.iter().rposition(|line| line.new_text().is_some())
        && lines[last_new] == ChunkLine::Add(String::new())
    {
        lines.remove(last_new);
    }
    Some(lines)
}

fn build(text: &str, matches: &[ChunkMatch<'_>]) -> String {
    let ending = line_ending(text);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut result = String::with_capacity(text.len() + 64);
    let keep = |result: &mut String, line: &str| {
        result.push_str(line);
        if !line.ends_with('\n') {
            result.push_str(ending);
        }
    };
    let mut copied = 0;
    for found in matches {
        // An insertion before the last blank line may follow a chunk that has replaced that line.
        while copied < found.start {
            keep(&mut result, lines[copied]);
            copied += 1;
        }
        for line in found.lines.iter() {
            match line {
                ChunkLine::Context(_) => {
                    keep(&mut result, lines[copied]);
                    copied += 1;
                }
                ChunkLine::Remove(_) => copied += 1,
                ChunkLine::Add(new) => {
                    result.push_str(new);
                    result.push_str(ending);
                }
            }
        }
    }
    for line in &lines[copied..] {
        keep(&mut result, line);
    }
    result
}

/// The line ending that most lines of the file have.
fn line_ending(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    let with_return = text.matches("\r\n").count();
    if with_return * 2 > all { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{Hunk, Patch};

    fn check(text: &str, changes: &str, expected: Result<&str, &str>) {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{changes}\n*** End Patch");
        let hunks = Patch::parse(&patch).expect("a patch").hunks;
        let [Hunk::Update { chunks, .. }] = hunks.as_slice() else {
            panic!("one update expected");
        };
        let found = replace(text, chunks).map_err(|problem| format!("{problem:?}"));
        assert_eq!(
            found.as_deref().map_err(String::as_str),
            expected,
            "{text:?} <- {changes:?}"
        );
    }

    #[test]
    fn contexts_narrow_the_place() {
        let file = "def a\nx\ndef b\nx\nend\n";
        check(file, "@@ def b\n-x\n+y", Ok("def a\nx\ndef b\ny\nend\n"));
        check(
            file,
            "@@ def a\n@@ def b\n-x\n+y",
            Ok("def a\nx\ndef b\ny\nend\n"),
        );
        check(
            file,
            "@@ def b\n@@ def a\n-x\n+y",
            Err("NoContext(\"def a\")"),
        );
        check(file, "@@ nope\n-x\n+y", Err("NoContext(\"nope\")"));
    }

    #[test]
    fn additions_follow_context_or_end() {
        check("a\nb\n", "@@\n+new", Ok("a\nb\nnew\n"));
        check("a\nb\n", "@@ a\n+new", Ok("a\nnew\nb\n"));
        check("a\nb\n", "@@ a\n+new\n*** End of File", Ok("a\nb\nnew\n"));
        check("a\n\n", "@@\n+new", Ok("a\nnew\n\n"));
        check("a\n\n", "@@\n+new\n@@\n a\n-\n+z", Ok("a\nz\nnew\n"));
        check("", "@@\n+new", Ok("new\n"));
        check("a\n", "@@\n+1\n@@\n+2", Ok("a\n1\n2\n"));
    }

    #[test]
    fn untouched_text_keeps_its_spelling() {
        check("ctx   \n    old\n", " ctx\n-old\n+new", Ok("ctx   \nnew\n"));
        check("a\r\nb\r\nc\r\n", " a\n-b\n+B", Ok("a\r\nB\r\nc\r\n"));
        check("a\r\nb\r\nc", " c\n+d", Ok("a\r\nb\r\nc\r\nd\r\n"));
        check(
            "a\r\nb\r\nc\nd\r\n",
            " c\n+new",
            Ok("a\r\nb\r\nc\nnew\r\nd\r\n"),
        );
        check("a\nb", " a", Ok("a\nb\n"));
        check("a\n\n", "-a\n+b", Ok("b\n\n"));
    }

    #[test]
    fn trailing_blank_line_of_a_chunk_is_optional() {
        check("a\nb\n", "-a\n+A\n", Ok("A\nb\n"));
        check("a\nb\n", "-a\n-\n+A\n+", Ok("A\nb\n"));
        check("a\nb\n", "-a\n+A\n\n+c", Ok("A\n\nc\nb\n"));
        check("a\nb\n", "@@\n-b\n+B\n\n*** End of File", Ok("a\nB\n"));
    }

    #[test]
    fn chunks_go_down_the_file() {
        check("x\nx\nx\n", "@@\n-x\n+1\n@@\n-x\n+2", Ok("1\n2\nx\n"));
        check("a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A", Err("NoLines(\"a\")"));
        check(
            "a\nb\nc\n",
            "@@\n a\n b\n@@\n b\n-c",
            Err("NoLines(\"b\\nc\")"),
        );
        check("x\ny\nx\n", "@@\n-x\n+z\n*** End of File", Ok("x\ny\nz\n"));
        check(
            "x\ny\n",
            "@@\n-x\n+z\n*** End of File",
            Err("NoLines(\"x\")"),
        );
        check(
            "x\ny\nx\n",
            "@@ x\n@@ x\n-x\n+z\n*** End of File",
            Ok("x\ny\nz\n"),
        );
        check(
            "x\n",
            "@@\n-x\n@@\n-x\n*** End of File",
            Err("NoLines(\"x\")"),
        );
        check("x\n", "-x", Ok(""));
    }
}
