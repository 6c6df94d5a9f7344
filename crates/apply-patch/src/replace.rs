//! Playing the chunks of an update against the text of a file.
//!
//! All places are found first, in file order, and only then is the new text built. What the patch does not change keeps
//! its own spelling: a context line that matched loosely stays as the file has it, and new lines take the file's line
//! ending. The result always ends with a newline, unless it is empty.

use std::borrow::Cow;

use crate::error::FileProblem;
use crate::patch::{Chunk, ChunkLine};
use crate::seek::{Lines, TooMuchWork};

/// The new text of a file.
pub(crate) fn replace(text: &str, chunks: &[Chunk]) -> Result<String, FileProblem> {
    let lines = Lines::new(split(text));
    let mut places = locate(&lines, chunks)?;
    // Stable: what is inserted at one place stays in patch order.
    places.sort_by_key(|place| place.start);
    Ok(build(text, &places))
}

/// One chunk's lines and where they go.
struct Place<'a> {
    start: usize,
    lines: Cow<'a, [ChunkLine]>,
}

/// The lines without their `\n`. A `\r` stays: only a looser comparison overlooks it.
fn split(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    lines
}

fn locate<'a>(lines: &Lines<'_>, chunks: &'a [Chunk]) -> Result<Vec<Place<'a>>, FileProblem> {
    // Below what earlier chunks replace, and below the context found last.
    let (mut taken, mut cursor) = (0, 0);
    let mut places = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        for context in &chunk.contexts {
            let found = lines.seek(&[context.as_str()], cursor)?;
            cursor = 1 + found.ok_or_else(|| FileProblem::NoContext(context.clone()))?;
        }
        if chunk.lines.iter().all(|line| line.old_text().is_none()) {
            places.push(insertion(lines, chunk, cursor));
            continue;
        }
        // At the end of the file there is one place only, so its context may be one of its lines.
        let from = if chunk.at_end { taken } else { cursor };
        let (start, found) = block(lines, chunk, from)?;
        cursor = start
            + found
                .iter()
                .filter(|line| line.old_text().is_some())
                .count();
        taken = cursor;
        places.push(Place {
            start,
            lines: found,
        });
    }
    Ok(places)
}

/// Where a chunk goes that only adds: below its context, or else at the end of the file.
fn insertion<'a>(lines: &Lines<'_>, chunk: &'a Chunk, cursor: usize) -> Place<'a> {
    let start = if !chunk.contexts.is_empty() && !chunk.at_end {
        cursor
    } else if lines.last().is_some_and(|line| line.trim_end().is_empty()) {
        lines.len() - 1
    } else {
        lines.len()
    };
    Place {
        start,
        lines: Cow::Borrowed(&chunk.lines),
    }
}

/// Where a chunk's old lines stand, and its lines as they were found.
fn block<'a>(
    lines: &Lines<'_>,
    chunk: &'a Chunk,
    from: usize,
) -> Result<(usize, Cow<'a, [ChunkLine]>), FileProblem> {
    let find = |wanted: &[ChunkLine]| -> Result<Option<usize>, TooMuchWork> {
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

/// The chunk without the empty old line at its end, if it has one: models like to close a chunk with a blank line that
/// is not in the file.
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

fn build(text: &str, places: &[Place<'_>]) -> String {
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
    for place in places {
        // An insertion before the last blank line may find that line already taken by another chunk.
        while copied < place.start {
            keep(&mut result, lines[copied]);
            copied += 1;
        }
        for line in place.lines.iter() {
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

/// The ending that most lines of the file have.
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
    fn what_only_adds_goes_below_its_context_or_to_the_end() {
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
    fn a_blank_line_at_the_end_of_a_chunk_may_be_missing_in_the_file() {
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
