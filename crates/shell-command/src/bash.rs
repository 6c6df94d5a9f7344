//! Parses bash scripts that consist of simple commands only.
//!
//! Two parsers must agree: the grammar, whose node kinds must be in a short list, and [`ShellWord`], which parses the
//! source of each word independently.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::word::ShellWord;

/// Longer scripts are not parsed and count as not understood.
const MAX_SCRIPT_BYTES: usize = 64 * 1024;

/// Limit on pipes, because the parse time grows with their square.
const MAX_PIPES: usize = 256;

/// Limit on the parse time. No script that a person would write exceeds it.
const TIME_TO_PARSE: Duration = Duration::from_millis(250);

/// Words that begin another construct than a simple command. The grammar does not recognize all of them everywhere.
const RESERVED_WORDS: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while", "{", "}",
];

/// A simple command of a plain script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    pub(crate) words: Vec<ShellWord>,
    pub(crate) joined: Connector,
}

/// How a command is connected to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connector {
    /// The first command, or one after `;` or a newline.
    Next,
    And,
    Or,
    Pipe,
}

impl SimpleCommand {
    pub(crate) fn texts(&self) -> Vec<String> {
        self.words.iter().map(|word| word.text.clone()).collect()
    }
}

/// Parses a script of simple commands connected by `&&`, `||`, `;`, `|` or newlines. The words contain no expansions
/// except globs and braces, which stay as written. `None` for any other script and for an empty one.
pub fn parse_plain_commands(script: &str) -> Option<Vec<Vec<String>>> {
    let commands = plain_commands(script)?;
    Some(commands.iter().map(SimpleCommand::texts).collect())
}

/// Like [`parse_plain_commands`], with more information about the words. The last script is cached, because several checks
/// look at the same command.
pub(crate) fn plain_commands(script: &str) -> Option<Vec<SimpleCommand>> {
    type CachedScript = (String, Option<Vec<SimpleCommand>>);
    thread_local! {
        static LAST_SCRIPT: RefCell<Option<CachedScript>> = const { RefCell::new(None) };
    }
    LAST_SCRIPT.with_borrow_mut(|last| match last {
        Some((known, commands)) if known == script => commands.clone(),
        _ => {
            let commands = read_plain_commands(script);
            if script.len() <= MAX_SCRIPT_BYTES {
                *last = Some((script.to_owned(), commands.clone()));
            }
            commands
        }
    })
}

fn read_plain_commands(script: &str) -> Option<Vec<SimpleCommand>> {
    let tree = parse(script)?;
    let root = tree.root_node();
    if root.has_error() {
        return None;
    }
    let mut commands = Vec::new();
    let mut joined = Connector::Next;
    let mut after_command = false;
    let mut read_to = 0;
    // Depth first in source order. An explicit stack avoids the recursion that a long chain would overflow.
    let mut ahead = vec![root];
    while let Some(node) = ahead.pop() {
        match node.kind() {
            "program" | "list" | "pipeline" => {
                let children: Vec<Node<'_>> = node.children(&mut node.walk()).collect();
                ahead.extend(children.into_iter().rev());
                continue;
            }
            "command" => {
                let words = simple_command(node, script)?;
                commands.push(SimpleCommand { words, joined });
                joined = Connector::Next;
            }
            "&&" => joined = Connector::And,
            "||" => joined = Connector::Or,
            "|" => joined = Connector::Pipe,
            ";" => joined = Connector::Next,
            _ => return None,
        }
        let gap = NodeGap::parse(script.get(read_to..node.start_byte())?)?;
        let is_command = node.kind() == "command";
        if after_command && is_command && gap != NodeGap::Newline {
            return None;
        }
        after_command = is_command;
        read_to = node.end_byte();
    }
    NodeGap::parse(script.get(read_to..)?)?;
    (!commands.is_empty()).then_some(commands)
}

/// Parses a script into a tree, which contains error nodes for invalid parts. Offsets refer to `script`, so the text of a
/// node must be taken from there.
pub(crate) fn parse(script: &str) -> Option<Tree> {
    let too_large = script.len() > MAX_SCRIPT_BYTES || script.matches('|').count() > MAX_PIPES;
    if too_large || script.contains('\0') {
        return None;
    }
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let ascii = in_ascii(script);
    let started = Instant::now();
    let mut still_in_time = |_: &ParseState| {
        if started.elapsed() < TIME_TO_PARSE {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut still_in_time);
    let mut source = |offset: usize, _| ascii.as_bytes().get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut source, None, Some(options))
}

