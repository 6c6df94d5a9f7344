//! Reading the log line by line.

use std::path::Path;

use super::fault::Fault;
use super::outcome::ReplayError;
use super::reducer::Reducer;
use crate::format::{LOG_FILE, LogLine, line_agrees};
use crate::log_lines::{LineEnd, LogLines, MAX_LINE};

/// Replays every event of a bundle's log.
pub(super) fn replay(bundle: &Path, reducer: &mut Reducer) -> Result<(), ReplayError> {
    let path = bundle.join(LOG_FILE);
    let file = match codex_regular_file::open_inside(bundle, Path::new(LOG_FILE)) {
        Ok(file) => file,
        Err(source) => return Err(ReplayError::OpenLog { path, source }),
    };
    let mut lines = LogLines::new(file);
    let mut number = 0;
    let mut closed = true;
    loop {
        let end = match lines.next() {
            Ok(end) => end,
            Err(source) => return Err(ReplayError::ReadLog { path, source }),
        };
        number += 1;
        match end {
            LineEnd::Log if number == 1 => {
                reducer.remark(Fault::EmptyLog);
                break;
            }
            LineEnd::Log => break,
            LineEnd::Newline => {}
            LineEnd::Cut => closed = false,
            LineEnd::TooLong => {
                let fault = Fault::LongLine {
                    line: number,
                    limit: MAX_LINE,
                };
                reducer.unreadable_line(number, fault)?;
                continue;
            }
        }
        read_line(reducer, number, lines.line())?;
    }
    if !closed {
        reducer.remark(Fault::OpenEnd);
    }
    Ok(())
}

/// Replays the event of a line.
pub(crate) fn read_line(
    reducer: &mut Reducer,
    number: u64,
    line: &[u8],
) -> Result<(), ReplayError> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    match serde_json::from_slice::<LogLine>(line) {
        Ok(event) if !reducer.reads(event.schema_version) => {
            let found = event.schema_version;
            let line = number;
            reducer.unreadable_line(number, Fault::LineSchema { found, line })
        }
        Ok(event) if !event.payload.belongs_to(reducer.schema) => {
            let schema = reducer.schema.number();
            let line = number;
            reducer.unreadable_line(number, Fault::ForeignEvent { line, schema })
        }
        Ok(event) => {
            reducer.check_line_sum(number, line_agrees(line));
            reducer.replay(number, event)
        }
        Err(source) => {
            let line = number;
            reducer.unreadable_line(number, Fault::Line { line, source })
        }
    }
}
