//! Rules that a compaction dropped and that mattered afterwards.

use codex_rollout_trace::model::{Compaction, ItemKind, Role};

use super::facts::SessionFacts;
use super::finding::{Finding, FindingKind};
use super::words::{RULE, matches, short, subjects};

/// So much of what a rule is about must be left for it to be kept, in percent.
const KEPT_PERCENT: usize = 60;

pub(super) fn find(facts: &SessionFacts<'_>) -> Vec<Finding> {
    let compactions = facts.trace.compactions.values();
    compactions
        .flat_map(|compaction| dropped(facts, compaction))
        .collect()
}

fn dropped(facts: &SessionFacts<'_>, compaction: &Compaction) -> Vec<Finding> {
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
        if !is_said && !item.kind_is_output() {
            continue;
        }
        let text = item.body.shown();
        // Context of the program is sent again.
        if text.trim_start().starts_with('<') {
            continue;
        }
        for sentence in text.split(['\n', '.', '!']) {
            let sentence = sentence.trim();
            if !matches(&RULE, sentence) || sentence.len() > 400 {
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
            let least = if is_said { 1 } else { 2 };
            if needed.len() < least {
                continue;
            }
            findings.push(Finding {
                kind: FindingKind::DroppedByCompaction,
                agent: facts.agent(&compaction.thread_id),
                at_unix_ms: compaction.installed_at_unix_ms,
                object: compaction.compaction_id.to_string(),
                what: format!("`{}`", short(sentence, 200)),
                why: format!(
                    "the compaction left it out, and later calls are about {}",
                    needed.join(", ")
                ),
            });
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
trait OutputItem {
    fn kind_is_output(&self) -> bool;
}

impl OutputItem for codex_rollout_trace::model::ConversationItem {
    fn kind_is_output(&self) -> bool {
        matches!(
            self.kind,
            ItemKind::FunctionCallOutput | ItemKind::CustomToolCallOutput
        )
    }
}
