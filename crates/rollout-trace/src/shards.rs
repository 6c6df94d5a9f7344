//! The shards of a bundle of schema 3: many payloads in one compressed file.
//!
//! A shard can only be read from its beginning, and payloads are asked for again. So what was read is kept, without
//! compression, in a temporary file without a name, and each payload is found there. A shard that is still written is
//! read as far as it goes, and further when something is missing.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use parking_lot::Mutex;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use crate::bundle_folder::BundleFolder;
use crate::format::shard_path;
use crate::ids::PayloadId;

/// A shard may ask for a window of two to the power of this.
const WINDOW_LOG: u32 = 27;

/// Compressed bytes that are read at a time, and plain ones that are written.
const INPUT: usize = 1 << 17;
const OUTPUT: usize = 1 << 18;

/// All shards of a bundle may become this large, or so many times larger than they are, up to a limit.
const LEAST_ROOM: u64 = 256 << 20;
const GROWTH: u64 = 500;
const MOST_ROOM: u64 = 4 << 30;

/// The length of the id and of the payload, before each payload.
const HEADER: usize = 10;

/// The shards of one bundle.
#[derive(Debug)]
pub(crate) struct Shards {
    folder: BundleFolder,
    open: Mutex<OpenShards>,
}

#[derive(Debug, Default)]
struct OpenShards {
    shards: HashMap<u64, Shard>,
    plain: PlainFile,
}

/// What the shards contain, one after the other.
#[derive(Debug, Default)]
struct PlainFile {
    file: Option<File>,
    length: u64,
    /// The bytes of the shards that were read.
    compressed: u64,
}

/// Where a payload is in the plain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainPlace {
    pub(crate) start: u64,
    pub(crate) length: u64,
}

impl Shards {
    pub(crate) fn new(bundle: &Path) -> Self {
        Self {
            folder: BundleFolder::new(bundle),
            open: Mutex::default(),
        }
    }

