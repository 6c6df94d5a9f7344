//! The folders that code changes to, for itself and for the programs that it starts.

use std::ops::Range;

use super::paths::{EXPANSION_MARK, OWN_FOLDER, quoted};
use super::places::{begins_statement, is_comment, is_part_of_name};
use super::scan::{assigns, is_quote, statement, until_closed, until_separated};
use super::value::Evaluator;
use super::variables::changes;
use crate::interpreters::Language;
use crate::line::UNKNOWN_CHAR;

/// Functions that change the folder of the process.
const FUNCTIONS: [&str; 4] = ["cd", "chdir", "fchdir", "pushd"];
/// Named arguments with the folder of a program.
const OPTIONS: [&str; 2] = ["chdir", "cwd"];
/// Limit on the places of a text that are looked at, each of which is carried out before each call. More are not known.
const MAX_PLACES: usize = 128;

/// A change of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FolderChange {
    /// Where it stands in the text.
    pub(super) at: usize,
    /// The folder, as far as it is known.
    pub(super) folder: String,
    /// Whether it is for the whole process, and not only for a program that is started.
    pub(super) is_of_process: bool,
}

impl FolderChange {
    pub(super) fn is_known(&self) -> bool {
        !self.folder.contains(UNKNOWN_CHAR)
    }

    /// Whether the process is in a folder from there on that only a shell knows, if anything.
    pub(super) fn moves_process_elsewhere(&self) -> bool {
        let has_variable = || self.folder.replace(OWN_FOLDER, "").contains(EXPANSION_MARK);
        self.is_of_process && (!self.is_known() || has_variable())
    }

    /// It as a line for a shell.
    pub(super) fn as_line(&self) -> String {
        format!("cd {}\n", quoted(&self.folder))
    }

    /// It as the code has it, for people.
    pub(super) fn shown(&self, text: &str) -> String {
        let line = text[self.at..].lines().next().unwrap_or_default();
        line.chars().take(60).collect()
    }

    pub(super) fn is_option_within(&self, range: &Range<usize>) -> bool {
        !self.is_of_process && range.contains(&self.at)
    }
}

/// The changes in a text.
pub(super) fn folder_changes(evaluator: Evaluator<'_>) -> Vec<FolderChange> {
    let text = evaluator.text;
    let names = FUNCTIONS.iter().chain(&OPTIONS[1..]);
    let places = names.flat_map(|name| text.match_indices(name));
    let mut places = places.filter(|(at, name)| is_whole_name(text, *at, name));
    let looked_at: Vec<(usize, &str)> = places.by_ref().take(MAX_PLACES).collect();
    let changes = looked_at.into_iter().filter_map(|(at, name)| {
        let place = NamedPlace {
            evaluator,
            name,
            before: &text[..at],
            after: &text[at + name.len()..],
        };
        let (folder, is_of_process) = place.change().filter(|_| !is_comment(text, at))?;
        Some(FolderChange {
            at,
            folder,
            is_of_process,
        })
    });
    let changes = changes.filter(|change| !["", "."].contains(&change.folder.as_str()));
    let more = places.next().map(|(at, _)| FolderChange {
        at,
        folder: UNKNOWN_CHAR.to_string(),
        is_of_process: true,
    });
    changes.chain(more).collect()
}

fn is_whole_name(text: &str, at: usize, name: &str) -> bool {
    !text[..at].ends_with(is_part_of_name) && !text[at + name.len()..].starts_with(is_part_of_name)
}

/// A place where one of the names stands.
pub(super) struct NamedPlace<'t> {
    pub(super) evaluator: Evaluator<'t>,
    pub(super) name: &'t str,
    pub(super) before: &'t str,
    pub(super) after: &'t str,
}

