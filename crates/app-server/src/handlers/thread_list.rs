//! `thread/list`: pages of stored threads, from the index.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    SortDirection, ThreadListParams, ThreadListResponse, ThreadSortKey, ThreadSourceKind,
    ThreadStatus,
};
use codex_projection::wire_read_state;
use codex_protocol::{SessionSource, SubAgentSource, ThreadId, Update};
use codex_thread_state::ProjectError;
use codex_thread_store::{
    AncestorFilter, ListCursor, SideThreads, SortKey, SourceKinds, ThreadQuery, ThreadRecord,
};

use super::call::RequestContext;
use super::paging::page;
use super::stored::{self, default_provider};
use super::{blocking, state_failed};
use crate::failure::Failure;
use crate::server::AppServer;

/// The default page size.
const PAGE: u32 = 25;
/// The largest page size.
const LARGEST_PAGE: u32 = 100;

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadListParams,
) -> Result<ThreadListResponse, Failure> {
    check(&params)?;
    server.first_turns().stored().await;
    let provider = default_provider(&server);
    match membership(&server, &params).await? {
        Membership::Any => from_index(&server, params, Vec::new(), &provider).await,
        Membership::NotIn(others) => from_index(&server, params, others, &provider).await,
        Membership::In(members) => of_members(&server, params, members, &provider).await,
    }
}

/// A page of the index.
async fn from_index(
    server: &Arc<AppServer>,
    params: ThreadListParams,
    others: Vec<String>,
    provider: &str,
) -> Result<ThreadListResponse, Failure> {
    let mut query = query(params, provider)?;
    query.excluded.extend(others.into_iter().map(ThreadId));
    let page = server.host().store().list(query).await;
    let page = page.map_err(|error| Failure::internal(error.to_string()))?;
    let next = page.next.map(|cursor| cursor.to_string());
    let back = page.back.map(|cursor| cursor.to_string());
    response(server, page.threads, provider, next, back).await
}

/// A page of the threads of a section or project. They are few, so each is looked up by itself.
async fn of_members(
    server: &Arc<AppServer>,
    params: ThreadListParams,
    members: Vec<String>,
    provider: &str,
) -> Result<ThreadListResponse, Failure> {
    let sort_key = params.sort_key;
    let (cursor, limit) = (
        params.cursor.clone(),
        params.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE),
    );
    let direction = params.sort_direction;
    let is_archived = params.archived.unwrap_or_default();
    let excluded = params.excluded_thread_ids.unwrap_or_default();
    let included = included(params.included_thread_ids.as_deref())?;
    let mut records = Vec::new();
    let is_wanted = |id: &ThreadId| {
        let is_included = included.as_ref().is_none_or(|ids| ids.contains(id));
        is_included && !excluded.contains(&id.0)
    };
    for id in members.into_iter().map(ThreadId).filter(is_wanted) {
        if let Some(record) = stored::record(server, &id).await? {
            let preview = record.facts.preview.as_deref().unwrap_or_default();
            let term = params.search_term.as_deref().unwrap_or_default();
            if record.archived == is_archived && !preview.is_empty() && preview.contains(term) {
                records.push(record);
            }
        }
    }
    match sort_key {
        Some(ThreadSortKey::SectionPosition) => {}
        None | Some(ThreadSortKey::CreatedAt) => records.sort_by_key(|one| one.facts.created_at),
        Some(_) => records.sort_by_key(|one| one.updated_at),
    }
    let by_position = matches!(sort_key, Some(ThreadSortKey::SectionPosition));
    let is_descending = match direction {
        None => !by_position,
        Some(direction) => direction == SortDirection::Desc,
    };
    if is_descending {
        records.reverse();
    }
    let is_empty = records.is_empty();
    let (records, next) = page(records, cursor.as_deref(), Some(limit), "threads")?;
    let back = (!is_empty).then(|| "0".to_owned());
    response(server, records, provider, next, back).await
}

