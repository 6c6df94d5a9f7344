//! `thread/list`: pages of stored threads, from the index.

use codex_app_server_protocol::v2::{
    SortDirection, ThreadListParams, ThreadListResponse, ThreadSortKey, ThreadSourceKind,
};
use codex_protocol::{SessionSource, SubAgentSource, ThreadId};
use codex_thread_store::{AncestorFilter, ListCursor, SortKey, SourceKinds, ThreadQuery};

use super::call::Call;
use super::stored::{self, default_provider, status_of};
use crate::failure::Failure;

/// Threads on a page, unless the client says otherwise.
const PAGE: u32 = 25;
/// The most threads on a page.
const LARGEST_PAGE: u32 = 100;

pub(super) async fn list(
    Call { server, .. }: Call,
    params: ThreadListParams,
) -> Result<ThreadListResponse, Failure> {
    if is_empty(&params)? {
        return Ok(ThreadListResponse {
            data: Vec::new(),
            next_cursor: None,
            backwards_cursor: None,
        });
    }
    let provider = default_provider(&server).await?;
    let query = query(params, &provider)?;
    let page = server.host().store().list(query).await;
    let page = page.map_err(|error| Failure::internal(error.to_string()))?;
    let mut data = Vec::with_capacity(page.threads.len());
    for record in page.threads {
        let status = status_of(&server, &record.id).await;
        data.push(stored::thread(record, status, &provider));
    }
    Ok(ThreadListResponse {
        data,
        next_cursor: page.next.map(|cursor| cursor.to_string()),
        backwards_cursor: page.back.map(|cursor| cursor.to_string()),
    })
}

/// Whether no thread can be in the list: threads are filed under no section or project here.
fn is_empty(params: &ThreadListParams) -> Result<bool, Failure> {
    if let Some(project) = &params.project_id {
        return Err(Failure::over_limit(format!("project not found: {project}")));
    }
    if params
        .originators
        .as_ref()
        .is_some_and(|some| !some.is_empty())
    {
        let message = "threads cannot be listed by their originators";
        return Err(Failure::over_limit(message));
    }
    let by_place = params.sort_key == Some(ThreadSortKey::SectionPosition);
    if by_place && params.section_id.is_none() {
        return Err(Failure::invalid(
            "sortKey section_position needs a sectionId",
        ));
    }
    Ok(params.section_id.is_some())
}

/// Which thread those of the list come of.
fn ancestor(params: &ThreadListParams) -> Result<Option<AncestorFilter>, Failure> {
    let id = |id: &String| {
        let invalid = |error| Failure::invalid(format!("invalid thread id: {error}"));
        ThreadId::parse(id).map_err(invalid)
    };
    Ok(
        match (&params.parent_thread_id, &params.ancestor_thread_id) {
            (None, None) => None,
            (Some(parent), None) => Some(AncestorFilter::Children(id(parent)?)),
            (None, Some(ancestor)) => Some(AncestorFilter::Descendants(id(ancestor)?)),
            (Some(_), Some(_)) => {
                let message = "`parentThreadId` cannot be combined with `ancestorThreadId`";
                return Err(Failure::invalid(message));
            }
        },
    )
}

fn query(params: ThreadListParams, provider: &str) -> Result<ThreadQuery, Failure> {
    let ancestor = ancestor(&params)?;
    let after = params.cursor.as_deref().map(ListCursor::parse).transpose();
    let after = after.map_err(|error| Failure::invalid(error.to_string()))?;
    let limit = params.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let providers = match params.model_providers {
        None => Some(vec![provider.to_owned()]),
        Some(any) if any.is_empty() => None,
        Some(some) => Some(some),
    };
    let excluded = params.excluded_thread_ids.map(|ids| {
        let id = |id: String| {
            let invalid =
                |error| Failure::over_limit(format!("invalid excluded thread id: {error}"));
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
        search: params.search_term,
        excluded: excluded.transpose()?.unwrap_or_default(),
    })
}

fn kinds(asked: &[ThreadSourceKind], spawned: bool) -> SourceKinds {
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
