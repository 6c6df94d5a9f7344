//! Where the values of expressions come from: from the code itself, or from data that it reads.
//!
//! What an expression names is followed through all statements that give a value to it. A value that comes from data may
//! be anything; one that does not is made of the literals of the code, which has been seen.

use std::collections::BTreeSet;

use super::own_functions::{body_of, returned};
use super::places::{is_comment, is_part_of_name};
use super::program_data::runs_unknown_words;
use super::scan::{assigns, beginning, is_quote, literal, split, statement, until_closed};
use super::value::Evaluator;
use super::variables::changes;
use crate::interpreters::{Language, runs_arguments};
use crate::known_programs::base_name;

/// Limit on the names that are followed. What names more may come from anywhere.
const MAX_NAMES: usize = 64;
/// Limit on the places of a name in a text. One that stands in more places may come from anywhere.
const MAX_USES: usize = 512;
/// Longer expressions may come from anywhere.
const MAX_EXPRESSION: usize = 4000;

/// Functions that yield what files, folders, programs, other machines or the input of the process have in them.
const SOURCES: [&str; 101] = [
    "DirectoryIterator",
    "FileInput",
    "FilesystemIterator",
    "LoadFile",
    "RecursiveDirectoryIterator",
    "SplFileObject",
    "binread",
    "capture",
    "capture2",
    "capture2e",
    "capture3",
    "check_output",
    "children",
    "communicate",
    "createInterface",
    "createReadStream",
    "dotenv_values",
    "each_child",
    "each_line",
    "execFileSync",
    "execSync",
    "execute",
    "extractfile",
    "fetch",
    "fetchAll",
    "fetchColumn",
    "fetchall",
    "fetchmany",
    "fetchone",
    "fgets",
    "file_get_contents",
    "fopen",
    "foreach",
    "fread",
    "fromfile",
    "fwalk",
    "genfromtxt",
    "getline",
    "getnames",
    "getoutput",
    "gets",
    "getstatusoutput",
    "glob",
    "globSync",
    "globby",
    "iglob",
    "input",
    "iterdir",
    "lines",
    "listdir",
    "load",
    "load_file",
    "load_stream",
    "load_workbook",
    "loadtxt",
    "namelist",
    "open",
    "openSync",
    "opendir",
    "parse_file",
    "parse_ini_file",
    "popen",
    "read",
    "readAll",
    "readFile",
    "readFileSync",
    "readJSON",
    "readJSONSync",
    "readJson",
    "readJsonSync",
    "readTextFile",
    "readTextFileSync",
    "read_bytes",
    "read_csv",
    "read_excel",
    "read_file",
    "read_json",
    "read_parquet",
    "read_pickle",
    "read_table",
    "read_text",
    "readdir",
    "readdirSync",
    "readline",
    "readlines",
    "readlink",
    "rglob",
    "safe_load",
    "safe_load_file",
    "scandir",
    "shell_exec",
    "simplexml_load_file",
    "slurp",
    "spawnSync",
    "stream_get_contents",
    "stream_get_line",
    "sysread",
    "unsafe_load_file",
    "urlopen",
    "walk",
    "yaml_parse_file",
];

/// Values that yield the same.
const STREAMS: [&str; 4] = ["ARGF", "STDIN", "stdin", "stdout"];

/// Methods whose arguments say which of several values is meant.
const LOOKUPS: [&str; 7] = ["at", "dig", "fetch", "find", "get", "has", "index"];

/// Follows the names of expressions.
pub(super) struct Origins<'t> {
    evaluator: Evaluator<'t>,
    followed: BTreeSet<&'t str>,
    /// Whether the values of elements count that are set later.
    looks_at_elements: bool,
}

impl<'t> Origins<'t> {
    /// Whether the program that an expression names, or the code that it gets, comes from data.
    pub(super) fn program_is_data(evaluator: Evaluator<'t>, expression: &'t str) -> bool {
        Self::new(evaluator).program(expression)
    }

