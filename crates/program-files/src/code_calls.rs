//! The calls in code that run other code: what they name, and whether they compute it.
//!
//! No language is parsed. A call is the name of a function that runs or imports code, and what follows it. What it names is
//! known as far as it consists of literals, of the place of the file and of functions that read and join paths; a variable
//! that is set once stands for its value. Everything else is computed.

mod bindings;
mod code_call;
mod expression;
mod folders;
mod names;
mod origins;
mod own_functions;
mod paths;
mod places;
mod processes;
mod program_data;
mod reflection;
mod scan;
mod set_variables;
mod starters;
mod value;
mod variables;

use std::collections::{BTreeSet, HashMap};

use crate::interpreters::{Language, runs_arguments};
use crate::known_programs::base_name;
pub(crate) use code_call::CodeCall;
use code_call::{MAX_CALL, MAX_CALLS};
use expression::read;
use folders::{FolderChange, folder_changes};
use names::{CallKind, PROCESS_NAMES, names_of, other_process_names, reads_working_folder};
use origins::Origins;
use own_functions::own_functions;
pub(crate) use paths::OWN_FOLDER;
use places::{argument, is_comment, is_name_here, is_part_of_name};
use processes::{lines_of_call, lines_without_calls};
use program_data::{program_is_data, starts_its_arguments};
use scan::{enclosing_call, until_closed};
use set_variables::SetVariables;
use starters::{STARTERS, UNREAD_STARTERS, imported};
use value::Evaluator;
use variables::{MAX_DEPTH, Variables};

/// The limit on the places of a text that are looked at.
const MAX_PLACES: usize = 8192;

/// The calls in a text. `is_argument`: whether it stands in a line, where nothing may be computed.
pub(crate) fn calls(text: &str, language: Language, is_argument: bool) -> Vec<CodeCall> {
    calls_with(text, language, is_argument, &BTreeSet::new())
}

/// The functions of a text that start what they get as arguments.
pub(crate) fn own_starters(text: &str, language: Language) -> BTreeSet<String> {
    let variables = Variables::default();
    let evaluator = Evaluator {
        text,
        language,
        variables: &variables,
    };
    let names = own_functions(text).into_iter();
    let starters = names.filter(|name| starts_its_arguments(evaluator, name));
    starters.map(str::to_owned).collect()
}

/// The calls in a text that may call functions of other code which start programs.
pub(crate) fn calls_with(
    text: &str,
    language: Language,
    is_argument: bool,
    starters: &BTreeSet<String>,
) -> Vec<CodeCall> {
    let has_code = language != Language::Other && language != Language::Shell;
    let variables = Variables::default();
    let evaluator = Evaluator {
        text,
        language,
        variables: &variables,
    };
    let changes = if has_code {
        folder_changes(evaluator)
    } else {
        Vec::new()
    };
    let defined = if has_code {
        own_functions(text)
    } else {
        BTreeSet::new()
    };
    let mut reader = CallReader {
        evaluator,
        is_argument,
        moves_elsewhere: changes.iter().any(FolderChange::moves_process_elsewhere),
        changes,
        imports: if has_code {
            imported(text, language)
        } else {
            Vec::new()
        },
        own: defined
            .iter()
            .copied()
            .filter(|name| starts_its_arguments(evaluator, name))
            .collect(),
        defined,
        starters,
        names_starters: STARTERS
            .iter()
            .any(|module| module.len() > 2 && text.contains(module)),
        judged: HashMap::new(),
        found: Vec::new(),
        count: 0,
    };
    let unknown_folder = reader.changes.iter().find(|change| !change.is_known());
    let unknown_folder = unknown_folder.map(|change| change.shown(text));
    reader.read_names();
    if has_code {
        let own = reader.defined.clone();
        own.into_iter()
            .for_each(|name| reader.read(name, CallKind::OtherProcess));
        for name in starters {
            reader.read(name, CallKind::OtherProcess);
        }
        reader.read_options();
        reader.read_imports();
    }
    if has_code && language != Language::Code {
        reader.found.extend(lines_without_calls(evaluator));
    }
    reader.finish(unknown_folder)
}

