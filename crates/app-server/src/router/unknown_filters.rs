//! Filters of lists that are not known are refused: a list that ignores one answers with what was not asked for.

use codex_app_server_protocol::v2;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::failure::Failure;

/// Refuses a list of stored things with a member that it does not know. A member that is null asks for nothing.
pub(super) fn check(method: &str, params: Option<&RawValue>) -> Result<(), Failure> {
    let Some(params) = params else {
        return Ok(());
    };
    let unknown = match method {
        "thread/list" => unknown_members::<v2::ThreadListParams>(params),
        "thread/loaded/list" => unknown_members::<v2::ThreadLoadedListParams>(params),
        "thread/search/stream" => unknown_members::<v2::ThreadSearchParams>(params),
        "thread/realtime/list" => unknown_members::<v2::ThreadRealtimeListParams>(params),
        "mcpServerStatus/list" => unknown_members::<v2::ListMcpServerStatusParams>(params),
        "thread/search" => unknown_members::<v2::ThreadSearchParams>(params),
        "thread/searchOccurrences" => unknown_members::<v2::ThreadSearchOccurrencesParams>(params),
        "thread/turns/list" => unknown_members::<v2::ThreadTurnsListParams>(params),
        "thread/items/list" => unknown_members::<v2::ThreadItemsListParams>(params),
        "thread/turns/items/list" => unknown_members::<v2::ThreadTurnsItemsListParams>(params),
        "thread/timeline/list" => unknown_members::<v2::ThreadTimelineListParams>(params),
        "project/list" => unknown_members::<v2::ProjectListParams>(params),
        _ => return Ok(()),
    };
    match unknown.first() {
        None => Ok(()),
        Some(name) => Err(Failure::over_limit(format!(
            "{method} does not know `{name}`; a filter that is not known is refused"
        ))),
    }
}

fn unknown_members<P: DeserializeOwned>(params: &RawValue) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(params.get());
    // Whether the params can be read at all was found out before.
    let _: Result<P, _> = serde_ignored::deserialize(&mut reader, |path| {
        if let serde_ignored::Path::Map {
            parent: serde_ignored::Path::Root,
            key,
        } = path
        {
            unknown.push(key);
        }
    });
    if unknown.is_empty() {
        return unknown;
    }
    let members: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(params.get()).unwrap_or_default();
    unknown.retain(|name| members.get(name).is_some_and(|value| !value.is_null()));
    unknown
}