    /// Whether the names of the variables in an environment come from data.
    pub(super) fn environment_is_data(evaluator: Evaluator<'t>, expression: &'t str) -> bool {
        let mut origins = Self::new(evaluator);
        origins.looks_at_elements = false;
        origins.environment(expression)
    }

    /// Whether what is filled in a text of Perl, PHP or Ruby comes from data.
    pub(super) fn text_is_data(evaluator: Evaluator<'t>, text: &'t str) -> bool {
        Self::new(evaluator).filled_in(text, "", '"')
    }

    /// Whether an expression comes from data.
    pub(super) fn is_data(evaluator: Evaluator<'t>, expression: &'t str) -> bool {
        Self::new(evaluator).value(expression)
    }

    fn new(evaluator: Evaluator<'t>) -> Self {
        Self {
            evaluator,
            followed: BTreeSet::new(),
            looks_at_elements: true,
        }
    }

    /// A list begins with the program, and so does a text.
    fn program(&mut self, expression: &'t str) -> bool {
        let language = self.evaluator.language;
        let expression = without_condition(expression.trim(), language);
        let first = split(expression, language, "+")
            .first()
            .map_or("", |(_, it)| it.trim());
        let first = first.trim_start_matches(['*', '@', '\\']);
        if let Some(inner) = first.strip_prefix(['[', '(']) {
            let inner = until_closed(inner, language);
            let elements = split(inner, language, ",");
            let (_, program) = elements.first().copied().unwrap_or_default();
            return match literal_at_start(program, language) {
                Some((program, _))
                    if !runs_arguments(base_name(program.trim()))
                        && !runs_unknown_words(&self.evaluator.words(inner)) =>
                {
                    false
                }
                Some(_) => self.value(inner),
                None => self.program(program),
            };
        }
        if let Some((text, prefix)) = literal_at_start(first, language) {
            let program = text.split_whitespace().next().unwrap_or_default();
            let is_filled_in = program.contains(['{', '$', '#']) && !prefix.contains(['r', 'b']);
            let is_known = !is_filled_in && !program.is_empty();
            return (!is_known || runs_arguments(base_name(program))) && self.value(expression);
        }
        let end = first
            .find(|c| !is_part_of_name(c) && c != '$')
            .unwrap_or(first.len());
        let name = first[..end].trim_start_matches('$');
        let is_loop_variable = name == "_" && self.evaluator.language == Language::Perl;
        if end < first.len() || name.is_empty() || is_loop_variable {
            return self.value(first);
        }
        self.follow(name, Self::program)
    }

    /// The values of names that the code has itself do not matter.
    fn environment(&mut self, expression: &'t str) -> bool {
        let language = self.evaluator.language;
        let expression = without_condition(expression.trim(), language);
        let opened = expression.find(['{', '(']);
        let before = opened.map_or(expression, |at| &expression[..at]);
        let last = before
            .rsplit(|c| !is_part_of_name(c))
            .next()
            .unwrap_or_default();
        let joins = [
            "", "assign", "dict", "copy", "merge", "update", "replace", "Object",
        ];
        if let Some(at) = opened.filter(|_| joins.contains(&last.trim())) {
            let inner = until_closed(&expression[at + 1..], language);
            let rest = expression.get(at + inner.len() + 2..).unwrap_or_default();
            let elements = split(inner, language, ",").into_iter();
            let is_data = elements.into_iter().any(|(_, element)| {
                let element = element.trim();
                if super::value::named(element).is_some() || element.is_empty() {
                    return false;
                }
                self.environment(element.trim_start_matches(['*', '.', '%']))
            });
            let receiver = before[..before.len() - last.len()].trim_end_matches('.');
            return is_data || self.value(receiver) || (!rest.is_empty() && self.environment(rest));
        }
        let is_name = |c: char| is_part_of_name(c) || c == '.' || c == '$';
        if expression.chars().all(is_name) && !expression.is_empty() {
            let name = expression.split('.').next().unwrap_or_default();
            return self.follow(name.trim_start_matches('$'), Self::environment);
        }
        self.value(expression)
    }

