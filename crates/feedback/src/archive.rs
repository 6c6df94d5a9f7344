//! A stored report as a ZIP archive. The files are not compressed, so any reader can open it.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use codex_regular_file::{NewFile, OutputFile};

use crate::store::{REPORT, StoredReport};

const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END_SIGNATURE: u32 = 0x0605_4b50;
/// The version of the format that readers need.
const VERSION: u16 = 20;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// 1980-01-01, the first date of the format.
const DATE: u16 = (1 << 5) | 1;

/// A file of the archive.
struct ArchivedFile {
    name: String,
    checksum: u32,
    size: u32,
    offset: u32,
}

impl StoredReport {
    /// Writes the report and its attachments to a private archive, which replaces a file or link at that path.
    ///
    /// # Errors
    /// The stored files cannot be read, or the archive cannot be written.
    pub fn archive(&self, to: &Path) -> io::Result<()> {
        let output = OutputFile::named(to);
        output.write(NewFile::Private, |file| self.write_archive(file))
    }

    fn write_archive(&self, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::new(to);
        let mut entries = Vec::new();
        let mut offset = 0;
        let names = self.attachments.iter().map(String::as_str);
        for name in std::iter::once(REPORT).chain(names) {
            let content = std::fs::read(self.folder.join(name))?;
            let entry = ArchivedFile {
                name: name.to_owned(),
                checksum: crc32fast::hash(&content),
                size: narrow(content.len())?,
                offset: narrow(offset)?,
            };
            let header = entry.local_header();
            to.write_all(&header)?;
            to.write_all(&content)?;
            offset += header.len() + content.len();
            entries.push(entry);
        }
        let central: Vec<u8> = entries
            .iter()
            .flat_map(ArchivedFile::central_header)
            .collect();
        to.write_all(&central)?;
        to.write_all(&end(entries.len(), central.len(), offset)?)?;
        to.flush()
    }
}

impl ArchivedFile {
    fn local_header(&self) -> Vec<u8> {
        let mut header = LOCAL_HEADER.to_le_bytes().to_vec();
        header.extend(self.facts());
        header.extend(self.name.as_bytes());
        header
    }

    fn central_header(&self) -> Vec<u8> {
        let mut header = CENTRAL_HEADER.to_le_bytes().to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend(self.facts());
        // No comment, the first disk, no attributes.
        header.extend([0; 10]);
        header.extend(self.offset.to_le_bytes());
        header.extend(self.name.as_bytes());
        header
    }

    /// What both headers have in common: versions, time, sizes, length of the name, no extra field.
    fn facts(&self) -> Vec<u8> {
        let mut facts = Vec::new();
        let length = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        for number in [VERSION, FLAGS, 0, 0, DATE] {
            facts.extend(number.to_le_bytes());
        }
        for number in [self.checksum, self.size, self.size] {
            facts.extend(number.to_le_bytes());
        }
        facts.extend(length.to_le_bytes());
        facts.extend([0; 2]);
        facts
    }
}

fn end(entries: usize, size: usize, offset: usize) -> io::Result<Vec<u8>> {
    let count = u16::try_from(entries).map_err(io::Error::other)?;
    let mut end = END_SIGNATURE.to_le_bytes().to_vec();
    end.extend([0; 4]);
    end.extend(count.to_le_bytes());
    end.extend(count.to_le_bytes());
    end.extend(narrow(size)?.to_le_bytes());
    end.extend(narrow(offset)?.to_le_bytes());
    end.extend([0; 2]);
    Ok(end)
}

fn narrow(size: usize) -> io::Result<u32> {
    u32::try_from(size).map_err(|_| io::Error::other("the report is too large for an archive"))
}

#[cfg(test)]
mod tests {
    use crate::{Report, ReportAttachment, store};

    #[test]
    fn an_archive_has_the_report_and_its_attachments() {
        let folder = tempfile::tempdir().unwrap();
        let report = Report::new("bug", "id", None);
        let log = [ReportAttachment::Text("log.txt", "one".to_owned())];
        let mut keep = |text: &str| text.to_owned();
        let stored = store(&folder.path().join("feedback"), &report, &log, &mut keep).unwrap();
        let path = folder.path().join("report.zip");
        stored.archive(&path).unwrap();
        let bytes = std::fs::read(path).unwrap();
        let end = &bytes[bytes.len() - 22..];
        assert_eq!(&end[..4], b"PK\x05\x06");
        assert_eq!((end[8], end[10]), (2, 2));
        let central = u32::from_le_bytes(end[16..20].try_into().unwrap()) as usize;
        assert_eq!(&bytes[central..central + 4], b"PK\x01\x02");
        assert_eq!(&bytes[central + 46..central + 46 + 11], b"report.json");
        let second = central + 46 + 11;
        let offset = u32::from_le_bytes(bytes[second + 42..second + 46].try_into().unwrap());
        let local = &bytes[offset as usize..];
        assert_eq!(&local[..4], b"PK\x03\x04");
        assert_eq!(&local[30..40], b"log.txtone");
        let checksum = u32::from_le_bytes(local[14..18].try_into().unwrap());
        assert_eq!(checksum, crc32fast::hash(b"one"));
    }
}