/// Replaces each non-ASCII character by as many letters as it has bytes.
///
/// The grammar's scanner passes characters to the C library's character classification, which reads out of bounds for
/// values outside its table and can crash. To bash such characters are parts of words, as letters are. No keyword contains
/// two or more `u` in a row.
fn in_ascii(script: &str) -> Cow<'_, str> {
    if script.is_ascii() {
        return Cow::Borrowed(script);
    }
    let mut ascii = String::with_capacity(script.len());
    for c in script.chars() {
        match c {
            '\0'..='\x7f' => ascii.push(c),
            _ => ascii.extend(std::iter::repeat_n('u', c.len_utf8())),
        }
    }
    Cow::Owned(ascii)
}

/// The words of a `command` node, if it has no other parts.
fn simple_command(node: Node<'_>, script: &str) -> Option<Vec<ShellWord>> {
    let mut words = Vec::new();
    let mut read_to = node.start_byte();
    for child in node.children(&mut node.walk()) {
        let source = script.get(child.byte_range())?;
        let word = match child.kind() {
            "command_name" if words.is_empty() => word(child.named_child(0)?, source)?,
            _ if words.is_empty() => return None,
            _ => word(child, source)?,
        };
        if words.is_empty() && (!word.is_fixed() || RESERVED_WORDS.contains(&source)) {
            return None;
        }
        let gap = NodeGap::parse(script.get(read_to..child.start_byte())?)?;
        if gap
            != (if words.is_empty() {
                NodeGap::Nothing
            } else {
                NodeGap::Blank
            })
        {
            return None;
        }
        read_to = child.end_byte();
        words.push(word);
    }
    (!words.is_empty() && read_to == node.end_byte()).then_some(words)
}

fn word(node: Node<'_>, source: &str) -> Option<ShellWord> {
    let mut ahead = vec![node];
    while let Some(node) = ahead.pop() {
        match node.kind() {
            "word" | "number" | "raw_string" | "string_content" | "\"" => {}
            "string" | "concatenation" => ahead.extend(node.children(&mut node.walk())),
            _ => return None,
        }
    }
    ShellWord::parse(source)
}

/// The text between two nodes. The grammar sometimes splits what is a single word to bash, and treats more characters as
/// blanks, so gaps are checked too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeGap {
    Nothing,
    Blank,
    /// At least one newline, possibly with blanks.
    Newline,
}

impl NodeGap {
    /// `None` if the gap contains anything except blanks and newlines. A newline after a backslash counts as nothing.
    fn parse(text: &str) -> Option<Self> {
        let text = text.replace("\\\n", "");
        if !text.chars().all(|c| matches!(c, ' ' | '\t' | '\n')) {
            None
        } else if text.contains('\n') {
            Some(Self::Newline)
        } else if text.is_empty() {
            Some(Self::Nothing)
        } else {
            Some(Self::Blank)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn plain(script: &str, expected: &[&[&str]]) {
        let expected: Vec<Vec<String>> = expected
            .iter()
            .map(|words| words.iter().map(ToString::to_string).collect())
            .collect();
        assert_eq!(parse_plain_commands(script), Some(expected), "{script}");
    }

    #[test]
    fn plain_scripts() {
        plain("ls", &[&["ls"]]);
        plain("ls;", &[&["ls"]]);
        plain(" \n ls -la \n", &[&["ls", "-la"]]);
        plain(
            "a && b || c; d | e\nf",
            &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]],
        );
        plain("a |\n b &&\n c", &[&["a"], &["b"], &["c"]]);
        plain("a \\\n -b", &[&["a", "-b"]]);
        plain(
            "ls *.rs {a,b} [ab]? ~/x a=b 12",
            &[&["ls", "*.rs", "{a,b}", "[ab]?", "~/x", "a=b", "12"]],
        );
        plain(
            "echo 'a b' \"c d\" e'f'\"g\" ''",
            &[&["echo", "a b", "c d", "efg", ""]],
        );
        plain("find . -\\delete \\;", &[&["find", ".", "-delete", ";"]]);
        plain("\"ls\" x", &[&["ls", "x"]]);
        plain("echo \"a\n  b\"", &[&["echo", "a\n  b"]]);
    }

