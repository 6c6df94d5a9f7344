//! The calls in code that run other code: what they name, and whether they compute it.
//!
//! No language is parsed. A call is the name of a function that runs or imports code, and what follows it. What it names is
//! known as far as it consists of literals, of the place of the file and of functions that read and join paths; a variable
//! that is set once stands for its value. Everything else is computed.

mod expression;
mod names;
mod places;

use expression::{MAX_DEPTH, literal, read};
use names::{CallKind, PROCESS_NAMES, SEARCH_VARIABLES, names_of};
use places::{argument, is_comment, is_name_here};

use crate::builders::runs_what_it_is_asked;
use crate::interpreters::Language;

/// Longer calls are computed.
const MAX_CALL: usize = 2000;
/// Limit on the calls of a text.
const MAX_CALLS: usize = 512;

/// A call that runs code, or that says where code is imported from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeCall {
    /// The call as the code has it, for people.
    pub(crate) shown: String,
    /// The texts in it.
    pub(crate) literals: Vec<String>,
    /// The lines for a shell among them.
    pub(crate) lines: Vec<String>,
    /// How many folders above that of its file the paths in it may begin.
    pub(crate) levels: usize,
    /// Whether it is not known before what it runs.
    pub(crate) is_computed: bool,
    /// Whether it names folders that code is imported from.
    pub(crate) is_folder: bool,
}

impl CodeCall {
    /// The paths that it may name: each text, and all of them joined.
    pub(crate) fn paths(&self) -> Vec<String> {
        if self.is_folder {
            // Lists of folders, and patterns of Lua.
            let lists = self
                .literals
                .iter()
                .flat_map(|list| list.split([':', ';', ',']));
            let folders = lists.map(|folder| folder.split('?').next().unwrap_or_default());
            let folders = folders.chain(self.literals.iter().map(String::as_str));
            return folders
                .filter(|folder| !folder.is_empty())
                .map(str::to_owned)
                .collect();
        }
        let words = self.literals.iter().filter(|text| text.contains(' '));
        let words: Vec<&str> = words.flat_map(|text| text.split_whitespace()).collect();
        let parts = self.literals.iter().map(|part| part.trim_matches('/'));
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let mut paths = self.literals.clone();
        paths.extend(words.into_iter().map(str::to_owned));
        paths.extend((2..=parts.len()).map(|count| parts[..count].join("/")));
        paths.retain(|path| !path.is_empty());
        paths
    }
}

/// The calls in a text. `is_argument`: whether it stands in a line, where nothing may be computed.
pub(crate) fn calls(text: &str, language: Language, is_argument: bool) -> Vec<CodeCall> {
    let mut found = Vec::new();
    let own = names_of(language).iter().copied();
    let processes = PROCESS_NAMES.iter().map(|name| (*name, CallKind::Process));
    let compiles = [("Function", CallKind::Function)];
    let compiles = compiles
        .into_iter()
        .filter(|_| language == Language::JavaScript);
    let compiles = compiles.filter(|_| is_argument);
    let variables = SEARCH_VARIABLES.map(|name| (name, CallKind::Variable));
    let has_code = language != Language::Other && language != Language::Shell;
    let variables = variables.into_iter().filter(|_| has_code);
    for (name, kind) in own.chain(processes).chain(compiles).chain(variables) {
        for (at, _) in text.match_indices(name) {
            if found.len() >= MAX_CALLS {
                break;
            }
            if is_name_here(text, at, name, kind)
                && !is_comment(text, at)
                && let Some(argument) =
                    argument(&text[..at], &text[at + name.len()..], language, kind)
            {
                let mut call = call(text, name, argument, language, kind);
                if kind == CallKind::Process {
                    let lines = call.literals.iter().filter(|text| text.contains(' '));
                    call.lines = lines.cloned().collect();
                    call.lines.extend(line_of_words(argument, &call.literals));
                    if begins_with_a_program(argument) {
                        call.literals.clear();
                        call.is_computed = false;
                    }
                    // The programs that scripts start are their own affair, as far as they compute them.
                    call.is_computed &= is_argument;
                }
                found.push(call);
            }
        }
    }
    if has_code && language != Language::Code {
        found.extend(lines_without_calls(text, language));
    }
    let changes = changed_folders(text);
    let lines = found.iter_mut().flat_map(|call| &mut call.lines);
    lines.for_each(|line| line.insert_str(0, &changes));
    found
}

/// The folders that code changes to, as lines for a shell.
fn changed_folders(text: &str) -> String {
    let calls = text.split("chdir(").skip(1).take(MAX_CALLS);
    let folders = calls.filter_map(|rest| {
        let quote = rest
            .chars()
            .next()
            .filter(|c| ['"', '\'', '`'].contains(c))?;
        Some(literal(&rest[1..], quote).0)
    });
    folders
        .map(|folder| format!("cd {}\n", quoted(&folder)))
        .collect()
}

