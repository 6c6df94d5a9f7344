//! The Chrome JSON trace event format, which the Perfetto UI opens.
//!
//! A thread of the session is a process there, with a track for each lane of each kind of span. Times are in
//! microseconds from the start of the rollout. Edges between agents are flows.

use std::collections::BTreeMap;
use std::io::{self, Write};

use codex_rollout_trace::Reduction;
use codex_rollout_trace::model::TerminalRequest;
use serde_json::{Value, json};

use crate::timeline::{Span, SpanIndex, SpanKind, Subject, Timeline};

/// Writes the trace events of a reduced bundle, an event a line.
pub fn write_perfetto(reduction: &Reduction, out: &mut impl Write) -> io::Result<()> {
    let trace = &reduction.trace;
    let timeline = Timeline::new(trace);
    let tracks = Tracks::new(&timeline);
    out.write_all(b"{\"displayTimeUnit\":\"ms\",\"otherData\":")?;
    let mut about = json!({
        "trace_id": trace.trace_id,
        "rollout_id": trace.rollout_id,
        "started_at_unix_ms": timeline.start_ms,
    });
    if reduction.problems.is_damaged() {
        about["damaged"] = json!(true);
    }
    serde_json::to_writer(&mut *out, &about)?;
    out.write_all(b",\"traceEvents\":[")?;
    let slices = timeline.spans.iter();
    let slices = slices.map(|span| slice(&timeline, &tracks, span));
    let edges = 0..timeline.edges.len();
    let flows = edges.flat_map(|edge| flow(&timeline, &tracks, edge));
    for (at, event) in tracks
        .names(&timeline)
        .chain(slices)
        .chain(flows)
        .enumerate()
    {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &event)?;
    }
    out.write_all(b"\n]}\n")
}

/// The numbers of processes and tracks.
struct Tracks {
    processes: BTreeMap<SpanIndex, usize>,
    tracks: BTreeMap<(SpanIndex, SpanKind, usize), usize>,
}

impl Tracks {
    fn new(timeline: &Timeline<'_>) -> Self {
        let mut processes: BTreeMap<SpanIndex, usize> = BTreeMap::new();
        let mut tracks = BTreeMap::new();
        for span in &timeline.spans {
            let next = processes.len() + 1;
            processes.entry(span.thread).or_insert(next);
            tracks.insert((span.thread, span.kind, span.lane), 0);
        }
        for (number, track) in (1..).zip(tracks.values_mut()) {
            *track = number;
        }
        Self { processes, tracks }
    }

    fn ids_of(&self, span: &Span<'_>) -> (usize, usize) {
        let track = (span.thread, span.kind, span.lane);
        (
            self.processes
                .get(&span.thread)
                .copied()
                .unwrap_or_default(),
            self.tracks.get(&track).copied().unwrap_or_default(),
        )
    }

    /// The events that give processes and tracks their names and order.
    fn names<'a>(&'a self, timeline: &'a Timeline<'_>) -> impl Iterator<Item = Value> + 'a {
        let meta = |name: &str, pid: usize, tid: usize, args: Value| json!({ "ph": "M", "name": name, "pid": pid, "tid": tid, "args": args });
        let processes = self.processes.iter().flat_map(move |(span, pid)| {
            let name = format!(
                "{} {}",
                timeline.spans[*span].name, timeline.spans[*span].id
            );
            [
                meta("process_name", *pid, 0, json!({ "name": name })),
                meta("process_sort_index", *pid, 0, json!({ "sort_index": pid })),
            ]
        });
        let tracks = self
            .tracks
            .iter()
            .flat_map(move |((thread, kind, lane), tid)| {
                let pid = self.processes.get(thread).copied().unwrap_or_default();
                let name = match lane {
                    0 => kind.name().to_owned(),
                    _ => format!("{} {}", kind.name(), lane + 1),
                };
                [
                    meta("thread_name", pid, *tid, json!({ "name": name })),
                    meta("thread_sort_index", pid, *tid, json!({ "sort_index": tid })),
                ]
            });
        processes.chain(tracks)
    }
}

/// Microseconds since the start of the rollout.
fn micros(timeline: &Timeline<'_>, unix_ms: i64) -> i64 {
    unix_ms
        .saturating_sub(timeline.start_ms)
        .saturating_mul(1000)
}

fn slice(timeline: &Timeline<'_>, tracks: &Tracks, span: &Span<'_>) -> Value {
    let (pid, tid) = tracks.ids_of(span);
    let start = micros(timeline, span.window.started_at_unix_ms);
    // A slice of no length cannot be clicked, and no flow can hold on to it.
    let duration = (micros(timeline, timeline.end_of(span)) - start).max(1);
    json!({
        "ph": "X", "name": span.name, "cat": span.kind.name(), "pid": pid, "tid": tid,
        "ts": start, "dur": duration, "args": arguments(span),
    })
}

fn arguments(span: &Span<'_>) -> Value {
    let mut arguments = json!({
        "id": span.id,
        "status": span.window.status,
        "started_seq": span.window.started_seq,
        "ended_seq": span.window.ended_seq,
    });
    let more = match span.subject {
        Subject::Thread(thread) => json!({ "model": thread.default_model }),
        Subject::Inference(call) => json!({
            "model": call.model, "provider": call.provider_name, "response_id": call.response_id,
            "request_items": call.request_item_ids.len(),
            "response_items": call.response_item_ids.len(), "usage": call.usage,
        }),
        Subject::Compaction(call) => json!({
            "model": call.model, "provider": call.provider_name,
            "compaction_id": call.compaction_id,
        }),
        Subject::Cell(cell) => json!({ "source": cell.source_js }),
        Subject::Tool(call) => json!({ "kind": call.kind, "summary": call.summary }),
        Subject::Command(operation) => json!({
            "cwd": match &operation.request {
                TerminalRequest::ExecCommand { cwd, .. } => Some(cwd),
                TerminalRequest::WriteStdin { .. } => None,
            },
            "terminal_id": operation.terminal_id,
            "exit_code": operation.result.as_ref().map(|result| result.exit_code),
        }),
        Subject::Turn(_) | Subject::Terminal(_) => json!({}),
    };
    if let (Value::Object(arguments), Value::Object(more)) = (&mut arguments, more) {
        arguments.extend(more);
        if let Some(error) = span.error() {
            arguments.insert("error".to_owned(), json!(error));
        }
        for (label, id) in span.payloads() {
            arguments.insert(format!("{label}_payload"), json!(id));
        }
    }
    arguments
}

/// An edge as the two ends of an arrow.
fn flow(timeline: &Timeline<'_>, tracks: &Tracks, number: usize) -> [Value; 2] {
    let edge = &timeline.edges[number];
    let end = |phase: &str, span: SpanIndex, at: i64| {
        let span = &timeline.spans[span];
        let (pid, tid) = tracks.ids_of(span);
        // An arrow holds on to the slice that is open at its time.
        let at = at.clamp(span.window.started_at_unix_ms, timeline.end_of(span));
        json!({
            "ph": phase, "bp": "e", "cat": "agents", "name": edge.edge.kind, "id": number + 1,
            "pid": pid, "tid": tid, "ts": micros(timeline, at),
        })
    };
    let started = edge.edge.started_at_unix_ms;
    let ended = edge.edge.ended_at_unix_ms.unwrap_or(started);
    [end("s", edge.source, started), end("f", edge.target, ended)]
}
