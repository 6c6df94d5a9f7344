//! Parses patch text.
//!
//! Accepts unambiguous slips of models (blanks around markers, a heredoc wrapper, CRLF, a missing first `@@`, several
//! `@@` lines in a row, a move without changes) and is strict otherwise. Errors carry the line number; the begin marker
//! is line 1.

use crate::error::{HunkProblem, ParseError};
use crate::patch::{Chunk, ChunkLine, Hunk, Patch};

pub(crate) const BEGIN_MARKER: &str = "*** Begin Patch";
pub(crate) const END_MARKER: &str = "*** End Patch";
pub(crate) const ADD_FILE: &str = "*** Add File: ";
pub(crate) const DELETE_FILE: &str = "*** Delete File: ";
pub(crate) const UPDATE_FILE: &str = "*** Update File: ";
pub(crate) const MOVE_TO: &str = "*** Move to: ";
pub(crate) const END_OF_FILE: &str = "*** End of File";
const HEREDOC_TAGS: [&str; 3] = ["<<EOF", "<<'EOF'", "<<\"EOF\""];

/// Whether the whole text is a patch, as in a shell call that omits the name of the program.
pub fn is_patch(text: &str) -> bool {
    Patch::parse(text).is_ok()
}

impl Patch {
    /// Parses a patch.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let lines: Vec<&str> = text.trim().lines().collect();
        let body = body(&lines)?;
        let mut reader = PatchReader { lines: body, at: 0 };
        let mut hunks = Vec::new();
        while reader.peek().is_some() {
            hunks.push(reader.hunk()?);
        }
        Ok(Self { hunks })
    }
}

/// The lines between the markers, after removing a heredoc wrapper.
fn body<'a, 't>(lines: &'a [&'t str]) -> Result<&'a [&'t str], ParseError> {
    let outer = between_markers(lines);
    match lines {
        [first, inner @ .., last]
            if outer.is_err()
                && inner.len() >= 2
                && HEREDOC_TAGS.contains(first)
                && last.ends_with("EOF") =>
        {
            between_markers(inner)
        }
        _ => outer,
    }
}

fn between_markers<'a, 't>(lines: &'a [&'t str]) -> Result<&'a [&'t str], ParseError> {
    match lines {
        [] => Err(ParseError::NoEnd),
        [first, ..] if first.trim() != BEGIN_MARKER => Err(ParseError::NoBegin),
        [_, body @ .., last] if last.trim() == END_MARKER => Ok(body),
        _ => Err(ParseError::NoEnd),
    }
}

/// A cursor over the lines between the markers.
struct PatchReader<'a, 't> {
    lines: &'a [&'t str],
    at: usize,
}

impl<'t> PatchReader<'_, 't> {
    fn peek(&self) -> Option<&'t str> {
        self.lines.get(self.at).copied()
    }

    fn next_if(&mut self, wanted: impl Fn(&str) -> bool) -> Option<&'t str> {
        let line = self.peek().filter(|line| wanted(line))?;
        self.at += 1;
        Some(line)
    }

    /// An error at the current line. The begin marker is line 1, so the body starts at line 2.
    fn error(&self, problem: HunkProblem) -> ParseError {
        ParseError::Hunk {
            line: self.at + 2,
            problem,
        }
    }

    fn hunk(&mut self) -> Result<Hunk, ParseError> {
        let header = self.peek().unwrap_or_default().trim();
        if let Some(path) = header.strip_prefix(ADD_FILE) {
            self.at += 1;
            Ok(self.add(path))
        } else if let Some(path) = header.strip_prefix(DELETE_FILE) {
            self.at += 1;
            let path = path.trim().to_owned();
            Ok(Hunk::Delete { path })
        } else if let Some(path) = header.strip_prefix(UPDATE_FILE) {
            self.update(path.trim())
        } else {
            Err(self.error(HunkProblem::Header(header.to_owned())))
        }
    }

    fn add(&mut self, path: &str) -> Hunk {
        let mut content = String::new();
        while let Some(line) = self.next_if(|line| line.starts_with('+')) {
            content.push_str(&line[1..]);
            content.push('\n');
        }
        Hunk::Add {
            path: path.trim().to_owned(),
            content,
        }
    }

    fn update(&mut self, path: &str) -> Result<Hunk, ParseError> {
        let empty = self.error(HunkProblem::Empty(path.to_owned()));
        self.at += 1;
        let move_to = self
            .next_if(|line| line.starts_with(MOVE_TO))
            .map(|line| line[MOVE_TO.len()..].trim().to_owned());
        let mut chunks = Vec::new();
        while let Some(line) = self.peek() {
            if line.trim().is_empty() {
                self.at += 1;
            } else if line.starts_with("***") {
                break;
            } else {
                chunks.push(self.chunk(chunks.is_empty())?);
            }
        }
        if chunks.is_empty() && move_to.is_none() {
            return Err(empty);
        }
        Ok(Hunk::Update {
            path: path.to_owned(),
            move_to,
            chunks,
        })
    }

    fn chunk(&mut self, first: bool) -> Result<Chunk, ParseError> {
        let mut chunk = Chunk::default();
        let mut headers = 0;
        while let Some(header) = self.next_if(|line| line == "@@" || line.starts_with("@@ ")) {
            headers += 1;
            let context = header.get(3..).unwrap_or_default();
            if !context.is_empty() {
                chunk.contexts.push(context.to_owned());
            }
        }
        if headers == 0 && !first {
            let found = self.peek().unwrap_or_default().to_owned();
            return Err(self.error(HunkProblem::NoHeader(found)));
        }
        while let Some(line) = self.next_if(|line| chunk_line(line).is_some()) {
            chunk.lines.extend(chunk_line(line));
        }
        if chunk.lines.is_empty() {
            return Err(self.error(match self.peek() {
                None | Some(END_OF_FILE) => HunkProblem::NoLines,
                Some(line) => HunkProblem::BadLine(line.to_owned()),
            }));
        }
        chunk.at_end = self.next_if(|line| line == END_OF_FILE).is_some();
        Ok(chunk)
    }
}

fn chunk_line(line: &str) -> Option<ChunkLine> {
    let mut chars = line.chars();
    match chars.next() {
        None => Some(ChunkLine::Context(String::new())),
        Some(' ') => Some(ChunkLine::Context(chars.as_str().to_owned())),
        Some('-') => Some(ChunkLine::Remove(chars.as_str().to_owned())),
        Some('+') => Some(ChunkLine::Add(chars.as_str().to_owned())),
        Some(_) => None,
    }
}