/// Lists of a program and its arguments, wherever they stand, and lines that quotes of their own run.
fn lines_without_calls(text: &str, language: Language) -> Vec<CodeCall> {
    let mut lines: Vec<String> = listed_programs(text)
        .iter()
        .filter_map(|words| quoted_line(words))
        .collect();
    let marks: &[(&str, char)] = match language {
        Language::Perl => &[("qx(", ')'), ("qx{", '}'), ("qx/", '/')],
        Language::Ruby => &[("%x(", ')'), ("%x{", '}'), ("%x[", ']')],
        _ => &[],
    };
    for (open, close) in marks {
        let parts = text.split(open).skip(1);
        let inner = parts.filter_map(|part| part.split_once(*close).map(|(inner, _)| inner));
        lines.extend(inner.map(str::to_owned));
    }
    if matches!(language, Language::Perl | Language::Php | Language::Ruby) {
        let is_code = |line: &&str| !line.trim_start().starts_with(['#', '/', '*']);
        let code = text.lines().filter(is_code).collect::<Vec<_>>().join("\n");
        let between = |mark: char| code.split(mark).skip(1).step_by(2);
        lines.extend(between('`').map(str::to_owned));
        // A pipe from a program.
        let piped = between('"')
            .chain(between('\''))
            .filter(|part| part.ends_with('|'));
        lines.extend(piped.map(str::to_owned));
    }
    lines.retain(|line| !line.is_empty() && line.len() <= MAX_CALL);
    lines.truncate(MAX_CALLS);
    let calls = lines.into_iter().map(|line| CodeCall {
        shown: line.clone(),
        lines: vec![line],
        ..CodeCall::default()
    });
    calls.collect()
}

/// The literals of a text that begin with a program which runs recipes or builds, and those that follow with nothing but
/// commas between. A list of the names of programs is none.
fn listed_programs(text: &str) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = Vec::new();
    let mut list: Vec<String> = Vec::new();
    let mut rest = text;
    let is_program = |word: &String| runs_what_it_is_asked(word);
    while let Some(at) = rest.find(['"', '\'', '`']) {
        let between = rest[..at].trim();
        if !matches!(between, "," | ",[" | ", [" | ",(" | ", (") {
            lists.push(std::mem::take(&mut list));
        }
        let quote = rest[at..].chars().next().unwrap_or('"');
        let (word, after) = literal(&rest[at + 1..], quote);
        if is_program(&word) {
            lists.push(std::mem::take(&mut list));
        }
        if is_program(&word) || !list.is_empty() {
            list.push(word);
        }
        rest = after;
    }
    lists.push(list);
    lists.retain(|list| list.len() > 1);
    lists.truncate(MAX_CALLS);
    lists
}

fn call(text: &str, name: &str, argument: &str, language: Language, kind: CallKind) -> CodeCall {
    let short: String = argument.chars().take(60).collect();
    let mut call = CodeCall {
        shown: format!("{name}({short})").replace('\n', " "),
        is_folder: matches!(kind, CallKind::Folder | CallKind::Variable),
        ..CodeCall::default()
    };
    if argument.len() > MAX_CALL {
        call.is_computed = true;
        return call;
    }
    let mut levels = 0;
    read(text, argument, language, MAX_DEPTH, &mut call, &mut levels);
    call.levels = usize::saturating_sub(levels, 1);
    call
}

/// A program and its arguments as a line, in the folders that the other texts of the call may name.
fn line_of_words(argument: &str, literals: &[String]) -> Option<String> {
    let mut words = listed_words(argument);
    // The program and its own name.
    if words.len() > 1 && words[0] == words[1] {
        words.remove(0);
    }
    let line = quoted_line(&words)?;
    let others = literals.iter().filter(|literal| !words.contains(literal));
    let changes = others.map(|folder| format!("cd {}\n", quoted(folder)));
    Some(changes.collect::<String>() + &line)
}

fn quoted_line(words: &[String]) -> Option<String> {
    let program = words.first()?;
    if program.is_empty() || program.contains(char::is_whitespace) {
        return None;
    }
    Some(
        words
            .iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" "),
    )
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The texts in a list of arguments: those up to the end of the list, or to named arguments.
fn listed_words(argument: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = argument;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' | '\'' | '`' => {
                let (word, after) = literal(rest, c);
                words.push(word);
                rest = after;
            }
            ']' | '{' => break,
            '=' if !words.is_empty() => break,
            _ => {}
        }
    }
    words
}

