//! The recipes in files such as `Makefile` and `package.json`: which of them a line runs.
//!
//! A recipe that builds or tests the workspace runs what is not known before, but only if it is run. What is in no recipe
//! always counts. Languages are not parsed: a line that begins without a blank and has a `:` in it begins a recipe.

use std::collections::BTreeSet;
use std::path::Path;

/// Limit on the recipes of a file.
const MAX_RECIPES: usize = 2000;

/// The name under which a program without operands asks for the first recipe.
pub(crate) const FIRST_TARGET: &str = "";

/// Lines with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recipe {
    names: Vec<String>,
    /// The recipes that run before it.
    needs: Vec<String>,
    lines: String,
    /// Whether it runs with any other one.
    is_always_run: bool,
}

/// The recipes of a file. None if it has no recipes.
pub(crate) fn recipes_of(path: &Path, text: &str) -> Option<Vec<Recipe>> {
    let name = path.file_name()?.to_str()?;
    match name.to_lowercase().as_str() {
        "package.json" => Some(scripts_of_package(text)),
        "makefile" | "gnumakefile" | "justfile" | ".justfile" => Some(rules(text)),
        name if name.ends_with(".mk") || name.ends_with(".just") => Some(rules(text)),
        "taskfile.yml" | "taskfile.yaml" | ".pre-commit-config.yaml" => Some(vec![values(text)]),
        "composer.json" | "deno.json" | "deno.jsonc" | "mise.toml" | ".mise.toml" => {
            Some(vec![values(text)])
        }
        name if name.starts_with(".lintstagedrc") => Some(vec![values(text)]),
        name if name.trim_start_matches('.').starts_with("lefthook") => Some(vec![values(text)]),
        _ => None,
    }
}

/// The recipes of a file whose name does not say that it has some.
pub(crate) fn recipes_in(path: &Path, text: &str) -> Vec<Recipe> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json" | "toml" | "yaml" | "yml") => vec![values(text)],
        _ => rules(text),
    }
}

/// The lines of the recipes that are run if these are asked for.
pub(crate) fn lines_to_run(recipes: &[Recipe], asked: &BTreeSet<String>) -> String {
    let mut names: Vec<&str> = asked.iter().map(String::as_str).collect();
    if asked.contains(FIRST_TARGET) {
        let mut own = recipes.iter().flat_map(|recipe| &recipe.names);
        names.extend(own.find(|name| !name.starts_with('.')).map(String::as_str));
    }
    let mut runs: Vec<bool> = recipes.iter().map(|recipe| recipe.is_always_run).collect();
    let always = recipes.iter().filter(|recipe| recipe.is_always_run);
    names.extend(always.flat_map(|recipe| recipe.needs.iter().map(String::as_str)));
    while let Some(name) = names.pop() {
        for (recipe, runs) in recipes.iter().zip(&mut runs) {
            if !*runs && recipe.names.iter().any(|own| own == name) {
                *runs = true;
                names.extend(recipe.needs.iter().map(String::as_str));
            }
        }
    }
    let run = recipes.iter().zip(runs).filter(|(_, runs)| *runs);
    run.map(|(recipe, _)| recipe.lines.as_str()).collect()
}

fn rules(text: &str) -> Vec<Recipe> {
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut all = vec![Recipe {
        is_always_run: true,
        ..Recipe::default()
    }];
    for line in text.lines() {
        let is_inner = line.starts_with([' ', '\t']);
        let rule = line.split_once(':').filter(|_| !is_inner);
        let rule = rule.filter(|(_, after)| !after.starts_with('=') && !line.starts_with('#'));
        let at = match rule {
            Some((names, after)) if all.len() < MAX_RECIPES => {
                let (needs, first_line) = after.split_once(';').unwrap_or((after, ""));
                let names = names.trim_start_matches('@').split_whitespace();
                let is_pattern = |c: char| "%=$".contains(c);
                all.push(Recipe {
                    is_always_run: names.clone().any(|name| name.contains(is_pattern)),
                    names: names.map(str::to_owned).collect(),
                    needs: words(needs),
                    lines: format!("{first_line}\n"),
                });
                continue;
            }
            None if is_inner => all.len() - 1,
            _ => 0,
        };
        let own = &mut all[at].lines;
        let assigned = assignment(line).filter(|_| at == 0);
        own.push_str(&in_words_of_a_shell(
            &assigned.unwrap_or_else(|| line.to_owned()),
        ));
        own.push('\n');
    }
    let computes_file = |line: &str| names_recipes_elsewhere(line) && line.contains("$(shell");
    if text.lines().any(computes_file) {
        // Nobody knows which recipes these are, as with this option.
        all[0].lines.push_str("make --eval\n");
    }
    if text.lines().any(names_recipes_elsewhere) || all.iter().any(Recipe::has_computed_needs) {
        all.iter_mut()
            .for_each(|recipe| recipe.is_always_run = true);
    }
    all
}

