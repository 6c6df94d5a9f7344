//! Sections: groups of threads that the user creates. A thread is in at most one section.

use rusqlite::{Connection, Row, named_params};
use thiserror::Error;

use crate::database::{StateError, ThreadState, all, new_id, now, one};

/// The id of the section that always exists. Clients rely on it.
pub const PINNED_SECTION: &str = "01984de2-8f74-7c91-a3b2-5c5e937cf318";
const PINNED_NAME: &str = "Pinned";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub id: String,
    /// The name for users.
    pub name: String,
    /// How clients display it, as JSON of the caller.
    pub appearance: Option<String>,
}

impl Section {
    fn pinned() -> Self {
        Self {
            id: PINNED_SECTION.to_owned(),
            name: PINNED_NAME.to_owned(),
            appearance: None,
        }
    }
}

/// Why a section was not changed.
#[derive(Debug, Error)]
pub enum SectionError {
    #[error("section name must not be empty")]
    EmptyName,
    #[error("thread section not found: {0}")]
    NotFound(String),
    /// The built-in section cannot be changed.
    #[error("the built-in pinned section cannot be {0}")]
    BuiltIn(&'static str),
    /// The target section of a move does not exist.
    #[error("section {0} does not exist")]
    NoTarget(String),
    /// The thread that should follow is not in the target section.
    #[error("before thread {thread} is not in section {section}")]
    NotInSection { thread: String, section: String },
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<rusqlite::Error> for SectionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::State(error.into())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Section> {
    Ok(Section {
        id: row.get("id")?,
        name: row.get("name")?,
        appearance: row.get("appearance")?,
    })
}

fn find(connection: &Connection, id: &str) -> Result<Option<Section>, StateError> {
    if id == PINNED_SECTION {
        return Ok(Some(Section::pinned()));
    }
    let sql = "SELECT id, name, appearance FROM sections WHERE id = :id";
    one(connection, sql, named_params! { ":id": id }, read)
}

fn threads_of(connection: &Connection, section: &str) -> Result<Vec<String>, StateError> {
    let sql = "SELECT thread FROM section_threads WHERE section = :section ORDER BY position";
    all(
        connection,
        sql,
        named_params! { ":section": section },
        |row| row.get("thread"),
    )
}

impl ThreadState {
    /// All sections: the pinned one first, then in the order of creation.
    ///
    /// # Errors
    pub fn sections(&self) -> Result<Vec<Section>, StateError> {
        let mut sections = vec![Section::pinned()];
        sections.extend(self.query(Vec::new(), |connection| {
            let sql = "SELECT id, name, appearance FROM sections ORDER BY position";
            all(connection, sql, [], read)
        })?);
        Ok(sections)
    }

    ///
    /// # Errors
    /// The name is blank, or the database cannot be written.
    pub fn create_section(
        &self,
        name: &str,
        appearance: Option<String>,
    ) -> Result<Section, SectionError> {
        let section = Section {
            id: new_id(),
            name: checked(name)?,
            appearance,
        };
        self.change(|transaction| {
            transaction.execute(
                "INSERT INTO sections (id, position, name, appearance) VALUES (:id, \
                 (SELECT ifnull(max(position), 0) + 1 FROM sections), :name, :appearance)",
                named_params! {
                    ":id": section.id, ":name": section.name, ":appearance": section.appearance,
                },
            )?;
            Ok::<_, SectionError>(())
        })?;
        Ok(section)
    }

    /// Changes a section. An absent appearance stays unchanged.
    ///
    /// # Errors
    /// The section does not exist or is built in, the name is blank, or the database cannot be written.
    pub fn update_section(
        &self,
        id: &str,
        name: &str,
        appearance: Option<Option<String>>,
    ) -> Result<Section, SectionError> {
        if id == PINNED_SECTION {
            return Err(SectionError::BuiltIn("renamed"));
        }
        let name = checked(name)?;
        self.change(|transaction| {
            let found = find(transaction, id)?;
            let mut section = found.ok_or_else(|| SectionError::NotFound(id.to_owned()))?;
            section.name = name;
            if let Some(appearance) = appearance {
                section.appearance = appearance;
            }
            transaction.execute(
                "UPDATE sections SET name = :name, appearance = :appearance WHERE id = :id",
                named_params! {
                    ":id": id, ":name": section.name, ":appearance": section.appearance,
                },
            )?;
            Ok(section)
        })
    }

    /// Deletes a section. Its threads then belong to no section.
    ///
    /// # Errors
    /// The section does not exist or is built in, or the database cannot be written.
    pub fn delete_section(&self, id: &str) -> Result<(), SectionError> {
        if id == PINNED_SECTION {
            return Err(SectionError::BuiltIn("deleted"));
        }
        self.change(|transaction| {
            let params = named_params! { ":id": id };
            if transaction.execute("DELETE FROM sections WHERE id = :id", params)? == 0 {
                return Err(SectionError::NotFound(id.to_owned()));
            }
            transaction.execute("DELETE FROM section_threads WHERE section = :id", params)?;
            Ok(())
        })
    }

    /// Moves a thread to a section, before another thread or to the end, or out of its section.
    ///
    /// # Errors
    /// The section or the position does not exist, or the database cannot be written.
    pub fn move_to_section(
        &self,
        thread: &str,
        section: Option<&str>,
        before: Option<&str>,
    ) -> Result<(), SectionError> {
        self.change(|transaction| {
            if let Some(section) = section
                && find(transaction, section)?.is_none()
            {
                return Err(SectionError::NoTarget(section.to_owned()));
            }
            let entered_at: Option<i64> = one(
                transaction,
                "SELECT entered_at FROM section_threads WHERE thread = :thread AND section = :section",
                named_params! { ":thread": thread, ":section": section },
                |row| row.get("entered_at"),
            )?;
            if let (Some(section), Some(before)) = (section, before)
                && !threads_of(transaction, section)?.iter().any(|other| other == before)
            {
                return Err(SectionError::NotInSection {
                    thread: before.to_owned(),
                    section: section.to_owned(),
                });
            }
            transaction.execute(
                "DELETE FROM section_threads WHERE thread = :thread",
                named_params! { ":thread": thread },
            )?;
            let Some(section) = section else {
                return Ok(());
            };
            let mut threads = threads_of(transaction, section)?;
            let at = threads
                .iter()
                .position(|other| Some(other.as_str()) == before)
                .unwrap_or(threads.len());
            threads.insert(at, thread.to_owned());
            for (position, other) in (1_i64..).zip(&threads) {
                transaction.execute(
                    "INSERT INTO section_threads (thread, section, position, entered_at) \
                     VALUES (:thread, :section, :position, :entered_at) \
                     ON CONFLICT (thread) DO UPDATE SET position = :position",
                    named_params! {
                        ":thread": other, ":section": section, ":position": position,
                        ":entered_at": entered_at.unwrap_or_else(now),
                    },
                )?;
            }
            Ok(())
        })
    }

    /// The section of a thread, and when the thread was added, in Unix seconds.
    ///
    /// # Errors
    pub fn section_of(&self, thread: &str) -> Result<Option<(Section, i64)>, StateError> {
        self.query(None, |connection| {
            let found: Option<(String, i64)> = one(
                connection,
                "SELECT section, entered_at FROM section_threads WHERE thread = :thread",
                named_params! { ":thread": thread },
                |row| Ok((row.get("section")?, row.get("entered_at")?)),
            )?;
            let Some((section, entered_at)) = found else {
                return Ok(None);
            };
            Ok(find(connection, &section)?.map(|section| (section, entered_at)))
        })
    }

    /// The threads of a section in their order.
    ///
    /// # Errors
    pub fn threads_of_section(&self, section: &str) -> Result<Vec<String>, StateError> {
        self.query(Vec::new(), |connection| threads_of(connection, section))
    }

    /// The threads of all sections.
    ///
    /// # Errors
    pub fn threads_in_sections(&self) -> Result<Vec<String>, StateError> {
        self.query(Vec::new(), |connection| {
            let sql = "SELECT thread FROM section_threads";
            all(connection, sql, [], |row| row.get("thread"))
        })
    }
}

fn checked(name: &str) -> Result<String, SectionError> {
    match name.trim() {
        "" => Err(SectionError::EmptyName),
        name => Ok(name.to_owned()),
    }
}
