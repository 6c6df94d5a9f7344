//! Prints a thread for people while it streams.
//!
//! Control sequences are removed from all text of models and commands.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{
    CommandExecutionStatus, FileUpdateChange, McpServerElicitationRequest, PatchApplyStatus,
    PatchChangeKind, ThreadItem, TurnPlanStep, TurnPlanStepStatus, TurnStatus,
};
use codex_visible_text::visible_script;

use crate::answer::{ServerQuestion, UserDecision};
use crate::command_line::command_script;
use crate::question_texts::{question_texts, server_question};
use crate::style::{Mark, Style};
use crate::text::harmless;
use crate::wrap::Wrap;

/// The number of output lines that are printed per command.
const OUTPUT_LINES: usize = 24;

/// The number of diff lines that are printed.
const DIFF_LINES: usize = 120;

const INDENT: &str = "  ";

/// After how many seconds a spinner shows that the model is waited for.
const SPINNER_AFTER: u64 = 3;

/// After how many seconds a line says so where there is no spinner, and then again and again.
const FIRST_NOTICE: u64 = 15;
const NOTICE_INTERVAL: u64 = 60;

const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

/// Prints a session.
#[derive(Debug)]
pub struct Transcript<W> {
    out: W,
    style: Style,
    width: usize,
    open: OpenBlock,
    /// Lines of output that were shown of each command, and whether the last one has ended.
    outputs: HashMap<String, usize>,
    /// Items whose text was streamed; it is not printed again.
    streamed: HashMap<String, ()>,
    /// Commands that were printed.
    commands: HashMap<String, String>,
    /// Paths below this are shown without it.
    folder: Option<PathBuf>,
    begun: bool,
    /// How many items have begun that show themselves what they wait for.
    running: usize,
    /// Whether the line of the cursor says that the model is waited for.
    shows_waiting: bool,
}

/// The block of the current line.
#[derive(Debug)]
enum OpenBlock {
    Nothing,
    /// Streamed text.
    Text(String, Box<Wrap>),
    /// The output of a command, and the part of its last line that is not printed yet.
    Output(String, String),
}

impl<W: Write> Transcript<W> {
    /// Prints to `out`, in lines of `width`.
    pub fn new(out: W, style: Style, width: usize) -> Self {
        Self {
            out,
            style,
            width: width.clamp(40, 100),
            open: OpenBlock::Nothing,
            outputs: HashMap::new(),
            streamed: HashMap::new(),
            commands: HashMap::new(),
            folder: None,
            begun: false,
            running: 0,
            shows_waiting: false,
        }
    }

    /// Prints paths relative to this folder.
    #[must_use]
    pub fn seen_from(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Prints a prompt of the user.
    ///
    /// # Errors
    /// Writing failed.
    pub fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.block("You", "", text)
    }

