//! The words of a shell line, with what is known before it runs filled in.
//!
//! This is no parser of a shell language: it finds more words than a shell would use, never fewer. Commands in
//! substitutions, in quoted text and in here-documents are found too.

use std::collections::BTreeMap;

use crate::interpreters::is_shell;
use crate::known_programs::base_name;

/// How deeply lines in lines are read.
const MAX_DEPTH: usize = 6;
/// Limit on the words of a line and of the lines in it.
const MAX_WORDS: usize = 4096;

/// Stands for a part of a word that is not known before the line runs.
pub(crate) const UNKNOWN_CHAR: char = '\0';

/// Stands for an argument of a script or of a function in it, or for a number of the shell.
pub(crate) const ARGUMENT: char = '\u{2}';

/// What stands for parts of words that are not known.
pub(crate) const UNKNOWNS: [char; 2] = [UNKNOWN_CHAR, ARGUMENT];

/// Begins a word that names or is the input of a command.
pub(crate) const INPUT: char = '\u{1}';

/// Words after which a command begins.
const KEYWORDS: [&str; 14] = [
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "if", "then", "until",
    "while",
];

/// Builtins whose arguments are assignments.
pub(crate) const DECLARE: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// The words of a command. The first one is the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandWords(pub(crate) Vec<String>);

impl CommandWords {
    /// The words that name or are its input.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|word| word.strip_prefix(INPUT))
    }

    pub(crate) fn without_inputs(&self) -> Self {
        let words = self.0.iter().filter(|word| !word.starts_with(INPUT));
        Self(words.cloned().collect())
    }
}

/// Yields the value of a variable.
type VariableReader<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// What words are filled in with.
pub(crate) struct KnownValues<'a> {
    /// The variables of the environment.
    pub(crate) variable: VariableReader<'a>,
    /// The working folder.
    pub(crate) cwd: String,
    /// The root of the repository around the working folder.
    pub(crate) repository: Option<String>,
}

/// The commands of a line.
#[derive(Debug, Default)]
pub(crate) struct LineCommands {
    pub(crate) commands: Vec<CommandWords>,
    /// Those among them that stand in quotes: most are text for people.
    pub(crate) quoted: Vec<CommandWords>,
    /// The search paths that the line sets.
    pub(crate) search_paths: Vec<String>,
    /// Whether the line is too large or too deep to be read.
    pub(crate) gave_up: bool,
}

/// Reads a line.
pub(crate) fn read_line(line: &str, known: &KnownValues<'_>) -> LineCommands {
    let mut reader = LineReader {
        known,
        assigned: BTreeMap::new(),
        found: LineCommands::default(),
        count: 0,
        quotes: 0,
        runs_text: false,
    };
    reader.read(line, 0);
    reader.found
}

struct LineReader<'a> {
    known: &'a KnownValues<'a>,
    /// The variables that the line sets. They are known as far as their values are.
    assigned: BTreeMap<String, String>,
    found: LineCommands,
    count: usize,
    /// How many quotes are open around what is read that nothing runs.
    quotes: usize,
    /// Whether the command that is read runs text.
    runs_text: bool,
}

/// A word as it is read.
#[derive(Default)]
struct Word {
    text: String,
    /// Whether a quote or an escape is in it, so that it is no keyword.
    is_quoted: bool,
}

