//! The calls in code that run other code: what they name, and whether they compute it.
//!
//! No language is parsed. A call is the name of a function that runs or imports code, and what follows it. What it names is
//! known as far as it consists of literals, of the place of the file and of functions that read and join paths; a variable
//! that is set once stands for its value. Everything else is computed.

use crate::interpreters::Language;

/// Longer calls are computed.
const MAX_CALL: usize = 2000;
/// How deeply variables stand for values.
const MAX_DEPTH: usize = 4;
/// Limit on the calls of a text.
const MAX_CALLS: usize = 512;

/// Names that are no values of their own: functions that read files and join paths, and places that are known.
const KNOWN_NAMES: [&str; 85] = [
    "DIR",
    "FILE",
    "False",
    "File",
    "None",
    "Path",
    "True",
    "URL",
    "__DIR__",
    "__FILE__",
    "__dir__",
    "__dirname",
    "__file__",
    "__filename",
    "__main__",
    "__name__",
    "absolute",
    "absolutePath",
    "abspath",
    "append",
    "as_posix",
    "asyncio",
    "await",
    "builtins",
    "compile",
    "cwd",
    "decode",
    "default",
    "dirname",
    "encode",
    "encoding",
    "errors",
    "eval",
    "exec",
    "expand_path",
    "extend",
    "fileURLToPath",
    "filename",
    "fs",
    "getcwd",
    "globals",
    "href",
    "import",
    "importlib",
    "init_globals",
    "insert",
    "io",
    "join",
    "locals",
    "meta",
    "mode",
    "new",
    "node",
    "normalize",
    "normpath",
    "null",
    "open",
    "os",
    "package",
    "parent",
    "parents",
    "path",
    "pathToFileURL",
    "pathlib",
    "process",
    "pwd",
    "read",
    "readFileSync",
    "read_bytes",
    "read_text",
    "realpath",
    "replace",
    "require",
    "resolve",
    "run_name",
    "str",
    "strict",
    "sys",
    "toString",
    "true",
    "false",
    "undefined",
    "unshift",
    "url",
    "util",
];

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

/// What calls of a name mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallKind {
    /// Runs code. A method of this name does something else.
    Function,
    /// Runs code, also as a method.
    Method,
    /// Says where code is imported from.
    Folder,
    /// Starts a program.
    Process,
    /// A variable that says where programs import from.
    Variable,
}

fn names_of(language: Language) -> &'static [(&'static str, CallKind)] {
    use CallKind::{Folder, Function, Method};
    match language {
        Language::Python => &[
            ("exec", Function),
            ("eval", Function),
            ("execfile", Function),
            ("compile", Function),
            ("__import__", Method),
            ("import_module", Method),
            ("run_path", Method),
            ("run_module", Method),
            ("load_source", Method),
            ("spec_from_file_location", Method),
            ("SourceFileLoader", Method),
            ("addsitedir", Folder),
            ("sys.path", Folder),
        ],
        Language::JavaScript => &[
            ("require", Function),
            ("import", Function),
            ("eval", Function),
            ("runInThisContext", Method),
            ("runInNewContext", Method),
            ("runInContext", Method),
            ("_load", Method),
            ("Worker", Function),
            ("module.paths", Folder),
        ],
        Language::Perl => &[
            ("do", Function),
            ("require", Function),
            ("eval", Function),
            ("use lib", Folder),
            ("@INC", Folder),
        ],
        Language::Ruby => &[
            ("require", Function),
            ("require_relative", Function),
            ("load", Function),
            ("eval", Function),
            ("instance_eval", Method),
            ("class_eval", Method),
            ("$LOAD_PATH", Folder),
            ("$:", Folder),
        ],
        Language::Php => &[
            ("include", Function),
            ("include_once", Function),
            ("require", Function),
            ("require_once", Function),
            ("eval", Function),
            ("set_include_path", Folder),
        ],
        Language::Lua => &[
            ("dofile", Function),
            ("loadfile", Function),
            ("load", Function),
            ("loadstring", Function),
            ("require", Function),
            ("package.path", Folder),
            ("package.cpath", Folder),
        ],
        Language::Shell | Language::Code | Language::Other => &[],
    }
}

