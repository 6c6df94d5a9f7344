//! `thread/realtime/list`: what was said in the realtime conversations of a thread since it was loaded. It is not stored.

use codex_app_server_protocol::v2::{
    ThreadRealtimeCoverage, ThreadRealtimeEntry, ThreadRealtimeItem, ThreadRealtimeListParams,
    ThreadRealtimeListResponse,
};

use super::call::RequestContext;
use super::stored::stored_or_live;
use super::thread_id;
use crate::failure::Failure;

/// The default page size, and the largest one.
const PAGE: usize = 100;
const LARGEST_PAGE: usize = 1_000;

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadRealtimeListParams,
) -> Result<ThreadRealtimeListResponse, Failure> {
    let id = thread_id(&params.thread_id)?;
    if params.limit == Some(0) {
        return Err(Failure::invalid(
            "thread/realtime/list requires a limit of at least 1",
        ));
    }
    let cursor = params.cursor.as_deref().map(str::parse::<u64>).transpose();
    let cursor = cursor
        .map_err(|_| Failure::invalid("thread/realtime/list: the cursor is none of its own"))?;
    let items = match server.thread(id.as_str()) {
        Some(thread) => thread.call_now(|it| it.fold.realtime_items()).await,
        None => Ok(Vec::new()),
    };
    let is_known = !matches!(stored_or_live(&server, &id).await?, (None, None));
    Ok(page(items.unwrap_or_default(), &params, cursor, is_known))
}

/// Items have the same order by time and by position.
fn page(
    items: Vec<ThreadRealtimeEntry>,
    params: &ThreadRealtimeListParams,
    cursor: Option<u64>,
    is_known: bool,
) -> ThreadRealtimeListResponse {
    let end = items.last().map_or(0, |last| last.position + 1);
    let snapshot_end = params.snapshot_end.map_or(end, |asked| asked.min(end));
    let is_behind = |position: u64, start: Option<u64>| start.is_none_or(|start| position > start);
    let is_wanted = |entry: &ThreadRealtimeEntry| {
        let (id, session, observed) = facts(&entry.item);
        let since = params.from_observed_at_ms;
        let until = params.to_observed_at_ms;
        entry.position < snapshot_end
            && is_behind(entry.position, params.after_position)
            && is_behind(entry.position, cursor)
            && params
                .session_id
                .as_deref()
                .is_none_or(|asked| asked == session)
            && params.event_id.as_deref().is_none_or(|asked| asked == id)
            && since.is_none_or(|since| observed.is_some_and(|observed| observed >= since))
            && until.is_none_or(|until| observed.is_some_and(|observed| observed <= until))
    };
    let mut data: Vec<_> = items.into_iter().filter(is_wanted).collect();
    let limit = params
        .limit
        .map_or(PAGE, |limit| limit as usize)
        .min(LARGEST_PAGE);
    let has_more = data.len() > limit;
    data.truncate(limit);
    let last = data.last().filter(|_| has_more);
    let is_awaited = params.event_id.is_some() && data.is_empty()
        || params
            .required_through_position
            .is_some_and(|position| position >= end);
    ThreadRealtimeListResponse {
        next_cursor: last.map(|last| last.position.to_string()),
        data,
        snapshot_end,
        projected_through_item_index: end,
        coverage: match is_known {
            false => ThreadRealtimeCoverage::Unsupported,
            true if is_awaited => ThreadRealtimeCoverage::Pending,
            true => ThreadRealtimeCoverage::Ready,
        },
    }
}

/// The id, the session and the time of an item.
fn facts(item: &ThreadRealtimeItem) -> (&str, &str, Option<i64>) {
    match item {
        ThreadRealtimeItem::RealtimeSessionStarted {
            id,
            realtime_session_id,
            observed_at_ms,
        }
        | ThreadRealtimeItem::TranscriptSegment {
            id,
            realtime_session_id,
            observed_at_ms,
            ..
        }
        | ThreadRealtimeItem::BemItemPromoted {
            id,
            realtime_session_id,
            observed_at_ms,
            ..
        }
        | ThreadRealtimeItem::RealtimeSessionClosed {
            id,
            realtime_session_id,
            observed_at_ms,
            ..
        }
        | ThreadRealtimeItem::Frame {
            id,
            realtime_session_id,
            observed_at_ms,
            ..
        }
        | ThreadRealtimeItem::TurnInputAccepted {
            id,
            realtime_session_id,
            observed_at_ms,
            ..
        }
        | ThreadRealtimeItem::SessionEndInputSaved {
            id,
            realtime_session_id,
            observed_at_ms,
            ..
        } => (id, realtime_session_id, *observed_at_ms),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(
        params: serde_json::Value,
        cursor: Option<u64>,
    ) -> (Vec<u64>, Option<String>, ThreadRealtimeCoverage) {
        let entry = |position: u64| ThreadRealtimeEntry {
            position,
            item: ThreadRealtimeItem::TranscriptSegment {
                id: format!("i{position}"),
                realtime_session_id: format!("s{}", position / 3),
                observed_at_ms: i64::try_from(position * 10).ok(),
                role: codex_app_server_protocol::v2::ThreadRealtimeTranscriptRole::User,
                text: String::new(),
            },
        };
        let mut all = json!({ "threadId": "t" });
        all.as_object_mut()
            .unwrap()
            .extend(params.as_object().unwrap().clone());
        let params = serde_json::from_value(all).unwrap();
        let page = page((0..6).map(entry).collect(), &params, cursor, true);
        let positions = page.data.iter().map(|entry| entry.position).collect();
        (positions, page.next_cursor, page.coverage)
    }

    #[test]
    fn pages_have_items_that_pass_all_filters() {
        use ThreadRealtimeCoverage::{Pending, Ready};
        let all = |params| listed(params, None);
        assert_eq!(all(json!({})), ((0..6).collect(), None, Ready));
        assert_eq!(
            all(json!({ "limit": 2 })),
            (vec![0, 1], Some("1".to_owned()), Ready)
        );
        assert_eq!(
            listed(json!({ "limit": 4 }), Some(1)),
            ((2..6).collect(), None, Ready)
        );
        assert_eq!(all(json!({ "sessionId": "s1" })).0, [3, 4, 5]);
        let times = json!({ "fromObservedAtMs": 10, "toObservedAtMs": 30 });
        assert_eq!(all(times).0, [1, 2, 3]);
        assert_eq!(all(json!({ "afterPosition": 3 })).0, [4, 5]);
        assert_eq!(all(json!({ "snapshotEnd": 2 })).0, [0, 1]);
        assert_eq!(all(json!({ "eventId": "i4" })), (vec![4], None, Ready));
        assert_eq!(all(json!({ "eventId": "none" })).2, Pending);
        assert_eq!(all(json!({ "requiredThroughPosition": 5 })).2, Ready);
        assert_eq!(all(json!({ "requiredThroughPosition": 6 })).2, Pending);
    }
}
