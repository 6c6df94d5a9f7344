//! Writes an output file, readable by its owner only, and prints its path. A link in its place is replaced, not followed.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::Context;
use codex_engine_host::console::Console;
use codex_regular_file::{NewFile, OutputFile};

/// Writes a file and prints its path.
pub(crate) fn write_output(
    console: &mut Console<'_>,
    output: &OutputFile,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let written = output.write(NewFile::Private, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file.try_clone()?);
        write(&mut out)?;
        out.flush()
    });
    written.with_context(|| format!("cannot write {}", output.path().display()))?;
    console.answer(output.path().display());
    Ok(())
}
