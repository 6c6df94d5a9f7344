//! Rules, messages and files that a compaction dropped and that mattered afterwards.

use codex_rollout_trace::model::{Compaction, ConversationItem, ItemKind, Role};

use super::agents::{files_read, writes};
use super::facts::{CommandFacts, SessionFacts};
use super::finding::{Finding, FindingKind};
use super::words::{RULE, matches, short, subjects};

/// So much of what a sentence is about must be left for it to be kept, in percent.
const KEPT_PERCENT: usize = 60;

/// Longer sentences are data.
const LONGEST_SENTENCE: usize = 400;

pub(super) fn find(facts: &SessionFacts<'_>) -> Vec<Finding> {
    let compactions = facts.trace.compactions.values();
    compactions
        .flat_map(|compaction| {
            let mut findings = dropped_sentences(facts, compaction);
            findings.extend(dropped_files(facts, compaction));
            findings
        })
        .collect()
}

fn finding(
    facts: &SessionFacts<'_>,
    compaction: &Compaction,
    what: String,
    why: String,
) -> Finding {
    Finding {
        kind: FindingKind::DroppedByCompaction,
        agent: facts.agent(&compaction.thread_id),
        at_unix_ms: compaction.installed_at_unix_ms,
        object: compaction.compaction_id.to_string(),
        what,
        why,
    }
}

/// Rules in what was said and read, and facts in what a person said.
fn dropped_sentences(facts: &SessionFacts<'_>, compaction: &Compaction) -> Vec<Finding> {
    let after: Vec<String> = (compaction.replacement_item_ids.iter())
        .filter_map(|id| facts.text_of(*id))
        .collect();
    let after = after.join("\n").to_lowercase();
    let later = later_work(facts, compaction);
    let mut findings = Vec::new();
    for id in &compaction.input_item_ids {
        let Some(item) = facts.trace.conversation_items.get(id) else {
            continue;
        };
        let is_said = item.kind == ItemKind::Message && item.role != Role::Assistant;
        if !is_said && !is_output(item) {
            continue;
        }
        let text = item.body.shown();
        // Context of the program is sent again.
        if text.trim_start().starts_with('<') {
            continue;
        }
        for sentence in text.split(['\n', '!']).flat_map(|line| line.split(". ")) {
            let sentence = sentence.trim();
            let is_rule = matches(&RULE, sentence);
            let is_fact = is_said && item.role == Role::User;
            if !(is_rule || is_fact) || sentence.len() > LONGEST_SENTENCE {
                continue;
            }
            let subjects = subjects(sentence);
            let kept = subjects.iter().filter(|word| after.contains(*word)).count();
            if subjects.is_empty() || kept * 100 >= subjects.len() * KEPT_PERCENT {
                continue;
            }
            let needed: Vec<&str> = subjects
                .iter()
                .filter(|word| !after.contains(*word) && later.contains(*word))
                .map(String::as_str)
                .collect();
            let is_needed = match (is_rule, is_said) {
                (true, true) => !needed.is_empty(),
                (true, false) => needed.len() >= 2 || needed.iter().any(|word| is_file(word)),
                // What is no rule matters if it names something in particular.
                (false, _) => needed.len() >= 2 && needed.iter().any(|word| is_particular(word)),
            };
            if is_needed {
                let why = format!(
                    "the compaction left it out, and later calls are about {}",
                    needed.join(", ")
                );
                let what = format!("`{}`", short(sentence, 200));
                findings.push(finding(facts, compaction, what, why));
            }
        }
    }
    findings
}

/// A name of a file, a place, a number: not a word of the language.
fn is_particular(word: &str) -> bool {
    word.contains(['.', '/', '_']) || word.contains(|char: char| char.is_ascii_digit())
}

/// A name of a file.
fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.split_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(char::is_alphabetic)
    })
}

/// Files that were read before a compaction and written after it, without another look.
fn dropped_files(facts: &SessionFacts<'_>, compaction: &Compaction) -> Vec<Finding> {
    let at = compaction.installed_at_unix_ms;
    let own = |thread| thread == &compaction.thread_id;
    let is_dropped = |command: &CommandFacts| {
        let call = facts.trace.tool_calls.get(command.call.as_str());
        let outputs = call.map(|call| &call.model_visible_output_item_ids);
        let outputs = outputs.into_iter().flatten();
        let mut outputs = outputs.filter(|id| compaction.input_item_ids.contains(id));
        outputs.any(|id| !compaction.replacement_item_ids.contains(id))
    };
    let commands = || facts.commands.iter().filter(|one| own(&one.thread));
    let mut findings: Vec<Finding> = Vec::new();
    for read in commands().filter(|read| read.at < at && is_dropped(read)) {
        for file in files_read(&read.text) {
            // What is added at the end needs no look.
            let overwrites = |later: &&CommandFacts| {
                later.at >= at && writes(later, &file) && !later.text.contains(">>")
            };
            let written = commands().find(overwrites);
            let patched = facts.patches.iter().find(|patch| {
                own(&patch.thread) && patch.at >= at && patch.has_failed && patch.is_about(&file)
            });
            let times = [
                written.map(|later| (later.at, "written")),
                patched.map(|patch| (patch.at, "patched in vain")),
            ];
            let Some((until, how)) = times.into_iter().flatten().min() else {
                continue;
            };
            let mut again = commands().filter(|later| (at..until).contains(&later.at));
            let what = format!("what {file} holds");
            let is_known = findings.iter().any(|known| known.what == what);
            if is_known || again.any(|later| later.text.contains(&file)) {
                continue;
            }
            let why = format!(
                "the compaction left out the output that showed it, and it was {how} later without another look"
            );
            findings.push(finding(facts, compaction, what, why));
        }
    }
    findings
}

/// What the thread did after a compaction: its calls, not its answers.
fn later_work(facts: &SessionFacts<'_>, compaction: &Compaction) -> String {
    let since = compaction.installed_at_unix_ms;
    let commands = facts.commands.iter();
    let commands = commands
        .filter(|command| command.thread == compaction.thread_id && command.at >= since)
        .map(|command| command.text.clone());
    let patches = facts.patches.iter();
    let patches = patches
        .filter(|patch| patch.thread == compaction.thread_id && patch.at >= since)
        .map(|patch| patch.files.join(" "));
    commands
        .chain(patches)
        .collect::<Vec<_>>()
        .join("\n")
        .to_lowercase()
}

/// Whether an item is the output of a tool.
fn is_output(item: &ConversationItem) -> bool {
    matches!(
        item.kind,
        ItemKind::FunctionCallOutput | ItemKind::CustomToolCallOutput
    )
}