    /// Prints a block with a heading.
    ///
    /// # Errors
    /// Writing failed.
    pub fn block(&mut self, heading: &str, aside: &str, text: &str) -> io::Result<()> {
        self.heading(heading, aside)?;
        let mut wrap = Wrap::new(self.style, self.width, INDENT, None);
        let text = wrap.push(&harmless(text)) + &wrap.finish();
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Prints a block of names and what stands for them, each on a line that is not broken.
    ///
    /// # Errors
    /// Writing failed.
    pub fn list(&mut self, heading: &str, lines: &[(&str, String)]) -> io::Result<()> {
        self.heading(heading, "")?;
        for (name, value) in lines {
            let name = self.style.mark(Mark::Dim, &format!("{name:<8}"));
            writeln!(self.out, "{INDENT}{name} {}", harmless(value))?;
        }
        self.out.flush()
    }

    /// Prints a notification, if it is of interest to people.
    ///
    /// # Errors
    /// Writing failed.
    pub fn on_notification(&mut self, notification: &ServerNotification) -> io::Result<()> {
        use ServerNotification as N;
        self.clear_waiting()?;
        match notification {
            N::ItemStarted(it) => {
                self.running += usize::from(!is_of_model(&it.item));
                self.started(&it.item)?;
            }
            N::ItemCompleted(it) => {
                let ended = usize::from(!is_of_model(&it.item));
                self.running = self.running.saturating_sub(ended);
                self.completed(&it.item)?;
            }
            N::AgentMessageDelta(it) => self.text(&it.item_id, "Codex", None, &it.delta)?,
            N::PlanDelta(it) => self.text(&it.item_id, "Proposal", None, &it.delta)?,
            N::ReasoningSummaryTextDelta(it) => self.reasoning(&it.item_id, &it.delta)?,
            N::ReasoningTextDelta(it) => self.reasoning(&it.item_id, &it.delta)?,
            N::ReasoningSummaryPartAdded(it) if it.summary_index > 0 => {
                self.reasoning(&it.item_id, "\n\n")?;
            }
            N::CommandExecutionOutputDelta(it) => self.output(&it.item_id, &it.delta)?,
            N::TurnPlanUpdated(it) => self.plan(&it.plan)?,
            N::Error(it) => {
                let heading = if it.will_retry { "Again" } else { "Error" };
                self.failure(heading, &it.error.message)?;
                if let Some(details) = &it.error.additional_details {
                    self.line(Some(Mark::Dim), details)?;
                }
            }
            N::ConfigWarning(it) => self.failure("Warning", &it.summary)?,
            N::Warning(it) => self.failure("Warning", &it.message)?,
            N::TurnCompleted(it) => self.close(it.turn.status)?,
            _ => {}
        }
        self.out.flush()
    }

    /// Says that nothing has come from the model for so long, unless a tool runs or text is shown. Where there are colours
    /// that is one line, which goes away with the next output; elsewhere a line after some time, and then each minute.
    ///
    /// # Errors
    /// Writing failed.
    pub fn waiting(&mut self, silence: Duration) -> io::Result<()> {
        if self.running > 0 || !matches!(self.open, OpenBlock::Nothing) {
            return Ok(());
        }
        let seconds = silence.as_secs();
        let text = format!("waiting for the model, {seconds} s");
        let text = self.style.mark(Mark::Dim, &text);
        if self.style == Style::Colour && seconds >= SPINNER_AFTER {
            let sign = SPINNER[usize::try_from(seconds).unwrap_or_default() % SPINNER.len()];
            self.clear_waiting()?;
            self.shows_waiting = true;
            write!(self.out, "{INDENT}{sign} {text}")?;
        } else if self.style == Style::Plain
            && (seconds == FIRST_NOTICE || seconds.is_multiple_of(NOTICE_INTERVAL))
        {
            writeln!(self.out, "{INDENT}({text})")?;
        }
        self.out.flush()
    }

    fn clear_waiting(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.shows_waiting) {
            self.out.write_all(b"\r\x1b[K")?;
        }
        Ok(())
    }

    /// Prints a question, without a line end.
    ///
    /// # Errors
    /// Writing failed.
    pub fn ask(&mut self, question: ServerQuestion<'_>) -> io::Result<()> {
        self.clear_waiting()?;
        self.end_open()?;
        let (what, texts) = match question {
            ServerQuestion::Command(it) => {
                self.command_once(&it.item_id, it.command.as_deref().unwrap_or_default())?;
                let justification = it.justification.as_deref();
                let notice = it.engine_notice.as_deref();
                let texts = question_texts(notice, it.reason.as_deref(), justification);
                ("Run this command?", texts)
            }
            ServerQuestion::Patch(it) => {
                let notice = it.engine_notice.as_deref();
                let texts = question_texts(notice, it.reason.as_deref(), None);
                ("Apply this patch?", texts)
            }
            ServerQuestion::Permissions(it) => {
                let justification = it.justification.as_deref();
                let notice = it.engine_notice.as_deref();
                let texts = question_texts(notice, it.reason.as_deref(), justification);
                ("Give these permissions?", texts)
            }
            ServerQuestion::Agreement(it) => {
                let text = match &it.request {
                    McpServerElicitationRequest::Form { meta, message, .. } => {
                        vec![server_question(&it.server_name, message, meta)]
                    }
                    _ => Vec::new(),
                };
                ("Agree?", text)
            }
            ServerQuestion::Choices(it) => {
                self.choices(it)?;
                ("Take the first choice?", Vec::new())
            }
        };
        for text in texts {
            self.line(None, &text)?;
        }
        let what = self.style.mark(Mark::Question, what);
        let keys = "[y]es, [a]lways, [n]o, [c]ancel the turn:";
        write!(self.out, "{INDENT}{what} {keys} ")?;
        self.out.flush()
    }

