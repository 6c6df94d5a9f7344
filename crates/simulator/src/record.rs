//! The record of a simulation: every message, every request to the model and every program, in order. It is outside of the
//! simulation, so it survives kills.

use std::sync::OnceLock;

use serde_json::Value;

use crate::machine;

static FILE: OnceLock<i32> = OnceLock::new();

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A client connects.
    Connect,
    /// A client goes away.
    Disconnect,
    /// A client sends a message.
    Sent,
    /// A client has received a message.
    Received,
    /// The model is asked.
    Model,
    /// A program is started.
    Program,
    /// A process begins. The value has its phase.
    Phase,
    /// The server is asked to end.
    Ending,
    /// The disk was full at the time that is the number, in nanoseconds.
    FullDisk,
    /// The end of a process that was not killed.
    Finish,
}

const KINDS: [(RecordKind, char); 10] = [
    (RecordKind::Connect, '+'),
    (RecordKind::Disconnect, '-'),
    (RecordKind::Sent, '>'),
    (RecordKind::Received, '<'),
    (RecordKind::Model, 'm'),
    (RecordKind::Program, 'p'),
    (RecordKind::Phase, '='),
    (RecordKind::Ending, '!'),
    (RecordKind::FullDisk, 'f'),
    (RecordKind::Finish, '.'),
];

/// An entry of a record.
#[derive(Clone, Debug)]
pub(crate) struct RecordEntry {
    /// Nanoseconds since the begin of the simulation.
    pub at: u64,
    pub kind: RecordKind,
    /// The number of the connection, where there is one.
    pub connection: u64,
    /// The message.
    pub value: Value,
}

/// Sets the file of the record for the rest of the process.
pub(crate) fn set_file(file: i32) {
    let _ = FILE.set(file);
}

/// Adds an entry.
pub(crate) fn add(kind: RecordKind, connection: u64, text: &str) {
    let Some(file) = FILE.get() else {
        return;
    };
    let name = KINDS.iter().find(|(known, _)| *known == kind);
    let name = name.map_or(' ', |(_, name)| *name);
    let line = format!("{} {name} {connection} {text}\n", machine::now());
    machine::record(*file, line.as_bytes());
}

/// Reads a record. An incomplete last line is left out.
#[must_use]
pub(crate) fn read(text: &str) -> Vec<RecordEntry> {
    let lines = text
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'));
    lines.filter_map(read_line).collect()
}

fn read_line(line: &str) -> Option<RecordEntry> {
    let mut parts = line.splitn(4, ' ');
    let at = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let kind = KINDS.iter().find(|(_, known)| name.starts_with(*known))?.0;
    let connection = parts.next()?.parse().ok()?;
    let text = parts.next().unwrap_or_default();
    let value = serde_json::from_str(text).unwrap_or(Value::Null);
    Some(RecordEntry {
        at,
        kind,
        connection,
        value,
    })
}
