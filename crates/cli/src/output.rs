//! Writes an output file, readable by its owner only, and prints its path.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;

/// Writes a file and prints its path.
pub(crate) fn write_output(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let written = private_file(path).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out)?;
        out.flush()
    });
    written.with_context(|| format!("cannot write {}", path.display()))?;
    #[allow(clippy::print_stdout)] // What the command answers.
    {
        println!("{}", path.display());
    }
    Ok(())
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    codex_system::file::private(&mut options).open(path)
}