    #[test]
    fn scripts_beyond_plain_words_are_rejected() {
        for script in [
            "",
            "  ",
            ";",
            "# c",
            "ls # c",
            "ls &",
            "ls; pwd &",
            "ls > f",
            "ls >> f",
            "ls < f",
            "ls 2>&1",
            "ls &> f",
            "X=1",
            "X=1 ls",
            "(ls)",
            "{ ls; }",
            "ls $(pwd)",
            "ls `pwd`",
            "ls $x",
            "ls \"$x\"",
            "ls ${x}",
            "ls $((1))",
            "ls <(pwd)",
            "! ls",
            "if a; then b; fi",
            "for i in a; do b; done",
            "while a; do b; done",
            "case x in x) a;; esac",
            "f() { a; }",
            "function f { a; }",
            "[[ -f x ]]",
            "((1))",
            "ls |& cat",
            "ls ||",
            "&& ls",
            "ls;;",
            "cat <<E\nx\nE",
            "cat <<< x",
            "ls 'a",
            "ls \"a",
            "ls \\",
            "ls $'x'",
            "ls $\"x\"",
            "export X=1",
            "declare x",
            "unset X",
            "$cmd",
            "*",
            "{ls,-a}",
            "ls {1..3}",
            "ls a$",
            "ls @(a|b)",
            "coproc { ls; }",
            "coproc ls",
            "time ls",
            "ls\r\npwd",
            "ls\u{a0}-x",
            "ls \u{1}",
            "[ -f x ]",
            "~/x",
        ] {
            assert_eq!(parse_plain_commands(script), None, "{script:?}");
        }
    }

    /// Each of these is one word to bash.
    #[test]
    fn words_that_the_grammar_cuts_are_not_plain() {
        for script in [
            "find . -del\\\nete",
            "find . -del\\\n*",
            "ls [\\/",
            "ls b}\\<",
            "ls 1b],^\"\"\\a",
            "l\\\ns",
            "ls },\\\nx",
        ] {
            let words = parse_plain_commands(script).map(|commands| commands.concat());
            let joined = script.replace("\\\n", "");
            assert!(
                words.is_none() || words == parse_plain_commands(&joined).map(|c| c.concat()),
                "{script:?}"
            );
        }
    }

    #[test]
    fn joints_are_noted() {
        let commands = plain_commands("a | b && c; d || e\nf").expect("plain");
        let joints: Vec<Connector> = commands.iter().map(|command| command.joined).collect();
        use Connector::{And, Next, Or, Pipe};
        assert_eq!(joints, [Next, Pipe, And, Next, Or, Next]);
    }

    #[test]
    fn the_scanner_survives_every_character() {
        for c in ['é', '\u{4e00}', '\u{1F600}', '\u{F4141}', '\u{10FFFF}'] {
            for script in [
                format!("${{ {{{c} {c}"),
                format!("(<cd{{{c} T "),
                format!("<<{c}\n{c}$x\n{c}\n"),
            ] {
                parse_plain_commands(&script);
            }
            plain(
                &format!("echo {c}x '{c}'"),
                &[&["echo", &format!("{c}x"), &c.to_string()]],
            );
        }
        assert_eq!(parse_plain_commands("ls \0"), None);
    }

    #[test]
    fn long_chains_are_read_without_recursion() {
        let script = vec!["ls"; 2_000].join(" && ");
        assert_eq!(
            parse_plain_commands(&script).map(|commands| commands.len()),
            Some(2_000)
        );
        for unfinished in ["(", "a=(", "<<a\n", "a | ", "${", "if ", "$(", "`"] {
            assert_eq!(
                parse_plain_commands(&unfinished.repeat(MAX_SCRIPT_BYTES / 4)),
                None
            );
        }
        assert_eq!(parse_plain_commands(&"a ".repeat(MAX_SCRIPT_BYTES)), None);
    }
}