impl<'t> NamedPlace<'t> {
    /// The folder that it changes to, and whether it does for the whole process.
    fn change(&self) -> Option<(String, bool)> {
        let option = || self.option().map(|folder| (folder, false));
        let unknown = || (UNKNOWN_CHAR.to_string(), true);
        if !FUNCTIONS.contains(&self.name) {
            return option().or_else(|| self.is_set_otherwise().then(unknown));
        }
        if let Some(argument) = self.argument() {
            let words = self.evaluator.words(argument);
            let folder = words.into_iter().next();
            // Without an argument it changes to the home folder.
            let folder = folder.unwrap_or_else(|| UNKNOWN_CHAR.to_string());
            return Some((folder, true));
        }
        if !OPTIONS.contains(&self.name) {
            return None;
        }
        option().or_else(|| self.is_mentioned().then(unknown))
    }

    /// What a function of this name is called with.
    fn argument(&self) -> Option<&str> {
        let language = self.evaluator.language;
        let word = self.before.trim_end().rsplit(|c: char| !is_part_of_name(c));
        if matches!({ word }.next(), Some("def" | "function" | "sub")) {
            return None;
        }
        if let Some(inner) = self.after.strip_prefix('(') {
            return Some(until_closed(inner, language));
        }
        let may_be_statement =
            matches!(language, Language::Perl | Language::Ruby) && self.after.starts_with(' ');
        let argument = statement(self.after, language).trim();
        let begins =
            argument.starts_with(|c| is_quote(c, language) || is_part_of_name(c) || c == '$');
        let may_begin = self.before.ends_with('.') || begins_statement(self.before);
        (may_be_statement && begins && may_begin).then_some(argument)
    }

    fn option(&self) -> Option<String> {
        self.option_expression()
            .map(|value| self.evaluator.text(value))
    }

    /// The value of an option, of an entry of a dictionary or of a member.
    pub(super) fn option_expression(&self) -> Option<&'t str> {
        let language = self.evaluator.language;
        let before = self.before.trim_end_matches(['"', '\'', '`']);
        let after = self.after.trim_start_matches(['"', '\'', '`']);
        let is_element = after.starts_with(']') && before.ends_with('[');
        let rest = after.trim_start_matches(']').trim_start();
        if assigns(rest) {
            let value = &rest[1..];
            let expression = until_separated(value, language);
            let ends_with = value[expression.len()..].trim_start();
            let is_argument = ends_with.starts_with([',', ')']) && !expression.contains(';');
            let is_member = is_element || before.ends_with(['.', '@']);
            return (is_argument || is_member).then_some(expression);
        }
        let value = rest.strip_prefix("=>").or_else(|| rest.strip_prefix(':'));
        if let Some(value) = value.filter(|value| !is_element && !value.starts_with(':')) {
            return Some(until_separated(value, language));
        }
        self.is_shorthand().then_some(self.name)
    }

    /// Whether the folder of a program is set here to what is not known: a member by another operator or by a pattern, a
    /// name in quotes that a function gets, a function with an argument.
    fn is_set_otherwise(&self) -> bool {
        let language = self.evaluator.language;
        let quotes = ['"', '\'', '`'];
        let is_quoted = self.before.ends_with(quotes) && self.after.starts_with(quotes);
        let length = usize::from(is_quoted);
        let before = &self.before[..self.before.len() - length];
        let after = &self.after[length..];
        let object = before.trim_end_matches(|c| is_part_of_name(c) || c == '.');
        let is_element = is_quoted && after.starts_with(']') && begins_index(before);
        if is_element || before.ends_with('.') {
            let place = object.len()..self.before.len() + self.name.len();
            let variables = self.evaluator.variables;
            let rest = after.trim_start_matches([']', ' ', '\t']);
            if changes(rest) || variables.is_bound(self.evaluator.text, place, language) {
                return true;
            }
        }
        if is_quoted {
            return !is_element && is_given(before, after);
        }
        let word = before.trim_end().rsplit(|c| !is_part_of_name(c)).next();
        let is_accessor = word == Some("get") && language == Language::JavaScript;
        let is_defined = word.is_some_and(|word| ["def", "function", "sub"].contains(&word));
        let argument = after
            .strip_prefix('(')
            .map(|inner| until_closed(inner, language));
        argument.is_some_and(|it| is_accessor || (!is_defined && !it.trim().is_empty()))
    }

    /// Whether an object has the name alone, for the variable of that name.
    fn is_shorthand(&self) -> bool {
        let is_inner = self.before.trim_end().ends_with(['{', ','])
            && self.after.trim_start().starts_with(['}', ',']);
        let closed = until_closed(self.after, self.evaluator.language);
        let behind = self
            .after
            .get(closed.len() + 1..)
            .unwrap_or_default()
            .trim_start();
        let is_object = self.after[closed.len()..].starts_with('}');
        let takes_apart = behind.starts_with('=') && !behind.starts_with("==");
        self.evaluator.language == Language::JavaScript
            && is_inner
            && is_object
            && !takes_apart
            && !behind.starts_with("from ")
    }

    /// Whether the function gets another name, or is called by its name in quotes.
    fn is_mentioned(&self) -> bool {
        let line = self.before.rsplit('\n').next().unwrap_or_default();
        let after = self.after.trim_start();
        let is_renamed = after.starts_with("as ");
        let is_import = line.contains("import") || after.contains("require(");
        let is_quoted = self.before.ends_with(['"', '\'', ':'])
            && self.after.starts_with(['"', '\'', ')', ']', ',']);
        let is_member = self.before.ends_with('.') && !self.after.starts_with([':', '.']);
        is_renamed || (!is_import && (is_quoted || is_member))
    }
}

