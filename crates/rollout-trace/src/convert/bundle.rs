//! Converting a whole bundle into a new folder.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::unshard::{line_of_three, line_of_two};
use super::{AddedEvent, Conversion, ConvertedEvent, Downgrade, Upgrade};
use crate::format::{
    Event, LOG_FILE, LogLine, Manifest, PAYLOADS_DIR, PayloadKind, PayloadRef, Schema, ShardPlace,
    seal_line,
};
use crate::ids::PayloadId;
use crate::reduce::{PayloadFiles, ReplayError, read_manifest};
use crate::write::{BundleFiles, CreateError, PayloadSink, RecordingLimits};

/// Why there is no copy, or only a part of one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConvertError {
    #[error(transparent)]
    Bundle(#[from] ReplayError),
    #[error("the bundle already has schema {0}")]
    Same(u32),
    #[error("{0} already exists")]
    Occupied(PathBuf),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
}

enum Converter {
    Upgrade(Box<Upgrade>),
    Downgrade(Downgrade),
    /// Between schema 2 and 3, payloads are the same.
    None,
}

/// Writes a copy of a bundle in another version of the format into a new folder.
pub fn convert_bundle(bundle: &Path, copy: &Path, to: Schema) -> Result<Conversion, ConvertError> {
    let manifest = read_manifest(bundle)?;
    if manifest.schema_version == to.number() {
        return Err(ConvertError::Same(to.number()));
    }
    if copy.exists() {
        return Err(ConvertError::Occupied(copy.to_owned()));
    }
    copy_bundle(bundle, copy, manifest, to, to == Schema::Three)
}

/// Writes a copy of a bundle of schema 3 whose payloads are in files of their own, as those of schema 2, or in shards again.
/// The folder of the copy may be there if it is empty.
///
/// # Errors
/// As for a conversion.
pub fn copy_with_payloads(
    bundle: &Path,
    copy: &Path,
    in_shards: bool,
) -> Result<Conversion, ConvertError> {
    let manifest = read_manifest(bundle)?;
    let schema = Schema::numbered(manifest.schema_version).unwrap_or_default();
    copy_bundle(bundle, copy, manifest, schema, in_shards)
}

fn copy_bundle(
    bundle: &Path,
    copy: &Path,
    mut manifest: Manifest,
    to: Schema,
    in_shards: bool,
) -> Result<Conversion, ConvertError> {
    let from = Schema::numbered(manifest.schema_version).unwrap_or_default();
    let log = bundle.join(LOG_FILE);
    let file = codex_regular_file::open_inside(bundle, Path::new(LOG_FILE)).map_err(|source| {
        ConvertError::File {
            path: log.clone(),
            source,
        }
    })?;
    manifest.schema_version = to.number();
    let mut copier = Copier {
        converter: match (from, to) {
            (Schema::One, Schema::Two | Schema::Three) => {
                Converter::Upgrade(Box::new(Upgrade::to_schema(to)))
            }
            (Schema::Two | Schema::Three, Schema::One) => {
                Converter::Downgrade(Downgrade::default())
            }
            _ => Converter::None,
        },
        payloads: PayloadFiles::new(bundle),
        copy: BundleFiles::create(copy, &manifest)?,
        sink: PayloadSink::new(in_shards, RecordingLimits::default()),
        copied: HashMap::new(),
        added: 0,
        conversion: Conversion {
            from,
            to,
            events: 0,
            left_out: [].into(),
        },
    };
    let failed = |source| ConvertError::File {
        path: log.clone(),
        source,
    };
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(failed)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<LogLine>(&line) {
            Ok(mut line) if line.payload.belongs_to(from) => {
                line.rollout_id = manifest.rollout_id.clone();
                copier.line(line).map_err(|source| ConvertError::File {
                    path: copy.to_owned(),
                    source,
                })?;
            }
            _ => copier.leave_out("lines that cannot be read"),
        }
    }
    copier.sink.finish().map_err(|source| ConvertError::File {
        path: copy.to_owned(),
        source,
    })?;
    let mut conversion = copier.conversion;
    if let Converter::Downgrade(downgrade) = copier.converter {
        conversion.left_out.extend(downgrade.left_out);
    }
    Ok(conversion)
}

/// The numbers of payloads that a conversion adds come after those of any session.
const FIRST_ADDED_NUMBER: u64 = 1 << 40;

/// A reference to a payload at the place that it gets.
fn without_place(reference: &PayloadRef, in_shards: bool) -> PayloadRef {
    let number = reference.raw_payload_id.as_str().rsplit(':').next();
    let name: String = number
        .unwrap_or_default()
        .chars()
        .filter(|char| char.is_ascii_alphanumeric() || *char == '-')
        .collect();
    let path = match (in_shards, reference.shard) {
        (true, _) => String::new(),
        (false, ShardPlace::File) => reference.path.clone(),
        (false, _) => format!("{PAYLOADS_DIR}/{name}.json"),
    };
    let shard = if in_shards {
        ShardPlace::Omitted
    } else {
        ShardPlace::File
    };
    PayloadRef {
        path,
        shard,
        capture: None,
        parts: Vec::new(),
        ..reference.clone()
    }
}