    /// The place of a payload of a shard.
    pub(crate) fn find(&self, number: u64, id: &PayloadId) -> io::Result<PlainPlace> {
        let mut open = self.open.lock();
        let OpenShards { shards, plain } = &mut *open;
        let shard = match shards.entry(number) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(Shard::open(self.folder.read(&shard_path(number))?)?)
            }
        };
        if !shard.places.contains_key(id.as_str()) {
            shard.read_on(plain)?;
        }
        if let Some(fault) = &shard.fault {
            // What was read before may be wrong too: the checksum is at the end.
            let reason = format!("shard {number} is damaged: {fault}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        shard.places.get(id.as_str()).copied().ok_or_else(|| {
            let end = if shard.is_complete {
                ""
            } else {
                ", which has no end"
            };
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("missing payload {id} in shard {number}{end}"),
            )
        })
    }

    /// The shards that were read and have no end.
    pub(crate) fn without_end(&self) -> Vec<u64> {
        let mut open = self.open.lock();
        let OpenShards { shards, plain } = &mut *open;
        let mut numbers = Vec::new();
        for (number, shard) in shards {
            // What came since it was read may be the end.
            let is_read = shard.is_complete || shard.read_on(plain).is_ok();
            if !is_read || !shard.is_complete && shard.fault.is_none() {
                numbers.push(*number);
            }
        }
        numbers.sort_unstable();
        numbers
    }

    /// Reads a part of the plain file.
    pub(crate) fn read(&self, start: u64, length: usize, to: &mut Vec<u8>) -> io::Result<()> {
        let mut open = self.open.lock();
        let Some(file) = &mut open.plain.file else {
            return Err(io::ErrorKind::NotFound.into());
        };
        file.seek(SeekFrom::Start(start))?;
        let read = file.take(length as u64).read_to_end(to)?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

/// One shard, as far as it was read.
struct Shard {
    file: File,
    /// None between frames: its window takes megabytes.
    decoder: Option<Decoder<'static>>,
    /// Compressed bytes that were read and not decoded.
    input: Vec<u8>,
    places: HashMap<String, PlainPlace>,
    record: Record,
    /// Whether the frame has its end.
    is_complete: bool,
    /// Why nothing more can be read.
    fault: Option<String>,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard")
            .field("payloads", &self.places.len())
            .field("is_complete", &self.is_complete)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

/// The payload at hand.
#[derive(Debug)]
enum Record {
    /// So much of the lengths and the id is there.
    Head(Vec<u8>),
    /// So many bytes are to come.
    Data(u64),
}

impl Shard {
    fn open(file: File) -> io::Result<Self> {
        Ok(Self {
            file,
            decoder: None,
            input: Vec::new(),
            places: HashMap::new(),
            record: Record::Head(Vec::new()),
            is_complete: false,
            fault: None,
        })
    }

    /// Reads what there is.
    fn read_on(&mut self, plain: &mut PlainFile) -> io::Result<()> {
        let mut output = vec![0; OUTPUT];
        let mut chunk = vec![0; INPUT];
        while self.fault.is_none() {
            let read = self.file.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            plain.compressed += read as u64;
            self.input.extend_from_slice(&chunk[..read]);
            if let Err(error) = self.decode(&mut output, plain) {
                self.fault = Some(error.to_string());
            }
        }
        if self.is_complete && self.input.is_empty() || self.fault.is_some() {
            self.decoder = None;
        }
        Ok(())
    }

    fn decode(&mut self, output: &mut [u8], plain: &mut PlainFile) -> io::Result<()> {
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            None => {
                let mut decoder = Decoder::new()?;
                decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
                self.decoder.insert(decoder)
            }
        };
        let input = std::mem::take(&mut self.input);
        let mut source = InBuffer::around(&input);
        loop {
            let before = source.pos();
            let mut target = OutBuffer::around(output);
            let hint = decoder.run(&mut source, &mut target)?;
            let written = target.pos();
            let at = plain.append(&output[..written])?;
            let bytes = &output[..written];
            note_payloads(&mut self.record, &mut self.places, at, bytes)?;
            self.is_complete = hint == 0;
            let is_stuck = written == 0 && source.pos() == before;
            if is_stuck || (source.pos() == input.len() && written < OUTPUT) {
                break;
            }
        }
        self.input = input[source.pos()..].to_vec();
        Ok(())
    }
}

/// Notes the payloads in plain bytes that begin at a place of the plain file.
fn note_payloads(
    record: &mut Record,
    places: &mut HashMap<String, PlainPlace>,
    mut at: u64,
    mut bytes: &[u8],
) -> io::Result<()> {
    while !bytes.is_empty() {
        match record {
            Record::Head(head) => {
                let wanted = match length_of_id(head) {
                    Some(id) => HEADER + id,
                    None => HEADER,
                };
                let (part, rest) = bytes.split_at(bytes.len().min(wanted - head.len()));
                head.extend_from_slice(part);
                at += part.len() as u64;
                bytes = rest;
                let Some(id) = length_of_id(head).filter(|id| head.len() == HEADER + id) else {
                    continue;
                };
                let mut length = [0; 8];
                length.copy_from_slice(&head[2..HEADER]);
                let length = u64::from_le_bytes(length);
                let id = String::from_utf8_lossy(&head[HEADER..HEADER + id]);
                let place = PlainPlace { start: at, length };
                places.entry(id.into_owned()).or_insert(place);
                if length > MOST_ROOM {
                    return Err(too_large());
                }
                *record = Record::Data(length);
            }
            Record::Data(left) => {
                let step = (*left).min(bytes.len() as u64);
                *left -= step;
                at += step;
                bytes = &bytes[step as usize..];
            }
        }
        if matches!(record, Record::Data(0)) {
            *record = Record::Head(Vec::new());
        }
    }
    Ok(())
}

/// The length of the id of a payload, if its lengths are there.
fn length_of_id(head: &[u8]) -> Option<usize> {
    let lengths = head.get(..HEADER)?;
    Some(usize::from(u16::from_le_bytes([lengths[0], lengths[1]])))
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "the shards become larger than they may",
    )
}