    fn value(&mut self, expression: &'t str) -> bool {
        let language = self.evaluator.language;
        if expression.len() > MAX_EXPRESSION {
            return true;
        }
        let expression = without_condition(expression, language);
        let mut rest = expression;
        while let Some(c) = rest.chars().next() {
            let before = &expression[..expression.len() - rest.len()];
            if is_quote(c, language) {
                let has_output = c == '`' && language != Language::JavaScript;
                let (_, after) = literal(&rest[1..], c);
                let inner = &rest[1..rest.len() - after.len()];
                if has_output || self.filled_in(inner, before, c) {
                    return true;
                }
                rest = after;
                continue;
            }
            if is_part_of_name(c) {
                let end = rest.find(|c| !is_part_of_name(c)).unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                rest = after;
                let is_number = name.starts_with(|c: char| c.is_ascii_digit());
                let is_named = after.trim_start().starts_with('=') && assigns(after.trim_start());
                if is_number || is_named {
                    continue;
                }
                if name == "if" && language == Language::Python && !before.trim().is_empty() {
                    // What a condition reads does not matter, nor does that of a list.
                    rest = rest.split_once(" else ").map_or("", |(_, other)| other);
                    continue;
                }
                // The variable of loops may be any of what they go through.
                let is_loop_variable =
                    name == "_" && before.ends_with('$') && !after.starts_with('[');
                let splits_it = name == "split" && !statement(after, language).contains(',');
                if language == Language::Perl && (is_loop_variable || splits_it) && self.reads_any()
                {
                    return true;
                }
                let has_words = matches!(language, Language::Perl | Language::Ruby);
                let is_called = has_words || after.starts_with('(');
                let is_source = STREAMS.contains(&name)
                    || (is_called && SOURCES.contains(&name))
                    || is_source_of(language, name, before, after);
                if is_source || self.follow(name, Self::value) {
                    return true;
                }
                let skips = after.starts_with('(')
                    && (LOOKUPS.contains(&name) || !self.passes_arguments_on(name));
                if skips {
                    let inner = until_closed(&after[1..], language);
                    rest = after.get(inner.len() + 2..).unwrap_or_default();
                }
                continue;
            }
            let indexes =
                c == '[' && before.ends_with(|c| is_part_of_name(c) || ")]?.".contains(c));
            if indexes {
                let inner = until_closed(&rest[1..], language);
                rest = rest.get(inner.len() + 2..).unwrap_or_default();
                continue;
            }
            if language == Language::Perl && reads_handle(rest) {
                return true;
            }
            rest = &rest[c.len_utf8()..];
        }
        false
    }

    /// Whether a text of Perl reads anything.
    fn reads_any(&self) -> bool {
        let text = self.evaluator.text;
        let words = ["glob", "readdir", "readline"];
        let mut opened = text.match_indices('<');
        words.iter().any(|word| text.contains(word))
            || opened.any(|(at, _)| reads_handle(&text[at..]))
    }

    /// Whether what is filled in a literal comes from data.
    fn filled_in(&mut self, text: &'t str, before: &str, quote: char) -> bool {
        let open = match self.evaluator.language {
            Language::Python if before.ends_with(['f', 'F']) => "{",
            Language::JavaScript if quote == '`' => "${",
            Language::Ruby if quote != '\'' => "#{",
            Language::Perl | Language::Php if quote != '\'' => "$",
            _ => return false,
        };
        let mut parts = text.split(open).skip(1);
        parts.any(|part| {
            let inner = part.trim_start_matches('{');
            let end = match open {
                "$" => inner.find(|c| !is_part_of_name(c)),
                _ => inner.find('}'),
            };
            self.value(&inner[..end.unwrap_or(inner.len())])
        })
    }

