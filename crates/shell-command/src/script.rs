//! Finds the commands in the text of any script.

use tree_sitter::Node;

use crate::bash::{self, plain_commands};
use crate::command_words::CommandWord;
use crate::launch_targets::changes_what_runs;
use crate::word::ShellWord;

/// Limit on the words that one word with braces expands to.
const MAX_BRACE_WORDS: usize = 64;

/// Builtins that evaluate their arguments, in which a subscript may contain a substitution.
const EVALUATE: [&str; 13] = [
    "[", "[[", "declare", "export", "getopts", "let", "local", "printf", "read", "readonly",
    "test", "typeset", "unset",
];

/// The commands of a script.
#[derive(Debug, Default)]
pub(crate) struct ScriptCommands {
    pub(crate) commands: Vec<Vec<CommandWord>>,
    /// Whether the whole text was understood.
    pub(crate) complete: bool,
}

pub(crate) fn read_script(text: &str) -> ScriptCommands {
    let mut script = ScriptCommands {
        complete: true,
        ..ScriptCommands::default()
    };
    if let Some(commands) = plain_commands(text) {
        for command in commands {
            script.push(command.words.iter().map(tokens_of).collect());
        }
        return script;
    }
    let only_blanks_and_comments = |line: &str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with('#')
    };
    if text.lines().all(only_blanks_and_comments) {
        return script;
    }
    let Some(tree) = bash::parse(text) else {
        script.scan_text(text);
        return script;
    };
    script.complete = !tree.root_node().has_error();
    if !script.complete {
        script.scan_text(text);
    }
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        script.node(node, text);
        pending.extend(node.children(&mut node.walk()));
    }
    script
}

impl ScriptCommands {
    fn node(&mut self, node: Node<'_>, text: &str) {
        let source = text.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            "command" => self.command(node, text),
            "variable_assignment" => {
                let name = source.split(['=', '+', '[']).next().unwrap_or_default();
                self.complete &= !changes_what_runs(name);
            }
            // `${x@P}` evaluates the value.
            "expansion" => self.complete &= !source.contains('@') || source.contains("[@]"),
            "raw_string" | "ansi_c_string" if source.contains("$(") || source.contains('`') => {
                self.complete &= !is_evaluated(node, text);
            }
            _ => {}
        }
    }

    /// Adds a command without its assignments and redirections.
    fn command(&mut self, node: Node<'_>, text: &str) {
        const LEFT_OUT: [&str; 3] = [
            "variable_assignment",
            "file_redirect",
            "herestring_redirect",
        ];
        let mut words = Vec::new();
        let mut read_to = None;
        for child in node.named_children(&mut node.walk()) {
            if LEFT_OUT.contains(&child.kind()) {
                read_to = None;
                continue;
            }
            let source = text.get(child.byte_range()).unwrap_or_default();
            // Two nodes without a gap may be one word.
            self.complete &= read_to != Some(child.start_byte());
            read_to = Some(child.end_byte());
            words.push(match ShellWord::parse(source) {
                Some(word) => tokens_of(&word),
                None => vec![vec![CommandWord::Unknown]],
            });
        }
        self.push(words);
    }

    /// Adds a command whose words have several possible expansions. Uses only all first and all last expansions, which
    /// covers all combinations if no word has more than two.
    fn push(&mut self, words: Vec<Vec<Vec<CommandWord>>>) {
        let first = words.iter().filter_map(|choices| choices.first());
        let last = words.iter().filter_map(|choices| choices.last());
        let (first, last): (Vec<CommandWord>, Vec<CommandWord>) = (
            first.flatten().cloned().collect(),
            last.flatten().cloned().collect(),
        );
        if first != last {
            self.commands.push(last);
        }
        self.commands.push(first);
    }

    /// For scripts that cannot be parsed: any text between separators may be a command.
    fn scan_text(&mut self, text: &str) {
        self.complete = false;
        let bare = |word: &str| CommandWord::Fixed(word.replace(['\'', '"', '\\'], ""));
        for part in text.split(|c: char| ";|&\n(){}`".contains(c)) {
            let words: Vec<CommandWord> = part.split_whitespace().map(bare).collect();
            if !words.is_empty() {
                self.commands.push(words);
            }
        }
    }
}

/// The possible expansions of a word: itself, its brace expansion, or unknown.
fn tokens_of(word: &ShellWord) -> Vec<Vec<CommandWord>> {
    if word.is_fixed() {
        return vec![vec![CommandWord::Fixed(word.text.clone())]];
    }
    let is_plain = !word.text.contains(['*', '?', '[', '~', ',']) && !word.text.contains("..");
    if is_plain {
        return vec![vec![CommandWord::Fixed(word.text.clone())]];
    }
    let unknown = vec![CommandWord::Unknown];
    match expand_braces(&word.text) {
        Some(words) => vec![words.into_iter().map(CommandWord::Fixed).collect(), unknown],
        None => vec![unknown],
    }
}

/// The brace expansion of a word without other expansions.
fn expand_braces(text: &str) -> Option<Vec<String>> {
    if text.contains(['*', '?', '[', '~']) {
        return None;
    }
    let mut done = Vec::new();
    let mut pending = vec![text.to_owned()];
    while let Some(text) = pending.pop() {
        if pending.len() + done.len() > MAX_BRACE_WORDS {
            return None;
        }
        // Innermost braces are expanded first.
        let Some((end, start)) =
            (text.find('}')).and_then(|end| Some((end, text[..end].rfind('{')?)))
        else {
            done.push(text);
            continue;
        };
        let (before, inner, after) = (&text[..start], &text[start + 1..end], &text[end + 1..]);
        if !inner.contains(',') {
            return None;
        }
        pending.extend(
            inner
                .split(',')
                .rev()
                .map(|choice| format!("{before}{choice}{after}")),
        );
    }
    done.retain(|word| !word.is_empty());
    Some(done)
}

/// Whether bash evaluates a literal in this position: in arithmetic, a subscript, an assignment, a test.
fn is_evaluated(node: Node<'_>, text: &str) -> bool {
    let mut above = node.parent();
    while let Some(node) = above {
        if node.kind() == "command" {
            let name = node.child_by_field_name("name");
            let name = name
                .and_then(|name| text.get(name.byte_range()))
                .and_then(ShellWord::parse);
            return name.is_none_or(|name| EVALUATE.contains(&name.text.as_str()));
        }
        above = node.parent();
    }
    true
}