/// The place in a text.
struct Cursor<'t> {
    rest: &'t str,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The text up to the end of what an opening bracket began; all of it if it does not end.
    fn until_closed(&mut self, open: char, close: char) -> &'t str {
        let whole = self.rest;
        let mut depth = 1_usize;
        let mut quote = None;
        while let Some(c) = self.next() {
            let end = whole.len() - self.rest.len() - c.len_utf8();
            match (quote, c) {
                (Some('\''), c) => {
                    if c == '\'' {
                        quote = None;
                    }
                }
                (_, '\\') => drop(self.next()),
                (Some(_), '"') => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, c) if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        return &whole[..end];
                    }
                }
                (None, c) if c == open => depth += 1,
                (None, _) => {}
            }
        }
        whole
    }

    /// The text of `((…))`, if it is a number: otherwise a group begins a line.
    fn arithmetic(&mut self) -> Option<&'t str> {
        let mut rest = Cursor {
            rest: self.rest.strip_prefix("((")?,
        };
        let inner = rest.until_closed('(', ')');
        if !rest.take(")") {
            return None;
        }
        self.rest = rest.rest;
        Some(inner)
    }

    fn until(&mut self, end: char) -> &'t str {
        match self.rest.split_once(end) {
            Some((text, rest)) => {
                self.rest = rest;
                text
            }
            None => std::mem::take(&mut self.rest),
        }
    }

    fn name(&mut self) -> &'t str {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name
    }
}