    /// Looks at everything that a name may stand for.
    fn follow(&mut self, name: &'t str, look: impl Fn(&mut Self, &'t str) -> bool) -> bool {
        if self.followed.contains(name) {
            return false;
        }
        let Evaluator {
            text,
            language,
            variables,
        } = self.evaluator;
        if self.followed.len() >= MAX_NAMES || !variables.may_search(text) {
            return true;
        }
        self.followed.insert(name);
        if let Some(body) = body_of(text, name) {
            let values: Vec<&str> = returned(body, language).collect();
            if values.into_iter().any(|value| look(self, value)) {
                return true;
            }
        }
        let Some(values) = values_of(text, name, language, self.looks_at_elements) else {
            return true;
        };
        values.into_iter().any(|value| look(self, value))
    }

    /// Whether what a function of the code yields has its arguments in it. Others yield what they get.
    fn passes_arguments_on(&self, name: &str) -> bool {
        let Evaluator { text, language, .. } = self.evaluator;
        let Some(body) = body_of(text, name) else {
            return true;
        };
        let parameters = body
            .split_once('(')
            .map_or("", |(_, rest)| until_closed(rest, language));
        let parameters = parameters
            .split(|c| !is_part_of_name(c))
            .filter(|it| !it.is_empty());
        let values: Vec<&str> = returned(body, language).collect();
        { parameters }.any(|parameter| values.iter().any(|value| has_name(value, parameter)))
    }
}

/// Whether a name yields data in one language, and something else in others.
fn is_source_of(language: Language, name: &str, before: &str, after: &str) -> bool {
    match (language, name) {
        (Language::Php, "file") | (Language::Python, "parse") => after.starts_with('('),
        (Language::Perl, "File") => after.starts_with("::Find::"),
        (Language::Ruby, "Dir") => after.starts_with('['),
        (Language::Ruby, "find") => before.ends_with("Find."),
        (Language::Ruby, "entries") => before.ends_with("Dir."),
        _ => false,
    }
}

/// Whether a text of Perl begins with a handle or a pattern in angle brackets.
fn reads_handle(text: &str) -> bool {
    let Some((inner, _)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
        return false;
    };
    let inner = inner.trim_start_matches('<');
    !inner.contains(|c: char| c.is_whitespace() || "<=;()\"'".contains(c))
}

fn has_name(text: &str, name: &str) -> bool {
    text.split(|c| !is_part_of_name(c)).any(|word| word == name)
}

/// The expressions that a text gives to a name, in whatever form. None if there may be more.
fn values_of<'t>(
    text: &'t str,
    name: &str,
    language: Language,
    looks_at_elements: bool,
) -> Option<Vec<&'t str>> {
    let mut values = Vec::new();
    for (count, (at, _)) in text.match_indices(name).enumerate() {
        if count >= MAX_USES {
            return None;
        }
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_part = before.ends_with(is_part_of_name) || after.starts_with(is_part_of_name);
        if !is_part && !is_comment(text, at) {
            values.extend(value_here(before, after, language));
            let element = Some(after).filter(|_| looks_at_elements);
            values.extend(element.and_then(|after| value_of_element(after, language)));
        }
    }
    Some(values)
}

/// The expression that an element of something gets.
fn value_of_element(after: &str, language: Language) -> Option<&str> {
    let inner = until_closed(after.strip_prefix('[')?, language);
    let rest = after
        .get(inner.len() + 2..)?
        .trim_start_matches([' ', '\t']);
    assigns(rest).then(|| statement(&rest[1..], language))
}