impl Recipe {
    /// Whether it is not known which recipes run before it.
    fn has_computed_needs(&self) -> bool {
        self.needs.iter().any(|name| name.contains('$'))
    }
}

/// Whether a line gives a recipe another name, takes one from another file, or says which one is the first.
fn names_recipes_elsewhere(line: &str) -> bool {
    const WORDS: [&str; 5] = ["alias", "import", "include", "mod", "sinclude"];
    let first = line.split(char::is_whitespace).next().unwrap_or_default();
    WORDS.contains(&first.trim_start_matches('-')) || first.starts_with(".DEFAULT_GOAL")
}

/// A variable that a line sets, as a shell sets it.
fn assignment(line: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches(['?', ':', '+']).trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let value = value.trim().trim_matches(['"', '\'']);
    (!name.is_empty() && name.chars().all(is_name)).then(|| format!("{name}=\"{value}\""))
}

/// A line of a recipe as a shell gets it: without the signs of the program that runs it. Its variables are written as those
/// of a shell.
fn in_words_of_a_shell(line: &str) -> String {
    let mut rest = line.trim_start().trim_start_matches(['@', '-', '+']);
    let mut written = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once("$(") {
        written.push_str(before);
        let name = after.split_once(')').filter(|(name, _)| {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            !name.is_empty() && name.chars().all(is_plain)
        });
        rest = match name {
            Some((name, after)) => {
                written.push_str(&format!("${{{name}}}"));
                after
            }
            None => {
                written.push_str("$(");
                after
            }
        };
    }
    written + rest
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || "()&|".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The scripts of a package. One whose name begins with `pre` or `post` runs with the other one.
fn scripts_of_package(text: &str) -> Vec<Recipe> {
    let package: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let scripts = package["scripts"].as_object().into_iter().flatten();
    let scripts = scripts.filter_map(|(name, line)| Some((name, line.as_str()?)));
    let recipes = scripts.take(MAX_RECIPES).map(|(name, line)| {
        let with = ["pre", "post"].map(|prefix| name.strip_prefix(prefix));
        let also: &[&str] = if name == "test" {
            &["cit", "it", "t", "tst"]
        } else {
            &[]
        };
        let with = with.into_iter().flatten().chain(also.iter().copied());
        let with = with.map(str::to_owned);
        Recipe {
            names: with.chain([name.clone()]).collect(),
            lines: format!("{line}\n"),
            ..Recipe::default()
        }
    });
    recipes.collect()
}

/// The values of a file of settings, each of which may be a line.
fn values(text: &str) -> Recipe {
    let lines = text.lines().map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        let value = line.split_once(": ").or(line.split_once(" = "));
        let value = value.map_or(line, |(_, value)| value);
        format!("{}\n", value.trim_matches([' ', ',', '"', '\'', '[', ']']))
    });
    Recipe {
        lines: lines.collect(),
        is_always_run: true,
        ..Recipe::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, asked: &[&str], expected: &[&str]) {
        let recipes = recipes_of(Path::new(file), text).unwrap_or_default();
        let asked = asked.iter().map(|name| (*name).to_owned()).collect();
        let lines = lines_to_run(&recipes, &asked);
        let lines: Vec<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines, expected, "{file} {asked:?}");
    }

    #[test]
    fn requested_recipes_run_with_their_prerequisites() {
        let rules = "X := 1\n.PHONY: a b c\na: b\n\t@one\nb:\n\ttwo\nc:; three\n%.o: %.c\n\tfour\n";
        check(
            "Makefile",
            rules,
            &["a"],
            &["X=\"1\"", "one", "two", "four"],
        );
        check(
            "Makefile",
            rules,
            &[FIRST_TARGET],
            &["X=\"1\"", "one", "two", "four"],
        );
        check("Makefile", rules, &["c"], &["X=\"1\"", " three", "four"]);
        check(
            "justfile",
            "f x:\n  one {{x}}\ng: (f '1')\n  two\n",
            &["g"],
            &["one {{x}}", "two"],
        );
        let package = r#"{"scripts":{"a":"one","prea":"two","b":"three"}}"#;
        check("package.json", package, &["a"], &["one", "two"]);
        let tasks = "tasks:\n  a:\n    cmds:\n      - one x\n    b: 'two'\n";
        check(
            "Taskfile.yml",
            tasks,
            &[],
            &["tasks:", "a:", "cmds:", "one x", "two"],
        );
    }
}
