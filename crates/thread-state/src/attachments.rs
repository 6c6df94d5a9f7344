//! Attachments: records that clients store on threads. The engine does not interpret them.

use rusqlite::{Connection, Row, named_params};

use crate::database::{StateError, ThreadState, all, new_id, now, one};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub id: String,
    /// The kind of record, as the client calls it.
    pub kind: String,
    /// What the record is about; unique per kind and thread.
    pub identity: String,
    /// JSON of the client.
    pub payload: String,
    /// In Unix seconds.
    pub created_at: i64,
}

/// The result of adding an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddedAttachment {
    New(Attachment),
    /// There was one with this kind and identity; it stays unchanged.
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
    /// Adds an attachment to a thread, unless there is one with the same kind and identity.
    ///
    /// # Errors
    pub fn add_attachment(
        &self,
        thread: &str,
        kind: &str,
        identity: &str,
        payload: &str,
    ) -> Result<AddedAttachment, StateError> {
        self.change(|transaction| {
            if let Some(known) = find(transaction, thread, kind, identity)? {
                return Ok(AddedAttachment::Existing(known));
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
            Ok(AddedAttachment::New(attachment))
        })
    }

    /// Gives a fork the attachments of its source.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn copy_attachments(&self, source: &str, fork: &str) -> Result<(), StateError> {
        for attachment in self.attachments(source)? {
            let Attachment {
                kind,
                identity,
                payload,
                ..
            } = attachment;
            self.add_attachment(fork, &kind, &identity, &payload)?;
        }
        Ok(())
    }

    /// The attachments of a thread, oldest first.
    ///
    /// # Errors
    pub fn attachments(&self, thread: &str) -> Result<Vec<Attachment>, StateError> {
        self.query(Vec::new(), |connection| {
            let sql =
                format!("SELECT {COLUMNS} FROM attachments WHERE thread = :thread ORDER BY id");
            all(connection, &sql, named_params! { ":thread": thread }, read)
        })
    }

    /// Removes an attachment of a thread. `None` if it does not exist.
    ///
    /// # Errors
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

    /// The threads that have an attachment with this kind and identity.
    ///
    /// # Errors
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
