//! Reads the file of a thread once. Irrelevant lines are skipped without parsing.

use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use codex_core::StoredThread;
use codex_projection::dialect::StoredForm;
use codex_projection::{Fold, ItemIds, PackTurns, Turns};
use codex_protocol::{
    RawRolloutLine, ReasoningEffort, RolloutItem, SessionMeta, ThreadLimits, ThreadSettings,
    TokenCountEvent, TokenUsageInfo,
};
use codex_rollout::{
    LineSelection, MessageImages, RolloutLoadError, ScannedLine, scan, scan_selection,
};
use serde::Deserialize;

use super::outline::builder::OutlineBuilder;
use super::outline::kept::{Outlines, ShownTurns};
use super::stored_lines::{makes_turns, milliseconds, objective, preview};

/// A stored thread.
#[derive(Debug)]
pub(crate) struct StoredHistory {
    pub(crate) meta: SessionMeta,
    /// The preview: its first message.
    pub(crate) preview: String,
    pub(crate) turns: Turns,
    /// The model of its last turn.
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<ReasoningEffort>,
    /// The limits of the last turn.
    pub(crate) limits: Option<ThreadLimits>,
    /// The ids of the plugins that are switched off.
    pub(crate) disabled_plugins: Vec<String>,
    /// The settings as they were last changed by a client that keeps them.
    pub(crate) changed_settings: Option<ThreadSettings>,
    /// Whether a client interrupted the last turn.
    pub(crate) is_interrupted: bool,
    /// The token usage of its last turn.
    pub(crate) usage: Option<TokenUsageInfo>,
}

/// Whether the turns are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnsShown {
    WithTurns,
    WithoutTurns,
}

impl TurnsShown {
    pub(crate) fn from_exclude_turns(exclude_turns: bool) -> Self {
        if exclude_turns {
            Self::WithoutTurns
        } else {
            Self::WithTurns
        }
    }
}

/// The form of a file for a client that expects this one: items of a legacy history have numbers.
pub(crate) fn form_in(path: &Path, expected: StoredForm) -> StoredForm {
    let head = || codex_rollout::head(path, &codex_rollout::id_of(path)?).ok()?;
    match expected.ids {
        ItemIds::Streamed if head().is_some_and(|meta| meta.is_legacy()) => {
            expected.with_ids(ItemIds::Untimed)
        }
        _ => expected,
    }
}

/// Reads the file of a thread. `running` is the id of the turn that runs.
///
/// # Errors
/// The file cannot be read or has no thread id.
pub(crate) fn read_history(
    path: &Path,
    form: StoredForm,
    running: Option<&str>,
    outlines: &Outlines,
) -> Result<StoredHistory, RolloutLoadError> {
    if let Some(ShownTurns { turns, outline }) = outlines.turns(path, form, running) {
        let mut reader = HistoryReader::new(path, TurnsShown::WithoutTurns, form);
        scan_selection(path, &outline.lines_of_facts(), |line| {
            reader.take(line);
            ControlFlow::Continue(())
        })?;
        let history = reader.finish(outlines)?;
        return Ok(StoredHistory { turns, ..history });
    }
    let mut reader = HistoryReader::new(path, TurnsShown::WithTurns, form);
    reader.outline = OutlineBuilder::new(path);
    scan(path, |line| {
        reader.take(line);
        ControlFlow::Continue(())
    })?;
    reader.finish(outlines)
}

