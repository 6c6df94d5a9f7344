//! Variables of the environment that code sets for what it starts, as lines for a shell.

use std::collections::BTreeSet;

use super::folders::NamedPlace;
use super::origins::Origins;
use super::paths::{quoted, variable_of};
use super::places::{is_comment, is_part_of_name};
use super::scan::{assigns, until_closed, until_separated};
use super::value::Evaluator;
use super::variables::changes;
use crate::code_variables::places_code;
use crate::interpreters::Language;
use crate::line::UNKNOWN_CHAR;

/// Limit on the places of a text that are looked at. What is behind them is not known.
const MAX_PLACES: usize = 512;
/// Names of the environment in code.
const ENVIRONMENTS: [&str; 6] = ["ENV", "env", "environ", "environb", "putenv", "setenv"];
/// Functions that set what their first argument names.
const SETTERS: [&str; 9] = [
    "append_path",
    "putenv",
    "set",
    "setdefault",
    "setenv",
    "setitem",
    "store",
    "storeItem",
    "update",
];
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// What code sets.
#[derive(Default)]
pub(super) struct SetVariables {
    /// Assignments of variables that say where code is.
    pub(super) lines: String,
    /// The first place that sets a variable whose name comes from data.
    pub(super) computed: Option<String>,
}

impl SetVariables {
    /// What a text sets.
    pub(super) fn collect(evaluator: Evaluator<'_>) -> Self {
        let mut found = Self::default();
        let Evaluator { text, .. } = evaluator;
        let others = other_names(text);
        let is_environment = |name: &str| ENVIRONMENTS.contains(&name) || others.contains(name);
        let is_looked_at = |name: &str| is_environment(name) || places_code(name);
        let names =
            names_in(text).filter(|(at, name)| is_looked_at(name) && !is_comment(text, *at));
        for (count, (at, name)) in names.enumerate() {
            if count >= MAX_PLACES {
                found
                    .computed
                    .get_or_insert_with(|| format!("more than {MAX_PLACES} variables"));
                break;
            }
            let place = NamedPlace {
                evaluator,
                name,
                before: &text[..at],
                // The names of functions of a shell end with `%%`.
                after: text[at + name.len()..].trim_start_matches('%'),
            };
            if places_code(name)
                && let Some(value) = value_set(&place)
            {
                found.set(name, &value);
            } else if is_environment(name) {
                found.environment(&place);
            }
        }
        if text.contains("dotenv") || text.contains("Dotenv") {
            found.lines.push_str(". ./.env\n");
        }
        found
    }

    fn set(&mut self, name: &str, value: &str) {
        let line = format!("export {name}={}\n", quoted(value));
        if !self.lines.contains(&line) {
            self.lines.push_str(&line);
        }
    }

    /// Variables whose names do not stand in the text, and environments that are taken from elsewhere.
    fn environment(&mut self, place: &NamedPlace<'_>) {
        let NamedPlace {
            evaluator,
            after,
            before,
            ..
        } = place;
        let language = evaluator.language;
        let open = after.chars().next().unwrap_or(' ');
        let is_data = if open == '(' {
            let argument = until_closed(&after[1..], language);
            let sets = place.name.ends_with("tenv") && !argument.starts_with(QUOTES);
            sets && Origins::is_data(*evaluator, argument)
        } else if open == '[' || (open == '{' && language == Language::Perl) {
            let index = until_closed(&after[1..], language);
            let rest = after
                .get(index.len() + 2..)
                .unwrap_or_default()
                .trim_start();
            let name = evaluator.text(index);
            if !assigns(rest) && !changes(rest) {
                return;
            }
            let value = until_separated(
                rest.trim_start_matches(|c| c != '=')
                    .get(1..)
                    .unwrap_or_default(),
                language,
            );
            if !name.contains(UNKNOWN_CHAR) {
                return;
            }
            Origins::is_data(*evaluator, index) || Origins::is_data(*evaluator, value)
        } else if let Some(argument) = sets_one(after) {
            let argument = until_closed(argument, language);
            !argument.starts_with(QUOTES) && Origins::is_data(*evaluator, argument)
        } else if let Some(value) = joined(after) {
            Origins::environment_is_data(*evaluator, until_separated(value, language))
        } else if let Some(argument) = changed_by(after, before) {
            Origins::environment_is_data(*evaluator, until_closed(argument, language))
        } else {
            let value = place.option_expression();
            value.is_some_and(|value| Origins::environment_is_data(*evaluator, value))
        };
        if is_data {
            let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
            let rest = after.lines().next().unwrap_or_default();
            let shown = format!("{line}{}{rest}", place.name);
            self.computed
                .get_or_insert_with(|| shown.chars().take(60).collect());
        }
    }
}

