//! `project/*`: groups of threads that share folders.

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

use super::call::{EarlyReply, RequestContext};
use super::paging::page;
use super::stored::stored_or_live;
use super::{blocking, state_failed};
use crate::failure::Failure;
use crate::request_path::absolute;
use crate::server::AppServer;

pub(super) async fn create(
    RequestContext { server, .. }: RequestContext,
    params: ProjectCreateParams,
) -> Result<EarlyReply<method::ProjectCreate>, Failure> {
    let new = NewProject {
        name: params.name,
        roots: paths(params.roots)?,
        metadata: params.metadata.unwrap_or_default(),
        idempotency_key: params.idempotency_key,
    };
    let (project, is_new) = make(&server, new).await?;
    let id = project.id.clone();
    let project = wire(&server, project).await?;
    Ok(EarlyReply::then(
        ProjectCreateResponse { project },
        move || {
            if is_new {
                changed(&server, id, ProjectChangeType::Created);
            }
        },
    ))
}

pub(super) async fn import(
    RequestContext { server, .. }: RequestContext,
    params: ProjectImportParams,
) -> Result<EarlyReply<method::ProjectImport>, Failure> {
    let new = NewProject {
        name: params.name,
        roots: paths(params.roots)?,
        metadata: params.metadata.unwrap_or_default(),
        idempotency_key: params.idempotency_key,
    };
    for thread in params.threads.iter().flatten() {
        let is_known = match ThreadId::parse(thread) {
            Ok(id) => !matches!(stored_or_live(&server, &id).await?, (None, None)),
            Err(_) => false,
        };
        if !is_known {
            return Err(Failure::invalid_params(format!(
                "thread not found: {thread}"
            )));
        }
    }
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
    // Its threads say when it last changed.
    let project = wire(&server, project).await?;
    Ok(EarlyReply::then(
        ProjectImportResponse { project },
        move || {
            if is_new {
                changed(&server, id.clone(), ProjectChangeType::Created);
            }
            for thread in assigned {
                thread_filed(&server, thread, Some(id.clone()));
            }
        },
    ))
}

/// Creates a project. Tells whether it is new.
async fn make(
    server: &Arc<AppServer>,
    new: NewProject,
) -> Result<(stored::Project, bool), Failure> {
    let state = Arc::clone(server.state());
    blocking(move || state.create_project(new).map_err(refused)).await
}

pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: ProjectReadParams,
) -> Result<ProjectReadResponse, Failure> {
    let state = Arc::clone(server.state());
    let project = blocking(move || state.project(&params.project_id).map_err(refused)).await?;
    let project = wire(&server, project).await?;
    Ok(ProjectReadResponse { project })
}

pub(super) async fn update(
    RequestContext { server, .. }: RequestContext,
    params: ProjectUpdateParams,
) -> Result<EarlyReply<method::ProjectUpdate>, Failure> {
    let change = ProjectChange {
        name: params.name,
        roots: params.roots.map(paths).transpose()?,
        metadata: params.metadata,
    };
    let is_changed = change.name.is_some() || change.roots.is_some() || change.metadata.is_some();
    let (state, id) = (Arc::clone(server.state()), params.project_id);
    let project = blocking(move || state.update_project(&id, change).map_err(refused)).await?;
    let project = wire(&server, project).await?;
    let id = project.id.clone();
    Ok(EarlyReply::then(
        ProjectUpdateResponse { project },
        move || {
            if is_changed {
                changed(&server, id, ProjectChangeType::Updated);
            }
        },
    ))
}

pub(super) async fn move_project(
    RequestContext { server, .. }: RequestContext,
    params: ProjectMoveParams,
) -> Result<EarlyReply<method::ProjectMove>, Failure> {
    if params.before_project_id.as_ref() == Some(&params.project_id) {
        let message = format!(
            "project {} cannot be moved before itself",
            params.project_id
        );
        return Err(Failure::invalid_params(message));
    }
    let (state, id) = (Arc::clone(server.state()), params.project_id.clone());
    blocking(move || {
        let moved = state.move_project(&id, params.before_project_id.as_deref());
        moved.map_err(refused)
    })
    .await?;
    Ok(EarlyReply::then(ProjectMoveResponse {}, move || {
        changed(&server, params.project_id, ProjectChangeType::Updated);
    }))
}

pub(super) async fn delete(
    RequestContext { server, .. }: RequestContext,
    params: ProjectDeleteParams,
) -> Result<EarlyReply<method::ProjectDelete>, Failure> {
    let (state, id) = (Arc::clone(server.state()), params.project_id.clone());
    let threads = blocking(move || {
        let threads = state.threads_of_project(Some(&id)).map_err(state_failed)?;
        state.delete_project(&id).map_err(refused)?;
        Ok(threads)
    });
    let threads = threads.await?;
    Ok(EarlyReply::then(ProjectDeleteResponse {}, move || {
        changed(&server, params.project_id, ProjectChangeType::Deleted);
        for thread in threads {
            thread_filed(&server, thread, None);
        }
    }))
}

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ProjectListParams,
) -> Result<ProjectListResponse, Failure> {
    if params.sort_direction.is_some() && params.sort_key.is_none() {
        return Err(Failure::invalid_params("sortDirection requires sortKey"));
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
    let page = page(projects, params.cursor.as_deref(), params.limit, "projects");
    let (data, next_cursor) = page.map_err(|failure| Failure::invalid_params(failure.message()))?;
    Ok(ProjectListResponse { data, next_cursor })
}

/// Puts a fork into the project of its source, and returns that project.
pub(super) async fn copy(
    server: &Arc<AppServer>,
    source: &str,
    fork: &str,
) -> Result<Option<String>, Failure> {
    let (state, source) = (Arc::clone(server.state()), source.to_owned());
    let project = blocking(move || state.project_of(&source).map_err(state_failed)).await?;
    if project.is_some() {
        assign(server, fork, project.clone()).await?;
    }
    Ok(project)
}

/// Refuses a project that does not exist.
pub(super) async fn check(server: &Arc<AppServer>, project: &str) -> Result<(), Failure> {
    let (state, project) = (Arc::clone(server.state()), project.to_owned());
    blocking(move || {
        let found = state.project(&project);
        found
            .map(drop)
            .map_err(|error| Failure::invalid(error.to_string()))
    })
    .await
}

/// Moves a thread to a project, or to none. Returns false if it is there already.
pub(super) async fn assign(
    server: &Arc<AppServer>,
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

/// Notifies all clients that a thread has moved to another project.
pub(super) fn thread_filed(server: &AppServer, thread_id: String, project_id: Option<String>) {
    let updated = ThreadProjectUpdatedNotification {
        thread_id,
        project_id,
    };
    server.broadcast(&ServerNotification::ThreadProjectUpdated(updated));
}

fn changed(server: &AppServer, project_id: String, change_type: ProjectChangeType) {
    let changed = ProjectChangedNotification {
        project_id,
        change_type,
    };
    server.broadcast(&ServerNotification::ProjectChanged(changed));
}

fn paths(roots: Vec<ProjectRoot>) -> Result<Vec<String>, Failure> {
    let paths = roots.into_iter().map(|root| root.path);
    let checked = paths.map(|path| absolute(&path).map(|_| path));
    checked.collect()
}

/// The wire form of a project, with the time of its last changed thread.
async fn wire(server: &Arc<AppServer>, project: stored::Project) -> Result<Project, Failure> {
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
        refused => Failure::invalid_params(refused.to_string()),
    }
}
