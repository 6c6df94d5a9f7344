//! `project/*`: groups of threads about the same folders.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    Project, ProjectChangeType, ProjectChangedNotification, ProjectCreateParams,
    ProjectCreateResponse, ProjectDeleteParams, ProjectDeleteResponse, ProjectImportParams,
    ProjectImportResponse, ProjectListParams, ProjectListResponse, ProjectMoveParams,
    ProjectMoveResponse, ProjectReadParams, ProjectReadResponse, ProjectRoot, ProjectSortKey,
    ProjectUpdateParams, ProjectUpdateResponse, SortDirection, ThreadProjectUpdatedNotification,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_protocol::ThreadId;
use codex_thread_state::{self as stored, NewProject, ProjectChange, ProjectError};

use super::call::{Call, Reply};
use super::paging::page;
use super::{blocking, state_failed};
use crate::failure::Failure;
use crate::server::Server;

pub(super) async fn create(
    Call { server, .. }: Call,
    params: ProjectCreateParams,
) -> Result<Reply<method::ProjectCreate>, Failure> {
    let new = NewProject {
        name: params.name,
        roots: paths(params.roots),
        metadata: params.metadata.unwrap_or_default(),
        idempotency_key: params.idempotency_key,
    };
    let (project, is_new) = make(&server, new).await?;
    let id = project.id.clone();
    Ok(Reply::then(ProjectCreateResponse { project }, move || {
        if is_new {
            changed(&server, id, ProjectChangeType::Created);
        }
    }))
}

pub(super) async fn import(
    Call { server, .. }: Call,
    params: ProjectImportParams,
) -> Result<Reply<method::ProjectImport>, Failure> {
    let new = NewProject {
        name: params.name,
        roots: paths(params.roots),
        metadata: params.metadata.unwrap_or_default(),
        idempotency_key: params.idempotency_key,
    };
    let (project, is_new) = make(&server, new).await?;
    let id = project.id.clone();
    let mut assigned = Vec::new();
    if is_new {
        for thread in params.threads.unwrap_or_default() {
            if assign(&server, &thread, Some(id.clone())).await? {
                assigned.push(thread);
            }
        }
    }
    Ok(Reply::then(ProjectImportResponse { project }, move || {
        if is_new {
            changed(&server, id.clone(), ProjectChangeType::Created);
        }
        for thread in assigned {
            thread_filed(&server, thread, Some(id.clone()));
        }
    }))
}

async fn make(server: &Arc<Server>, new: NewProject) -> Result<(Project, bool), Failure> {
    let state = Arc::clone(server.state());
    let made = blocking(move || state.create_project(new).map_err(refused)).await?;
    Ok((wire(server, made.0).await?, made.1))
}

pub(super) async fn read(
    Call { server, .. }: Call,
    params: ProjectReadParams,
) -> Result<ProjectReadResponse, Failure> {
    let state = Arc::clone(server.state());
    let project = blocking(move || state.project(&params.project_id).map_err(refused)).await?;
    let project = wire(&server, project).await?;
    Ok(ProjectReadResponse { project })
}

pub(super) async fn update(
    Call { server, .. }: Call,
    params: ProjectUpdateParams,
) -> Result<Reply<method::ProjectUpdate>, Failure> {
    let change = ProjectChange {
        name: params.name,
        roots: params.roots.map(paths),
        metadata: params.metadata,
    };
    let (state, id) = (Arc::clone(server.state()), params.project_id);
    let project = blocking(move || state.update_project(&id, change).map_err(refused)).await?;
    let project = wire(&server, project).await?;
    let id = project.id.clone();
    Ok(Reply::then(ProjectUpdateResponse { project }, move || {
        changed(&server, id, ProjectChangeType::Updated);
    }))
}

pub(super) async fn move_project(
    Call { server, .. }: Call,
    params: ProjectMoveParams,
) -> Result<Reply<method::ProjectMove>, Failure> {
    let (state, id) = (Arc::clone(server.state()), params.project_id.clone());
    blocking(move || {
        let moved = state.move_project(&id, params.before_project_id.as_deref());
        moved.map_err(refused)
    })
    .await?;
    Ok(Reply::then(ProjectMoveResponse {}, move || {
        changed(&server, params.project_id, ProjectChangeType::Updated);
    }))
}