    /// Prints the decision after a question that was answered automatically.
    ///
    /// # Errors
    /// Writing failed.
    pub fn answered(&mut self, decision: UserDecision) -> io::Result<()> {
        let word = match decision {
            UserDecision::Accept => "yes",
            UserDecision::AcceptForSession => "always",
            UserDecision::Decline => "no",
            UserDecision::Cancel => "cancel",
        };
        writeln!(self.out, "{word}")?;
        self.out.flush()
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn choices(
        &mut self,
        asked: &codex_app_server_protocol::v2::ToolRequestUserInputParams,
    ) -> io::Result<()> {
        for question in &asked.questions {
            self.heading("Question", &question.header)?;
            self.line(None, &question.question)?;
            for option in question.options.iter().flatten() {
                let text = format!("- {}: {}", option.label, option.description);
                self.line(None, &text)?;
            }
        }
        Ok(())
    }

    fn started(&mut self, item: &ThreadItem) -> io::Result<()> {
        match item {
            ThreadItem::CommandExecution { id, command, .. } => self.command_once(id, command),
            ThreadItem::FileChange { changes, .. } => self.patch(changes),
            ThreadItem::McpToolCall { server, tool, .. } => {
                self.heading("Tool", &format!("{server}/{tool}"))
            }
            ThreadItem::DynamicToolCall { tool, .. } => self.heading("Tool", tool),
            ThreadItem::EnteredReviewMode { review, .. } => self.heading("Review", review),
            ThreadItem::ContextCompaction { .. } => {
                self.heading("Compaction", "the conversation is made shorter")
            }
            _ => Ok(()),
        }
    }

    fn completed(&mut self, item: &ThreadItem) -> io::Result<()> {
        match item {
            ThreadItem::AgentMessage { id, text, .. } => self.whole(id, "Codex", &text.as_str()),
            ThreadItem::Plan { id, text } => self.whole(id, "Proposal", text),
            ThreadItem::Reasoning {
                id,
                summary,
                content,
            } => {
                let parts = if summary.is_empty() { content } else { summary };
                if !parts.is_empty() && !self.streamed.contains_key(id) {
                    self.reasoning(id, &parts.join("\n\n"))?;
                }
                self.end_open()
            }
            ThreadItem::CommandExecution {
                id,
                status,
                exit_code,
                duration_ms,
                aggregated_output,
                ..
            } => {
                if !self.outputs.contains_key(id) {
                    let output = aggregated_output.clone().unwrap_or_default();
                    self.output(id, &output.as_str())?;
                }
                self.command_end(id, *status, *exit_code, *duration_ms)
            }
            ThreadItem::FileChange { status, .. } => self.patch_end(*status),
            ThreadItem::WebSearch { query, .. } => self.heading("Web search", query),
            ThreadItem::ImageView { path, .. } => self.heading("Image", path),
            _ => Ok(()),
        }
    }

    fn heading(&mut self, heading: &str, aside: &str) -> io::Result<()> {
        self.end_open()?;
        if self.begun {
            writeln!(self.out)?;
        }
        self.begun = true;
        let heading = self.style.mark(Mark::Heading, heading);
        let aside = harmless(aside);
        let gap = if aside.is_empty() { "" } else { "  " };
        writeln!(self.out, "{heading}{gap}{aside}")
    }

    fn line(&mut self, mark: Option<Mark>, text: &str) -> io::Result<()> {
        let mut wrap = Wrap::new(self.style, self.width, INDENT, mark);
        let text = wrap.push(&harmless(text)) + &wrap.finish();
        self.out.write_all(text.as_bytes())
    }

    fn failure(&mut self, heading: &str, message: &str) -> io::Result<()> {
        self.heading(heading, "")?;
        self.line(Some(Mark::Bad), message)
    }

    fn reasoning(&mut self, id: &str, delta: &str) -> io::Result<()> {
        self.text(id, "Reasoning", Some(Mark::Dim), delta)
    }

    /// Prints a piece of streamed text.
    fn text(&mut self, id: &str, heading: &str, mark: Option<Mark>, delta: &str) -> io::Result<()> {
        let goes_on = matches!(&self.open, OpenBlock::Text(open, _) if open == id);
        if !goes_on {
            self.heading(heading, "")?;
            let wrap = Wrap::new(self.style, self.width, INDENT, mark);
            self.open = OpenBlock::Text(id.to_owned(), Box::new(wrap));
            self.streamed.insert(id.to_owned(), ());
        }
        if let OpenBlock::Text(_, wrap) = &mut self.open {
            let text = wrap.push(&harmless(delta));
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn whole(&mut self, id: &str, heading: &str, text: &str) -> io::Result<()> {
        if !self.streamed.contains_key(id) && !text.is_empty() {
            self.text(id, heading, None, text)?;
        }
        self.end_open()
    }

    /// Prints a command, unless this one was printed as this item. The model may use an id for two commands.
    fn command_once(&mut self, id: &str, command: &str) -> io::Result<()> {
        let before = self.commands.insert(id.to_owned(), command.to_owned());
        if before.as_deref() == Some(command) {
            return Ok(());
        }
        self.heading("Command", "")?;
        for (index, line) in harmless(&visible_script(&command_script(command)))
            .lines()
            .enumerate()
        {
            let sign = if index == 0 { '$' } else { '>' };
            let line = self.style.mark(Mark::Bold, line);
            writeln!(self.out, "{INDENT}{sign} {line}")?;
        }
        Ok(())
    }

    /// Prints whole lines of command output, up to the limit.
    fn output(&mut self, id: &str, delta: &str) -> io::Result<()> {
        let mut held = match std::mem::replace(&mut self.open, OpenBlock::Nothing) {
            OpenBlock::Output(open, held) if open == id => held,
            other => {
                self.open = other;
                self.end_open()?;
                String::new()
            }
        };
        let shown = self.outputs.entry(id.to_owned()).or_default();
        held.push_str(delta);
        while let Some(end) = held.find('\n') {
            let line: String = held.drain(..=end).collect();
            *shown += 1;
            if *shown <= OUTPUT_LINES {
                write_output(&mut self.out, self.style, self.width, &line)?;
            }
        }
        self.open = OpenBlock::Output(id.to_owned(), held);
        Ok(())
    }

    fn command_end(
        &mut self,
        id: &str,
        status: CommandExecutionStatus,
        exit_code: Option<i32>,
        duration_ms: Option<i64>,
    ) -> io::Result<()> {
        self.end_open()?;
        let more = self
            .outputs
            .remove(id)
            .unwrap_or(0)
            .saturating_sub(OUTPUT_LINES);
        if more > 0 {
            let text = self.style.mark(Mark::Dim, &format!("({more} more lines)"));
            writeln!(self.out, "{INDENT}{text}")?;
        }
        let code = exit_code.unwrap_or(-1);
        let took = duration_ms.map(|ms| format!(" after {}", duration(ms)));
        let took = took.unwrap_or_default();
        let (mark, text) = match status {
            CommandExecutionStatus::Declined => (Mark::Bad, "declined".to_owned()),
            CommandExecutionStatus::InProgress => (Mark::Dim, "still runs".to_owned()),
            CommandExecutionStatus::Completed if code == 0 => (Mark::Good, format!("done{took}")),
            _ => (Mark::Bad, format!("exit code {code}{took}")),
        };
        writeln!(self.out, "{INDENT}{}", self.style.mark(mark, &text))
    }

    fn patch(&mut self, changes: &[FileUpdateChange]) -> io::Result<()> {
        for change in changes {
            let (heading, target) = match &change.kind {
                PatchChangeKind::Add => ("New file", None),
                PatchChangeKind::Delete => ("Deleted file", None),
                PatchChangeKind::Update { move_path } => ("Patch", move_path.as_deref()),
            };
            let aside = match target {
                Some(target) => format!("{} -> {}", self.seen(&change.path), self.seen(target)),
                None => self.seen(&change.path).to_owned(),
            };
            self.heading(heading, &aside)?;
            self.diff(change)?;
        }
        Ok(())
    }

    fn seen<'a>(&self, path: &'a str) -> &'a str {
        let below = self
            .folder
            .as_ref()
            .and_then(|folder| Path::new(path).strip_prefix(folder).ok());
        below.and_then(Path::to_str).unwrap_or(path)
    }

    fn diff(&mut self, change: &FileUpdateChange) -> io::Result<()> {
        let whole = match change.kind {
            PatchChangeKind::Add => Some('+'),
            PatchChangeKind::Delete => Some('-'),
            PatchChangeKind::Update { .. } => None,
        };
        let text = harmless(&change.diff);
        let lines = text.lines().count();
        for line in text.lines().take(DIFF_LINES) {
            let line = whole.map_or_else(|| line.to_owned(), |sign| format!("{sign}{line}"));
            let line = match line.chars().next() {
                Some('+') => self.style.mark(Mark::Good, &line),
                Some('-') => self.style.mark(Mark::Bad, &line),
                Some('@') => self.style.mark(Mark::Dim, &line),
                _ => line,
            };
            writeln!(self.out, "{INDENT}{line}")?;
        }
        if lines > DIFF_LINES {
            let more = format!("({} more lines)", lines - DIFF_LINES);
            writeln!(self.out, "{INDENT}{}", self.style.mark(Mark::Dim, &more))?;
        }
        Ok(())
    }

    fn patch_end(&mut self, status: PatchApplyStatus) -> io::Result<()> {
        self.end_open()?;
        let (mark, text) = match status {
            PatchApplyStatus::Completed => (Mark::Good, "applied"),
            PatchApplyStatus::Failed => (Mark::Bad, "not applied: it does not fit"),
            PatchApplyStatus::Declined => (Mark::Bad, "declined"),
            PatchApplyStatus::InProgress => return Ok(()),
        };
        writeln!(self.out, "{INDENT}{}", self.style.mark(mark, text))
    }

    fn plan(&mut self, plan: &[TurnPlanStep]) -> io::Result<()> {
        self.heading("Plan", "")?;
        for step in plan {
            let (mark, sign) = match step.status {
                TurnPlanStepStatus::Completed => (Some(Mark::Good), "[x]"),
                TurnPlanStepStatus::InProgress => (Some(Mark::Bold), "[>]"),
                TurnPlanStepStatus::Pending => (None, "[ ]"),
            };
            self.line(mark, &format!("{sign} {}", step.step))?;
        }
        Ok(())
    }

    fn close(&mut self, status: TurnStatus) -> io::Result<()> {
        self.end_open()?;
        match status {
            TurnStatus::Interrupted => self.heading("Interrupted", ""),
            _ => Ok(()),
        }
    }

    /// Ends the current line.
    fn end_open(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.open, OpenBlock::Nothing) {
            OpenBlock::Nothing => {}
            OpenBlock::Text(_, mut wrap) => self.out.write_all(wrap.finish().as_bytes())?,
            OpenBlock::Output(id, held) if !held.is_empty() => {
                let shown = self.outputs.entry(id).or_default();
                *shown += 1;
                if *shown <= OUTPUT_LINES {
                    write_output(&mut self.out, self.style, self.width, &held)?;
                }
            }
            OpenBlock::Output(..) => {}
        }
        Ok(())
    }
}

/// Prints a line of output, cut to the width of the terminal.
fn write_output(out: &mut impl Write, style: Style, width: usize, line: &str) -> io::Result<()> {
    let line = harmless(line.trim_end_matches(['\r', '\n']));
    let room = width - INDENT.len() - 2;
    let mut shown: String = line.chars().take(room).collect();
    if line.chars().nth(room).is_some() {
        shown.pop();
        shown.push('…');
    }
    writeln!(out, "{INDENT}{} {shown}", style.mark(Mark::Dim, "|"))
}

fn duration(ms: i64) -> String {
    if ms < 1000 {
        format!("{ms} ms")
    } else {
        format!("{}.{} s", ms / 1000, ms % 1000 / 100)
    }
}

/// Whether an item is what the model says, which is not a tool that runs.
fn is_of_model(item: &ThreadItem) -> bool {
    matches!(
        item,
        ThreadItem::UserMessage { .. }
            | ThreadItem::AgentMessage { .. }
            | ThreadItem::Reasoning { .. }
            | ThreadItem::Plan { .. }
    )
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
