//! The page of a session that still runs: the whole page once, and then what changed.
//!
//! An update costs what is new in the bundle: only the objects that changed are looked at. Elements keep their places,
//! so that a page can ask for what changed since a version.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::Path;

use codex_rollout_trace::format::PayloadKind;
use codex_rollout_trace::ids::{CompactionId, EdgeId, ItemId, PayloadId};
use codex_rollout_trace::model::{Anchor, EdgeKind, RolloutTrace, Thread};
use codex_rollout_trace::{BundleFollower, BundlePayloads, Changes, Problems, ProtocolEvent};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bodies::read_json;
use super::data::{
    Builder, PayloadData, Places, ThreadFolders, about, folder_in, payload_order, problem,
};
use super::live_list::{ListChanges, LiveList};
use super::prompts::Prompt;
use super::totals::Totals;
use super::{Prices, write_page};
use crate::notices::Notices;
use crate::timeline::{Edge, Index, Lanes, Span, SpanIndex, SpanKind, Subject, TurnNames};

/// The longest text of a conversation or a terminal.
const TEXT_LIMIT: u64 = 256 << 10;
/// The longest body of a payload file, and of all together.
const BODY_LIMIT: u64 = 256 << 10;
const BODIES: u64 = 64 << 20;

/// The data of a page that follows a bundle.
#[derive(Debug)]
pub struct LiveView {
    bundle: BundlePayloads,
    /// Where the page asks for changes.
    source: String,
    version: u64,
    is_over: bool,
    /// What the page says about the bundle.
    about: Value,
    prices: Prices,
    start: Option<i64>,
    end: i64,
    /// Of the spans that have ended, and of open ones without their time.
    totals: Totals,
    lists: Lists,
    spans: Vec<LiveSpan>,
    open: BTreeSet<SpanIndex>,
    index: Index,
    lanes: Lanes,
    turn_names: TurnNames,
    /// The latest prompt of each thread.
    prompts: HashMap<String, (SpanIndex, Vec<u32>)>,
    payloads: HashMap<PayloadId, u32>,
    folders: ThreadFolders,
    bodies: u64,
    edges: HashMap<EdgeId, usize>,
    compactions: HashMap<CompactionId, usize>,
    /// Edges whose ends are not known yet, or known no better than by their thread.
    unplaced: BTreeSet<EdgeId>,
    notices: Notices,
}

/// The lists of the page. Their elements are sent one by one.
#[derive(Debug, Default)]
struct Lists {
    spans: LiveList,
    items: LiveList,
    edges: LiveList,
    payloads: LiveList,
    notices: LiveList,
    compactions: LiveList,
    problems: LiveList,
}

/// What an update needs to know of a span that is in the page.
#[derive(Debug)]
struct LiveSpan {
    kind: SpanKind,
    thread: SpanIndex,
    lane: usize,
    name: String,
    start: i64,
    prompt: Option<Prompt>,
    share: Totals,
}

/// Where the follower's objects stand.
struct LivePlaces<'f> {
    follower: &'f BundleFollower,
    payloads: &'f HashMap<PayloadId, u32>,
}

impl Places for LivePlaces<'_> {
    fn item(&self, id: ItemId) -> Option<u32> {
        id.number().checked_sub(1)
    }

    fn payload(&self, id: &PayloadId) -> Option<u32> {
        self.payloads.get(id).copied()
    }

    fn listed_items(&self, thread: &Thread) -> usize {
        self.follower.listed_items(&thread.thread_id)
    }
}

#[derive(Serialize)]
struct Head<'v> {
    version: u64,
    trace: &'v Value,
    start: i64,
    end: i64,
    totals: Totals,
    prices: &'v Prices,
    quiet_hooks: usize,
    live: Value,
}

#[derive(Serialize)]
struct Page<'v> {
    #[serde(flatten)]
    head: Head<'v>,
    spans: Vec<&'v RawValue>,
    items: Vec<&'v RawValue>,
    edges: Vec<&'v RawValue>,
    payloads: Vec<&'v RawValue>,
    notices: Vec<&'v RawValue>,
    compactions: Vec<&'v RawValue>,
    problems: Vec<&'v RawValue>,
}

