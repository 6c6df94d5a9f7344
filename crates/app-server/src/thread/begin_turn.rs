//! Starts turns, for clients and from the queue.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2::TurnStartParams;
use codex_core::{NewTurn, StartTurn, ToolOutput, TurnInput};
use codex_projection::{engine_input, engine_limits};

use super::{Actor, RequestedPlace};
use crate::failure::Failure;

impl Actor {
    /// Starts a turn, or adds the input to the running one. Returns the id of that turn.
    pub(crate) async fn begin_turn(
        &mut self,
        id: String,
        mut params: TurnStartParams,
        is_queued: bool,
    ) -> Result<String, Failure> {
        let place = RequestedPlace::of_turn(&params);
        place.check(&self.server)?;
        let settings = self.patch_of(&mut params)?;
        let limits = params.limits.as_ref().map(engine_limits);
        let limits = limits.transpose().map_err(Failure::of_limits)?;
        let besides = params.additional_context.unwrap_or_default();
        let turn = NewTurn {
            id,
            root_turn_id: params.root_turn_id,
            settings,
            context: self.additional_context.take(besides),
            input: TurnInput {
                items: params.input.into_iter().map(engine_input).collect(),
                client_id: params.client_user_message_id,
                tool_output: params.tool_output.map(|answered| ToolOutput {
                    name: answered.name,
                    namespace: answered.namespace,
                    output: answered.output,
                }),
                is_kept: is_queued,
                ..TurnInput::default()
            },
            output_schema: params.output_schema,
            service_tier: params.service_tier_for_turn,
            limits: limits.unwrap_or_default(),
            metadata: given_metadata(
                params.responsesapi_client_metadata,
                params.responsesapi_client_metadata_patch,
            ),
            may_be_empty: true,
        };
        let started = self.thread.ask(|reply| StartTurn { turn, reply });
        let id = started.await.map_err(Failure::of_start)?;
        self.turn.get_or_insert_with(|| id.clone());
        self.take_place(place);
        Ok(id)
    }
}

/// The metadata of a turn's requests, with changes.
fn given_metadata(
    given: Option<BTreeMap<String, String>>,
    patch: Option<BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let mut metadata = given.unwrap_or_default();
    metadata.extend(patch.unwrap_or_default());
    metadata
}
