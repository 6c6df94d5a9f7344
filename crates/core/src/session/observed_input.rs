//! Converts requests of a thread's handle to what an observer sees.

use codex_protocol::Op;

use crate::ports::{ObservedTurn, SessionInput};
use crate::thread::{NewTurn, ThreadRequest};

/// The input that a request is; none if it does not change what the model is sent.
pub(super) fn observed_input(request: &ThreadRequest) -> Option<SessionInput> {
    Some(match request {
        ThreadRequest::Submission(submission) if is_input(&submission.op) => {
            SessionInput::Submission(submission.clone())
        }
        ThreadRequest::StartTurn(turn, _) => SessionInput::Turn(Box::new(observed_turn(turn))),
        ThreadRequest::Steer(steer) => SessionInput::Steer((&steer.input).into()),
        ThreadRequest::UpdateSettings(patch, _) => SessionInput::Settings(patch.clone()),
        ThreadRequest::Inject(items, _) => SessionInput::Context(items.clone()),
        ThreadRequest::ContinueTurn(turn) => SessionInput::Continue {
            turn: turn.turn.clone(),
            settings: turn.settings.clone(),
        },
        ThreadRequest::Submission(_)
        | ThreadRequest::McpServers(_)
        | ThreadRequest::ChangeTurn(..)
        | ThreadRequest::AgentMail
        | ThreadRequest::Terminals(_)
        | ThreadRequest::Context(_)
        | ThreadRequest::Pins(_)
        // The session tells of pins once they have changed.
        | ThreadRequest::Pin(..)
        | ThreadRequest::Unpin(..)
        | ThreadRequest::SetPins(..)
        | ThreadRequest::StopTerminal(..)
        | ThreadRequest::AllowDenied(_)
        | ThreadRequest::StartRealtime(_)
        | ThreadRequest::RealtimeInputs(_)
        | ThreadRequest::StopRealtime
        | ThreadRequest::RealtimeEnded(..)
        | ThreadRequest::Sample(_) => return None,
    })
}

fn is_input(op: &Op) -> bool {
    !matches!(
        op,
        Op::Shutdown
            | Op::AddToHistory { .. }
            | Op::GetHistoryEntryRequest { .. }
            | Op::ListSkills { .. }
            | Op::SetThreadName { .. }
            | Op::CleanBackgroundTerminals
            | Op::RealtimeConversationStart { .. }
            | Op::RealtimeConversationAudio { .. }
            | Op::RealtimeConversationText { .. }
            | Op::RealtimeConversationClose
    )
}

fn observed_turn(turn: &NewTurn) -> ObservedTurn {
    let NewTurn {
        id,
        settings,
        context,
        input,
        output_schema,
        service_tier,
        limits,
        root_turn_id,
        metadata,
        may_be_empty,
    } = turn;
    ObservedTurn {
        id: id.clone(),
        settings: settings.clone(),
        context: context.clone(),
        input: input.into(),
        output_schema: output_schema.clone(),
        service_tier: service_tier.clone(),
        limits: *limits,
        root_turn_id: root_turn_id.clone(),
        metadata: metadata.clone(),
        may_be_empty: *may_be_empty,
    }
}