#[derive(Serialize)]
struct PageChanges<'v> {
    head: Head<'v>,
    lists: ChangedLists<'v>,
}

#[derive(Serialize)]
struct ChangedLists<'v> {
    spans: ListChanges<'v>,
    items: ListChanges<'v>,
    edges: ListChanges<'v>,
    payloads: ListChanges<'v>,
    notices: ListChanges<'v>,
    compactions: ListChanges<'v>,
    problems: ListChanges<'v>,
}

impl LiveView {
    /// A view of a bundle, whose page asks for changes at the address `source`.
    #[must_use]
    pub fn new(bundle: &Path, source: String, prices: Prices) -> Self {
        Self {
            bundle: BundlePayloads::in_bundle(bundle),
            source,
            version: 0,
            is_over: false,
            about: json!({}),
            prices,
            start: None,
            end: 0,
            totals: Totals::default(),
            lists: Lists::default(),
            spans: Vec::new(),
            open: BTreeSet::new(),
            index: Index::default(),
            lanes: Lanes::default(),
            turn_names: TurnNames::default(),
            prompts: HashMap::new(),
            payloads: HashMap::new(),
            folders: ThreadFolders::new(),
            bodies: 0,
            edges: HashMap::new(),
            compactions: HashMap::new(),
            unplaced: BTreeSet::new(),
            notices: Notices::of_page(),
        }
    }

    /// Takes over what changed in a bundle whose changes the follower notes.
    ///
    /// # Errors
    /// The data cannot be written as JSON.
    pub fn update(&mut self, follower: &mut BundleFollower) -> serde_json::Result<()> {
        let mut changes = follower.take_changes();
        let follower = &*follower;
        self.version += 1;
        self.add_payloads(follower.graph(), &changes)?;
        add_dependent(follower, &mut changes);
        // Items and edges refer to payloads and spans by their places.
        let payloads = std::mem::take(&mut self.payloads);
        let folders = std::mem::take(&mut self.folders);
        let places = LivePlaces {
            follower,
            payloads: &payloads,
        };
        let builder = Builder {
            places: &places,
            folders: &folders,
            text_limit: TEXT_LIMIT,
            is_document: false,
        };
        let added = self.add_objects(&builder, changes);
        self.payloads = payloads;
        self.folders = folders;
        added?;
        let listed = follower.problems().listed().iter().enumerate();
        for (place, found) in listed.skip(self.lists.problems.len()) {
            let problems = &mut self.lists.problems;
            problems.set(place, &problem(found), self.version)?;
        }
        let graph = follower.graph();
        self.about = about(graph, follower.problems());
        self.note_time(graph.started_at_unix_ms);
        if let Some(end) = graph.ended_at_unix_ms {
            self.note_time(end);
        }
        Ok(())
    }

    /// Takes over the end of the session.
    ///
    /// # Errors
    /// The data cannot be written as JSON.
    pub fn finish(&mut self, trace: &RolloutTrace, problems: &Problems) -> serde_json::Result<()> {
        self.version += 1;
        self.is_over = true;
        self.about = about(trace, problems);
        for (place, found) in problems.listed().iter().enumerate() {
            let listed = &mut self.lists.problems;
            listed.set(place, &problem(found), self.version)?;
        }
        Ok(())
    }