/// The expression that a name gets at a place.
fn value_here<'t>(before: &'t str, after: &'t str, language: Language) -> Option<&'t str> {
    const ADDING_METHODS: [&str; 9] = [
        ".append(",
        ".concat(",
        ".extend(",
        ".load(",
        ".push(",
        ".read(",
        ".unshift(",
        ".update(",
        " << ",
    ];
    let head = before.rsplit('\n').next().unwrap_or_default();
    let tail = after.split('\n').next().unwrap_or_default();
    let rest = after.trim_start_matches([' ', '\t']);
    if assigns(rest) {
        return Some(statement(&rest[1..], language));
    }
    if changes(rest) || rest.starts_with(":=") {
        return rest
            .split_once('=')
            .map(|(_, value)| statement(value, language));
    }
    if ADDING_METHODS
        .iter()
        .any(|method| after.starts_with(method))
    {
        return Some(statement(after, language));
    }
    let typed = rest
        .strip_prefix(':')
        .filter(|_| head.trim().is_empty() || is_declared(head));
    if let Some((_, value)) = typed.and_then(|_| tail.split_once('=')) {
        return Some(value);
    }
    let adds = ["push @", "unshift @", "push(@", "push @{$"];
    if adds.iter().any(|add| head.ends_with(add)) {
        return Some(tail);
    }
    if language == Language::Php
        && let Some((_, values)) = head.split_once('(').filter(|_| head.contains(" as "))
    {
        return Some(values);
    }
    let loops = ["for ", "for(", "foreach ", "foreach("];
    if loops.iter().any(|word| head.contains(word)) {
        let values = [" in ", " of ", " as ", " ("].iter();
        let mut values = values.filter_map(|word| tail.split_once(word));
        if let Some((_, values)) = values.next() {
            return Some(values);
        }
    }
    if head.trim_start().starts_with("case ") && language == Language::Python {
        let matched = before.rsplit_once("match ").map(|(_, matched)| matched);
        return matched.and_then(|matched| matched.lines().next());
    }
    if head.trim_end().ends_with(" as") {
        return Some(head);
    }
    if rest.starts_with("=>")
        || head
            .rsplit_once('|')
            .is_some_and(|_| rest.starts_with(['|', ',']))
    {
        return Some(head);
    }
    let arrow = tail.split_once("=>").filter(|(names, _)| is_pattern(names));
    if arrow.is_some() && head.trim_end().ends_with(['(', ',', '{', '[']) {
        return Some(head);
    }
    // Several names at once.
    let (names, value) = beginning(after, 400).split_once('=')?;
    let is_target =
        is_pattern(names) && assigns(&after[names.len()..]) && names.contains([',', '}', ']', ')']);
    is_target
        .then(|| statement(&after[after.len().min(names.len() + 1)..], language))
        .filter(|_| !value.is_empty())
}

/// Whether a text may be the rest of a list of names, which ends with its line or in brackets.
fn is_pattern(text: &str) -> bool {
    let end = text.rfind([')', ']', '}']).unwrap_or_default();
    !text[end..].contains('\n')
        && text
            .chars()
            .all(|c| is_part_of_name(c) || " ,:()[]{}.*$@\n\t".contains(c))
}

fn is_declared(head: &str) -> bool {
    ["const", "let", "var"].contains(&head.trim())
}

/// The literal that a text begins with, and its prefix.
fn literal_at_start(text: &str, language: Language) -> Option<(String, &str)> {
    let text = text.trim_start();
    let end = text.find(|c| !is_part_of_name(c)).unwrap_or(text.len());
    let (prefix, rest) = text.split_at(end);
    let quote = rest.chars().next().filter(|c| is_quote(*c, language))?;
    (prefix.len() <= 2).then(|| (literal(&rest[1..], quote).0, prefix))
}

/// An expression without the condition that chooses between two values.
fn without_condition(expression: &str, language: Language) -> &str {
    match language {
        Language::JavaScript | Language::Ruby | Language::Php | Language::Perl => {
            let condition = expression.split_once(" ? ");
            let chosen = condition.filter(|(_, values)| values.contains(" : "));
            chosen.map_or(expression, |(_, values)| values)
        }
        _ => expression,
    }
}