/// Whether a bracket at the end of a text holds the index of what is before it, and no list.
fn begins_index(before: &str) -> bool {
    let indexed = before.strip_suffix('[').unwrap_or_default();
    indexed.ends_with(|c| is_part_of_name(c) || ")]?.".contains(c))
}

/// Whether a name in quotes is an argument, the element of a list or the value of a variable. One that a function looks up is
/// only read.
fn is_given(before: &str, after: &str) -> bool {
    const LOOKING_UP: [&str; 5] = ["dig", "fetch", "get", "has", "hasOwnProperty"];
    let before = before.trim_end();
    let called = before.strip_suffix('(').unwrap_or_default();
    let function = called.rsplit(|c| !is_part_of_name(c)).next();
    let is_looked_up = function.is_some_and(|name| LOOKING_UP.contains(&name));
    let is_compared = ["==", "!="].iter().any(|sign| {
        before.strip_suffix('=').unwrap_or(before).ends_with(sign) || before.ends_with(sign)
    });
    let is_whole = after.trim_start().starts_with([',', ')', ']', ';']) || after.starts_with('\n');
    is_whole && before.ends_with(['(', ',', '[', '=']) && !is_looked_up && !is_compared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_calls::variables::Variables;

    #[track_caller]
    fn check(language: Language, text: &str, expected: &[&str]) {
        let found = folder_changes(Evaluator {
            text,
            language,
            variables: &Variables::default(),
        });
        let found: Vec<String> = found
            .iter()
            .map(|change| change.folder.replace(UNKNOWN_CHAR, "?"))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn changes_of_the_folder_are_found_in_every_form() {
        use Language::{JavaScript, Perl, Python, Ruby};
        for (language, text, expected) in [
            (Python, "os.chdir( \"sub\")", "sub"),
            (Python, "os.chdir(path='sub')", "?"),
            (Python, "with contextlib.chdir(Path('sub')):\n  pass", "sub"),
            (Python, "D = 'sub'\nos.chdir(D)", "sub"),
            (Python, "os.chdir(sys.argv[1])", "?"),
            (Python, "c = os.chdir\nc('sub')", "?"),
            (Python, "from os import chdir as c", "?"),
            (Python, "getattr(os, 'chdir')('sub')", "?"),
            (Python, "os.fchdir(fd)", "?"),
            (Python, "run(\n  c,\n  cwd=D\n)", "?"),
            (Python, "run(c, cwd = 'sub', check=True)", "sub"),
            (Python, "o = {'cwd': d}", "?"),
            (Python, "o['cwd'] = 'sub'\n", "sub"),
            (Python, "o = dict(cwd='sub')", "sub"),
            (JavaScript, "process.chdir(d)", "?"),
            (JavaScript, "process['chdir'](d)", "?"),
            (JavaScript, "const { chdir: go } = process", "?"),
            (
                JavaScript,
                "import { chdir as go } from 'node:process'",
                "?",
            ),
            (JavaScript, "spawn('x', [], { cwd })", "?"),
            (
                JavaScript,
                "const cwd = 'sub';\nspawn('x', [], { stdio: 'inherit', cwd, env })",
                "sub",
            ),
            (JavaScript, "x({cwd:path.join('a', 'b')})", "a/b"),
            (JavaScript, "o.cwd = d;", "?"),
            (JavaScript, "o.cwd ??= 'sub'", "?"),
            (JavaScript, "o['cwd'] ||= d;", "?"),
            (JavaScript, "o[`cwd`] = d;", "?"),
            (JavaScript, "[o.cwd] = f();", "?"),
            (JavaScript, "for (o.cwd of f()) { }", "?"),
            (JavaScript, "const k = 'cwd';\nx({ [k]: d })", "?"),
            (JavaScript, "x({ ['cwd']: d })", "?"),
            (JavaScript, "x({get cwd() { return d } })", "?"),
            (
                JavaScript,
                "Object.defineProperty(o, 'cwd', { value: d })",
                "?",
            ),
            (JavaScript, "Object.fromEntries([['cwd', d]])", "?"),
            (Python, "kw.setdefault('cwd', d)", "?"),
            (Python, "setattr(o, 'cwd', d)", "?"),
            (Python, "o.cwd, x = f()", "?"),
            (Python, "o.cwd += 'x'", "?"),
            (Python, "with local.cwd(d):\n  f()", "?"),
            (JavaScript, "cd('sub')", "sub"),
            (Ruby, "Dir.chdir(d) { system 'make' }", "?"),
            (Ruby, "Dir.chdir 'sub' do\nend", "sub"),
            (Ruby, "Dir.chdir File.join('a', 'b') do\nend", "a/b"),
            (Ruby, "system 'make', chdir: d", "?"),
            (Ruby, "system('make', :chdir => 'sub')", "sub"),
            (Ruby, "Dir.method(:chdir)", "?"),
            (Ruby, "Dir.send(:chdir, 'sub')", "?"),
            (Perl, "chdir $d;", "?"),
            (Perl, "chdir($d) or die 'cannot chdir';", "?"),
            (Perl, "chdir 'sub' or die \"cannot chdir\";", "sub"),
        ] {
            check(language, text, &[expected]);
        }
    }

    #[test]
    fn other_things_of_these_names_change_no_folder() {
        use Language::{JavaScript, Perl, Python, Ruby};
        for (language, text) in [
            (Python, "cwd = data['cwd']\nprint(cwd)"),
            (Python, "cwd = os.getcwd()\nx = data.get('cwd', '')"),
            (Python, "def f(cwd=None): run(c, cwd=None)"),
            (Python, "# os.chdir(d)"),
            (Python, "x = os.path.join(o.cwd, d['cwd'], Path.cwd())"),
            (Python, "y = 'cwd' in d and x == 'cwd' or d.get('cwd')"),
            (Python, "def cwd(x): return x"),
            (Python, "x, y = o.cwd, 1\nprint(f'cwd {cwd}', o.cwd)"),
            (
                JavaScript,
                "if (o.cwd) { x(o.cwd, process.cwd( )) }\nconst d = o?.['cwd'] || '.';",
            ),
            (Python, "from os import chdir"),
            (JavaScript, "const { cwd } = JSON.parse(x); process.cwd();"),
            (JavaScript, "const cwd = d;\nif (cwd === x) f(cwd);"),
            (JavaScript, "import { chdir } from 'node:process'"),
            (JavaScript, "const { chdir } = require('process')"),
            (Perl, "die 'chdir failed';"),
            (Ruby, "raise 'cannot chdir to it'"),
        ] {
            check(language, text, &[]);
        }
    }
}