    /// The number of the state, from 1.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Writes the page with the present state.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_page(&self, out: &mut impl Write) -> io::Result<()> {
        let Lists {
            spans,
            items,
            edges,
            payloads,
            notices,
            compactions,
            problems,
        } = &self.lists;
        let page = Page {
            head: self.head(),
            spans: spans.values(),
            items: items.values(),
            edges: edges.values(),
            payloads: payloads.values(),
            notices: notices.values(),
            compactions: compactions.values(),
            problems: problems.values(),
        };
        write_page(&page, true, out)
    }

    /// What changed since a version, as JSON.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn changes(&self, since: u64) -> serde_json::Result<String> {
        let Lists {
            spans,
            items,
            edges,
            payloads,
            notices,
            compactions,
            problems,
        } = &self.lists;
        serde_json::to_string(&PageChanges {
            head: self.head(),
            lists: ChangedLists {
                spans: spans.changes(since),
                items: items.changes(since),
                edges: edges.changes(since),
                payloads: payloads.changes(since),
                notices: notices.changes(since),
                compactions: compactions.changes(since),
                problems: problems.changes(since),
            },
        })
    }

    fn head(&self) -> Head<'_> {
        let mut totals = self.totals.clone();
        for at in &self.open {
            let span = &self.spans[*at];
            totals.add_time(span.kind, (self.end - span.start).max(0));
        }
        Head {
            version: self.version,
            trace: &self.about,
            start: self.start.unwrap_or_default(),
            end: self.end,
            totals,
            prices: &self.prices,
            quiet_hooks: self.notices.quiet_hooks,
            live: json!({ "source": self.source, "over": self.is_over }),
        }
    }

    fn note_time(&mut self, at: i64) {
        self.start = Some(self.start.map_or(at, |start| start.min(at)));
        self.end = self.end.max(at);
    }

    fn add_payloads(&mut self, trace: &RolloutTrace, changes: &Changes) -> serde_json::Result<()> {
        let known = &self.payloads;
        let mut fresh: Vec<_> = changes
            .payloads
            .iter()
            .filter(|id| !known.contains_key(*id))
            .filter_map(|id| trace.raw_payloads.get(id))
            .collect();
        fresh.sort_by_key(|payload| payload_order(payload));
        for payload in fresh {
            let bytes = self.bundle.size(payload);
            let limit = BODY_LIMIT.min(BODIES.saturating_sub(self.bodies));
            let data = PayloadData::read(payload, bytes, &self.bundle, limit);
            self.bodies += data.body_bytes();
            if payload.kind == PayloadKind::SessionMetadata
                && let Ok(metadata) = read_json(&self.bundle, payload)
            {
                self.folders.extend(folder_in(&metadata));
            }
            let place = self.lists.payloads.len();
            self.lists.payloads.set(place, &data, self.version)?;
            let id = payload.raw_payload_id.clone();
            self.payloads.insert(id, place as u32);
        }
        Ok(())
    }

    fn add_objects(
        &mut self,
        builder: &Builder<'_, LivePlaces<'_>>,
        changes: Changes,
    ) -> serde_json::Result<()> {
        let follower = builder.places.follower;
        let mut items: Vec<ItemId> = changes.items.iter().copied().collect();
        items.sort_unstable_by_key(|item| item.number());
        for id in items {
            if let (Some(place), Some(item)) = (builder.places.item(id), follower.item(id)) {
                let items = &mut self.lists.items;
                items.set(place as usize, &builder.item(item), self.version)?;
            }
        }
        let known_spans = self.spans.len();
        for (at, span) in self.place_spans(follower, &changes) {
            self.set_span(builder, at, &span)?;
        }
        let mut edges = changes.edges;
        if self.spans.len() > known_spans {
            edges.append(&mut self.unplaced);
        }
        for id in edges {
            if !self.set_edge(builder, &id)? {
                self.unplaced.insert(id);
            }
        }
        for compaction in follower.graph().compactions.values() {
            let known = self.compactions.len();
            let id = compaction.compaction_id.clone();
            let place = *self.compactions.entry(id).or_insert(known);
            if place == known {
                let list = &mut self.lists.compactions;
                list.set(place, &builder.compaction(compaction), self.version)?;
            }
        }
        for event in &changes.events {
            self.add_notice(event)?;
        }
        Ok(())
    }

    /// Gives the spans that changed their places: new ones follow those that are there, in the order of their start.
    fn place_spans<'f>(
        &mut self,
        follower: &'f BundleFollower,
        changes: &Changes,
    ) -> Vec<(SpanIndex, Span<'f>)> {
        let graph = follower.graph();
        let mut spans: Vec<Span<'_>> = subjects(graph, changes)
            .map(|subject| Span::for_subject(subject, graph))
            .collect();
        spans.sort_by_key(Span::order);
        let mut placed = Vec::new();
        for mut span in spans {
            let known = self.index.find(span.kind, &span.id);
            let at = known.unwrap_or(self.spans.len());
            match self.spans.get(at) {
                Some(known) if span.kind == SpanKind::Turn => span.name.clone_from(&known.name),
                Some(_) => {}
                None => {
                    self.turn_names.name(&mut span);
                    self.spans.push(LiveSpan {
                        kind: span.kind,
                        thread: at,
                        lane: usize::MAX,
                        name: span.name.clone(),
                        start: span.window.started_at_unix_ms,
                        prompt: None,
                        share: Totals::default(),
                    });
                }
            }
            self.index.add(at, &span);
            placed.push((at, span));
        }
        for (at, span) in &mut placed {
            self.connect(follower, *at, span);
        }
        placed
    }

    /// Finds the thread, the parent and the lane of a span.
    fn connect(&mut self, follower: &BundleFollower, at: SpanIndex, span: &mut Span<'_>) {
        // A command is where its tool is.
        let thread = self.index.thread(span).map(|up| self.spans[up].thread);
        span.thread = thread.unwrap_or(at);
        let spawn = |id: &EdgeId| Some(follower.edge(id)?.source);
        span.parent = self.index.parent(span, spawn).filter(|up| *up != at);
        let window = &span.window;
        let known = &mut self.spans[at];
        known.thread = span.thread;
        if known.lane == usize::MAX {
            known.lane = self.lanes.place(span);
        } else if let Some(end) = window.ended_at_unix_ms {
            self.lanes.free(span.thread, span.kind, known.lane, end);
        }
        span.lane = known.lane;
        match window.ended_at_unix_ms {
            Some(_) => self.open.remove(&at),
            None => self.open.insert(at),
        };
        let (start, end) = (window.started_at_unix_ms, window.ended_at_unix_ms);
        self.note_time(start);
        self.note_time(end.unwrap_or(start));
    }

    fn set_span(
        &mut self,
        builder: &Builder<'_, LivePlaces<'_>>,
        at: SpanIndex,
        span: &Span<'_>,
    ) -> serde_json::Result<()> {
        // The page knows how far an open span runs.
        let start = span.window.started_at_unix_ms;
        let end = span.window.ended_at_unix_ms.unwrap_or(start).max(start);
        let mut data = builder.span(span, end);
        if let Subject::Inference(call) = span.subject {
            data.prompt = Some(self.prompt(at, call.thread_id.as_str(), || {
                builder.items(&call.request_item_ids)
            }));
        }
        self.lists.spans.set(at, &data, self.version)?;
        let share = Totals::from_span(span, end);
        let known = &mut self.spans[at];
        self.totals.subtract(&known.share);
        self.totals.add(&share);
        known.share = share;
        Ok(())
    }

    /// The prompt of a request, which does not change.
    fn prompt(&mut self, at: SpanIndex, thread: &str, items: impl FnOnce() -> Vec<u32>) -> Prompt {
        if let Some(prompt) = &self.spans[at].prompt {
            return prompt.clone();
        }
        let items = items();
        let before = self.prompts.get(thread);
        let before = before.map(|(at, items)| (*at, items.as_slice()));
        let prompt = Prompt::after(before, &items);
        self.prompts.insert(thread.to_owned(), (at, items));
        self.spans[at].prompt = Some(prompt.clone());
        prompt
    }

    /// Returns false if it is not known yet, or not exactly, where the edge leads.
    fn set_edge(
        &mut self,
        builder: &Builder<'_, LivePlaces<'_>>,
        id: &EdgeId,
    ) -> serde_json::Result<bool> {
        let follower = builder.places.follower;
        let Some(edge) = follower.edge(id) else {
            return Ok(false);
        };
        let item = |id| follower.item(id);
        let source = self.index.anchor(&edge.source, item);
        let target = self.index.anchor(&edge.target, item);
        let (Some(source), Some(target)) = (source, target) else {
            return Ok(false);
        };
        let place = *self
            .edges
            .entry(id.clone())
            .or_insert(self.lists.edges.len());
        let edge = Edge {
            edge: &edge,
            source,
            target,
        };
        let edges = &mut self.lists.edges;
        edges.set(place, &builder.edge(&edge), self.version)?;
        Ok(self.is_exact(&edge.edge.source, source) && self.is_exact(&edge.edge.target, target))
    }

    /// Whether a span is what an item was said in or seen by, and not just its thread.
    fn is_exact(&self, anchor: &Anchor, span: SpanIndex) -> bool {
        let is_item = matches!(anchor, Anchor::ConversationItem { .. });
        !is_item || self.spans[span].kind != SpanKind::Thread
    }

    fn add_notice(&mut self, event: &ProtocolEvent) -> serde_json::Result<()> {
        if !self.notices.wants(&event.event_type) {
            return Ok(());
        }
        let Ok(payload) = read_json(&self.bundle, &event.payload) else {
            return Ok(());
        };
        let at = event.at_unix_ms;
        let turn = event.turn.as_ref();
        let place = self.notices.add(at, turn, &event.event_type, &payload);
        if let Some(place) = place {
            let (list, notice) = (&mut self.lists.notices, &self.notices.list[place]);
            list.set(place, notice, self.version)?;
        }
        Ok(())
    }
}