/// Variables that code sets for the programs that it starts.
const SEARCH_VARIABLES: [&str; 8] = [
    "BASH_ENV",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5LIB",
    "PYTHONPATH",
    "RUBYLIB",
];

/// Functions that start programs. What they start counts in code that stands in a line.
const PROCESS_NAMES: [&str; 22] = [
    "system",
    "popen",
    "Popen",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "subprocess.run",
    "subprocess.call",
    "execv",
    "execvp",
    "execl",
    "execlp",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "fork",
    "shell_exec",
    "passthru",
    "os.execute",
];

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
    found
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

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a name begins and ends here, and is not that of something else.
fn is_name_here(text: &str, at: usize, name: &str, kind: CallKind) -> bool {
    let before = &text[..at];
    let after = &text[at + name.len()..];
    let is_continued = after.starts_with(is_part_of_name);
    let is_end = name.starts_with(is_part_of_name) && before.ends_with(is_part_of_name);
    let is_whole = !is_continued && !is_end;
    let is_member = before.ends_with(['.', '$', '@', '>', ':', '-', '#'])
        && !before.ends_with("builtins.")
        && !before.ends_with("Kernel.")
        && !before.ends_with("module.");
    let word_before = before
        .trim_end()
        .rsplit(|c: char| !is_part_of_name(c))
        .next();
    let is_defined = matches!(word_before, Some("def" | "function" | "fn"));
    is_whole && !is_defined && (kind != CallKind::Function || !is_member)
}

/// Whether a place is in a line that is a comment.
fn is_comment(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    let line = line.trim_start();
    ["#", "//", "* ", "--"]
        .iter()
        .any(|mark| line.starts_with(mark))
        && !line.starts_with("#!")
}

/// What follows the name of a call. None if it is no call.
fn argument<'t>(
    before: &str,
    rest: &'t str,
    language: Language,
    kind: CallKind,
) -> Option<&'t str> {
    let statement = || rest.split([';', '\n']).next().unwrap_or_default();
    if kind == CallKind::Folder {
        let part = statement();
        let sets = [
            "insert", "append", "extend", "unshift", "push", "=", "<<", "(", ",",
        ];
        let is_perl = language == Language::Perl;
        return (is_perl || sets.iter().any(|set| part.contains(set))).then_some(part);
    }
    if kind == CallKind::Variable {
        let value = statement().trim_start_matches(['"', '\'', ']', '}', ' ']);
        let value = value.strip_prefix(['=', ':', ','])?;
        return (!value.starts_with('=')).then_some(value);
    }
    let trimmed = rest.trim_start_matches([' ', '\t']);
    if let Some(inner) = trimmed.strip_prefix('(') {
        return Some(until_closed(inner));
    }
    let has_statements = matches!(
        language,
        Language::Perl | Language::Ruby | Language::Php | Language::Lua
    );
    if !has_statements || !begins_statement(before) {
        return None;
    }
    // A block, a package by its name, a version or prose is no call.
    let part = statement().trim();
    let is_value = part.starts_with(['"', '\'', '$', '@', '`']) || part.starts_with("__");
    let is_word = language == Language::Ruby
        && rest.starts_with(' ')
        && part.starts_with(char::is_alphabetic)
        && (part.starts_with(char::is_uppercase) || !part.contains(' '));
    (is_value || is_word).then_some(part)
}

/// Whether an expression may begin behind a text.
fn begins_statement(before: &str) -> bool {
    const WORDS: [&str; 11] = [
        "and", "begin", "do", "else", "if", "local", "not", "or", "return", "then", "unless",
    ];
    let before = before.trim_end_matches([' ', '\t']);
    let word = before
        .rsplit(|c: char| !is_part_of_name(c))
        .next()
        .unwrap_or_default();
    before.is_empty()
        || before.ends_with(['\n', ';', '{', '}', '(', '=', ',', '&', '|', '!', '?'])
        || WORDS.contains(&word)
}

