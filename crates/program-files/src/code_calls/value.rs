//! What expressions in code yield, as far as it is known before.
//!
//! Only what names places and programs is understood: literals, lists, what joins them, the place of the file, variables of
//! the environment, and variables that are set once. [`UNKNOWN_CHAR`] stands for the rest.

use super::paths::{EXPANSION_MARK, constant, join, known_name, own_file, parent, variable_of};
use super::places::is_part_of_name;
use super::scan::{is_quote, literal, skip_blanks, split, until_closed};
use super::variables::{MAX_DEPTH, Variables};
use crate::interpreters::Language;
use crate::line::UNKNOWN_CHAR;

/// Longer expressions are not read.
const MAX_EXPRESSION: usize = 2000;

/// Named arguments that are the program and its arguments.
const WORDS: [&str; 3] = ["args", "cmd", "command"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    List(Vec<String>),
    /// A name that is no value of its own, such as that of a module, with those before it.
    Name(String),
}

/// The code that expressions stand in.
#[derive(Clone, Copy)]
pub(super) struct Evaluator<'t> {
    pub(super) text: &'t str,
    pub(super) language: Language,
    pub(super) variables: &'t Variables<'t>,
}

impl Value {
    fn unknown() -> Self {
        Self::Text(UNKNOWN_CHAR.to_string())
    }

    /// The value with something behind it that is not known.
    fn and_more(self) -> Self {
        match self {
            Self::Text(text) if text.ends_with(UNKNOWN_CHAR) => Self::Text(text),
            Self::Text(text) => Self::Text(text + &UNKNOWN_CHAR.to_string()),
            Self::List(mut words) => {
                words.push(UNKNOWN_CHAR.to_string());
                Self::List(words)
            }
            Self::Name(_) => Self::unknown(),
        }
    }

    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::List(_) | Self::Name(_) => UNKNOWN_CHAR.to_string(),
        }
    }

    fn into_words(self) -> Vec<String> {
        match self {
            Self::List(words) => words,
            other => vec![other.into_text()],
        }
    }

    fn joined_to(self, operator: char, other: Self) -> Self {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) if operator == '/' => {
                Self::Text(join(&[one, other], true))
            }
            (Self::Text(one), Self::Text(other)) => Self::Text(one + &other),
            (Self::List(mut one), Self::List(other)) if operator == '+' => {
                one.extend(other);
                Self::List(one)
            }
            (one, _) => one.and_more(),
        }
    }
}

impl<'t> Evaluator<'t> {
    /// The text that an expression yields.
    pub(super) fn text(self, expression: &str) -> String {
        self.value(expression, MAX_DEPTH).into_text()
    }

    /// The program and the arguments in a list of arguments.
    pub(super) fn words(self, arguments: &str) -> Vec<String> {
        self.words_within(arguments, MAX_DEPTH)
    }

    fn words_within(self, arguments: &str, depth: usize) -> Vec<String> {
        let mut words = Vec::new();
        for (_, element) in split(arguments, self.language, ",") {
            let element = skip_blanks(element, self.language);
            if element.is_empty() || element.starts_with("**") {
                continue;
            }
            let value = match named(element) {
                Some((name, value)) if WORDS.contains(&name) => value,
                Some(_) => continue,
                None => element,
            };
            words.extend(self.value(value, depth).into_words());
        }
        words
    }

    /// The program and the arguments among named values.
    fn words_of_settings(self, settings: &str, depth: usize) -> Vec<String> {
        let settings = split(settings, self.language, ",").into_iter();
        let settings = settings.filter_map(|(_, setting)| named(setting));
        let words = settings.filter(|(name, _)| WORDS.contains(name));
        let words = words.flat_map(|(_, value)| self.value(value, depth).into_words());
        words.collect()
    }

    fn value(self, expression: &str, depth: usize) -> Value {
        if depth == 0 || expression.len() > MAX_EXPRESSION {
            return Value::unknown();
        }
        let operators = match self.language {
            Language::Perl | Language::Php => ".",
            Language::Python | Language::Ruby => "+/",
            _ => "+",
        };
        let mut terms = split(expression, self.language, operators).into_iter();
        let first = terms.next().map_or("", |(_, term)| term);
        terms.fold(self.term(first, depth), |value, (operator, term)| {
            value.joined_to(operator.unwrap_or('+'), self.term(term, depth))
        })
    }