/// Adds the objects that are shown with something of another one that changed.
fn add_dependent(follower: &BundleFollower, changes: &mut Changes) {
    let graph = follower.graph();
    for id in &changes.inferences {
        if let Some(call) = graph.inference_calls.get(id) {
            let tools = call.tool_call_ids_started_by_response.iter();
            changes.tools.extend(tools.cloned());
        }
    }
    for id in &changes.operations {
        let operation = graph.terminal_operations.get(id);
        let terminal = operation.and_then(|operation| operation.terminal_id.clone());
        changes.terminals.extend(terminal);
    }
    let spawns = changes.edges.iter().filter_map(|id| follower.edge(id));
    for edge in spawns.filter(|edge| edge.kind == EdgeKind::SpawnAgent) {
        changes.threads.extend(match edge.target {
            Anchor::Thread { thread_id } => Some(thread_id),
            Anchor::ConversationItem { item_id } => {
                let item = follower.item(item_id);
                item.map(|item| item.thread_id.clone())
            }
            Anchor::ToolCall { .. } => None,
        });
    }
}

/// What changed and has a span.
fn subjects<'f>(graph: &'f RolloutTrace, changes: &Changes) -> impl Iterator<Item = Subject<'f>> {
    let threads = changes
        .threads
        .iter()
        .filter_map(|id| graph.threads.get(id));
    let turns = changes.turns.iter();
    let turns = turns.filter_map(|id| graph.codex_turns.get(id));
    let calls = changes.inferences.iter();
    let calls = calls.filter_map(|id| graph.inference_calls.get(id));
    let compactions = changes.compactions.iter();
    let compactions = compactions.filter_map(|id| graph.compaction_requests.get(id));
    let cells = changes
        .cells
        .iter()
        .filter_map(|id| graph.code_cells.get(id));
    let tools = changes
        .tools
        .iter()
        .filter_map(|id| graph.tool_calls.get(id));
    let operations = changes.operations.iter();
    let operations = operations.filter_map(|id| graph.terminal_operations.get(id));
    let terminals = changes.terminals.iter();
    let terminals = terminals.filter_map(|id| graph.terminal_sessions.get(id));
    let subjects = threads.map(Subject::Thread).chain(turns.map(Subject::Turn));
    subjects
        .chain(calls.map(Subject::Inference))
        .chain(compactions.map(Subject::Compaction))
        .chain(cells.map(Subject::Cell))
        .chain(tools.map(Subject::Tool))
        .chain(operations.map(Subject::Command))
        .chain(terminals.map(Subject::Terminal))
}
