//! Writes an output file, readable by its owner only, and prints its path. A link in its place is replaced, not followed.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::print::answer;
use anyhow::Context;
use codex_regular_file::{NewFile, OutputFile};

/// Writes a file and prints its path.
pub(crate) fn write_output(
    output: &OutputFile,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let written = output.write(NewFile::Private, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file.try_clone()?);
        write(&mut out)?;
        out.flush()
    });
    written.with_context(|| format!("cannot write {}", output.path().display()))?;
    answer(output.path().display());
    Ok(())
}