    fn term(self, term: &str, depth: usize) -> Value {
        let mut term = skip_blanks(term, self.language);
        for word in ["await ", "new ", "..."] {
            term = term.strip_prefix(word).unwrap_or(term);
        }
        if let Some(rest) = term.strip_prefix("$^X") {
            return self.with_members(Value::Text("perl".to_owned()), rest, depth);
        }
        let term = term.trim_start_matches(['*', '$', '@', '\\']);
        for (open, close) in [
            ("%w[", ']'),
            ("%w(", ')'),
            ("qw(", ')'),
            ("qw[", ']'),
            ("qw/", '/'),
        ] {
            if let Some((inner, rest)) = term.strip_prefix(open).and_then(|it| it.split_once(close))
            {
                let words = inner.split_whitespace().map(str::to_owned).collect();
                return self.with_members(Value::List(words), rest, depth);
            }
        }
        let name_end = term.find(|c| !is_part_of_name(c)).unwrap_or(term.len());
        let (name, rest) = term.split_at(name_end);
        let Some(next) = rest.chars().next() else {
            return self.named_value(name, "", depth);
        };
        if is_quote(next, self.language) && name.len() <= 2 {
            let (text, after) = literal(&rest[1..], next);
            let mut text = self.filled_in(&text, name, next, depth);
            let is_raw = name.contains(['r', 'R']);
            if !is_raw && has_codes(&rest[..rest.len() - after.len()]) {
                text.push(UNKNOWN_CHAR);
            }
            let rest = skip_blanks(after, self.language);
            if rest.starts_with(['"', '\''])
                && matches!(self.language, Language::Python | Language::Ruby)
            {
                // Literals beside each other are one.
                let other = self.term(rest, depth);
                return Value::Text(text).joined_to('+', other);
            }
            return self.with_members(Value::Text(text), rest, depth);
        }
        if !name.is_empty() {
            return self.named_value(name, rest, depth);
        }
        let inner = until_closed(&rest[next.len_utf8()..], self.language);
        let after = rest
            .get(next.len_utf8() + inner.len() + 1..)
            .unwrap_or_default();
        let value = match next {
            '[' => Value::List(self.words_within(inner, depth)),
            '(' if split(inner, self.language, ",").len() > 1 => {
                Value::List(self.words_within(inner, depth))
            }
            '(' => self.value(inner, depth),
            // Most named values are no words.
            '{' => Value::List(self.words_of_settings(inner, depth)),
            _ => return Value::unknown(),
        };
        self.with_members(value, after, depth)
    }

    /// What begins with a name: a variable, a constant or a function.
    fn named_value(self, name: &str, rest: &str, depth: usize) -> Value {
        let value = match constant(name) {
            Some(value) => Value::Text(value),
            None if skip_blanks(rest, self.language).starts_with('(') => {
                Value::Name(name.to_owned())
            }
            None => match self.variable(name) {
                Some((value, _)) if is_module(value) => Value::Name(name.to_owned()),
                Some((value, true)) => self.value(value, depth - 1).and_more(),
                Some((value, false)) => self.value(value, depth - 1),
                None => Value::Name(name.to_owned()),
            },
        };
        self.with_members(value, rest, depth)
    }

    /// The expression that a variable is set to, and whether its value is changed then.
    pub(super) fn variable(self, name: &str) -> Option<(&'t str, bool)> {
        self.variables.find(self.text, name, self.language)
    }

