//! Converting a whole bundle into a new folder.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{AddedEvent, Conversion, ConvertedEvent, Downgrade, Upgrade};
use crate::format::{
    Checksum, Event, LOG_FILE, LogLine, PayloadKind, PayloadRef, Schema, seal_line,
};
use crate::reduce::{PayloadFiles, ReplayError, read_manifest};
use crate::write::{BundleFiles, CreateError};

/// Why there is no copy, or only a part of one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConvertError {
    #[error(transparent)]
    Bundle(#[from] ReplayError),
    #[error("the bundle is of schema {0} already")]
    Same(u32),
    #[error("{0} already exists")]
    Occupied(PathBuf),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
}

enum Converter {
    Upgrade(Upgrade),
    Downgrade(Downgrade),
}

/// Writes a copy of a bundle in the other version of the format into a new folder.
pub fn convert_bundle(bundle: &Path, copy: &Path, to: Schema) -> Result<Conversion, ConvertError> {
    let mut manifest = read_manifest(bundle)?;
    let from = Schema::numbered(manifest.schema_version).unwrap_or_default();
    if from == to {
        return Err(ConvertError::Same(to.number()));
    }
    if copy.exists() {
        return Err(ConvertError::Occupied(copy.to_owned()));
    }
    let log = bundle.join(LOG_FILE);
    let file = codex_regular_file::open_inside(bundle, Path::new(LOG_FILE)).map_err(|source| {
        ConvertError::File {
            path: log.clone(),
            source,
        }
    })?;
    manifest.schema_version = to.number();
    let mut copier = Copier {
        converter: match to {
            Schema::One => Converter::Downgrade(Downgrade::default()),
            Schema::Two => Converter::Upgrade(Upgrade::default()),
        },
        payloads: PayloadFiles::new(bundle),
        copy: BundleFiles::create(copy, &manifest)?,
        copied: HashSet::new(),
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
    let mut conversion = copier.conversion;
    if let Converter::Downgrade(downgrade) = copier.converter {
        conversion.left_out.extend(downgrade.left_out);
    }
    Ok(conversion)
}

struct Copier {
    converter: Converter,
    payloads: PayloadFiles,
    copy: BundleFiles,
    copied: HashSet<String>,
    conversion: Conversion,
}

impl Copier {
    fn leave_out(&mut self, what: &'static str) {
        *self.conversion.left_out.entry(what).or_default() += 1;
    }

    fn line(&mut self, mut line: LogLine) -> io::Result<()> {
        let references: Vec<PayloadRef> = line.payload.payloads().cloned().collect();
        let mut texts = Vec::new();
        for reference in &references {
            match self.payloads.take(reference) {
                Ok(text) => {
                    let converted = match &mut self.converter {
                        Converter::Upgrade(upgrade) => {
                            upgrade.payload(line.thread_id.as_ref(), reference.kind, &text)
                        }
                        Converter::Downgrade(downgrade) => downgrade.payload(reference.kind, &text),
                    };
                    texts.push((reference.path.clone(), converted.unwrap_or(text)));
                }
                Err(_) => self.leave_out("payload files that cannot be read"),
            }
        }
        let ConvertedEvent {
            before,
            is_kept,
            after,
        } = match &mut self.converter {
            Converter::Upgrade(upgrade) => upgrade.line(&mut line),
            Converter::Downgrade(downgrade) => downgrade.line(&mut line),
        };
        for added in before {
            self.add(&line, added)?;
        }
        if is_kept {
            for (path, text) in texts {
                line.payload.set_checksum(&path, Checksum::of(&text));
                if self.copied.insert(path.clone()) {
                    self.copy.write_payload(&path, &text)?;
                }
            }
            self.write(line.clone())?;
        }
        for added in after {
            self.add(&line, added)?;
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
            },
        ) = (&added.payload, &mut event)
        {
            // Numbers are those of the payloads of the bundle.
            let name = format!("accepted-{}", self.conversion.events);
            let reference = PayloadRef {
                raw_payload_id: format!("raw_payload:{item_id}-{name}").into(),
                kind: PayloadKind::ProtocolEvent,
                path: format!("payloads/{name}.json"),
                xxh3: Some(Checksum::of(text)),
            };
            self.copy.write_payload(&reference.path, text)?;
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
        let mut text = serde_json::to_vec(&line)?;
        seal_line(&mut text, 0);
        text.push(b'\n');
        self.copy.append(&text).map_err(|error| error.source)
    }
}