/// The text up to the bracket that closes it.
fn until_closed(text: &str) -> &str {
    let mut depth = 1_usize;
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match quote {
            _ if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' | '`' => quote = Some(c),
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        return &text[..at];
                    }
                }
                _ => {}
            },
        }
    }
    text
}

/// Collects the literals of an expression, and looks for what is not known.
fn read(
    text: &str,
    expression: &str,
    language: Language,
    depth: usize,
    call: &mut CodeCall,
    levels: &mut usize,
) {
    let mut rest = expression;
    let mut prefix = "";
    while let Some(c) = rest.chars().next() {
        match c {
            '"' | '\'' | '`' => {
                let (literal, after) = literal(&rest[1..], c);
                call.is_computed |= is_filled_in(&literal, prefix, c, language);
                call.literals.push(literal);
                (rest, prefix) = (after, "");
            }
            c if is_part_of_name(c) => {
                let end = rest
                    .find(|c: char| !is_part_of_name(c))
                    .unwrap_or(rest.len());
                let name = &rest[..end];
                rest = &rest[end..];
                prefix = name;
                let is_prefix = rest.starts_with(['"', '\'']) && name.len() <= 2;
                if is_prefix || name.starts_with(|c: char| c.is_ascii_digit()) {
                    continue;
                }
                match name {
                    "dirname" | "parent" => *levels += 1,
                    "parents" => *levels += 4,
                    "getcwd" | "cwd" | "pwd" => call.literals.push(".".to_owned()),
                    _ => {}
                }
                if !KNOWN_NAMES.contains(&name) {
                    match value_of(text, name).filter(|_| depth > 0) {
                        Some(value) => read(text, value, language, depth - 1, call, levels),
                        None => call.is_computed = true,
                    }
                }
            }
            c if c == '\0' || is_sigil(language, c) => {
                call.is_computed = true;
                return;
            }
            c => {
                rest = &rest[c.len_utf8()..];
                prefix = "";
            }
        }
    }
}

/// Whether a character begins a variable.
fn is_sigil(language: Language, c: char) -> bool {
    match language {
        Language::Perl => "$@%".contains(c),
        Language::Php => c == '$',
        Language::Ruby => "$@".contains(c),
        _ => false,
    }
}

/// A literal up to its quote, escapes resolved as far as paths need it, and what follows.
fn literal(text: &str, quote: char) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.extend(chars.next()),
            c if c == quote => break,
            c => value.push(c),
        }
    }
    (value, chars.as_str())
}

/// Whether values are filled into a literal.
fn is_filled_in(literal: &str, prefix: &str, quote: char, language: Language) -> bool {
    literal.contains('\0')
        || match language {
            Language::Python => prefix.contains(['f', 'F']) && literal.contains('{'),
            Language::JavaScript => quote == '`' && literal.contains("${"),
            Language::Perl | Language::Php => quote == '"' && literal.contains(['$', '@']),
            Language::Ruby => quote == '"' && literal.contains("#{"),
            _ => false,
        }
}

/// The value of a variable that is set exactly once.
fn value_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut value = None;
    for (at, _) in text.match_indices(name) {
        let after = &text[at + name.len()..];
        let before = &text[..at];
        if after.starts_with(is_part_of_name) || before.ends_with(is_part_of_name) {
            continue;
        }
        let word_before = before
            .trim_end()
            .rsplit(|c: char| !is_part_of_name(c))
            .next();
        if matches!(
            word_before,
            Some("for" | "as" | "def" | "lambda" | "function")
        ) {
            return None;
        }
        let after = after.trim_start_matches([' ', '\t']);
        let is_set = after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>");
        let changes =
            after.len() > 1 && after[1..].starts_with('=') && after.starts_with(['+', '/', '-']);
        if changes || (is_set && value.is_some()) {
            return None;
        }
        if is_set {
            value = after[1..].split([';', '\n']).next();
        }
    }
    value
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