struct Copier {
    converter: Converter,
    payloads: PayloadFiles,
    copy: BundleFiles,
    sink: PayloadSink,
    /// The references of the copy, by the ids of the payloads.
    copied: HashMap<PayloadId, PayloadRef>,
    /// The payloads that the bundle does not have.
    added: u64,
    conversion: Conversion,
}

impl Copier {
    fn leave_out(&mut self, what: &'static str) {
        *self.conversion.left_out.entry(what).or_default() += 1;
    }

    fn line(&mut self, mut line: LogLine) -> io::Result<()> {
        // What comes before the other conversions: they know schema 1 and 2.
        let unsharded = match (self.conversion.from, self.conversion.to) {
            (Schema::Three, Schema::One | Schema::Two) => {
                line_of_two(&mut line, &mut self.conversion.left_out)
            }
            (Schema::Two, Schema::Three) => line_of_three(&mut line),
            _ => ConvertedEvent {
                is_kept: true,
                ..ConvertedEvent::default()
            },
        };
        if !unsharded.is_kept {
            return Ok(());
        }
        let references: Vec<PayloadRef> = line.payload.direct_payloads().cloned().collect();
        let mut texts = Vec::new();
        for reference in &references {
            match self.payloads.take(reference) {
                Ok(text) => {
                    let converted = match &mut self.converter {
                        Converter::Upgrade(upgrade) => {
                            upgrade.payload(line.thread_id.as_ref(), reference.kind, &text)
                        }
                        Converter::Downgrade(downgrade) => downgrade.payload(reference.kind, &text),
                        Converter::None => None,
                    };
                    texts.push((reference.clone(), converted.unwrap_or(text)));
                }
                Err(_) => self.leave_out("payloads that cannot be read"),
            }
        }
        let ConvertedEvent {
            before,
            is_kept,
            after,
        } = match &mut self.converter {
            Converter::Upgrade(upgrade) => upgrade.line(&mut line),
            Converter::Downgrade(downgrade) => downgrade.line(&mut line),
            Converter::None => unsharded,
        };
        for added in before {
            self.add(&line, added)?;
        }
        if is_kept {
            for (reference, text) in texts {
                self.copy_payload(&reference, &text)?;
            }
            for reference in line.payload.direct_payloads_mut() {
                *reference = match self.copied.get(&reference.raw_payload_id) {
                    Some(copied) => copied.clone(),
                    // One that was left out stays so.
                    None if reference.is_partial() && self.conversion.to == Schema::Three => {
                        PayloadRef {
                            shard: ShardPlace::Omitted,
                            parts: Vec::new(),
                            ..reference.clone()
                        }
                    }
                    None => without_place(reference, self.sink.is_sharded()),
                };
            }
            self.prepare_prompt(&mut line)?;
            self.write(line.clone())?;
        }
        for added in after {
            self.add(&line, added)?;
        }
        Ok(())
    }

    fn copy_payload(&mut self, reference: &PayloadRef, text: &[u8]) -> io::Result<()> {
        if self.copied.contains_key(&reference.raw_payload_id) {
            return Ok(());
        }
        let mut copied = PayloadRef {
            xxh3: None,
            parts: Vec::new(),
            ..without_place(reference, self.sink.is_sharded())
        };
        self.sink.write(&self.copy, &mut copied, text)?;
        self.copied.insert(copied.raw_payload_id.clone(), copied);
        Ok(())
    }

    fn prepare_prompt(&mut self, line: &mut LogLine) -> io::Result<()> {
        if !self.sink.is_sharded() {
            return Ok(());
        }
        if let Event::InferenceStarted {
            request_payload,
            prepared_prompt_payload: prepared @ None,
            ..
        } = &mut line.payload
        {
            self.added += 1;
            let number = FIRST_ADDED_NUMBER + self.added;
            *prepared = Some(
                self.sink
                    .write_prepared(&self.copy, number, request_payload)?,
            );
        }
        Ok(())
    }

    fn add(&mut self, beside: &LogLine, added: AddedEvent) -> io::Result<()> {
        let mut event = added.event;
        if let (
            Some(text),
            Event::HistoryItemAccepted {
                item_id,
                agent_message_payload,
                ..
            },
        ) = (&added.payload, &mut event)
        {
            // Numbers are those of the payloads of the bundle.
            let name = format!("accepted-{}", self.conversion.events);
            let mut reference = PayloadRef {
                raw_payload_id: format!("raw_payload:{item_id}-{name}").into(),
                path: format!("payloads/{name}.json"),
                ..PayloadRef::numbered(0, PayloadKind::ProtocolEvent)
            };
            self.sink.write(&self.copy, &mut reference, text)?;
            *agent_message_payload = Some(reference);
        }
        self.write(LogLine {
            thread_id: added.thread,
            codex_turn_id: added.turn,
            payload: event,
            ..beside.clone()
        })
    }

    fn write(&mut self, mut line: LogLine) -> io::Result<()> {
        self.conversion.events += 1;
        line.seq = self.conversion.events;
        self.sink.flush()?;
        let mut text = serde_json::to_vec(&line)?;
        seal_line(&mut text, 0);
        text.push(b'\n');
        self.copy.append(&text).map_err(|error| error.source)
    }
}