    /// A value, and the members, calls and elements behind it.
    fn with_members(self, mut value: Value, rest: &str, depth: usize) -> Value {
        let mut rest = skip_blanks(rest, self.language);
        loop {
            if rest.is_empty() {
                return match value {
                    Value::Name(name) => known_name(&name).map_or(Value::unknown(), Value::Text),
                    value => value,
                };
            }
            let member = ["?.", "&.", "->", "::", "."]
                .iter()
                .find_map(|mark| rest.strip_prefix(mark));
            if let Some(member) = member.filter(|member| member.starts_with(is_part_of_name)) {
                let end = member.find(|c| !is_part_of_name(c)).unwrap_or(member.len());
                let (name, after) = member.split_at(end);
                (value, rest) = match after.strip_prefix('(') {
                    Some(inner) => {
                        let arguments = until_closed(inner, self.language);
                        let after = inner.get(arguments.len() + 1..).unwrap_or_default();
                        (self.call(value, name, Some(arguments), depth), after)
                    }
                    None => self.member(value, name, after, depth),
                };
            } else if let Some(inner) = rest.strip_prefix(['(', '[', '{']) {
                let arguments = until_closed(inner, self.language);
                value = match value {
                    Value::Name(name) if rest.starts_with('(') => {
                        self.call(Value::Name(String::new()), &name, Some(arguments), depth)
                    }
                    Value::Name(name) => self.element(&name, arguments),
                    // An element of a list may be set later.
                    Value::List(_) => Value::unknown(),
                    value => value.and_more(),
                };
                rest = inner.get(arguments.len() + 1..).unwrap_or_default();
            } else if let Value::Name(name) = &value
                && matches!(
                    self.language,
                    Language::Perl | Language::Ruby | Language::Php
                )
            {
                let (before, name) = name.rsplit_once('.').unwrap_or(("", name));
                return self.call(Value::Name(before.to_owned()), name, Some(rest), depth);
            } else {
                return value.and_more();
            }
            rest = skip_blanks(rest, self.language);
        }
    }