/// The changes of the folder of the process in a text, as lines for a shell.
pub(crate) fn process_moves(text: &str, language: Language) -> String {
    if matches!(language, Language::Other | Language::Shell) {
        return String::new();
    }
    let variables = Variables::default();
    let changes = folder_changes(Evaluator {
        text,
        language,
        variables: &variables,
    });
    let moves = changes.iter().filter(|change| change.is_of_process);
    moves.map(FolderChange::as_line).collect()
}

/// Reads the calls of a text.
struct CallReader<'t> {
    evaluator: Evaluator<'t>,
    is_argument: bool,
    /// Whether the process may be in a folder that is not known.
    moves_elsewhere: bool,
    /// The changes of the folder that are not for a certain call.
    changes: Vec<FolderChange>,
    /// Names of modules and functions that start programs, and the modules.
    imports: Vec<(&'t str, &'t str)>,
    /// Functions of the text that call one which starts programs.
    defined: BTreeSet<&'t str>,
    /// Those among them that start what they get.
    own: BTreeSet<&'t str>,
    /// Functions of other code that do.
    starters: &'t BTreeSet<String>,
    /// Whether it names a module that starts programs.
    names_starters: bool,
    /// Names of calls and their arguments, and whether data decides what they start.
    judged: HashMap<(&'t str, &'t str), bool>,
    found: Vec<CodeCall>,
    /// How many places have been looked at.
    count: usize,
}

impl<'t> CallReader<'t> {
    /// Reads the calls of functions that are known by their names.
    fn read_names(&mut self) {
        let language = self.evaluator.language;
        for (name, kind) in names_of(language) {
            self.read(name, *kind);
        }
        for name in PROCESS_NAMES {
            self.read(name, CallKind::Process);
        }
        for name in other_process_names(language) {
            self.read(name, CallKind::OtherProcess);
        }
        if language == Language::JavaScript {
            let text = self.evaluator.text;
            let lines = text.lines().filter(|line| line.contains("createRequire("));
            let names = lines.filter_map(|line| line.split_once('=').map(|(name, _)| name.trim()));
            for name in names.filter_map(|name| name.rsplit(' ').next()) {
                self.read(name, CallKind::Function);
            }
        }
        if language == Language::JavaScript {
            self.read("Function", CallKind::Function);
        }
        if language == Language::Perl {
            self.read("open", CallKind::OtherProcess);
        }
    }

    /// Reads the calls of a name.
    fn read(&mut self, name: &'t str, kind: CallKind) {
        let Evaluator { text, language, .. } = self.evaluator;
        for (at, _) in text.match_indices(name) {
            if self.found.len() >= MAX_CALLS {
                break;
            }
            let rest = &text[at + name.len()..];
            if !is_name_here(text, at, name, kind) || is_comment(text, at) {
                continue;
            }
            self.count += 1;
            if self.count > MAX_PLACES {
                return self.give_up();
            }
            let Some(argument) = argument(&text[..at], rest, language, kind) else {
                if kind == CallKind::Process && rest.trim_start().starts_with([',', ')']) {
                    self.function_as_argument(at);
                }
                continue;
            };
            let Some(argument) = piped(name, argument, language) else {
                continue;
            };
            let mut call = call(self.evaluator, name, argument, kind);
            match kind {
                CallKind::Process | CallKind::OtherProcess => {
                    let from = at + name.len() + rest.find(argument).unwrap_or(0);
                    let has_lines = self.process(&mut call, name, from, argument);
                    // The programs that scripts start are their own affair, as far as the code says what they may be.
                    call.is_computed &= self.is_argument && kind == CallKind::Process;
                    let may_be_data =
                        !self.is_argument && self.starts_programs(&text[..at], name, kind);
                    call.is_computed |= may_be_data && self.program_is_data(name, argument);
                    if kind == CallKind::OtherProcess && !has_lines && !call.is_computed {
                        continue;
                    }
                }
                CallKind::Folder
                    if !self.is_argument && Origins::is_data(self.evaluator, argument) =>
                {
                    call.is_computed = true;
                }
                CallKind::Function | CallKind::Method
                    if !self.is_argument && names_file_by_data(self.evaluator, argument) =>
                {
                    call.is_computed = true;
                }
                _ if reads_working_folder(name, language) => {
                    call.reads_working_folder = true;
                    call.is_computed |= self.moves_elsewhere;
                    let moves = self.changes.iter().filter(|change| change.is_of_process);
                    call.folders = moves.map(|change| change.folder.clone()).collect();
                }
                _ => {}
            }
            self.found.push(call);
        }
    }

