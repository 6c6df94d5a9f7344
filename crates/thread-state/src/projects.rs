//! Projects: groups of threads that work on the same folders.

use std::collections::BTreeMap;

use rusqlite::{Connection, named_params};
use thiserror::Error;

use crate::database::{StateError, ThreadState, all, new_id, now, one};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: String,
    /// The name for users.
    pub name: String,
    /// The folders of the project.
    pub roots: Vec<String>,
    /// Values for clients.
    pub metadata: BTreeMap<String, String>,
    /// The position in the list.
    pub position: i64,
    /// In Unix seconds.
    pub created_at: i64,
    /// In Unix seconds.
    pub updated_at: i64,
}

/// The values of a new project.
#[derive(Clone, Debug)]
pub struct NewProject {
    /// The name for users.
    pub name: String,
    /// The folders of the project.
    pub roots: Vec<String>,
    /// Values for clients.
    pub metadata: BTreeMap<String, String>,
    /// A second project with the same key is not created.
    pub idempotency_key: String,
}

/// A change of a project. Absent members stay unchanged.
#[derive(Clone, Debug, Default)]
pub struct ProjectChange {
    pub name: Option<String>,
    pub roots: Option<Vec<String>>,
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Why a project was not changed.
#[derive(Debug, Error)]
pub enum ProjectError {
    #[error("project name must not be empty")]
    EmptyName,
    #[error("project not found: {0}")]
    NotFound(String),
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<rusqlite::Error> for ProjectError {
    fn from(error: rusqlite::Error) -> Self {
        Self::State(error.into())
    }
}

const COLUMNS: &str = "id, name, roots, metadata, position, created_at, updated_at";

struct StoredProject {
    project: Project,
    roots: String,
    metadata: String,
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<StoredProject> {
    Ok(StoredProject {
        project: Project {
            id: row.get("id")?,
            name: row.get("name")?,
            roots: Vec::new(),
            metadata: BTreeMap::new(),
            position: row.get("position")?,
            created_at: row.get("created_at")?,
            updated_at: row.get("updated_at")?,
        },
        roots: row.get("roots")?,
        metadata: row.get("metadata")?,
    })
}

impl StoredProject {
    fn parsed(self) -> Result<Project, StateError> {
        Ok(Project {
            roots: serde_json::from_str(&self.roots)?,
            metadata: serde_json::from_str(&self.metadata)?,
            ..self.project
        })
    }
}

fn find(connection: &Connection, column: &str, value: &str) -> Result<Option<Project>, StateError> {
    let sql = format!("SELECT {COLUMNS} FROM projects WHERE {column} = :value");
    let found = one(connection, &sql, named_params! { ":value": value }, read)?;
    found.map(StoredProject::parsed).transpose()
}

fn existing(connection: &Connection, id: &str) -> Result<Project, ProjectError> {
    find(connection, "id", id)?.ok_or_else(|| ProjectError::NotFound(id.to_owned()))
}

fn every(connection: &Connection) -> Result<Vec<Project>, StateError> {
    let sql = format!("SELECT {COLUMNS} FROM projects ORDER BY position");
    let stored = all(connection, &sql, [], read)?;
    stored.into_iter().map(StoredProject::parsed).collect()
}

fn checked(name: &str) -> Result<String, ProjectError> {
    match name.trim() {
        "" => Err(ProjectError::EmptyName),
        name => Ok(name.to_owned()),
    }
}

impl ThreadState {
    /// All projects in their order.
    ///
    /// # Errors
    pub fn projects(&self) -> Result<Vec<Project>, StateError> {
        self.query(Vec::new(), every)
    }

    ///
    /// # Errors
    /// The project does not exist, or the database cannot be read.
    pub fn project(&self, id: &str) -> Result<Project, ProjectError> {
        let found = self.query(None, |connection| find(connection, "id", id))?;
        found.ok_or_else(|| ProjectError::NotFound(id.to_owned()))
    }

    /// Creates a project, unless one with the same key exists. Also returns whether it is new.
    ///
    /// # Errors
    /// The name is blank, or the database cannot be written.
    pub fn create_project(&self, new: NewProject) -> Result<(Project, bool), ProjectError> {
        let key = new.idempotency_key;
        let known = self.query(None, |connection| find(connection, "idempotency_key", &key))?;
        if let Some(known) = known {
            return Ok((known, false));
        }
        let name = checked(&new.name)?;
        self.change(|transaction| {
            if let Some(known) = find(transaction, "idempotency_key", &key)? {
                return Ok((known, false));
            }
            let (id, at) = (new_id(), now());
            transaction.execute(
                "INSERT INTO projects (id, position, name, roots, metadata, created_at, updated_at, \
                 idempotency_key) VALUES (:id, (SELECT ifnull(max(position) + 1, 0) FROM projects), \
                 :name, :roots, :metadata, :at, :at, :key)",
                named_params! {
                    ":id": id, ":name": name, ":at": at, ":key": key,
                    ":roots": serde_json::to_string(&new.roots).map_err(StateError::from)?,
                    ":metadata": serde_json::to_string(&new.metadata).map_err(StateError::from)?,
                },
            )?;
            Ok((existing(transaction, &id)?, true))
        })
    }