pub(super) async fn delete(
    Call { server, .. }: Call,
    params: ProjectDeleteParams,
) -> Result<Reply<method::ProjectDelete>, Failure> {
    let (state, id) = (Arc::clone(server.state()), params.project_id.clone());
    blocking(move || state.delete_project(&id).map_err(refused)).await?;
    Ok(Reply::then(ProjectDeleteResponse {}, move || {
        changed(&server, params.project_id, ProjectChangeType::Deleted);
    }))
}

pub(super) async fn list(
    Call { server, .. }: Call,
    params: ProjectListParams,
) -> Result<ProjectListResponse, Failure> {
    if params.sort_direction.is_some() && params.sort_key.is_none() {
        return Err(Failure::over_limit("sortDirection requires sortKey"));
    }
    let state = Arc::clone(server.state());
    let stored = blocking(move || state.projects().map_err(state_failed)).await?;
    let mut projects = Vec::with_capacity(stored.len());
    for project in stored {
        projects.push(wire(&server, project).await?);
    }
    if params.sort_key == Some(ProjectSortKey::RecencyAt) {
        projects.sort_by_key(|project| project.recency_at);
    }
    if params.sort_direction == Some(SortDirection::Desc) {
        projects.reverse();
    }
    let (data, next_cursor) = page(projects, params.cursor.as_deref(), params.limit, "projects")?;
    Ok(ProjectListResponse { data, next_cursor })
}

/// Refuses a project that does not exist.
pub(super) async fn check(server: &Arc<Server>, project: &str) -> Result<(), Failure> {
    let (state, project) = (Arc::clone(server.state()), project.to_owned());
    blocking(move || {
        let found = state.project(&project);
        found
            .map(drop)
            .map_err(|error| Failure::invalid(error.to_string()))
    })
    .await
}

/// Files a thread under a project, or under none. False if it was there already.
pub(super) async fn assign(
    server: &Arc<Server>,
    thread: &str,
    project: Option<String>,
) -> Result<bool, Failure> {
    let (state, thread) = (Arc::clone(server.state()), thread.to_owned());
    blocking(move || {
        let assigned = state.assign_project(&thread, project.as_deref());
        assigned.map_err(|error| match error {
            ProjectError::State(error) => state_failed(error),
            refused => Failure::invalid(refused.to_string()),
        })
    })
    .await
}

/// Notifies all clients that a thread is filed elsewhere.
pub(super) fn thread_filed(server: &Server, thread_id: String, project_id: Option<String>) {
    let updated = ThreadProjectUpdatedNotification {
        thread_id,
        project_id,
    };
    server.broadcast(&ServerNotification::ThreadProjectUpdated(updated));
}

fn changed(server: &Server, project_id: String, change_type: ProjectChangeType) {
    let changed = ProjectChangedNotification {
        project_id,
        change_type,
    };
    server.broadcast(&ServerNotification::ProjectChanged(changed));
}

fn paths(roots: Vec<ProjectRoot>) -> Vec<String> {
    roots.into_iter().map(|root| root.path).collect()
}

/// A project as the wire shows it, with the time at which a thread of it last changed.
async fn wire(server: &Arc<Server>, project: stored::Project) -> Result<Project, Failure> {
    let (state, id) = (Arc::clone(server.state()), project.id.clone());
    let threads =
        blocking(move || state.threads_of_project(Some(&id)).map_err(state_failed)).await?;
    let mut recency_at = None;
    for thread in threads {
        let record = super::stored::record(server, &ThreadId(thread)).await?;
        recency_at = recency_at.max(record.map(|record| record.updated_at));
    }
    Ok(Project {
        id: project.id,
        name: project.name,
        roots: project
            .roots
            .into_iter()
            .map(|path| ProjectRoot { path })
            .collect(),
        metadata: project.metadata,
        position: u32::try_from(project.position).unwrap_or_default(),
        created_at: project.created_at,
        updated_at: project.updated_at,
        recency_at,
    })
}

fn refused(error: ProjectError) -> Failure {
    match error {
        ProjectError::State(error) => state_failed(error),
        refused => Failure::over_limit(refused.to_string()),
    }
}
