//! Filters of lists that are not known are refused: a list that ignores one answers with what was not asked for.

use codex_app_server_protocol::v2;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::failure::Failure;

/// The members of params that a list does not know, by its method; nothing for other methods.
macro_rules! unknown_members_by_method {
    ($method:expr, $params:expr, { $($name:literal: $type:ident,)* }) => {
        match $method {
            $($name => unknown_members::<v2::$type>($params),)*
            _ => return Ok(()),
        }
    };
}

/// Refuses a list or a search with a member that it does not know. A member that is null asks for nothing.
pub(super) fn check(method: &str, params: Option<&RawValue>) -> Result<(), Failure> {
    let Some(params) = params else {
        return Ok(());
    };
    let unknown = unknown_members_by_method!(method, params, {
        "app/list": AppsListParams,
        "collaborationMode/list": CollaborationModeListParams,
        "experimentalFeature/list": ExperimentalFeatureListParams,
        "hooks/list": HooksListParams,
        "mcpServerStatus/list": ListMcpServerStatusParams,
        "model/list": ModelListParams,
        "modelProvider/list": ModelProviderListParams,
        "permissionProfile/list": PermissionProfileListParams,
        "plugin/list": PluginListParams,
        "plugin/search": PluginSearchParams,
        "plugin/share/list": PluginShareListParams,
        "project/list": ProjectListParams,
        "skills/list": SkillsListParams,
        "thread/attachment/list": ThreadAttachmentListParams,
        "thread/attachmentOwner/list": ThreadAttachmentOwnerListParams,
        "thread/backgroundTerminals/list": ThreadBackgroundTerminalsListParams,
        "thread/checkpoint/list": ThreadCheckpointListParams,
        "thread/items/list": ThreadItemsListParams,
        "thread/list": ThreadListParams,
        "thread/loaded/list": ThreadLoadedListParams,
        "thread/pin/list": ThreadPinListParams,
        "thread/queue/list": ThreadQueueListParams,
        "thread/realtime/list": ThreadRealtimeListParams,
        "thread/search": ThreadSearchParams,
        "thread/search/stream": ThreadSearchParams,
        "thread/searchOccurrences": ThreadSearchOccurrencesParams,
        "thread/timeline/list": ThreadTimelineListParams,
        "thread/turns/items/list": ThreadTurnsItemsListParams,
        "thread/turns/list": ThreadTurnsListParams,
        "threadSection/list": ThreadSectionListParams,
    });
    match unknown.first() {
        None => Ok(()),
        Some(name) => Err(Failure::invalid_params(format!(
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
