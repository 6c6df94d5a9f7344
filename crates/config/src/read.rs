//! Reads files with a size limit.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

/// Limit on the size of a settings file.
const MAX_BYTES: u64 = 8 << 20;

/// The text of a file; `None` if it does not exist.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        let message = format!("larger than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Some(text))
}
