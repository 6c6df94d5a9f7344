//! The text of a state file.
//!
//! Nearly all of a large one are the prompts of its requests: each lists the ids of the whole conversation so far. So
//! these lists are not serialised id by id. What a list has in common with the one before is written as it was then.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Serializer as JsonSerializer;

use super::indented::{DocumentPart, IndentedWriter, line};
use crate::format::PayloadRef;
use crate::ids::{InferenceId, ItemId, PayloadId};
use crate::model::{InferenceCall, RolloutTrace};

/// The indentation of calls, and of the ids of a prompt in them.
const CALL: usize = 2;
const ID: usize = CALL + 2;

/// Writes the variables of these names as members of an object at a level.
macro_rules! members {
    ($out:expr, $level:expr, $part:expr; $($name:ident),+ $(,)?) => {{
        let layout = IndentedWriter::at_level($level, $part);
        let mut serializer = JsonSerializer::with_formatter(&mut *$out, layout);
        let mut object = serializer.serialize_map(None)?;
        $(object.serialize_entry(stringify!($name), $name)?;)+
        object.end().map_err(io::Error::from)
    }};
}

/// Writes the first members of the graph, with that between them that only schema 2 has.
macro_rules! write_head {
    ($only:ident, $out:expr; $($first:ident),+; $($then:ident),+ $(,)?) => {
        match $only {
            Some($only) => members!($out, 0, DocumentPart::Head; $($first,)+ $only, $($then),+),
            None => members!($out, 0, DocumentPart::Head; $($first,)+ $($then),+),
        }
    };
}

/// Writes a graph as pretty JSON.
pub(super) fn write(trace: &RolloutTrace, out: &mut impl Write) -> io::Result<()> {
    let RolloutTrace {
        schema_version,
        trace_id,
        rollout_id,
        started_at_unix_ms,
        ended_at_unix_ms,
        status,
        recording_complete,
        recording_status,
        root_thread_id,
        threads,
        codex_turns,
        conversation_items,
        inference_calls,
        code_cells,
        tool_calls,
        terminal_sessions,
        terminal_operations,
        compactions,
        compaction_requests,
        interaction_edges,
        raw_payloads,
    } = trace;
    let raw_payloads = &WithoutChecksums(raw_payloads);
    if let Some(recording_status) = recording_status {
        members!(
            out, 0, DocumentPart::Head;
            schema_version,
            trace_id,
            rollout_id,
            started_at_unix_ms,
            ended_at_unix_ms,
            status,
            recording_status,
            root_thread_id,
            threads,
            codex_turns,
            conversation_items,
        )?;
    } else {
        write_head!(
            recording_complete, out;
            schema_version,
            trace_id,
            rollout_id,
            started_at_unix_ms,
            ended_at_unix_ms,
            status;
            root_thread_id,
            threads,
            codex_turns,
            conversation_items,
        )?;
    }
    write_calls(inference_calls, out)?;
    members!(
        out, 0, DocumentPart::Tail;
        code_cells,
        tool_calls,
        terminal_sessions,
        terminal_operations,
        compactions,
        compaction_requests,
        interaction_edges,
        raw_payloads,
    )
}

/// The references to payloads as a state has them.
struct WithoutChecksums<'t>(&'t BTreeMap<PayloadId, PayloadRef>);

impl Serialize for WithoutChecksums<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn without(payload: &PayloadRef) -> PayloadRef {
            PayloadRef {
                xxh3: None,
                parts: payload.parts.iter().map(without).collect(),
                ..payload.clone()
            }
        }
        let payloads = self.0.iter();
        serializer.collect_map(payloads.map(|(id, payload)| (id, without(payload))))
    }
}

fn write_calls(
    calls: &BTreeMap<InferenceId, InferenceCall>,
    out: &mut impl Write,
) -> io::Result<()> {
    line(out, CALL - 1, false)?;
    out.write_all(b"\"inference_calls\": {")?;
    let mut prompts = Prompts::default();
    for (index, (id, call)) in calls.iter().enumerate() {
        line(out, CALL, index == 0)?;
        serde_json::to_writer(&mut *out, id)?;
        out.write_all(b": ")?;
        write_call(call, &mut prompts, out)?;
    }
    if !calls.is_empty() {
        line(out, CALL - 1, true)?;
    }
    out.write_all(b"}")
}

fn write_call(call: &InferenceCall, prompts: &mut Prompts, out: &mut impl Write) -> io::Result<()> {
    let InferenceCall {
        inference_call_id,
        thread_id,
        codex_turn_id,
        execution,
        model,
        provider_name,
        response_id,
        upstream_request_id,
        error: _,
        request_item_ids,
        response_item_ids,
        tool_call_ids_started_by_response,
        usage,
        raw_request_payload_id,
        prepared_prompt_payload_id,
        raw_response_payload_id,
    } = call;
    members!(
        out, CALL, DocumentPart::Head;
        inference_call_id,
        thread_id,
        codex_turn_id,
        execution,
        model,
        provider_name,
        response_id,
        upstream_request_id,
    )?;
    line(out, CALL + 1, false)?;
    out.write_all(b"\"request_item_ids\": ")?;
    prompts.write(request_item_ids, out)?;
    if let Some(prepared_prompt_payload_id) = prepared_prompt_payload_id {
        return members!(
            out, CALL, DocumentPart::Tail;
            response_item_ids,
            tool_call_ids_started_by_response,
            usage,
            raw_request_payload_id,
            prepared_prompt_payload_id,
            raw_response_payload_id,
        );
    }
    members!(
        out, CALL, DocumentPart::Tail;
        response_item_ids,
        tool_call_ids_started_by_response,
        usage,
        raw_request_payload_id,
        raw_response_payload_id,
    )
}

/// The list of ids that was written last, or the longest that begins with it.
#[derive(Default)]
struct Prompts {
    ids: Vec<ItemId>,
    /// A line for each id, with a comma before it.
    text: Vec<u8>,
    /// Where the line of each id ends.
    ends: Vec<usize>,
}

impl Prompts {
    fn write(&mut self, ids: &[ItemId], out: &mut impl Write) -> io::Result<()> {
        let common = self.ids.iter().zip(ids).take_while(|(a, b)| a == b).count();
        if common < ids.len() {
            self.extend(common, ids)?;
        }
        out.write_all(b"[")?;
        if let Some(last) = ids.len().checked_sub(1) {
            // The first id has no comma.
            out.write_all(&self.text[1..self.ends[last]])?;
            line(out, ID - 1, true)?;
        }
        out.write_all(b"]")
    }

    /// Keeps the first so many ids, and adds those of a list that begins with them.
    fn extend(&mut self, kept: usize, ids: &[ItemId]) -> io::Result<()> {
        self.ids.truncate(kept);
        self.ends.truncate(kept);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
        for id in &ids[kept..] {
            line(&mut self.text, ID, false)?;
            write!(self.text, "\"{id}\"")?;
            self.ends.push(self.text.len());
        }
        self.ids.extend_from_slice(&ids[kept..]);
        Ok(())
    }
}