    /// A member that is not called, and what follows it.
    fn member<'r>(
        self,
        value: Value,
        name: &str,
        after: &'r str,
        depth: usize,
    ) -> (Value, &'r str) {
        match value {
            Value::Name(before) => (Value::Name(format!("{before}.{name}")), after),
            Value::Text(text) if name == "parents" => {
                let index = after
                    .strip_prefix('[')
                    .and_then(|rest| rest.split_once(']'));
                let count = index.and_then(|(index, _)| index.parse::<usize>().ok());
                match (count.filter(|count| *count < 16), index) {
                    (Some(count), Some((_, rest))) => {
                        let above = (0..=count).fold(text, |path, _| parent(&path));
                        (Value::Text(above), rest)
                    }
                    _ => (Value::unknown(), after),
                }
            }
            value => (self.call(value, name, None, depth), after),
        }
    }

    /// An element of something with a name.
    fn element(self, name: &str, index: &str) -> Value {
        let index = index.trim_matches(['"', '\'']);
        let last = name.rsplit('.').next().unwrap_or_default();
        Value::Text(match (last, index) {
            ("environ" | "env" | "ENV", variable) => variable_of(variable, None),
            ("argv", "0") if name == "sys.argv" => own_file(),
            ("argv", "1") if name == "process.argv" => own_file(),
            _ => UNKNOWN_CHAR.to_string(),
        })
    }

    /// What a function or a method yields. `receiver` is an empty name for a function.
    fn call(self, receiver: Value, name: &str, arguments: Option<&str>, depth: usize) -> Value {
        let words = arguments.map_or(Vec::new(), |it| self.words_within(it, depth));
        let first = words.first().cloned();
        match (receiver, name) {
            (Value::Name(_), "getcwd" | "cwd" | "pwd") if words.is_empty() => {
                Value::Text(".".to_owned())
            }
            (Value::Name(place), "get" | "getenv" | "fetch")
                if name == "getenv" || place.ends_with("environ") || place == "ENV" =>
            {
                let default = words.get(1).map(String::as_str);
                Value::Text(variable_of(&first.unwrap_or_default(), default))
            }
            (Value::Name(_), "require") => Value::Name(first.unwrap_or_default()),
            (Value::Name(_), "expanduser") => {
                let path = first.unwrap_or_default();
                Value::Text(match path.strip_prefix('~') {
                    Some(rest) => variable_of("HOME", None) + rest,
                    None => path,
                })
            }
            (Value::Name(_), "home" | "homedir") if words.is_empty() => {
                Value::Text(variable_of("HOME", None))
            }
            (Value::Name(_), "split" | "shellsplit" | "shellwords") => {
                let words = first.unwrap_or_default();
                Value::List(words.split_whitespace().map(str::to_owned).collect())
            }
            (Value::Name(_), "dirname") => Value::Text(parent(&first.unwrap_or_default())),
            (Value::Name(_), "expand_path") => {
                let mut parts = words;
                parts.reverse();
                Value::Text(join(&parts, true))
            }
            (Value::Name(_), "URL") => {
                let base = words
                    .get(1)
                    .map_or(UNKNOWN_CHAR.to_string(), |base| parent(base));
                Value::Text(join(&[base, first.unwrap_or_default()], true))
            }
            (Value::Name(_), "sprintf" | "format") => {
                Value::Text(first.unwrap_or_default()).and_more()
            }
            (Value::Name(_), "list" | "tuple") if arguments.is_some() => Value::List(words),
            (Value::Name(place), "join") if self.language != Language::Python => {
                let resets = !["path", "posix", "File"].contains(&place.as_str());
                Value::Text(join(&words, resets))
            }
            (Value::Name(_), name) if JOINING_FUNCTIONS.contains(&name) => {
                Value::Text(join(&words, true))
            }
            (Value::Name(_), _) => Value::unknown(),
            (Value::Text(path), "parent" | "dirname") => Value::Text(parent(&path)),
            (Value::Text(separator), "join") if self.language == Language::Python => {
                Value::Text(words.join(&separator))
            }
            (Value::List(parts), "join") => Value::Text(parts.join(&first.unwrap_or_default())),
            (Value::Text(path), "joinpath" | "join") => {
                let parts: Vec<String> = [path].into_iter().chain(words).collect();
                Value::Text(join(&parts, true))
            }
            (Value::Text(text), "split") if first.is_none() => {
                Value::List(text.split_whitespace().map(str::to_owned).collect())
            }
            (Value::List(mut list), "concat") => {
                list.extend(words);
                Value::List(list)
            }
            (value, name) if words.is_empty() && TRANSPARENT_FUNCTIONS.contains(&name) => value,
            (value, _) => value.and_more(),
        }
    }

    /// A text between other quotes, with the values that stand in it.
    pub(super) fn interpolated(self, text: &str) -> String {
        let filled = self.filled_in(text, "", '"', MAX_DEPTH);
        filled.replace(EXPANSION_MARK, "")
    }

    /// A literal with the values that stand in it.
    fn filled_in(self, text: &str, prefix: &str, quote: char, depth: usize) -> String {
        let open = match self.language {
            Language::Python if prefix.contains(['f', 'F']) => "{",
            Language::JavaScript if quote == '`' => "${",
            Language::Ruby if quote != '\'' => "#{",
            Language::Perl | Language::Php if quote != '\'' => {
                return self.with_variables(text, depth);
            }
            _ => return text.to_owned(),
        };
        let mut parts = text.split(open);
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match part.split_once('}') {
                Some((expression, rest)) => {
                    filled.push_str(&self.value(expression, depth - 1).into_text());
                    filled.push_str(rest);
                }
                None => filled.push(UNKNOWN_CHAR),
            }
        }
        filled
    }

    /// A literal of Perl or PHP with the values of the variables in it.
    fn with_variables(self, text: &str, depth: usize) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(['$', '@']) {
            filled.push_str(before);
            let inner = after.trim_start_matches('{');
            let is_name = |c: char| is_part_of_name(c) || c == ':';
            let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
            let after_name = inner[end..].trim_start_matches('}');
            let is_whole = !after_name.starts_with(['[', '{']) && !after_name.starts_with("->");
            let value = self.value(&inner[..end], depth - 1).into_text();
            filled.push_str(if is_whole { &value } else { "\0" });
            rest = after_name;
        }
        filled + rest
    }
}

/// Functions that join what they get, or change it into another form of the same path.
const JOINING_FUNCTIONS: [&str; 22] = [
    "Path",
    "Pathname",
    "PosixPath",
    "PurePath",
    "String",
    "abs_path",
    "absolute",
    "abspath",
    "catdir",
    "catfile",
    "fileURLToPath",
    "fspath",
    "join",
    "new",
    "normalize",
    "normpath",
    "quote",
    "realpath",
    "realpathSync",
    "rel2abs",
    "resolve",
    "str",
];

