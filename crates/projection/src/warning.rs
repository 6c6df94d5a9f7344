//! Converts warnings about settings to the wire.

use codex_app_server_protocol::v2;
use codex_config::{ConfigWarning, DeprecationNotice, TextPosition};

pub fn wire_warning(warning: ConfigWarning) -> v2::ConfigWarningNotification {
    v2::ConfigWarningNotification {
        summary: warning.summary,
        details: warning.details,
        path: warning.path.map(|path| path.display().to_string()),
        range: warning.range.map(|range| v2::TextRange {
            start: position(range.start),
            end: position(range.end),
        }),
    }
}

pub fn wire_deprecation(notice: DeprecationNotice) -> v2::DeprecationNoticeNotification {
    v2::DeprecationNoticeNotification {
        summary: notice.summary,
        details: notice.details,
    }
}

fn position(position: TextPosition) -> v2::TextPosition {
    v2::TextPosition {
        line: position.line as u64,
        column: position.column as u64,
    }
}