/// The arguments of a method of an environment that sets variables, or of a function that copies them into it.
fn changed_by<'t>(after: &'t str, before: &str) -> Option<&'t str> {
    const METHODS: [&str; 5] = [".update(", ".merge!(", ".replace(", ".merge(", ".update!("];
    let method = METHODS.iter().find_map(|method| after.strip_prefix(method));
    let assigns = before.ends_with("assign(process.") || before.ends_with("assign(");
    method.or_else(|| after.strip_prefix(',').filter(|_| assigns))
}

/// The arguments of a method of an environment that sets one variable.
fn sets_one(after: &str) -> Option<&str> {
    const METHODS: [&str; 4] = [".__setitem__(", ".setdefault(", ".set(", ".store("];
    METHODS.iter().find_map(|method| after.strip_prefix(method))
}

/// What is joined to an environment.
fn joined(after: &str) -> Option<&str> {
    after.trim_start().strip_prefix("|=")
}

/// The names that a text gives to the environment of its process.
fn other_names(text: &str) -> BTreeSet<&str> {
    const PROCESS: [&str; 4] = ["ENV", "environ", "os.environ", "process.env"];
    let names = text.lines().filter_map(|line| {
        let imported = line.split_once("environ as ").map(|(_, name)| name.trim());
        let set = line.split_once('=').filter(|(_, value)| {
            let value = value.split(['#', ';']).next().unwrap_or_default();
            PROCESS.contains(&value.trim())
        });
        imported.or(set.and_then(|(name, _)| name.trim().rsplit(' ').next()))
    });
    names
        .filter(|name| name.chars().all(is_part_of_name))
        .collect()
}

/// The names in a text, and where they stand.
fn names_in(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let names = text
        .split(|c| !is_part_of_name(c))
        .filter(|name| !name.is_empty());
    names.map(|name| (name.as_ptr() as usize - text.as_ptr() as usize, name))
}

/// The value that a variable gets at a place.
fn value_set(place: &NamedPlace<'_>) -> Option<String> {
    let NamedPlace {
        evaluator,
        name,
        before,
        after,
    } = place;
    let language = evaluator.language;
    let plain_before = before.trim_end_matches(QUOTES);
    let is_quoted = plain_before.len() < before.len();
    // Bytes of Python.
    let plain_before = plain_before
        .strip_suffix("[b")
        .map_or(plain_before, |_| &plain_before[..plain_before.len() - 1]);
    // An entry of the hash of Perl.
    let entry = after.trim_start_matches(QUOTES).strip_prefix('}');
    let entry = entry.filter(|_| language == Language::Perl && plain_before.ends_with('{'));
    let element = after.trim_start_matches(QUOTES).strip_prefix(']');
    let element = element.filter(|_| is_quoted && plain_before.ends_with('['));
    let member = Some(*after).filter(|_| before.ends_with('.'));
    let rest = entry.or(element).or(member).map_or("", str::trim_start);
    if changes(rest) {
        let (operator, value) = rest.split_once('=')?;
        let value = evaluator.text(until_separated(value, language));
        let adds = operator.starts_with(['+', '.']);
        return Some(if adds {
            variable_of(name, Some("")) + &value
        } else {
            value
        });
    }
    if assigns(rest) {
        return Some(evaluator.text(until_separated(&rest[1..], language)));
    }
    if is_quoted && plain_before.trim_end().ends_with('(') {
        let function = plain_before.trim_end().trim_end_matches('(');
        let function = function
            .rsplit(|c| !is_part_of_name(c))
            .next()
            .unwrap_or_default();
        if !SETTERS.contains(&function) {
            return None;
        }
        // `putenv("NAME=value")` has both in one text.
        let value = after.trim_start_matches(QUOTES).trim_start();
        return Some(match value.strip_prefix(',') {
            Some(value) => evaluator.text(until_separated(value, language)),
            None => UNKNOWN_CHAR.to_string(),
        });
    }
    let is_declaration = ["const", "let", "local", "my", "our", "var"]
        .iter()
        .any(|word| before.trim_end().ends_with(word));
    let is_annotation = !is_quoted && after.trim_start().starts_with(':') && !is_in_braces(place);
    if is_declaration || is_annotation {
        return None;
    }
    place.option_expression().map(|value| evaluator.text(value))
}