impl LineReader<'_> {
    fn read(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH {
            self.found.gave_up = true;
            return;
        }
        let mut cursor = Cursor { rest: text };
        let mut command = CommandWords::default();
        let mut is_output = false;
        let mut is_input = false;
        loop {
            self.count += 1;
            if self.count > MAX_WORDS {
                self.found.gave_up = true;
                break;
            }
            let Some(c) = cursor.peek() else { break };
            match c {
                ' ' | '\t' | '\r' => drop(cursor.next()),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    cursor.next();
                    // `&>` and `>&` are outputs.
                    if c == '&' && cursor.peek() == Some('>') {
                        continue;
                    }
                    self.end(&mut command);
                    (is_output, is_input) = (false, false);
                }
                '#' if text.len() == cursor.rest.len() || self.is_after_blank(text, &cursor) => {
                    cursor.until('\n');
                    self.end(&mut command);
                }
                '<' => {
                    cursor.next();
                    if cursor.take("(") {
                        let inner = cursor.until_closed('(', ')');
                        self.read(inner, depth + 1);
                        continue;
                    }
                    while cursor.peek().is_some_and(|c| "<&-".contains(c)) {
                        cursor.next();
                    }
                    is_input = true;
                }
                '>' => {
                    cursor.next();
                    if cursor.take("(") {
                        let inner = cursor.until_closed('(', ')');
                        self.read(inner, depth + 1);
                        continue;
                    }
                    while cursor.peek().is_some_and(|c| ">|&".contains(c)) {
                        cursor.next();
                    }
                    is_output = true;
                }
                _ => {
                    self.runs_text = command.0.iter().any(|word| runs_text(word));
                    let word = self.word(&mut cursor, depth);
                    if std::mem::take(&mut is_input) {
                        command.0.push(format!("{INPUT}{}", word.text));
                    } else if !std::mem::take(&mut is_output) {
                        self.add(word, &mut command);
                    }
                }
            }
        }
        self.end(&mut command);
    }

    fn is_after_blank(&self, text: &str, cursor: &Cursor<'_>) -> bool {
        let before = &text[..text.len() - cursor.rest.len()];
        before.ends_with(|c: char| c.is_whitespace() || ";&|()".contains(c))
    }

    fn end(&mut self, command: &mut CommandWords) {
        if !command.0.is_empty() {
            let quoted = Some(command.clone()).filter(|_| self.quotes > 0);
            self.found.quoted.extend(quoted);
            self.found.commands.push(std::mem::take(command));
        }
    }

    fn add(&mut self, word: Word, command: &mut CommandWords) {
        if !word.is_quoted && word.text == "{" {
            // The body of a function.
            return self.end(command);
        }
        let is_first = command.without_inputs().0.is_empty();
        if is_first && !word.is_quoted && KEYWORDS.contains(&word.text.as_str()) {
            return;
        }
        let declares = command
            .0
            .first()
            .is_some_and(|program| DECLARE.contains(&program.as_str()));
        if let Some((name, value)) = word.text.split_once('=')
            && (is_first || declares)
            && is_identifier(name)
        {
            if name == "PATH" {
                self.found.search_paths.push(value.to_owned());
            }
            self.assigned.insert(name.to_owned(), value.to_owned());
            if is_first {
                // A file that it names may run later.
                let named = CommandWords(vec![String::new(), word.text]);
                self.found.commands.push(named);
                return;
            }
        }
        self.assign_later(command, &word.text);
        command.0.push(word.text);
    }

    /// Variables that get their values from other words, or from input.
    fn assign_later(&mut self, command: &CommandWords, word: &str) {
        match command.0.first().map(String::as_str) {
            Some("for" | "select") => match command.0.get(1) {
                // Its values are words of this line, each of which is looked at.
                None => drop(self.assigned.insert(word.to_owned(), String::new())),
                Some(name) if word.contains(UNKNOWN_CHAR) => {
                    self.assigned.insert(name.clone(), UNKNOWN_CHAR.to_string());
                }
                Some(name) if word.contains(ARGUMENT) => {
                    self.assigned.insert(name.clone(), ARGUMENT.to_string());
                }
                Some(_) => {}
            },
            Some("read" | "mapfile" | "readarray" | "getopts" | "printf") => {
                self.assigned
                    .insert(word.to_owned(), UNKNOWN_CHAR.to_string());
            }
            _ => {}
        }
    }

    fn word(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Word {
        let mut word = Word::default();
        while let Some(c) = cursor.peek() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                _ => drop(cursor.next()),
            }
            match c {
                '\\' => {
                    word.is_quoted = true;
                    match cursor.next() {
                        Some('\n') | None => {}
                        Some(c) => word.text.push(c),
                    }
                }
                '\'' => {
                    word.is_quoted = true;
                    let text = cursor.until('\'');
                    self.read_quoted(text, depth);
                    word.text.push_str(text);
                }
                '"' => {
                    word.is_quoted = true;
                    let from = word.text.len();
                    self.double_quoted(cursor, &mut word, depth);
                    let text = word.text[from..].to_owned();
                    self.read_quoted(&text, depth);
                }
                '`' => {
                    let inner = cursor.until('`').to_owned();
                    let value = self.substitution(&inner, depth);
                    word.text.push_str(&value);
                }
                '$' => self.expansion(cursor, &mut word, depth),
                '{' if braces(cursor.rest) => word.text.push(UNKNOWN_CHAR),
                // Patterns of files: `@(a|b)`. Without them, `!(a)` is a command.
                '!' | '@' | '?' | '*' | '+' if cursor.take("(") => {
                    let inner = cursor.until_closed('(', ')');
                    self.read(inner, depth + 1);
                    word.text.push('*');
                }
                '~' if word.text.is_empty() && !word.is_quoted => {
                    let name = cursor.name();
                    let is_here = name.is_empty() && cursor.rest.starts_with("+/");
                    if is_here {
                        cursor.next();
                        word.text.push('.');
                    } else if name.is_empty() && cursor.rest.starts_with(['+', '-']) {
                        word.text.push(UNKNOWN_CHAR);
                    } else if name.is_empty() {
                        let home = self.value("HOME");
                        word.text.push_str(&home);
                    } else {
                        word.text.push(UNKNOWN_CHAR);
                    }
                }
                c => word.text.push(c),
            }
        }
        word
    }

    /// Quoted text with blanks or operators in it may be a line of its own.
    fn read_quoted(&mut self, text: &str, depth: usize) {
        if text.contains(|c: char| c.is_whitespace() || ";&|()<>`$".contains(c)) {
            let runs_text = self.runs_text;
            let is_for_people = usize::from(!runs_text);
            self.quotes += is_for_people;
            self.read(text, depth + 1);
            self.quotes -= is_for_people;
            self.runs_text = runs_text;
        }
    }

    fn double_quoted(&mut self, cursor: &mut Cursor<'_>, word: &mut Word, depth: usize) {
        while let Some(c) = cursor.next() {
            match c {
                '"' => return,
                '\\' => match cursor.next() {
                    Some('\n') | None => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                    Some(c) => word.text.extend(['\\', c]),
                },
                '`' => {
                    let inner = cursor.until('`').to_owned();
                    let value = self.substitution(&inner, depth);
                    word.text.push_str(&value);
                }
                '$' => self.expansion(cursor, word, depth),
                c => word.text.push(c),
            }
        }
    }

    /// What follows a `$`.
    fn expansion(&mut self, cursor: &mut Cursor<'_>, word: &mut Word, depth: usize) {
        if let Some(number) = cursor.arithmetic() {
            self.expanded(number, depth + 1);
            word.text.push(UNKNOWN_CHAR);
        } else if cursor.take("(") {
            let inner = cursor.until_closed('(', ')').to_owned();
            let value = self.substitution(&inner, depth);
            word.text.push_str(&value);
        } else if cursor.take("{") {
            let inner = cursor.until_closed('{', '}').to_owned();
            let value = self.parameter(&inner, depth);
            word.text.push_str(&value);
        } else if cursor.peek() == Some('\'') {
            // `$'…'`: escapes in it are not read.
            let quoted = cursor
                .rest
                .get(1..)
                .and_then(|rest| rest.split('\'').next());
            if quoted.is_some_and(|text| text.contains('\\')) {
                word.text.push(UNKNOWN_CHAR);
            }
        } else {
            let name = cursor.name();
            if is_identifier(name) {
                let value = self.value(name);
                word.text.push_str(&value);
            } else if name.is_empty() && cursor.peek().is_none_or(|c| !"?$!#@*-".contains(c)) {
                word.text.push('$');
            } else {
                if name.is_empty() {
                    cursor.next();
                }
                word.text.push(ARGUMENT);
            }
        }
    }

    /// What stands between `${` and `}`.
    fn parameter(&mut self, inner: &str, depth: usize) -> String {
        let mut cursor = Cursor { rest: inner };
        let name = cursor.name().to_owned();
        let operator = [":-", "-", ":=", "="]
            .into_iter()
            .find(|operator| cursor.take(operator));
        let rest = self.expanded(cursor.rest, depth + 1);
        if !is_identifier(&name) {
            // A variable whose name another one has may have any value.
            let is_named = inner.starts_with('!') && inner.len() > 1;
            return if is_named { UNKNOWN_CHAR } else { ARGUMENT }.to_string();
        }
        let value = self.value(&name);
        match operator {
            Some(_) if value.is_empty() => rest,
            Some(_) => value,
            None if inner.len() == name.len() => value,
            None => UNKNOWN_CHAR.to_string(),
        }
    }

    /// A text that is no line, with what is known in it filled in.
    fn expanded(&mut self, text: &str, depth: usize) -> String {
        if depth > MAX_DEPTH {
            self.found.gave_up = true;
            return UNKNOWN_CHAR.to_string();
        }
        let mut cursor = Cursor { rest: text };
        let mut expanded = String::new();
        while let Some(c) = cursor.peek() {
            self.count += 1;
            if self.count > MAX_WORDS {
                self.found.gave_up = true;
                break;
            }
            let before = cursor.rest.len();
            expanded.push_str(&self.word(&mut cursor, depth).text);
            if cursor.rest.len() == before {
                // It separates words of lines.
                expanded.push(c);
                cursor.next();
            }
        }
        expanded
    }

    /// The output of a command in a word, where it is known.
    fn substitution(&mut self, inner: &str, depth: usize) -> String {
        self.read(inner, depth + 1);
        // Of several ways to find a program or a folder the first one counts.
        let mut ways = inner.split("||").map(|way| self.known_output(way));
        let first = ways.next().flatten();
        let known = first.filter(|_| ways.all(|way| way.is_some()));
        known.unwrap_or_else(|| UNKNOWN_CHAR.to_string())
    }

    fn known_output(&self, command: &str) -> Option<String> {
        let words = command.split_whitespace();
        let words: Vec<&str> = words.filter(|word| !is_discarded_output(word)).collect();
        let folder = |name: &str| {
            // Where no variable says it, no command of the sandbox decides about it.
            let value = self.value(name);
            let value = if value.is_empty() {
                "/elsewhere".to_owned()
            } else {
                value
            };
            Some(value)
        };
        match words.as_slice() {
            ["pwd"] => Some(self.known.cwd.clone()),
            ["git", "rev-parse", "--show-toplevel"] => self.known.repository.clone(),
            ["which", program] | ["command", "-v", program] | ["type", "-P", program]
                if !program.contains(['$', '`', '"', '\'']) =>
            {
                Some((*program).to_owned())
            }
            ["brew", "--prefix", ..] => folder("HOMEBREW_PREFIX"),
            ["pyenv", "root"] => folder("PYENV_ROOT"),
            ["go", "env", name] if !["GOMOD", "GOWORK"].contains(name) => folder(name),
            ["npm" | "pnpm" | "yarn", "bin"] => Some("node_modules/.bin".to_owned()),
            // Settings of installed programs, none of which is of the workspace.
            ["brew", "shellenv", ..]
            | ["fnm" | "opam", "env", ..]
            | ["nodenv" | "pyenv" | "rbenv", "init", ..]
            | ["ssh-agent", ..] => Some(String::new()),
            ["npm" | "pnpm", "root"] => Some("node_modules".to_owned()),
            _ => None,
        }
    }

    /// The value of a variable. One that is not set is empty.
    fn value(&self, name: &str) -> String {
        if let Some(value) = self.assigned.get(name) {
            return value.clone();
        }
        match name {
            "PWD" => self.known.cwd.clone(),
            "BASH" | "RANDOM" | "SECONDS" | "LINENO" | "OLDPWD" | "BASHPID" | "EPOCHSECONDS" => {
                UNKNOWN_CHAR.to_string()
            }
            "SHELL" => (self.known.variable)(name).unwrap_or_else(|| "sh".to_owned()),
            name => (self.known.variable)(name).unwrap_or_default(),
        }
    }
}