/// Methods and members that yield the same, or the same path.
const TRANSPARENT_FUNCTIONS: [&str; 16] = [
    "absolute",
    "as_posix",
    "cleanpath",
    "decode",
    "encode",
    "expanduser",
    "freeze",
    "pathname",
    "realpath",
    "resolve",
    "rstrip",
    "shellescape",
    "strip",
    "toString",
    "to_s",
    "trim",
];

/// Whether an expression of JavaScript is a module.
fn is_module(value: &str) -> bool {
    let inner = value.trim().strip_prefix("require(");
    let name = inner.and_then(|inner| inner.strip_suffix(')'));
    name.is_some_and(|name| !name.contains(['(', ')']))
}

/// Whether escapes in a literal are characters by their numbers.
fn has_codes(literal: &str) -> bool {
    let escapes = literal.split('\\').skip(1);
    { escapes }.any(|rest| {
        rest.starts_with(['x', 'u', 'U', 'N', 'o'])
            || rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The name and the value of a named argument.
pub(super) fn named(element: &str) -> Option<(&str, &str)> {
    let element = element.trim_start().trim_start_matches(['"', '\'', ':']);
    let end = element.find(|c| !is_part_of_name(c))?;
    let (name, rest) = element.split_at(end);
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    let is_other = ["==", "=~", "::"].iter().any(|mark| rest.starts_with(mark));
    let value = ["=>", "=", ":"]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))?;
    (!name.is_empty() && !is_other).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_calls::paths::OWN_FOLDER;

    #[track_caller]
    fn check(language: Language, text: &str, expected: &str) {
        let expression = text.rsplit_once("\n\n").map_or(text, |(_, last)| last);
        let variables = Variables::default();
        let evaluator = Evaluator {
            text,
            language,
            variables: &variables,
        };
        let found = evaluator.text(expression).replace(UNKNOWN_CHAR, "?");
        let found = found.replace(OWN_FOLDER, "OWN").replace(EXPANSION_MARK, "");
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn paths_that_code_joins_are_known() {
        use Language::{JavaScript, Perl, Php, Python, Ruby};
        for (language, text, expected) in [
            (Python, "\"sub\"", "sub"),
            (Python, "r\"sub\"", "sub"),
            (Python, "Path(\"sub\")", "sub"),
            (Python, "'s' 'ub'", "sub"),
            (Python, "D = \"sub\"  # here\n\nD", "sub"),
            (Python, "D = \"sub\"\n\nf\"{D}/x\"", "sub/x"),
            (
                Python,
                "os.path.join(os.path.dirname(os.path.abspath(__file__)), 'sub')",
                "OWN/sub",
            ),
            (
                Python,
                "HERE = Path(__file__).resolve().parent\n\nHERE / \"a\" / \"b\"",
                "OWN/a/b",
            ),
            (Python, "Path(__file__).parents[1] / 'x'", "OWN/../x"),
            (
                Python,
                "str(Path(__file__).parent.parent.joinpath('x'))",
                "OWN/../x",
            ),
            (Python, "os.getcwd()", "."),
            (Python, "Path.cwd() / 'x'", "./x"),
            (Python, "os.environ['ROOT']", "${ROOT:-?}"),
            (Python, "os.environ.get('ROOT', '.')", "${ROOT:-.}"),
            (Python, "os.path.join(\n  'a',  # one\n  'b',\n)", "a/b"),
            (Python, "None", ""),
            (JavaScript, "`${__dirname}/sub`", "OWN/sub"),
            (
                JavaScript,
                "path.join(__dirname, '..', '/sub')",
                "OWN/../sub",
            ),
            (
                JavaScript,
                "const path = require('path');\n\npath.join(__filename, '..', 'sub')",
                "OWN/sub",
            ),
            (
                JavaScript,
                "fileURLToPath(new URL('./sub/', import.meta.url))",
                "OWN/sub",
            ),
            (
                JavaScript,
                "require('path').resolve(process.cwd(), 'sub')",
                "./sub",
            ),
            (JavaScript, "const d = __dirname + '/sub';\n\nd", "OWN/sub"),
            (
                JavaScript,
                "const p = require('path');\n\np.resolve(__dirname)",
                "OWN",
            ),
            (JavaScript, "process.env.ROOT", "${ROOT:-?}"),
            (Ruby, "File.join(__dir__, 'sub')", "OWN/sub"),
            (Ruby, "File.expand_path('../sub', __FILE__)", "OWN/sub"),
            (Ruby, "\"#{__dir__}/sub\"", "OWN/sub"),
            (Ruby, "Pathname.new(__dir__).join('sub').to_s", "OWN/sub"),
            (Perl, "dirname(__FILE__) . '/sub'", "OWN/sub"),
            (Perl, "my $d = dirname $0;\n\n\"$d/sub\"", "OWN/sub"),
            (Perl, "File::Spec->catdir($FindBin::Bin, 'sub')", "OWN/sub"),
            (Perl, "$ENV{ROOT}", "${ROOT:-?}"),
            (Php, "__DIR__ . '/sub'", "OWN/sub"),
        ] {
            check(language, text, expected);
        }
    }

    #[test]
    fn paths_that_code_computes_are_not_known() {
        use Language::{JavaScript, Perl, Python, Ruby};
        for (language, text, expected) in [
            (Python, "d", "?"),
            (Python, r"'\x73ub'", "x73ub?"),
            (Python, "sys.argv[1]", "?"),
            (Python, "data['cwd']", "?"),
            (Python, "open('d').read()", "?"),
            (Python, "'a' if x else 'b'", "a?"),
            (Python, "def f(d):\n  pass\nd = 'x'\n\nd", "?"),
            (Python, "d = 'x'\nd = 'y'\n\nd", "?"),
            (Python, "d = 'x'\nd += 'y'\n\nd", "?"),
            (Python, "for d in x:\n\n  d", "?"),
            (Python, "'%s/x' % d", "%s/x?"),
            (Python, "path", "?"),
            (JavaScript, "`${d}/x`", "?/x"),
            (JavaScript, "const f = (d) => 1; let d = 'x';\n\nd", "?"),
            (JavaScript, "process.argv[2] || '.'", "?"),
            (Perl, "my ($d) = @_;\n\n$d", "?"),
            (Perl, "$x{d}", "?"),
            (Ruby, "x.each { |d| 1 }; d = 'x'\n\nd", "?"),
            (Ruby, "ARGV.first", "?"),
        ] {
            check(language, text, expected);
        }
    }

    #[test]
    fn words_of_lists_are_known() {
        use Language::{JavaScript, Perl, Python, Ruby};
        for (language, text, expected) in [
            (
                Python,
                "['make', '-C', d, 'z'], check=True",
                &["make", "-C", "?", "z"][..],
            ),
            (Python, "args=('make', 'z')", &["make", "z"]),
            (
                Python,
                "B = ['make']\n\nB + ['-C', 'sub'], cwd=x",
                &["make", "-C", "sub"],
            ),
            (Python, "B = ['make']\nB.append('z')\n\nB", &["make", "?"]),
            (Python, "B = ['a']\n\n['make', *B]", &["make", "a"]),
            (Python, "shlex.split('make -C sub')", &["make", "-C", "sub"]),
            (Python, "' '.join(['make', '-C', d])", &["make -C ?"]),
            (
                JavaScript,
                "'make', ['-C', dir], { stdio: 'inherit' }",
                &["make", "-C", "?"],
            ),
            (
                JavaScript,
                "const a = ['x'];\n\n'make', [...a, 'y']",
                &["make", "x", "y"],
            ),
            (Perl, "my @c = qw(make z);\n\n@c", &["make", "z"]),
            (Ruby, "*%w[make z], chdir: d", &["make", "z"]),
        ] {
            let arguments = text.rsplit_once("\n\n").map_or(text, |(_, last)| last);
            let words = Evaluator {
                text,
                language,
                variables: &Variables::default(),
            }
            .words(arguments);
            let words: Vec<String> = words
                .iter()
                .map(|word| word.replace(UNKNOWN_CHAR, "?"))
                .collect();
            assert_eq!(words, expected, "{text}");
        }
    }
}
