//! `thread/realtime/*`: voice and text beside the turns of a thread.
//!
//! Each request subscribes its client and is accepted at once; what comes of it are notifications.

use std::sync::Arc;

use codex_app_server_protocol::v2::{self, RealtimeVoice};
use codex_core::{ReadRealtimeInputs, RealtimeStart, StartRealtime, StopRealtime, Thread};
use codex_protocol::Update;
use codex_realtime::TextRole;
use serde_json::Value;

use super::call::RequestContext;
use super::{engine, loaded_thread};
use crate::failure::Failure;

pub(super) async fn start(
    call: RequestContext,
    params: v2::ThreadRealtimeStartParams,
) -> Result<v2::ThreadRealtimeStartResponse, Failure> {
    let thread = realtime_thread(&call, &params.thread_id).await?;
    let by_webrtc = match params.transport {
        None | Some(v2::ThreadRealtimeStartTransport::Websocket) => false,
        // Taken, as clients expect; that it is not available is reported like every other failure to connect.
        Some(v2::ThreadRealtimeStartTransport::Webrtc { .. }) => true,
        Some(v2::ThreadRealtimeStartTransport::ExistingCall { .. }) => {
            let message =
                "calls that a client has negotiated cannot be joined; leave `transport` out";
            return Err(Failure::invalid(message));
        }
    };
    let start = RealtimeStart {
        prompt: match params.prompt {
            Update::Leave => None,
            Update::Clear => Some(String::new()),
            Update::Set(prompt) => Some(prompt),
        },
        session_id: params.realtime_session_id.or(params.session_id),
        version: params.version,
        by_webrtc,
        model: params.model,
        voice: params.voice.and_then(voice_name),
        writes: params.output_modality == Some(v2::RealtimeOutputModality::Text),
        without_context: params.include_startup_context == Some(false),
        start_instructions: params.realtime_start_instructions,
        end_instructions: params.realtime_end_instructions,
    };
    thread.send(StartRealtime(start)).await?;
    Ok(v2::ThreadRealtimeStartResponse {})
}

pub(super) async fn append_audio(
    call: RequestContext,
    params: v2::ThreadRealtimeAppendAudioParams,
) -> Result<v2::ThreadRealtimeAppendAudioResponse, Failure> {
    let thread = realtime_thread(&call, &params.thread_id).await?;
    let inputs = thread.call(ReadRealtimeInputs).await?;
    if let Some(inputs) = inputs {
        inputs.audio(params.audio.data);
    }
    Ok(v2::ThreadRealtimeAppendAudioResponse {})
}

/// Waits while the server of the conversation takes no more texts.
pub(super) async fn append_text(
    call: RequestContext,
    params: v2::ThreadRealtimeAppendTextParams,
) -> Result<v2::ThreadRealtimeAppendTextResponse, Failure> {
    let thread = realtime_thread(&call, &params.thread_id).await?;
    let inputs = thread.call(ReadRealtimeInputs).await?;
    let role = match params.role {
        None | Some(v2::ConversationTextRole::User) => TextRole::User,
        Some(v2::ConversationTextRole::Developer) => TextRole::Developer,
        Some(v2::ConversationTextRole::Assistant) => TextRole::Assistant,
    };
    if let Some(inputs) = inputs
        && !inputs.text(role, params.text).await
    {
        // The conversation has ended meanwhile. That is reported once more, as without a conversation.
        thread.call(ReadRealtimeInputs).await?;
    }
    Ok(v2::ThreadRealtimeAppendTextResponse {})
}

pub(super) async fn stop(
    call: RequestContext,
    params: v2::ThreadRealtimeStopParams,
) -> Result<v2::ThreadRealtimeStopResponse, Failure> {
    let thread = realtime_thread(&call, &params.thread_id).await?;
    thread.send(StopRealtime).await?;
    Ok(v2::ThreadRealtimeStopResponse {})
}

/// The voices of the hosted models.
pub(super) async fn voices(
    _: RequestContext,
    _: v2::ThreadRealtimeListVoicesParams,
) -> Result<v2::ThreadRealtimeListVoicesResponse, Failure> {
    use RealtimeVoice::*;
    Ok(v2::ThreadRealtimeListVoicesResponse {
        voices: v2::RealtimeVoicesList {
            v1: vec![
                Juniper, Maple, Spruce, Ember, Vale, Breeze, Arbor, Sol, Cove,
            ],
            v2: vec![
                Alloy, Ash, Ballad, Coral, Echo, Sage, Shimmer, Verse, Marin, Cedar,
            ],
            v3: Vec::new(),
            default_v1: Cove,
            default_v2: Marin,
        },
    })
}

/// The thread of a request, whose client is subscribed to it.
async fn realtime_thread(call: &RequestContext, id: &str) -> Result<Thread, Failure> {
    let handle = loaded_thread(&call.server, id)?;
    let thread = engine(&call.server, id).await?;
    let is_answered = call.connection.dialect().takes_any_realtime_request();
    if !thread.supports_realtime() && !is_answered {
        let message = format!("thread {id} does not support realtime conversation");
        return Err(Failure::invalid(message));
    }
    let connection = Arc::clone(&call.connection);
    let _ = handle.call_now(move |it| it.subscribe(&connection)).await;
    Ok(thread)
}

fn voice_name(voice: RealtimeVoice) -> Option<String> {
    match serde_json::to_value(voice) {
        Ok(Value::String(name)) => Some(name),
        _ => None,
    }
}
