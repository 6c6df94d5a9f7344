//! `fuzzyFileSearch` and its sessions.

use std::sync::Arc;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    FuzzyFileSearchMatchType, FuzzyFileSearchParams, FuzzyFileSearchResponse,
    FuzzyFileSearchResult, FuzzyFileSearchSessionCompletedNotification,
    FuzzyFileSearchSessionStartParams, FuzzyFileSearchSessionStartResponse,
    FuzzyFileSearchSessionStopParams, FuzzyFileSearchSessionStopResponse,
    FuzzyFileSearchSessionUpdateParams, FuzzyFileSearchSessionUpdateResponse,
    FuzzyFileSearchSessionUpdatedNotification,
};
use codex_file_search::{Event, Match, Roots, Session};

use crate::connection::Responder;
use crate::failure::Failure;
use crate::searches::NamedSession;
use crate::server::Server;
use crate::voice::Voice;

/// More matches are not told.
const MATCHES_LIMIT: usize = 50;

/// Begins a single search. At once: the order of the requests says which one ends which.
pub(crate) fn search(
    server: &Server,
    params: FuzzyFileSearchParams,
    reply: Responder<method::FuzzyFileSearch>,
    permit: impl Send + 'static,
) {
    let connection = Arc::clone(reply.connection());
    let token = params.cancellation_token;
    let cancelled = connection.searches().begin(token.as_deref());
    let roots = roots(server, params.roots);
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let found = codex_file_search::search(&roots, &params.query, MATCHES_LIMIT, &cancelled);
        connection.searches().end(token.as_deref(), &cancelled);
        let files = found.into_iter().map(result).collect();
        reply.accept(&FuzzyFileSearchResponse { files });
    });
}

pub(super) fn start_session(
    server: &Server,
    params: FuzzyFileSearchSessionStartParams,
    reply: Responder<method::FuzzyFileSearchSessionStart>,
) {
    if params.session_id.is_empty() {
        return reply.refuse(Failure::invalid("sessionId must not be empty"));
    }
    let not_started =
        |why: &str| Failure::internal(format!("failed to start fuzzy file search session: {why}"));
    if params.roots.is_empty() {
        let failure = not_started("at least one search directory is required");
        return reply.refuse(failure);
    }
    let connection = Arc::clone(reply.connection());
    // What the one before has to say is not taken for the new one's.
    connection.searches().remove(&params.session_id);
    let voice = Voice::new(&connection);
    let tell = {
        let (voice, id) = (Arc::clone(&voice), params.session_id.clone());
        move |event| voice.say(&notification(&id, event))
    };
    match Session::start(roots(server, params.roots), MATCHES_LIMIT, tell) {
        Ok(session) => {
            reply.accept(&FuzzyFileSearchSessionStartResponse {});
            let session = NamedSession { session, voice };
            connection.searches().add(params.session_id, session);
        }
        Err(error) => reply.refuse(not_started(&error.to_string())),
    }
}

pub(super) fn update_session(
    params: FuzzyFileSearchSessionUpdateParams,
    reply: Responder<method::FuzzyFileSearchSessionUpdate>,
) {
    let id = params.session_id;
    let connection = Arc::clone(reply.connection());
    if !connection.searches().has(&id) {
        let message = format!("fuzzy file search session not found: {id}");
        return reply.refuse(Failure::invalid(message));
    }
    reply.accept(&FuzzyFileSearchSessionUpdateResponse {});
    connection.searches().query(&id, params.query);
}

pub(super) fn stop_session(
    params: FuzzyFileSearchSessionStopParams,
    reply: Responder<method::FuzzyFileSearchSessionStop>,
) {
    reply.connection().searches().remove(&params.session_id);
    reply.accept(&FuzzyFileSearchSessionStopResponse {});
}

fn roots(server: &Server, folders: Vec<String>) -> Roots {
    Roots {
        folders,
        ignore_files: server.host().ignore_files(),
    }
}

fn notification(id: &str, event: Event) -> ServerNotification {
    let session_id = id.to_owned();
    match event {
        Event::Found { query, matches } => ServerNotification::FuzzyFileSearchSessionUpdated(
            FuzzyFileSearchSessionUpdatedNotification {
                session_id,
                query,
                files: matches.into_iter().map(result).collect(),
            },
        ),
        Event::Complete => ServerNotification::FuzzyFileSearchSessionCompleted(
            FuzzyFileSearchSessionCompletedNotification { session_id },
        ),
    }
}

fn result(found: Match) -> FuzzyFileSearchResult {
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