    ///
    /// # Errors
    /// The project does not exist, the name is blank, or the database cannot be written.
    pub fn update_project(&self, id: &str, change: ProjectChange) -> Result<Project, ProjectError> {
        self.project(id)?;
        self.change(|transaction| {
            let before = existing(transaction, id)?;
            let name = change.name.as_deref().map(checked).transpose()?;
            let roots = change.roots.unwrap_or(before.roots);
            let metadata = change.metadata.unwrap_or(before.metadata);
            transaction.execute(
                "UPDATE projects SET name = :name, roots = :roots, metadata = :metadata, \
                 updated_at = :at WHERE id = :id",
                named_params! {
                    ":id": id, ":name": name.unwrap_or(before.name), ":at": now(),
                    ":roots": serde_json::to_string(&roots).map_err(StateError::from)?,
                    ":metadata": serde_json::to_string(&metadata).map_err(StateError::from)?,
                },
            )?;
            existing(transaction, id)
        })
    }

    /// Moves a project before another one, or to the end.
    ///
    /// # Errors
    /// A project does not exist, or the database cannot be written.
    pub fn move_project(&self, id: &str, before: Option<&str>) -> Result<(), ProjectError> {
        self.project(id)?;
        self.change(|transaction| {
            existing(transaction, id)?;
            if let Some(before) = before {
                existing(transaction, before)?;
            }
            let every = every(transaction)?;
            let mut ids: Vec<_> = every.into_iter().map(|project| project.id).collect();
            ids.retain(|other| other != id);
            let at = ids
                .iter()
                .position(|other| Some(other.as_str()) == before)
                .unwrap_or(ids.len());
            ids.insert(at, id.to_owned());
            for (position, id) in (0_i64..).zip(&ids) {
                transaction.execute(
                    "UPDATE projects SET position = :position WHERE id = :id",
                    named_params! { ":position": position, ":id": id },
                )?;
            }
            Ok(())
        })
    }

    /// Deletes a project. Its threads then belong to no project.
    ///
    /// # Errors
    /// The project does not exist, or the database cannot be written.
    pub fn delete_project(&self, id: &str) -> Result<(), ProjectError> {
        self.project(id)?;
        self.change(|transaction| {
            existing(transaction, id)?;
            let params = named_params! { ":id": id };
            transaction.execute("DELETE FROM project_threads WHERE project = :id", params)?;
            transaction.execute("DELETE FROM projects WHERE id = :id", params)?;
            Ok(())
        })
    }

    /// Assigns a thread to a project, or to none. False if nothing changed.
    ///
    /// # Errors
    /// The project does not exist, or the database cannot be written.
    pub fn assign_project(
        &self,
        thread: &str,
        project: Option<&str>,
    ) -> Result<bool, ProjectError> {
        if let Some(project) = project {
            self.project(project)?;
        }
        if self.project_of(thread)?.as_deref() == project {
            return Ok(false);
        }
        self.change(|transaction| {
            transaction.execute(
                "DELETE FROM project_threads WHERE thread = :thread",
                named_params! { ":thread": thread },
            )?;
            if let Some(project) = project {
                existing(transaction, project)?;
                transaction.execute(
                    "INSERT INTO project_threads (thread, project) VALUES (:thread, :project)",
                    named_params! { ":thread": thread, ":project": project },
                )?;
            }
            Ok(true)
        })
    }

    /// The project of a thread.
    ///
    /// # Errors
    pub fn project_of(&self, thread: &str) -> Result<Option<String>, StateError> {
        self.query(None, |connection| {
            let sql = "SELECT project FROM project_threads WHERE thread = :thread";
            one(
                connection,
                sql,
                named_params! { ":thread": thread },
                |row| row.get("project"),
            )
        })
    }

    /// The threads of a project, or of all projects.
    ///
    /// # Errors
    pub fn threads_of_project(&self, project: Option<&str>) -> Result<Vec<String>, StateError> {
        self.query(Vec::new(), |connection| {
            let sql =
                "SELECT thread FROM project_threads WHERE :project IS NULL OR project = :project";
            all(
                connection,
                sql,
                named_params! { ":project": project },
                |row| row.get("thread"),
            )
        })
    }
}