/// Reads the file of a thread that is about to be loaded, up to `end` or the selected lines if given: the data for
/// clients and for the engine.
///
/// # Errors
/// The file cannot be read or has no thread id.
pub(crate) fn read_to_load(
    path: &Path,
    shown: TurnsShown,
    form: StoredForm,
    end: Option<u64>,
    selection: Option<&LineSelection>,
    outlines: &Outlines,
) -> Result<(StoredHistory, StoredThread), RolloutLoadError> {
    let is_whole = shown == TurnsShown::WithTurns && end.is_none() && selection.is_none();
    if is_whole && outlines.has_turns(path) {
        let mut reader = HistoryReader::new(path, TurnsShown::WithoutTurns, form);
        let (shown, stored) = thread::scope(|scope| {
            let shown = || outlines.turns(path, form, None);
            let shown = thread::Builder::new().spawn_scoped(scope, shown);
            let stored = StoredThread::read(path, None, None, |line| reader.take(line));
            (shown.map(|thread| thread.join().ok().flatten()), stored)
        });
        // Otherwise the engine has read more than the turns.
        if let Ok(Some(ShownTurns { turns, outline })) = shown
            && outlines.is_current(&outline)
        {
            let history = reader.finish(outlines)?;
            return Ok((StoredHistory { turns, ..history }, stored?));
        }
    }
    let mut reader = HistoryReader::new(path, shown, form);
    if is_whole {
        reader.outline = OutlineBuilder::new(path);
    }
    let stored = StoredThread::read(path, end, selection, |line| reader.take(line))?;
    Ok((reader.finish(outlines)?, stored))
}

#[derive(Debug)]
struct HistoryReader {
    shown: TurnsShown,
    form: StoredForm,
    fold: Fold<PackTurns<StoredForm>>,
    images: MessageImages,
    /// The outline that the lines make too, if all of them are read.
    outline: Option<OutlineBuilder>,
    meta: Option<SessionMeta>,
    preview: Option<String>,
    /// The newest turn settings, not parsed yet.
    settings: Vec<u8>,
    /// The newest change of the settings by a client that keeps them, not parsed yet.
    changed_settings: Vec<u8>,
    /// Whether a turn has begun since.
    has_turn_since: bool,
    is_interrupted: bool,
    /// The newest token usage, not parsed yet.
    usage: Vec<u8>,
}

impl HistoryReader {
    fn new(path: &Path, shown: TurnsShown, form: StoredForm) -> Self {
        let thread = codex_rollout::id_of(path).map(|id| id.to_string());
        let turns = PackTurns::new(thread.unwrap_or_default(), form);
        Self {
            shown,
            form,
            fold: Fold::new(turns).with_ids(form.ids),
            images: MessageImages::default(),
            outline: None,
            meta: None,
            preview: None,
            settings: Vec::new(),
            changed_settings: Vec::new(),
            has_turn_since: false,
            is_interrupted: false,
            usage: Vec::new(),
        }
    }

    fn take(&mut self, line: ScannedLine<'_>) {
        if let Some(outline) = &mut self.outline {
            outline.take(line);
        }
        if self.shown == TurnsShown::WithTurns {
            self.images.see(line);
        }
        let Some((kind, payload)) = line.kind() else {
            return;
        };
        if kind == "event_msg" {
            match payload.as_deref() {
                Some("task_started" | "turn_started") => self.is_interrupted = false,
                Some("turn_aborted") => self.is_interrupted = true,
                _ => {}
            }
        }
        let counts = match kind.as_ref() {
            "session_meta" => self.meta.is_none(),
            "turn_context" => {
                self.settings.clear();
                self.settings.extend_from_slice(line.bytes());
                self.has_turn_since = true;
                false
            }
            "event_msg" if payload.as_deref() == Some(SETTINGS_APPLIED) => {
                self.has_turn_since = false;
                self.changed_settings.clear();
                self.changed_settings.extend_from_slice(line.bytes());
                false
            }
            "event_msg" if payload.as_deref() == Some("token_count") => {
                self.usage.clear();
                self.usage.extend_from_slice(line.bytes());
                false
            }
            _ if self.shown == TurnsShown::WithoutTurns && self.preview.is_some() => false,
            _ => makes_turns(&kind, payload.as_deref()),
        };
        if !counts {
            return;
        }
        let offset = line.offset();
        if self.preview.is_none() {
            self.preview = objective(&line);
            self.keep_preview(offset);
        }
        let Some(line) = line.read() else {
            return;
        };
        match line.item {
            RolloutItem::SessionMeta(meta) => drop(self.meta.get_or_insert(*meta)),
            mut item => {
                if self.preview.is_none() {
                    self.preview = preview(&item);
                    self.keep_preview(offset);
                }
                if self.shown == TurnsShown::WithTurns {
                    self.images.restore(&mut item);
                    let now = milliseconds(&line.timestamp);
                    self.fold.apply_stored_at(offset, now, &item);
                }
            }
        }
    }