async fn response(
    server: &Arc<AppServer>,
    records: Vec<ThreadRecord>,
    provider: &str,
    next_cursor: Option<String>,
    backwards_cursor: Option<String>,
) -> Result<ThreadListResponse, Failure> {
    let mut data = Vec::with_capacity(records.len());
    for record in records {
        let live = stored::live(server, &record.id).await;
        let status = live
            .as_ref()
            .map_or(ThreadStatus::NotLoaded, |live| live.thread.status.clone());
        let mut thread = stored::thread(record, status, provider);
        // Lists have neither source.
        thread.forked_from_id = None;
        if let Some(live) = live {
            // The folder is the one in which the thread began, by which lists are filtered.
            let cwd = std::mem::take(&mut thread.cwd);
            stored::add_live(&mut thread, &live.thread);
            thread.cwd = cwd;
            thread.thread_source = None;
            if thread.parent_thread_id.is_some() {
                thread.can_accept_direct_input = live.thread.can_accept_direct_input;
            }
        }
        data.push(thread);
    }
    let state = Arc::clone(server.state());
    blocking(move || {
        let mut read_states = BTreeMap::new();
        for thread in &mut data {
            stored::add_state(&state, thread).map_err(state_failed)?;
            if thread.parent_thread_id.is_none() {
                let read_state = state.read_state(&thread.id).map_err(state_failed)?;
                read_states.insert(thread.id.clone(), wire_read_state(read_state));
            }
        }
        Ok(ThreadListResponse {
            data,
            next_cursor,
            backwards_cursor,
            read_states,
        })
    })
    .await
}

/// The filter by section and project.
enum Membership {
    Any,
    NotIn(Vec<String>),
    In(Vec<String>),
}

async fn membership(
    server: &Arc<AppServer>,
    params: &ThreadListParams,
) -> Result<Membership, Failure> {
    let (section, project) = (params.section_id.clone(), params.project_id.clone());
    let state = Arc::clone(server.state());
    blocking(move || {
        let not_found = |error: ProjectError| Failure::invalid_params(error.to_string());
        Ok(match (section, project) {
            (Update::Set(section), project) => {
                let mut members = state.threads_of_section(&section).map_err(state_failed)?;
                if let Update::Set(project) = project {
                    let project = state.project(&project).map_err(not_found)?;
                    let of_project = state.threads_of_project(Some(&project.id));
                    let of_project = of_project.map_err(state_failed)?;
                    members.retain(|thread| of_project.contains(thread));
                }
                Membership::In(members)
            }
            (_, Update::Set(project)) => {
                let project = state.project(&project).map_err(not_found)?;
                let members = state.threads_of_project(Some(&project.id));
                Membership::In(members.map_err(state_failed)?)
            }
            (Update::Leave, Update::Leave) => Membership::Any,
            (section, project) => {
                let mut others = Vec::new();
                if section == Update::Clear {
                    others.extend(state.threads_in_sections().map_err(state_failed)?);
                }
                if project == Update::Clear {
                    others.extend(state.threads_of_project(None).map_err(state_failed)?);
                }
                Membership::NotIn(others)
            }
        })
    })
    .await
}

/// Refuses contradictory and unsupported filters.
fn check(params: &ThreadListParams) -> Result<(), Failure> {
    if params
        .originators
        .as_ref()
        .is_some_and(|some| !some.is_empty())
    {
        let message = "originator filtering is not supported by the local app-server";
        return Err(Failure::invalid_params(message));
    }
    let has_descent = params.parent_thread_id.is_some() || params.ancestor_thread_id.is_some();
    if params.attached_to_thread_id.is_some() && has_descent {
        let message =
            "attachedToThreadId cannot be combined with parentThreadId or ancestorThreadId";
        return Err(Failure::invalid(message));
    }
    let searches = params
        .search_term
        .as_ref()
        .is_some_and(|term| !term.is_empty());
    if params.include_attached_threads && !searches {
        let message = "includeAttachedThreads requires a non-empty searchTerm";
        return Err(Failure::invalid(message));
    }
    let by_position = params.sort_key == Some(ThreadSortKey::SectionPosition);
    if by_position && !matches!(params.section_id, Update::Set(_)) {
        return Err(Failure::invalid(
            "sortKey section_position needs a sectionId",
        ));
    }
    Ok(())
}

fn parsed_id(id: &str) -> Result<ThreadId, Failure> {
    let invalid = |error| Failure::invalid(format!("invalid thread id: {error}"));
    ThreadId::parse(id).map_err(invalid)
}

/// The filter by ancestor.
fn ancestor(params: &ThreadListParams) -> Result<Option<AncestorFilter>, Failure> {
    let id = parsed_id;
    Ok(
        match (&params.parent_thread_id, &params.ancestor_thread_id) {
            (None, None) => None,
            (Some(parent), None) => Some(AncestorFilter::Children(id(parent)?)),
            (None, Some(ancestor)) => Some(AncestorFilter::Descendants(id(ancestor)?)),
            (Some(_), Some(_)) => {
                let message = "parentThreadId and ancestorThreadId are mutually exclusive";
                return Err(Failure::invalid(message));
            }
        },
    )
}