impl PlainFile {
    /// Appends bytes, and returns where they begin.
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let start = self.length;
        if bytes.is_empty() {
            return Ok(start);
        }
        let room = self.compressed.saturating_mul(GROWTH).max(LEAST_ROOM);
        if start + bytes.len() as u64 > room.min(MOST_ROOM) {
            return Err(too_large());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(start))?;
        file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(start)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(id: &str, data: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend_from_slice(&(id.len() as u16).to_le_bytes());
        record.extend_from_slice(&(data.len() as u64).to_le_bytes());
        record.extend_from_slice(id.as_bytes());
        record.extend_from_slice(data);
        record
    }

    fn bundle(shard: &[u8]) -> (tempfile::TempDir, Shards) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("payloads")).unwrap();
        fs::write(folder.path().join("payloads/000001.zst"), shard).unwrap();
        let shards = Shards::new(folder.path());
        (folder, shards)
    }

    fn content(shards: &Shards, id: &str) -> io::Result<Vec<u8>> {
        let place = shards.find(1, &id.into())?;
        let mut bytes = Vec::new();
        shards.read(place.start, place.length as usize, &mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn payloads_are_found_by_their_ids_in_any_order() {
        let long = vec![b'x'; OUTPUT + 17];
        let plain = [record("a", b"1"), record("b", &long), record("c", b"")].concat();
        let (_folder, shards) = bundle(&zstd::encode_all(plain.as_slice(), 3).unwrap());
        assert_eq!(content(&shards, "c").unwrap(), b"");
        assert_eq!(content(&shards, "b").unwrap(), long);
        assert_eq!(content(&shards, "a").unwrap(), b"1");
        let missing = content(&shards, "d").unwrap_err().to_string();
        assert_eq!(missing, "missing payload d in shard 1");
    }

    #[test]
    fn shard_that_is_still_written_is_read_further() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.write_all(&record("a", b"1")).unwrap();
        encoder.flush().unwrap();
        let (folder, shards) = bundle(encoder.get_ref());
        assert_eq!(content(&shards, "a").unwrap(), b"1");
        let missing = content(&shards, "b").unwrap_err().to_string();
        assert_eq!(missing, "missing payload b in shard 1, which has no end");
        encoder.write_all(&record("b", b"2")).unwrap();
        let whole = encoder.finish().unwrap();
        fs::write(folder.path().join("payloads/000001.zst"), whole).unwrap();
        assert_eq!(content(&shards, "b").unwrap(), b"2");
    }

    #[test]
    fn damaged_and_exploding_shards_are_refused() {
        let plain = record("a", &vec![b'x'; 1 << 20]);
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(&plain).unwrap();
        let mut shard = encoder.finish().unwrap();
        let middle = shard.len() / 2;
        shard[middle] ^= 0x55;
        let (_folder, shards) = bundle(&shard);
        let found = content(&shards, "a").unwrap_err().to_string();
        assert!(found.starts_with("shard 1 is damaged: "), "{found}");
        let (_folder, shards) = bundle(b"no frame");
        assert!(content(&shards, "a").is_err());
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        let zeros = vec![0; 1 << 20];
        for _ in 0..300 {
            encoder.write_all(&record("z", &zeros)).unwrap();
        }
        let bomb = encoder.finish().unwrap();
        assert!((bomb.len() as u64) * GROWTH < LEAST_ROOM, "{}", bomb.len());
        let (_folder, shards) = bundle(&bomb);
        let found = content(&shards, "b").unwrap_err().to_string();
        assert!(found.contains("larger than they may"), "{found}");
    }

    #[test]
    fn links_in_the_place_of_shards_are_not_followed() {
        let (folder, _) = bundle(b"");
        let path = folder.path().join("payloads/000001.zst");
        let outside = folder.path().join("outside");
        fs::write(
            &outside,
            zstd::encode_all(record("a", b"1").as_slice(), 3).unwrap(),
        )
        .unwrap();
        fs::remove_file(&path).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        assert!(content(&Shards::new(folder.path()), "a").is_err());
    }
}