/// Whether a name stands in braces, or is an argument.
fn is_in_braces(place: &NamedPlace<'_>) -> bool {
    let Evaluator {
        text,
        language,
        variables,
    } = place.evaluator;
    variables.is_inside(text, place.before.len(), language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_calls::variables::Variables;

    fn lines(text: &str, language: Language) -> (String, bool) {
        let found = SetVariables::collect(Evaluator {
            text,
            language,
            variables: &Variables::default(),
        });
        let lines = found.lines.replace(UNKNOWN_CHAR, "?").replace('\n', ";");
        (lines, found.computed.is_some())
    }

    #[test]
    fn variables_that_code_sets_are_found_in_every_form() {
        use Language::{JavaScript, Perl, Php, Python, Ruby};
        for (language, text, expected) in [
            (Python, "os.environ['MAKEFILES'] = 'r.mk'", "r.mk"),
            (Python, "os.environ['MAKEFILES'] = open('p').read()", "?"),
            (Python, "os.environ.setdefault('MAKEFILES', x)", "?"),
            (Python, "os.environ.update({'MAKEFILES': 'r.mk'})", "r.mk"),
            (Python, "os.environ.update(MAKEFILES=x)", "?"),
            (Python, "os.putenv('MAKEFILES', 'r.mk')", "r.mk"),
            (Python, "run(c, env={**os.environ, 'MAKEFILES': x})", "?"),
            (
                Python,
                "run(c, env=dict(os.environ, MAKEFILES='r.mk'))",
                "r.mk",
            ),
            (JavaScript, "process.env.MAKEFILES = 'r.mk'", "r.mk"),
            (JavaScript, "process.env['MAKEFILES'] ||= x", "?"),
            (
                JavaScript,
                "run(c, { env: { ...process.env, MAKEFILES: 'r.mk' } })",
                "r.mk",
            ),
            (Ruby, "ENV['MAKEFILES'] = x", "?"),
            (Ruby, "system({ 'MAKEFILES' => 'r.mk' }, 'make')", "r.mk"),
            (Perl, "$ENV{MAKEFILES} = 'r.mk';", "r.mk"),
            (Perl, "local $ENV{'MAKEFILES'} = $x;", "?"),
            (Php, "putenv('MAKEFILES=r.mk');", "?"),
        ] {
            let expected = format!("export MAKEFILES='{expected}';");
            assert_eq!(lines(text, language), (expected, false), "{text}");
        }
    }

    #[test]
    fn names_of_variables_that_come_from_data_are_known() {
        use Language::{JavaScript, Python};
        for (language, text) in [
            (
                Python,
                "for k, v in json.load(open('p')).items():\n  os.environ[k] = v",
            ),
            (Python, "run(c, env=json.load(open('p')))"),
            (
                Python,
                "e = {**os.environ, **json.load(open('p'))}\nrun(c, env=e)",
            ),
            (Python, "os.environ.update(json.load(open('p')))"),
            (
                JavaScript,
                "Object.assign(process.env, JSON.parse(readFileSync('p')))",
            ),
            (
                JavaScript,
                "run(c, { env: { ...process.env, ...JSON.parse(readFileSync('p')) } })",
            ),
        ] {
            assert!(lines(text, language).1, "{text}");
        }
    }

    #[test]
    fn read_and_harmless_variables_are_left_out() {
        use Language::{JavaScript, Perl, Python, Ruby};
        for (language, text) in [
            (
                Python,
                "env = os.environ.copy()\nenv['FILE'] = sys.stdin.read()\nrun(c, env=env)",
            ),
            (Python, "run(c, env={**os.environ, 'FILE': data['file']})"),
            (
                Python,
                "x = os.environ.get('PATH', y)\nfor n in ['HOME', 'PATH', z]: print(n)",
            ),
            (
                Python,
                "PATH = Path(__file__)\nHOME: str = x\nenv.pop('VIRTUAL_ENV', None)",
            ),
            (
                JavaScript,
                "const { PATH } = process.env; if (process.env.PATH === x) { y(process.env.HOME) }",
            ),
            (JavaScript, "const HOME = os.homedir(), X = 1"),
            (Ruby, "puts ENV['PATH'], ENV.fetch('HOME', x)"),
            (Perl, "print $ENV{PATH};"),
        ] {
            assert_eq!(lines(text, language), (String::new(), false), "{text}");
        }
    }
}
