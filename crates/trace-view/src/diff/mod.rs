//! Compares two runs step by step.
//!
//! Two runs share no ids and no times. So each thread is converted to a list of steps with a text: the start of a turn,
//! the items of a request and of its response, a tool call. Threads are matched by their path, and their steps are aligned.
//! UUIDs, durations, the ids of output chunks and terminals, and paths of its own differ in every run and are replaced in the
//! texts.

mod page;
mod places;
mod steps;

use std::collections::VecDeque;
use std::fmt;

use codex_rollout_trace::model::RolloutTrace;
use codex_text_diff::align;
use serde::Serialize;

pub use page::write_diff_page;

/// A difference is shown with this much before it and after.
const CONTEXT: usize = 60;

/// Two runs, agent by agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunComparison {
    pub agents: Vec<AgentComparison>,
}

/// The steps of an agent in two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentComparison {
    /// The path of the agent.
    pub agent: String,
    pub rows: Vec<StepPair>,
}

/// Steps that belong together; a side is missing where one run has nothing like it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepPair {
    pub is_same: bool,
    pub left: Option<RunStep>,
    pub right: Option<RunStep>,
}

/// A difference between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The path of the agent.
    pub agent: String,
    pub left: Option<RunStep>,
    pub right: Option<RunStep>,
}

/// A step of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunStep {
    /// The turn's number in its thread, from 1; 0 before the first.
    pub turn: usize,
    /// Of the event that the step comes from.
    pub seq: u64,
    /// What sort of step.
    pub what: String,
    /// What it says.
    pub text: String,
}

impl RunStep {
    /// What aligned steps share: places in lists move when something is added.
    fn kind(&self) -> &str {
        self.what
            .trim_end_matches(|char: char| char.is_ascii_digit())
    }

    fn key(&self) -> (&str, &str) {
        (self.kind(), &self.text)
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the runs differ in {}", self.agent)?;
        for (name, step) in [("A", &self.left), ("B", &self.right)] {
            match step {
                Some(step) => write!(
                    f,
                    "\n{name}: turn {}, event {}, {}\n   {}",
                    step.turn, step.seq, step.what, step.text
                )?,
                None => write!(f, "\n{name}: nothing")?,
            }
        }
        Ok(())
    }
}

impl RunComparison {
    /// Compares two runs.
    #[must_use]
    pub fn compare(left: &RolloutTrace, right: &RolloutTrace) -> Self {
        let (mut left, mut right) = (steps::agents(left), steps::agents(right));
        let mut names: Vec<String> = left.keys().cloned().collect();
        names.extend(
            right
                .keys()
                .filter(|name| !left.contains_key(*name))
                .cloned(),
        );
        let compare = |agent: String| {
            let [left, right] = [&mut left, &mut right].map(|side| side.remove(&agent));
            let rows = pairs(left.unwrap_or_default(), right.unwrap_or_default());
            AgentComparison { agent, rows }
        };
        Self {
            agents: names.into_iter().map(compare).collect(),
        }
    }

    /// The differences, with excerpts of long texts, in the order of the left run within each agent.
    #[must_use]
    pub fn differences(&self) -> Vec<Divergence> {
        let of_agent = |agent: &AgentComparison| {
            let rows = agent.rows.iter().filter(|row| !row.is_same);
            rows.map(|row| divergence(&agent.agent, row))
                .collect::<Vec<_>>()
        };
        self.agents.iter().flat_map(of_agent).collect()
    }
}

/// The first difference of two runs; none when they did the same.
#[must_use]
pub fn diff_traces(left: &RolloutTrace, right: &RolloutTrace) -> Option<Divergence> {
    let mut firsts = RunComparison::compare(left, right).differences();
    // Those of an agent are in order; the end of a turn that was cut has no event of its own.
    firsts.dedup_by(|next, first| next.agent == first.agent);
    let seq = |divergence: &Divergence| {
        let steps = [&divergence.left, &divergence.right];
        steps.into_iter().flatten().map(|step| step.seq).min()
    };
    firsts.into_iter().min_by_key(seq)
}

/// Aligns the steps of two runs. Those that differ at one place are paired if they are of one kind.
fn pairs(left: Vec<RunStep>, right: Vec<RunStep>) -> Vec<StepPair> {
    let keys = |steps: &[RunStep]| -> Vec<(String, String)> {
        let keys = steps.iter().map(RunStep::key);
        keys.map(|(kind, text)| (kind.to_owned(), text.to_owned()))
            .collect()
    };
    let sections = align(&keys(&left), &keys(&right));
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let mut rows = Vec::new();
    for section in sections {
        let mut old: VecDeque<_> = left.by_ref().take(section.old.len()).collect();
        let mut new: VecDeque<_> = right.by_ref().take(section.new.len()).collect();
        while !old.is_empty() || !new.is_empty() {
            let is_pair = match (old.front(), new.front()) {
                (Some(old), Some(new)) => old.kind() == new.kind(),
                _ => false,
            };
            // A step that has a counterpart later waits for it.
            let waits = old
                .front()
                .is_none_or(|old| !is_pair && new.iter().any(|new| new.kind() == old.kind()));
            rows.push(StepPair {
                is_same: section.is_equal,
                left: if waits { None } else { old.pop_front() },
                right: if waits || is_pair {
                    new.pop_front()
                } else {
                    None
                },
            });
        }
    }
    rows
}

fn divergence(agent: &str, row: &StepPair) -> Divergence {
    let [left, right] = [&row.left, &row.right];
    let texts = [left, right].map(|step| step.as_ref().map_or("", |step| step.text.as_str()));
    let common = texts[0].chars().zip(texts[1].chars());
    let common = common.take_while(|(a, b)| a == b).count();
    let excerpt = |step: &RunStep| RunStep {
        text: excerpt(&step.text, common),
        ..step.clone()
    };
    Divergence {
        agent: agent.to_owned(),
        left: left.as_ref().map(excerpt),
        right: right.as_ref().map(excerpt),
    }
}

/// The part of a text around a character, on one line.
fn excerpt(text: &str, at: usize) -> String {
    let from = at.saturating_sub(CONTEXT);
    let mut shown: String = text.chars().skip(from).take(CONTEXT * 3).collect();
    if from > 0 {
        shown.insert(0, '…');
    }
    if text.chars().nth(from + CONTEXT * 3).is_some() {
        shown.push('…');
    }
    shown.replace(['\n', '\r'], "⏎")
}