    fn keep_preview(&mut self, offset: u64) {
        if let (Some(outline), Some(_)) = (&mut self.outline, &self.preview) {
            outline.set_preview(offset);
        }
    }

    fn finish(self, outlines: &Outlines) -> Result<StoredHistory, RolloutLoadError> {
        let settings = self.settings();
        let usage = self.usage();
        let limits = settings.as_ref().and_then(|settings| settings.limits);
        let of_turn = |settings: TurnContextSettings| {
            let disabled = settings.disabled_plugin_ids;
            (Some(settings.model), settings.effort, disabled)
        };
        let changed = self.changed_settings();
        let newest = changed.as_ref().filter(|_| !self.has_turn_since);
        let (model, effort, disabled_plugins) = match newest.map(|changed| &changed.thread_settings)
        {
            Some(newest) => (
                Some(newest.model.clone()),
                newest.reasoning_effort.clone(),
                newest.disabled_plugin_ids.clone(),
            ),
            None => settings.map_or((None, None, Vec::new()), of_turn),
        };
        let (turns, ranges) = self.fold.into_turns_and_ranges();
        if let (Some(outline), Some(ranges)) = (self.outline, ranges) {
            outlines.add(outline.finish(ranges), self.form, &turns);
        }
        Ok(StoredHistory {
            meta: self.meta.ok_or(RolloutLoadError::NoMeta)?,
            preview: self.preview.unwrap_or_default(),
            turns,
            model,
            effort,
            limits,
            disabled_plugins,
            changed_settings: changed.and_then(|changed| changed.settings),
            is_interrupted: self.is_interrupted,
            usage,
        })
    }

    fn usage(&self) -> Option<TokenUsageInfo> {
        let line = std::str::from_utf8(&self.usage).ok()?;
        let line = RawRolloutLine::read(line).ok()?;
        let count: TokenCountEvent = serde_json::from_str(line.payload.get()).ok()?;
        count.info
    }

    fn changed_settings(&self) -> Option<SettingsApplied> {
        let line = std::str::from_utf8(&self.changed_settings).ok()?;
        let line = RawRolloutLine::read(line).ok()?;
        serde_json::from_str(line.payload.get()).ok()
    }

    fn settings(&self) -> Option<TurnContextSettings> {
        let line = std::str::from_utf8(&self.settings).ok()?;
        let line = RawRolloutLine::read(line).ok()?;
        serde_json::from_str(line.payload.get()).ok()
    }
}

/// The type of the line about a change of the settings without a turn, as other engines write it.
pub(crate) const SETTINGS_APPLIED: &str = "thread_settings_applied";

#[derive(Deserialize)]
struct SettingsApplied {
    thread_settings: ChangedSettings,
    /// All settings; only this program writes them.
    #[serde(default)]
    settings: Option<ThreadSettings>,
}

#[derive(Deserialize)]
struct ChangedSettings {
    model: String,
    reasoning_effort: Option<ReasoningEffort>,
    #[serde(default)]
    disabled_plugin_ids: Vec<String>,
}

/// The turn settings that are shown with a thread. The others differ between versions.
#[derive(Deserialize)]
struct TurnContextSettings {
    model: String,
    effort: Option<ReasoningEffort>,
    #[serde(default)]
    limits: Option<ThreadLimits>,
    #[serde(default)]
    disabled_plugin_ids: Vec<String>,
}