/// Whether a program is started by its name. What it gets is its own affair, unless it runs that.
fn begins_with_a_program(argument: &str) -> bool {
    let rest = argument.trim_start_matches(|c: char| c.is_whitespace() || "([rbu".contains(c));
    let mut chars = rest.chars();
    let Some(quote @ ('"' | '\'' | '`')) = chars.next() else {
        return false;
    };
    let literal = chars.as_str().split(quote).next().unwrap_or_default();
    let program = literal.split_whitespace().next().unwrap_or_default();
    let is_plain = |c: char| c.is_alphanumeric() || "_./-+".contains(c);
    !program.is_empty()
        && program.chars().all(is_plain)
        && !crate::interpreters::runs_arguments(crate::known_programs::base_name(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, language: Language) -> Vec<(Vec<String>, bool)> {
        let calls = calls(text, language, false).into_iter();
        calls.map(|call| (call.paths(), call.is_computed)).collect()
    }

    #[track_caller]
    fn check(language: Language, text: &str, expected: Option<&str>) {
        let found = found(text, language);
        assert!(!found.is_empty(), "{text}");
        let is_computed = found.iter().any(|(_, is_computed)| *is_computed);
        assert_eq!(is_computed, expected.is_none(), "{text}: {found:?}");
        if let Some(path) = expected {
            let mut paths = found.iter().flat_map(|(paths, _)| paths);
            assert!(paths.any(|found| found == path), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_calls_name_is_known_if_it_consists_of_literals() {
        use Language::{JavaScript, Lua, Perl, Php, Python, Ruby};
        for (language, text, expected) in [
            (Python, "exec(open('h.py').read())", "h.py"),
            (Python, "runpy.run_path(\"d/h.py\")", "d/h.py"),
            (
                Python,
                "exec((pathlib.Path(__file__).parent/'h.txt').read_text())",
                "h.txt",
            ),
            (
                Python,
                "exec(open(os.path.join(os.path.dirname(__file__), '..', 'lib', 'x.py')).read())",
                "../lib/x.py",
            ),
            (
                Python,
                "HERE = Path(__file__).parent\nF = HERE / 'x.py'\nrunpy.run_path(str(F))",
                "x.py",
            ),
            (Python, "__import__('m')", "m"),
            (Python, "sys.path.insert(0, 'lib')", "lib"),
            (
                JavaScript,
                "require(path.join(__dirname, '..', 'x'))",
                "../x",
            ),
            (
                JavaScript,
                "await import(new URL('./x.mjs', import.meta.url))",
                "./x.mjs",
            ),
            (JavaScript, "const p = './x'; require(p)", "./x"),
            (Perl, "do './x.pl';", "./x.pl"),
            (Perl, "use lib 'lib';", "lib"),
            (Ruby, "load 'x.rb'\n", "x.rb"),
            (Ruby, "require_relative(\"../x\")", "../x"),
            (Php, "require __DIR__ . '/x.php';", "/x.php"),
            (Lua, "dofile('x.lua')", "x.lua"),
        ] {
            check(language, text, Some(expected));
        }
    }

    #[test]
    fn what_calls_compute_is_not_known() {
        use Language::{JavaScript, Lua, Perl, Php, Python, Ruby};
        for (language, text) in [
            (Python, "exec(code)"),
            (Python, "exec(sys.stdin.read())"),
            (
                Python,
                "eval(compile(open(sys.argv[1]).read(), 'x', 'exec'))",
            ),
            (Python, "importlib.import_module(f'checks.{name}')"),
            (Python, "for f in files:\n  runpy.run_path(f)"),
            (Python, "sys.path.insert(0, folder)"),
            (JavaScript, "require(name)"),
            (JavaScript, "import(`./${name}.js`)"),
            (JavaScript, "eval(fs.readFileSync(process.argv[2], 'utf8'))"),
            (Perl, "do $file;"),
            (Perl, "eval \"require $m\";"),
            (Ruby, "load file\n"),
            (Ruby, "eval(File.read(ARGV[0]))"),
            (Php, "include $argv[1];"),
            (Lua, "dofile(arg[1])"),
        ] {
            check(language, text, None);
        }
    }

    #[test]
    fn other_things_of_these_names_are_no_calls() {
        use Language::{JavaScript, Perl, Python, Ruby};
        for (language, text) in [
            (
                Python,
                "re.compile(pattern); ast.literal_eval(x); model.eval()",
            ),
            (Python, "def exec(code): pass"),
            (Python, "# exec(code)"),
            (Python, "print(sys.path)"),
            (
                JavaScript,
                "pattern.exec(text); require.resolve; import x from 'y'",
            ),
            (JavaScript, "__webpack_require__(id)"),
            (
                Perl,
                "eval { f() }; require Foo::Bar; do { 1 };\nprint 'do not load this';",
            ),
            (Ruby, "puts 'please load the file'\n"),
            (Ruby, "YAML.load(x); eval = 5\n"),
        ] {
            assert_eq!(found(text, language), [], "{text}");
        }
    }

    #[test]
    fn code_in_a_line_starts_programs_by_their_names() {
        for (text, is_computed) in [
            ("subprocess.run(['prettier', file])", false),
            ("subprocess.run(['sh', file])", true),
            ("subprocess.run(command)", true),
            ("os.system('git diff')", false),
        ] {
            let calls = calls(text, Language::Python, true);
            let computed = calls.iter().any(|call| call.is_computed);
            assert_eq!(computed, is_computed, "{text}: {calls:?}");
        }
    }
}