    /// A function that starts programs, for another one that calls it with the arguments beside it.
    fn function_as_argument(&mut self, at: usize) {
        let Evaluator { text, language, .. } = self.evaluator;
        let Some(from) = enclosing_call(text, at, language).filter(|_| !self.is_argument) else {
            return;
        };
        let argument = until_closed(&text[from..], language);
        if Origins::is_data(self.evaluator, argument) {
            self.found.push(CodeCall {
                shown: argument.chars().take(60).collect(),
                is_computed: true,
                ..CodeCall::default()
            });
        }
    }

    /// Whether a function of this name starts programs here. A method of another object may do something else.
    fn starts_programs(&self, before: &str, name: &str, kind: CallKind) -> bool {
        let language = self.evaluator.language;
        if self.own.contains(name) || self.starters.contains(name) {
            return true;
        }
        match kind {
            CallKind::Process => {
                let is_of_language = ["IO.", "Process.", "io.", "os.", "pty."];
                name.len() > 5
                    || !before.ends_with('.')
                    || self.names_starters
                    || is_of_language.iter().any(|object| before.ends_with(object))
            }
            _ if before.ends_with('.') => {
                let object = before.trim_end_matches('.');
                let object = object
                    .rsplit(|c| !is_part_of_name(c))
                    .next()
                    .unwrap_or_default();
                STARTERS.contains(&object) || self.imports.iter().any(|(name, _)| *name == object)
            }
            _ => {
                let is_builtin =
                    matches!(language, Language::Perl | Language::Php | Language::Ruby);
                // Another function of the code has a meaning of its own.
                let is_own = self.defined.contains(name);
                (self.names_starters || (is_builtin && ["exec", "open"].contains(&name))) && !is_own
            }
        }
    }

    /// The same for a call, which may stand in a text many times.
    fn program_is_data(&mut self, name: &'t str, argument: &'t str) -> bool {
        if let Some(known) = self.judged.get(&(name, argument)) {
            return *known;
        }
        let is_data = program_is_data(self.evaluator, name, argument);
        self.judged.insert((name, argument), is_data);
        is_data
    }

    /// What is not looked at may run anything.
    fn give_up(&mut self) {
        self.found.push(CodeCall {
            shown: format!("more than {MAX_PLACES} calls"),
            is_computed: true,
            ..CodeCall::default()
        });
    }

    /// What a call runs whose argument begins somewhere, in the folder that it says. Whether it is known.
    fn process(&mut self, call: &mut CodeCall, name: &str, from: usize, argument: &str) -> bool {
        let lines = lines_of_call(self.evaluator, name, argument);
        let is_known = !lines.is_empty();
        let texts = call.literals.iter().filter(|text| text.contains(' '));
        call.lines = texts.cloned().chain(lines).collect();
        if is_known {
            let range = from..from + argument.len();
            let is_own = |change: &FolderChange| change.is_option_within(&range);
            let changes = std::mem::take(&mut self.changes);
            let (own, others) = changes.into_iter().partition(is_own);
            self.changes = others;
            move_lines(&mut call.lines, &own);
        }
        if begins_with_a_program(argument) {
            call.literals.clear();
            call.is_computed = false;
        }
        is_known
    }

    /// Reads the calls with the folder of a program among their arguments, whatever their names.
    fn read_options(&mut self) {
        let options = self.changes.iter().filter(|change| !change.is_of_process);
        let places: Vec<usize> = options.map(|change| change.at).collect();
        for at in places {
            let Evaluator { text, language, .. } = self.evaluator;
            let Some(from) = enclosing_call(text, at, language) else {
                continue;
            };
            let argument = until_closed(&text[from..], language);
            let mut call = CodeCall {
                shown: argument.chars().take(60).collect(),
                ..CodeCall::default()
            };
            if self.process(&mut call, "", from, argument) {
                self.found.push(call);
            }
        }
    }

    /// Variables are set for everything that is started.
    fn set_variables(&mut self) {
        if matches!(self.evaluator.language, Language::Other | Language::Shell) {
            return;
        }
        let set = SetVariables::collect(self.evaluator);
        if set.lines.is_empty() && set.computed.is_none() {
            return;
        }
        let lines = self.found.iter_mut().flat_map(|call| &mut call.lines);
        // Where programs are searched matters to each of them.
        let is_search_path = |line: &&str| line.starts_with("export PATH=");
        let paths = set.lines.split_inclusive('\n').filter(is_search_path);
        let paths: String = paths.collect();
        lines.for_each(|line| line.insert_str(0, &paths));
        self.found.push(CodeCall {
            is_computed: set.computed.is_some(),
            shown: set.computed.unwrap_or_default(),
            lines: vec![set.lines],
            ..CodeCall::default()
        });
    }