/// One side thread of a thread.
pub(super) fn side_threads(thread: &ThreadId, archived: bool) -> ThreadQuery {
    ThreadQuery {
        limit: 1,
        after: None,
        sort: SortKey::Created,
        is_ascending: false,
        archived,
        providers: None,
        include_unknown_provider: true,
        kinds: SourceKinds::interactive(),
        cwds: None,
        ancestor: None,
        attached: SideThreads::Of(thread.clone()),
        search: None,
        included: None,
        excluded: Vec::new(),
    }
}

/// The most threads that a list can be restricted to.
const MAX_INCLUDED: usize = 100;

fn included(ids: Option<&[String]>) -> Result<Option<Vec<ThreadId>>, Failure> {
    let Some(ids) = ids else {
        return Ok(None);
    };
    if ids.len() > MAX_INCLUDED {
        let message = format!("includedThreadIds accepts at most {MAX_INCLUDED} entries");
        return Err(Failure::invalid_params(message));
    }
    let parsed = ids.iter().map(|id| {
        let invalid =
            |error| Failure::invalid_params(format!("invalid included thread id: {error}"));
        ThreadId::parse(id).map_err(invalid)
    });
    parsed.collect::<Result<_, _>>().map(Some)
}

fn query(params: ThreadListParams, provider: &str) -> Result<ThreadQuery, Failure> {
    let ancestor = ancestor(&params)?;
    let attached = match &params.attached_to_thread_id {
        Some(thread) => SideThreads::Of(parsed_id(thread)?),
        None if params.include_attached_threads => SideThreads::Included,
        None => SideThreads::Hidden,
    };
    let after = params.cursor.as_deref().map(ListCursor::parse).transpose();
    let after = after.map_err(|error| Failure::invalid(error.to_string()))?;
    let limit = params.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let providers = match params.model_providers {
        None => Some(vec![provider.to_owned()]),
        Some(any) if any.is_empty() => None,
        Some(some) => Some(some),
    };
    let included = included(params.included_thread_ids.as_deref())?;
    let excluded = params.excluded_thread_ids.map(|ids| {
        let id = |id: String| {
            let invalid =
                |error| Failure::invalid_params(format!("invalid excluded thread id: {error}"));
            ThreadId::parse(&id).map_err(invalid)
        };
        ids.into_iter().map(id).collect::<Result<Vec<_>, _>>()
    });
    Ok(ThreadQuery {
        limit: limit as usize,
        after,
        sort: match params.sort_key {
            None | Some(ThreadSortKey::CreatedAt) => SortKey::Created,
            Some(_) => SortKey::Updated,
        },
        is_ascending: params.sort_direction == Some(SortDirection::Asc),
        archived: params.archived.unwrap_or_default(),
        include_unknown_provider: providers
            .as_ref()
            .is_some_and(|some| some.iter().any(|name| name == provider)),
        providers,
        kinds: kinds(&params.source_kinds.unwrap_or_default(), ancestor.is_some()),
        cwds: params.cwd.map(Vec::from),
        ancestor,
        attached,
        search: params.search_term,
        included,
        excluded: excluded.transpose()?.unwrap_or_default(),
    })
}

pub(super) fn kinds(asked: &[ThreadSourceKind], spawned: bool) -> SourceKinds {
    let mut kinds = SourceKinds::default();
    if asked.is_empty() && spawned {
        kinds.add_agents();
    } else if asked.is_empty() {
        return SourceKinds::interactive();
    }
    for kind in asked {
        match kind {
            ThreadSourceKind::Cli => kinds.add(&SessionSource::Cli),
            ThreadSourceKind::Vscode => kinds.add(&SessionSource::VSCode),
            ThreadSourceKind::Exec => kinds.add(&SessionSource::Exec),
            ThreadSourceKind::AppServer => kinds.add(&SessionSource::Mcp),
            ThreadSourceKind::SubAgent => kinds.add_agents(),
            ThreadSourceKind::SubAgentReview => {
                kinds.add(&SessionSource::SubAgent(SubAgentSource::Review));
            }
            ThreadSourceKind::SubAgentCompact => {
                kinds.add(&SessionSource::SubAgent(SubAgentSource::Compact));
            }
            ThreadSourceKind::SubAgentThreadSpawn => kinds.add_spawned(),
            ThreadSourceKind::SubAgentOther => kinds.add_labelled(),
            ThreadSourceKind::Unknown => kinds.add(&SessionSource::Unknown),
        }
    }
    kinds
}
