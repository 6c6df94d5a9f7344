//! Writing `state.json`.
//!
//! The graph goes to the file as it is walked; no second copy of it is made. The file appears whole or not at all: it
//! is written beside its place and moved there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::format::STATE_FILE;
use crate::model::RolloutTrace;

/// Where the state of a bundle is written unless somebody says otherwise.
pub fn state_path(bundle: impl AsRef<Path>) -> PathBuf {
    bundle.as_ref().join(STATE_FILE)
}

/// Writes a graph as pretty JSON. The folder must exist; an older file is replaced only by a whole new one.
///
/// What is not a file, such as a pipe or a device, is written to as it stands; a link is followed.
pub fn write_state(trace: &RolloutTrace, path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    let place = match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::canonicalize(path)?,
        Ok(_) => return write_to(trace, OpenOptions::new().write(true).open(path)?),
        Err(_) => path.to_owned(),
    };
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = place.with_file_name(name);
    let written = private_file(&beside)
        .and_then(|file| write_to(trace, file))
        .and_then(|()| fs::rename(&beside, &place));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_to(trace: &RolloutTrace, file: File) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    trace.serialize(&mut Serializer::with_formatter(
        &mut out,
        Indented::default(),
    ))?;
    out.flush()
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}

/// Pretty JSON with two spaces a level, as serde_json's own but with one write for a line's beginning.
#[derive(Default)]
struct Indented {
    level: usize,
    has_value: bool,
}

/// `,`, a line end, and room for indentation.
const LINE: &[u8] = b",\n                                ";

impl Indented {
    fn line<W: ?Sized + Write>(&self, out: &mut W, first: bool) -> io::Result<()> {
        let start = usize::from(first);
        let indent = self.level * 2;
        let at_hand = indent.min(LINE.len() - 2);
        out.write_all(&LINE[start..2 + at_hand])?;
        for _ in at_hand..indent {
            out.write_all(b" ")?;
        }
        Ok(())
    }

    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.has_value = false;
        out.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if self.has_value {
            self.line(out, true)?;
        }
        out.write_all(bracket)
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.line(out, first)
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
        self.line(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}
