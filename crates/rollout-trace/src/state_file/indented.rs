//! Pretty JSON with two spaces a level, as serde_json's own, but an object can be written in two parts.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// `,`, a line end, and room for indentation.
const LINE: &[u8] = b",\n                                ";

/// Which part of the outermost object is written. What is between them is written separately.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentPart {
    /// All but its end.
    Head,
    /// Members that follow others, and the end.
    Tail,
}

/// The layout of a part of an object.
pub(super) struct IndentedWriter {
    part: DocumentPart,
    outermost: usize,
    level: usize,
    has_value: bool,
}

/// Begins a line at this level, after a comma unless it is the first.
pub(super) fn line<W: ?Sized + Write>(out: &mut W, level: usize, first: bool) -> io::Result<()> {
    let start = usize::from(first);
    let indent = level * 2;
    let at_hand = indent.min(LINE.len() - 2);
    out.write_all(&LINE[start..2 + at_hand])?;
    for _ in at_hand..indent {
        out.write_all(b" ")?;
    }
    Ok(())
}

impl IndentedWriter {
    /// For an object at this level.
    pub(super) fn at_level(level: usize, part: DocumentPart) -> Self {
        Self {
            part,
            outermost: level,
            level,
            has_value: false,
        }
    }

    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let is_left_out = self.part == DocumentPart::Tail && self.level == self.outermost;
        self.level += 1;
        self.has_value = false;
        if is_left_out {
            return Ok(());
        }
        out.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if self.part == DocumentPart::Head && self.level == self.outermost {
            return Ok(());
        }
        if self.has_value {
            line(out, self.level, true)?;
        }
        out.write_all(bracket)
    }
}

impl Formatter for IndentedWriter {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        line(out, self.level, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        let follows = self.part == DocumentPart::Tail && self.level == self.outermost + 1;
        line(out, self.level, first && !follows)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}
