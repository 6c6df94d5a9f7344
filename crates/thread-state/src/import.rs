//! Takes over what another engine stored, when the database is created. Later changes of either program stay its own.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Transaction, named_params};

/// Converts a queued message of it to the form of the caller; none if it has parts that are unknown here.
pub type MessageConverter = fn(&str) -> Option<String>;

const GOALS: &str = "goals_1.sqlite";
const QUEUE: &str = "queue_1.sqlite";
const STATE: &str = "state_5.sqlite";

/// Copies rows: the columns that are read, in the order of the parameters of the insertion.
struct Copied {
    file: &'static str,
    select: &'static str,
    insert: &'static str,
}

const COPIED_TABLES: &[Copied] = &[
    Copied {
        file: GOALS,
        select: "SELECT thread_id, objective, json_quote(CASE status WHEN 'usage_limited' THEN 'usageLimited' \
                 WHEN 'budget_limited' THEN 'budgetLimited' ELSE status END), token_budget, tokens_used, \
                 time_used_seconds * 1000, created_at_ms / 1000, updated_at_ms / 1000 FROM thread_goals",
        insert: "INSERT OR IGNORE INTO goals (thread, objective, status, token_budget, tokens_used, \
                 milliseconds_used, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    },
    Copied {
        file: STATE,
        select: "SELECT thread_id, CASE first_unread_turn WHEN '' THEN json_quote('threadStart') \
                 ELSE iif(first_unread_turn IS NULL, NULL, json_object('turn', first_unread_turn)) END, \
                 revision FROM thread_read_receipts",
        insert: "INSERT OR IGNORE INTO read_states (thread, first_unread, revision) VALUES (?1, ?2, ?3)",
    },
    Copied {
        file: STATE,
        select: "SELECT id, rowid, name, appearance FROM thread_sections WHERE name <> 'Pinned'",
        insert: "INSERT OR IGNORE INTO sections (id, position, name, appearance) VALUES (?1, ?2, ?3, ?4)",
    },
    Copied {
        file: STATE,
        select: "SELECT id, thread_section_id, ifnull(section_position, 0), \
                 ifnull(section_entered_at_ms, 0) / 1000 FROM threads WHERE thread_section_id IS NOT NULL",
        insert: "INSERT OR IGNORE INTO section_threads (thread, section, position, entered_at) \
                 VALUES (?1, ?2, ?3, ?4)",
    },
    Copied {
        file: STATE,
        select: "SELECT id, position, name, (SELECT json_group_array(path) FROM (SELECT path FROM project_roots \
                 WHERE project_id = p.id ORDER BY position)), metadata, created_at_ms / 1000, \
                 updated_at_ms / 1000, (SELECT key FROM project_idempotency_keys WHERE project_id = p.id) \
                 FROM projects p",
        insert: "INSERT OR IGNORE INTO projects (id, position, name, roots, metadata, created_at, updated_at, \
                 idempotency_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    },
    Copied {
        file: STATE,
        select: "SELECT id, project_id FROM threads WHERE project_id IS NOT NULL",
        insert: "INSERT OR IGNORE INTO project_threads (thread, project) VALUES (?1, ?2)",
    },
    Copied {
        file: STATE,
        select: "SELECT id, thread_id, attachment_type, identity_key, payload, created_at FROM thread_attachments",
        insert: "INSERT OR IGNORE INTO attachments (id, thread, kind, identity, payload, created_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    },
    Copied {
        file: STATE,
        select: "SELECT id, daybreak_enabled FROM threads WHERE daybreak_enabled IS NOT NULL",
        insert: "INSERT OR IGNORE INTO daybreak_marks (thread, is_enabled) VALUES (?1, ?2)",
    },
];

/// Whether another release has stored something in this home folder.
pub(crate) fn has_sources(home: &Path) -> bool {
    [GOALS, QUEUE, STATE]
        .iter()
        .any(|file| home.join(file).exists())
}

/// Copies what the other release stored. What cannot be read is left out.
pub(crate) fn import(
    home: &Path,
    into: &Transaction<'_>,
    convert: MessageConverter,
) -> rusqlite::Result<()> {
    for file in [GOALS, QUEUE, STATE] {
        let path = home.join(file);
        if !path.exists() {
            continue;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let copied = Connection::open_with_flags(&path, flags)
            .and_then(|source| copy_file(file, &source, into, convert));
        if let Err(error) = copied {
            tracing::warn!(%error, file, "what another release stored is not taken over");
        }
    }
    Ok(())
}

fn copy_file(
    file: &str,
    source: &Connection,
    into: &Transaction<'_>,
    convert: MessageConverter,
) -> rusqlite::Result<()> {
    for copied in COPIED_TABLES.iter().filter(|copied| copied.file == file) {
        copy(copied, source, into)?;
    }
    if file == QUEUE {
        copy_queue(source, into, convert)?;
    }
    Ok(())
}

fn copy(copied: &Copied, source: &Connection, into: &Transaction<'_>) -> rusqlite::Result<()> {
    // Older engines have the file without the table.
    let Ok(mut selection) = source.prepare(copied.select) else {
        return Ok(());
    };
    let mut insertion = into.prepare(copied.insert)?;
    let columns = selection.column_count();
    let mut rows = selection.query([])?;
    while let Some(row) = rows.next()? {
        let values: Vec<rusqlite::types::Value> = (0..columns)
            .map(|column| row.get(column))
            .collect::<rusqlite::Result<_>>()?;
        insertion.execute(rusqlite::params_from_iter(values))?;
    }
    Ok(())
}

fn copy_queue(
    source: &Connection,
    into: &Transaction<'_>,
    convert: MessageConverter,
) -> rusqlite::Result<()> {
    let sql =
        "SELECT id, thread_id, queue_order, payload_json FROM queued_items ORDER BY queue_order";
    let Ok(mut selection) = source.prepare(sql) else {
        return Ok(());
    };
    let entries = selection.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let entries: Vec<(String, String, i64, String)> = entries.collect::<rusqlite::Result<_>>()?;
    for (id, thread, position, message) in entries {
        let Some(message) = convert(&message) else {
            tracing::warn!(id, "a queued message of another release cannot be read");
            continue;
        };
        into.execute(
            "INSERT OR IGNORE INTO queue (id, thread, position, message) VALUES (:id, :thread, :position, :message)",
            named_params! { ":id": id, ":thread": thread, ":position": position, ":message": message },
        )?;
    }
    Ok(())
}
