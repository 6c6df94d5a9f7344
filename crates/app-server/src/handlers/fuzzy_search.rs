//! `fuzzyFileSearch` and its sessions.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    FuzzyFileSearchMatchType, FuzzyFileSearchParams, FuzzyFileSearchResponse,
    FuzzyFileSearchResult, FuzzyFileSearchSessionCompletedNotification,
    FuzzyFileSearchSessionStartParams, FuzzyFileSearchSessionStartResponse,
    FuzzyFileSearchSessionStopParams, FuzzyFileSearchSessionStopResponse,
    FuzzyFileSearchSessionUpdateParams, FuzzyFileSearchSessionUpdateResponse,
    FuzzyFileSearchSessionUpdatedNotification,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_file_search::{SearchEvent, SearchMatch, SearchRoots, SearchSession};

use super::blocking;
use super::call::{EarlyReply, RequestContext};
use crate::background_notifier::BackgroundNotifier;
use crate::failure::Failure;
use crate::searches::NamedSession;
use crate::server::AppServer;

/// Further matches are left out.
const MATCHES_LIMIT: usize = 50;

/// A single search. It cancels the previous one with the same token.
pub(super) async fn search(
    RequestContext { server, connection }: RequestContext,
    params: FuzzyFileSearchParams,
) -> Result<FuzzyFileSearchResponse, Failure> {
    let token = params.cancellation_token;
    let cancelled = connection.searches().begin(token.as_deref());
    blocking(move || {
        let roots = roots(&server, params.roots);
        let found = codex_file_search::search(&roots, &params.query, MATCHES_LIMIT, &cancelled);
        connection.searches().end(token.as_deref(), &cancelled);
        let files = found.into_iter().map(result).collect();
        Ok(FuzzyFileSearchResponse { files })
    })
    .await
}

pub(super) async fn start_session(
    RequestContext { server, connection }: RequestContext,
    params: FuzzyFileSearchSessionStartParams,
) -> Result<EarlyReply<method::FuzzyFileSearchSessionStart>, Failure> {
    if params.session_id.is_empty() {
        return Err(Failure::invalid("sessionId must not be empty"));
    }
    let not_started =
        |why: &str| Failure::internal(format!("failed to start fuzzy file search session: {why}"));
    if params.roots.is_empty() {
        return Err(not_started("at least one search directory is required"));
    }
    // The previous search must not send matches as the new one.
    connection.searches().remove(&params.session_id);
    let notifier = BackgroundNotifier::new(&connection);
    let notify = {
        let (notifier, id) = (Arc::clone(&notifier), params.session_id.clone());
        move |event| notifier.send(&notification(&id, event))
    };
    let roots = blocking(move || Ok(roots(&server, params.roots))).await?;
    let session = SearchSession::start(roots, MATCHES_LIMIT, notify)
        .map_err(|error| not_started(&error.to_string()))?;
    let session = NamedSession { session, notifier };
    Ok(EarlyReply::then(
        FuzzyFileSearchSessionStartResponse {},
        move || {
            connection.searches().add(params.session_id, session);
        },
    ))
}

pub(super) async fn update_session(
    RequestContext { connection, .. }: RequestContext,
    params: FuzzyFileSearchSessionUpdateParams,
) -> Result<EarlyReply<method::FuzzyFileSearchSessionUpdate>, Failure> {
    let id = params.session_id;
    if !connection.searches().has(&id) {
        let message = format!("fuzzy file search session not found: {id}");
        return Err(Failure::invalid(message));
    }
    Ok(EarlyReply::then(
        FuzzyFileSearchSessionUpdateResponse {},
        move || {
            connection.searches().query(&id, params.query);
        },
    ))
}

pub(super) async fn stop_session(
    RequestContext { connection, .. }: RequestContext,
    params: FuzzyFileSearchSessionStopParams,
) -> Result<FuzzyFileSearchSessionStopResponse, Failure> {
    connection.searches().remove(&params.session_id);
    Ok(FuzzyFileSearchSessionStopResponse {})
}

fn roots(server: &AppServer, folders: Vec<String>) -> SearchRoots {
    SearchRoots {
        folders,
        ignore_files: server.host().ignore_files(),
    }
}

fn notification(id: &str, event: SearchEvent) -> ServerNotification {
    let session_id = id.to_owned();
    match event {
        SearchEvent::Found { query, matches } => ServerNotification::FuzzyFileSearchSessionUpdated(
            FuzzyFileSearchSessionUpdatedNotification {
                session_id,
                query,
                files: matches.into_iter().map(result).collect(),
            },
        ),
        SearchEvent::Complete { query } => ServerNotification::FuzzyFileSearchSessionCompleted(
            FuzzyFileSearchSessionCompletedNotification { session_id, query },
        ),
    }
}

fn result(found: SearchMatch) -> FuzzyFileSearchResult {
    let name = found.path.rsplit('/').next().unwrap_or_default();
    FuzzyFileSearchResult {
        file_name: name.to_owned(),
        root: found.root,
        path: found.path,
        match_type: if found.is_folder {
            FuzzyFileSearchMatchType::Directory
        } else {
            FuzzyFileSearchMatchType::File
        },
        score: found.score,
        indices: Some(found.indices),
    }
}
