//! The record of a simulation: every message, every request to the model and every program, in order. It is outside of the
//! simulation, so it survives kills.

use std::sync::OnceLock;

use serde_json::Value;

use crate::machine;

static FILE: OnceLock<i32> = OnceLock::new();

/// Connections of a phase have numbers from its thousand, those of the second process from here.
pub(crate) const CONNECTIONS: u64 = 500;

/// Whether a connection is one to this process of a phase.
#[must_use]
pub(crate) const fn is_of_engine(connection: u64, engine: u64) -> bool {
    connection % 1000 / CONNECTIONS == engine
}

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
    /// A tool of an MCP server is called or answers.
    Tool,
    /// A process begins. The value has its phase.
    Phase,
    /// The server is asked to end.
    Ending,
    /// The disk was full at the time that is the number, in nanoseconds.
    FullDisk,
    /// The end of a process that was not killed. The number is that of the process in its phase.
    Finish,
    /// A process is killed. The number is that of the process in its phase.
    Kill,
}

const KINDS: [(RecordKind, char); 12] = [
    (RecordKind::Connect, '+'),
    (RecordKind::Disconnect, '-'),
    (RecordKind::Sent, '>'),
    (RecordKind::Received, '<'),
    (RecordKind::Model, 'm'),
    (RecordKind::Program, 'p'),
    (RecordKind::Tool, 't'),
    (RecordKind::Phase, '='),
    (RecordKind::Ending, '!'),
    (RecordKind::FullDisk, 'f'),
    (RecordKind::Finish, '.'),
    (RecordKind::Kill, 'x'),
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

/// What is recorded so far, by all processes.
#[must_use]
pub(crate) fn read_so_far() -> Vec<RecordEntry> {
    let text = FILE
        .get()
        .and_then(|file| std::fs::read_to_string(format!("/proc/self/fd/{file}")).ok());
    read(&text.unwrap_or_default())
}

/// The threads that clients have seen, in order.
#[must_use]
pub(crate) fn threads(entries: &[RecordEntry]) -> Vec<String> {
    let mut threads: Vec<String> = Vec::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.kind == RecordKind::Received)
    {
        if let Some(id) = entry.value["result"]["thread"]["id"].as_str()
            && !threads.iter().any(|known| known == id)
        {
            threads.push(id.to_owned());
        }
    }
    threads
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
