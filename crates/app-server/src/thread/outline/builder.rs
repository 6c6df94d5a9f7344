//! Makes an outline while a whole file is read for something else.

use std::path::Path;

use codex_projection::TurnRanges;
use codex_rollout::ScannedLine;

use super::Outline;
use super::version::FileVersion;

/// The parts of an outline that do not come from the fold.
#[derive(Debug)]
pub(crate) struct OutlineBuilder {
    outline: Outline,
}

impl OutlineBuilder {
    /// Begins with the file as it is. None if it cannot be read.
    pub(crate) fn new(path: &Path) -> Option<Self> {
        let file = codex_regular_file::open(path).ok()?;
        let version = FileVersion::read(&file).ok()?;
        Some(Self {
            outline: Outline::empty(path, version),
        })
    }

    pub(crate) fn take(&mut self, line: ScannedLine<'_>) {
        self.outline.needed.take(line);
        self.outline.last_line = line.offset();
        self.outline.length = line.offset() + line.bytes().len() as u64 + 1;
    }

    /// The line with the preview.
    pub(crate) fn set_preview(&mut self, offset: u64) {
        self.outline.preview = Some(offset);
    }

    /// The outline; none if the lines were not exactly those of the file. It may have grown or continue another one.
    pub(crate) fn finish(self, ranges: TurnRanges) -> Option<Outline> {
        let is_whole = self.outline.length == self.outline.version.length;
        is_whole.then_some(Outline {
            ranges,
            ..self.outline
        })
    }
}
