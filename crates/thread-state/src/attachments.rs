//! Attachments: records that clients keep on threads. What is in them is theirs.

use rusqlite::{Connection, Row, named_params};

use crate::database::{StateError, ThreadState, all, new_id, now, one};

/// A record of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Names it.
    pub id: String,
    /// Its kind, in the words of the client.
    pub kind: String,
    /// What it stands for; unique for its kind within a thread.
    pub identity: String,
    /// JSON of the client.
    pub payload: String,
    /// In Unix seconds.
    pub created_at: i64,
}

/// What came of adding an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    New(Attachment),
    /// There was one already, and it stays as it is.
    Existing(Attachment),
}

const COLUMNS: &str = "id, kind, identity, payload, created_at";

fn read(row: &Row<'_>) -> rusqlite::Result<Attachment> {
    Ok(Attachment {
        id: row.get("id")?,
        kind: row.get("kind")?,
        identity: row.get("identity")?,
        payload: row.get("payload")?,
        created_at: row.get("created_at")?,
    })
}

fn find(
    connection: &Connection,
    thread: &str,
    kind: &str,
    identity: &str,
) -> Result<Option<Attachment>, StateError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM attachments WHERE thread = :thread AND kind = :kind AND identity = :identity"
    );
    let params = named_params! { ":thread": thread, ":kind": kind, ":identity": identity };
    one(connection, &sql, params, read)
}

impl ThreadState {
    /// Adds an attachment to a thread.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_attachment(
        &self,
        thread: &str,
        kind: &str,
        identity: &str,
        payload: &str,
    ) -> Result<Added, StateError> {
        self.change(|transaction| {
            if let Some(known) = find(transaction, thread, kind, identity)? {
                return Ok(Added::Existing(known));
            }
            let attachment = Attachment {
                id: new_id(),
                kind: kind.to_owned(),
                identity: identity.to_owned(),
                payload: payload.to_owned(),
                created_at: now(),
            };
            transaction.execute(
                "INSERT INTO attachments (id, thread, kind, identity, payload, created_at) \
                 VALUES (:id, :thread, :kind, :identity, :payload, :created_at)",
                named_params! {
                    ":id": attachment.id, ":thread": thread, ":kind": kind, ":identity": identity,
                    ":payload": payload, ":created_at": attachment.created_at,
                },
            )?;
            Ok(Added::New(attachment))
        })
    }

    /// The attachments of a thread, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn attachments(&self, thread: &str) -> Result<Vec<Attachment>, StateError> {
        self.query(Vec::new(), |connection| {
            let sql =
                format!("SELECT {COLUMNS} FROM attachments WHERE thread = :thread ORDER BY id");
            all(connection, &sql, named_params! { ":thread": thread }, read)
        })
    }

    /// Removes an attachment of a thread; none if there is none.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remove_attachment(
        &self,
        thread: &str,
        kind: &str,
        identity: &str,
    ) -> Result<Option<Attachment>, StateError> {
        self.change(|transaction| {
            let Some(known) = find(transaction, thread, kind, identity)? else {
                return Ok(None);
            };
            transaction.execute(
                "DELETE FROM attachments WHERE id = :id",
                named_params! { ":id": known.id },
            )?;
            Ok(Some(known))
        })
    }

    /// The threads that have such an attachment.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn owners_of_attachment(
        &self,
        kind: &str,
        identity: &str,
    ) -> Result<Vec<String>, StateError> {
        self.query(Vec::new(), |connection| {
            let sql = "SELECT thread FROM attachments WHERE kind = :kind AND identity = :identity ORDER BY id";
            let params = named_params! { ":kind": kind, ":identity": identity };
            all(connection, sql, params, |row| row.get("thread"))
        })
    }
}