/// Whether a program runs text in its arguments.
fn runs_text(program: &str) -> bool {
    const PROGRAMS: [&str; 9] = [
        "alias", "eval", "parallel", "script", "ssh", "su", "trap", "watch", "xargs",
    ];
    let name = base_name(program);
    is_shell(name) || PROGRAMS.contains(&name)
}

fn is_discarded_output(word: &str) -> bool {
    ["2>/dev/null", "2>", "/dev/null", "2>&1"].contains(&word)
}

/// Whether a brace begins alternatives or a sequence, of which words are made.
fn braces(rest: &str) -> bool {
    let end = rest.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c));
    let word = &rest[..end.unwrap_or(rest.len())];
    let inner = word.split_once('}').map(|(inner, _)| inner);
    inner.is_some_and(|inner| inner.contains(',') || inner.contains(".."))
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(line: &str) -> LineCommands {
        let variable = |name: &str| (name == "HOME").then(|| "/h".to_owned());
        let known = KnownValues {
            variable: Box::new(variable),
            cwd: "/w".to_owned(),
            repository: Some("/r".to_owned()),
        };
        read_line(line, &known)
    }

    fn read(line: &str) -> Vec<Vec<String>> {
        let found = found_in(line);
        assert!(!found.gave_up);
        let commands = found.commands.into_iter();
        commands
            .map(|command| {
                let words = command.0.into_iter();
                words
                    .map(|word| word.replace(UNKNOWNS, "?").replace(INPUT, "<"))
                    .collect()
            })
            .collect()
    }

    #[track_caller]
    fn check(line: &str, expected: &[&[&str]]) {
        assert_eq!(read(line), expected, "{line}");
    }

    #[test]
    fn words_are_filled_in() {
        check("./a.sh x", &[&["./a.sh", "x"]]);
        check(
            "~/a.sh; $HOME/b ${HOME}/c",
            &[&["/h/a.sh"], &["/h/b", "/h/c"]],
        );
        check("\"$HOME\"/'a b'", &[&["a", "b"], &["/h/a b"]]);
        check("$NOTSET/a ${NOTSET:-./d}/e", &[&["/a", "./d/e"]]);
        check("cat $PWD/a", &[&["cat", "/w/a"]]);
        check(
            "D=./hooks; $D/x.sh",
            &[&["", "D=./hooks"], &["./hooks/x.sh"]],
        );
        check("export D=x && \"$D\"", &[&["export", "D=x"], &["x"]]);
        check(
            "python3 \"$(git rev-parse --show-toplevel)/.codex/x.py\"",
            &[
                &["git", "rev-parse", "--show-toplevel"],
                &["python3", "/r/.codex/x.py"],
            ],
        );
        check(
            "$(command -v node) x",
            &[&["command", "-v", "node"], &["node", "x"]],
        );
    }

    #[test]
    fn unknown_words_are_marked() {
        check("$(date)/x $1 $?", &[&["date"], &["?/x", "?", "?"]]);
        check(
            "a ${HOME%/x} $((1 + 2)) ~other/x",
            &[&["a", "?", "?", "?/x"]],
        );
        check(
            "for f in a b; do ./$f.sh; done",
            &[&["for", "f", "in", "a", "b"], &["./.sh"]],
        );
        check("echo 5$ $", &[&["echo", "5$", "$"]]);
    }

    #[test]
    fn commands_in_commands_are_found() {
        check(
            "bash -c './x.sh && y'",
            &[&["./x.sh"], &["y"], &["bash", "-c", "./x.sh && y"]],
        );
        check(
            "a \"b $(./c d)\"",
            &[&["./c", "d"], &["b", "?"], &["a", "b ?"]],
        );
        check("diff <(./a) <(./b)", &[&["./a"], &["./b"], &["diff"]]);
        check("cat <<E\n./x\nE\n", &[&["cat", "<E"], &["./x"], &["E"]]);
        check("if a; then b; else c; fi", &[&["a"], &["b"], &["c"]]);
        check("{ a; } & (b)", &[&["a"], &["b"]]);
    }

    #[test]
    fn commands_in_expansions_are_found() {
        for line in [
            "n=$(( $(./x) + 1 ))",
            "sleep $(( $(./x) ))",
            "[ $(( $(./x) )) -gt 0 ]",
            "echo $((`./x`))",
            "echo $(( a[$(./x)] ))",
            "echo \"$(( ${a:-$(./x)} ))\"",
            "echo $((./x); ./y)",
            "echo ${y:$(./x):1}",
            "echo ${y/a/$(./x)}",
            "echo ${y/a b/$(./x)}",
            "echo ${a[$(./x)]}",
            "echo ${#a[$(./x)]}",
            "echo ${1:-$(./x)}",
            "echo ${@:$(./x)}",
            "echo ${y:-a b $(./x)}",
            "echo \"a${x+$(./x)}\"",
            "echo ${x:+`./x`}",
            "echo ${x:?$(./x)}",
            "echo ${x%%\"$(./x)\"}",
            "if !(./x); then y; fi",
        ] {
            let found = read(line);
            assert!(found.contains(&vec!["./x".to_owned()]), "{line}: {found:?}");
        }
        check("tools/@(b|c).sh", &[&["b"], &["c"], &["tools/*.sh"]]);
        check("~+/a ~-/b", &[&["./a", "?-/b"]]);
        check("echo $((1 + 2)) ${x:-a b}", &[&["echo", "?", "a b"]]);
    }

    #[test]
    fn deeply_nested_expansions_are_given_up() {
        for (open, close) in [("${a:-", "}"), ("$(( ", " ))"), ("$( ", ")")] {
            let line = format!("echo {}{}", open.repeat(3000), close.repeat(3000));
            assert!(found_in(&line).gave_up, "{open}");
        }
    }

    #[test]
    fn outputs_and_comments_are_left_out() {
        check("a > b 2>>c >| d &> e 2>&1", &[&["a", "2", "2"]]);
        check("a <b # c\nd#e", &[&["a", "<b"], &["d#e"]]);
    }
}
