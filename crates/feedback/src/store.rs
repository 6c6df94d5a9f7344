//! Stores each report in a folder of its own, and removes the oldest ones.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::attachment::ReportAttachment;
use crate::report::Report;

/// The maximum number of stored reports.
const MAX_REPORTS: usize = 50;

pub(crate) const REPORT: &str = "report.json";

/// A stored report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReport {
    pub folder: PathBuf,
    /// The file names of the attachments that could be stored.
    pub attachments: Vec<String>,
}

/// Stores a report in a new private folder below `folder`. `clean` removes secrets from a text or from one of its
/// lines. Attachments that cannot be read are skipped.
///
/// # Errors
/// The folder cannot be written.
pub fn store(
    folder: &Path,
    report: &Report,
    attachments: &[ReportAttachment],
    clean: &mut dyn FnMut(&str) -> String,
) -> io::Result<StoredReport> {
    codex_private_files::create_dir_all(folder)?;
    make_room(folder)?;
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%6f");
    let folder = folder.join(format!("{time}-{}", report.thread_id));
    codex_private_files::create_dir_all(&folder)?;
    let text = serde_json::to_string_pretty(report)?;
    codex_private_files::write(&folder.join(REPORT), clean(&text).as_bytes())?;
    let mut stored = StoredReport {
        folder,
        attachments: Vec::new(),
    };
    for attachment in attachments {
        let Some(name) = attachment.name() else {
            continue;
        };
        let name = stored.free_name(&name);
        let path = stored.folder.join(&name);
        match attachment.write(&path, clean) {
            Ok(()) => stored.attachments.push(name),
            Err(_) => drop(fs::remove_file(path)),
        }
    }
    Ok(stored)
}

impl StoredReport {
    /// A file name that no other attachment has.
    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &String| name != REPORT && !self.attachments.contains(name);
        let numbered = (2..).map(|number| format!("{number}-{name}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(is_free).unwrap_or_default()
    }
}

fn make_room(folder: &Path) -> io::Result<()> {
    let mut reports = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // Only folders that contain a report are removed.
        if path.join(REPORT).is_file() {
            reports.push(path);
        }
    }
    // The names begin with the time, so they sort by age.
    reports.sort();
    let surplus = (reports.len() + 1).saturating_sub(MAX_REPORTS);
    for old in &reports[..surplus] {
        fs::remove_dir_all(old)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(text: &str) -> String {
        text.to_owned()
    }

    fn report(id: &str) -> Report {
        Report::new("bad_result", id, Some("why".to_owned()))
    }

    #[test]
    fn report_is_kept_with_readable_attachments() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/log.txt");
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(&file, "one").unwrap();
        let reports = folder.path().join("feedback");
        let attachments = [
            ReportAttachment::File(file.clone()),
            ReportAttachment::File("/no/such/file".into()),
            ReportAttachment::File("/dev/zero".into()),
            ReportAttachment::Text("log.txt", "two".to_owned()),
        ];
        let stored = store(&reports, &report("id"), &attachments, &mut keep).unwrap();
        assert_eq!(stored.attachments, ["log.txt", "2-log.txt"]);
        let text = fs::read_to_string(stored.folder.join("report.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["title"], "[Bad result]: Codex session id");
        assert_eq!(json["level"], "error");
        let body = stored.body().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["attachments"][0]["dataBase64"], "b25l");
        assert_eq!(body["attachments"][1]["dataBase64"], "dHdv");
    }

    #[test]
    fn the_oldest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("0-not-ours")).unwrap();
        let first = store(folder.path(), &report("first"), &[], &mut keep).unwrap();
        for number in 0..MAX_REPORTS {
            store(folder.path(), &report(&number.to_string()), &[], &mut keep).unwrap();
        }
        assert!(!first.folder.exists());
        let count = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count, MAX_REPORTS + 1);
    }

    #[test]
    fn stored_feedback_is_redacted_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.txt");
        fs::write(&file, b"a secret\nmore\xff").unwrap();
        let attachments = [
            ReportAttachment::File(file),
            ReportAttachment::Text("text", "secret".to_owned()),
        ];
        let report = Report::new("bug", "id", Some("my secret".to_owned()));
        let mut clean = |text: &str| text.replace("secret", "-");
        let reports = folder.path().join("feedback");
        let stored = store(&reports, &report, &attachments, &mut clean).unwrap();
        let read = |name: &str| fs::read(stored.folder.join(name)).unwrap();
        assert_eq!(read("log.txt"), "a -\nmore\u{fffd}".as_bytes());
        assert_eq!(read("text"), b"-");
        let report = String::from_utf8(read(REPORT)).unwrap();
        assert!(report.contains("my -"), "{report}");
    }
}