    /// Reads the calls of what modules that start programs have, whatever its names.
    fn read_imports(&mut self) {
        let Evaluator { text, .. } = self.evaluator;
        for (name, module) in self.imports.clone() {
            if UNREAD_STARTERS.contains(&module) {
                self.found.push(CodeCall {
                    shown: format!("{module}.{name}"),
                    is_computed: true,
                    ..CodeCall::default()
                });
                continue;
            }
            self.read(name, CallKind::OtherProcess);
            let members = text.match_indices(name).filter_map(|(at, _)| {
                let member = text[at + name.len()..].strip_prefix('.')?;
                let end = member.find(|c| !is_part_of_name(c)).unwrap_or(member.len());
                Some(&text[at..at + name.len() + 1 + end])
            });
            let members: BTreeSet<&str> = members.collect();
            for member in members {
                self.read(member, CallKind::OtherProcess);
            }
        }
    }

    fn finish(mut self, unknown_folder: Option<String>) -> Vec<CodeCall> {
        for call in &mut self.found {
            move_lines(&mut call.lines, &self.changes);
        }
        self.set_variables();
        if let Some(shown) = unknown_folder.filter(|_| self.is_argument && !self.found.is_empty()) {
            self.found.push(CodeCall {
                shown,
                is_computed: true,
                ..CodeCall::default()
            });
        }
        self.found
    }
}

/// Lets lines begin with changes of the folder.
fn move_lines(lines: &mut [String], changes: &[FolderChange]) {
    let changes: String = changes.iter().map(FolderChange::as_line).collect();
    lines
        .iter_mut()
        .for_each(|line| line.insert_str(0, &changes));
}

fn call(evaluator: Evaluator<'_>, name: &str, argument: &str, kind: CallKind) -> CodeCall {
    let short: String = argument.chars().take(60).collect();
    let mut call = CodeCall {
        shown: format!("{name}({short})").replace('\n', " "),
        is_folder: kind == CallKind::Folder,
        ..CodeCall::default()
    };
    if argument.len() > MAX_CALL {
        call.is_computed = true;
        return call;
    }
    let mut levels = 0;
    read(evaluator, argument, MAX_DEPTH, &mut call, &mut levels);
    call.levels = usize::saturating_sub(levels, 1);
    call
}

/// Whether code is read from a file whose name comes from data.
fn names_file_by_data<'t>(evaluator: Evaluator<'t>, argument: &'t str) -> bool {
    const READING_CALLS: [&str; 4] = ["open(", "readFileSync(", "Path(", "File.read("];
    let value = evaluator.variable(argument.trim()).map(|(value, _)| value);
    let texts = [Some(argument), value].into_iter().flatten();
    let names = texts.flat_map(|text| {
        let places = READING_CALLS
            .iter()
            .flat_map(|name| text.match_indices(name));
        places.map(|(at, name)| until_closed(&text[at + name.len()..], evaluator.language))
    });
    { names }.any(|name| Origins::is_data(evaluator, name))
}

/// The program of a pipe that Perl opens. Files that it opens are none.
fn piped<'t>(name: &str, argument: &'t str, language: Language) -> Option<&'t str> {
    if name != "open" || language != Language::Perl {
        return Some(argument);
    }
    let modes = ["\"-|\"", "'-|'", "\"|-\"", "'|-'"].iter();
    let behind = modes.filter_map(|mode| argument.split_once(mode)).next();
    behind.map(|(_, rest)| rest.trim_start_matches([',', ' ']))
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
    !program.is_empty() && program.chars().all(is_plain) && !runs_arguments(base_name(program))
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
    fn literal_call_arguments_are_known() {
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
    fn computed_call_arguments_are_unknown() {
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

    #[test]
    fn too_many_calls_count_as_computed() {
        let text = "run(a)\n".repeat(MAX_PLACES + 1);
        let found = calls(&text, Language::Python, false);
        assert!(found.iter().any(|call| call.is_computed));
    }
}
