//! Programs that run recipes: the recipes that their arguments ask for, and the files and folders that they take them from.
//!
//! What is no option may be a recipe. Options may be shortened and joined, and their values may stand in the next word.

use crate::known_programs::{PACKAGE_MANAGERS, without_version};
use crate::line::UNKNOWNS;
use crate::recipes;

/// What a program is asked to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RecipeRequest {
    pub(crate) names: Vec<String>,
    /// Files with recipes, whatever they are called.
    pub(crate) files: Vec<String>,
    /// The folders in which recipes are looked for and run.
    pub(crate) folders: Vec<String>,
    /// Whether something runs that no file says, or one that is not known.
    pub(crate) is_uncertain: bool,
}

/// The options of a program that runs recipes.
struct RecipeRunner {
    programs: &'static [&'static str],
    /// Whether it runs the first recipe if none is asked for.
    has_default: bool,
    files: &'static [&'static str],
    folders: &'static [&'static str],
    /// Options with values that say nothing about what is run.
    values: &'static [&'static str],
    /// Options and commands with which it is not known what is run.
    uncertain: &'static [&'static str],
}

const RUNNERS: [RecipeRunner; 5] = [
    RecipeRunner {
        programs: &["gmake", "make"],
        has_default: true,
        files: &["-f", "--file", "--makefile"],
        folders: &["-C", "--directory"],
        values: &[
            "-I",
            "-o",
            "-W",
            "--include-dir",
            "--old-file",
            "--assume-old",
            "--what-if",
            "--new-file",
            "--assume-new",
        ],
        uncertain: &["-E", "--eval"],
    },
    RecipeRunner {
        programs: &["just"],
        has_default: true,
        files: &["-f", "--justfile"],
        folders: &["-d", "--working-directory"],
        values: &[
            "-s",
            "--alias-style",
            "--color",
            "--command-color",
            "--completions",
            "--dotenv-filename",
            "--dump-format",
            "--group",
            "--list-heading",
            "--list-prefix",
            "--set",
            "--shell",
            "--shell-arg",
            "--show",
            "--tempdir",
            "--timestamp-format",
            "--usage",
        ],
        uncertain: &[
            "-c",
            "-E",
            "-g",
            "--choose",
            "--chooser",
            "--command",
            "--dotenv-path",
            "--global-justfile",
            "--request",
        ],
    },
    RecipeRunner {
        programs: &["task"],
        has_default: true,
        files: &["-t", "--taskfile"],
        folders: &["-d", "--dir"],
        values: &[
            "-C",
            "-I",
            "-o",
            "--concurrency",
            "--interval",
            "--output",
            "--sort",
        ],
        uncertain: &["-g", "--global"],
    },
    RecipeRunner {
        programs: &PACKAGE_MANAGERS,
        has_default: false,
        files: &[],
        folders: &["-C", "--cwd", "--dir", "--prefix"],
        values: &[],
        uncertain: &[
            "-F",
            "-r",
            "-w",
            "-ws",
            "--filter",
            "--recursive",
            "--workspace",
            "--workspaces",
            "workspace",
            "workspaces",
        ],
    },
    RecipeRunner {
        programs: &["deno", "mise", "npm-run-all", "run-p", "run-s"],
        has_default: false,
        files: &[],
        folders: &["-C", "--cd", "--cwd"],
        values: &[],
        uncertain: &["-r", "--recursive", "--filter"],
    },
];

/// Commands that are followed by the script of a package.
const RUN: [&str; 4] = ["run", "run-script", "task", "tasks"];

/// What a program is asked to run, if it runs recipes.
pub(crate) fn recipe_request(program: &str, arguments: &[String]) -> Option<RecipeRequest> {
    let program = without_version(program);
    let runner = RUNNERS
        .iter()
        .find(|runner| runner.programs.contains(&program))?;
    let mut request = RecipeRequest::default();
    let mut names_recipe = false;
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if runner.uncertain.contains(&word) {
            request.is_uncertain = true;
        } else if word.starts_with('-') && word.len() > 1 {
            for (option, value) in runner.options(word) {
                if runner.is(option, runner.uncertain) {
                    request.is_uncertain = true;
                }
                let (is_file, is_folder) = (
                    runner.is(option, runner.files),
                    runner.is(option, runner.folders),
                );
                if !is_file && !is_folder && !runner.is(option, runner.values) {
                    continue;
                }
                let value = value.or_else(|| words.next()).unwrap_or_default();
                if option == "--set" {
                    words.next();
                }
                if is_file {
                    request.file(value);
                } else if is_folder {
                    request.folder(value);
                }
                // The rest of joined options is the value.
                break;
            }
        } else if !word.contains('=') {
            // What follows the script of a package is for the script.
            let may_be_recipe = runner.has_default || !names_recipe;
            request.is_uncertain |= may_be_recipe && word.contains(UNKNOWNS);
            let is_number = word
                .chars()
                .all(|letter| letter.is_ascii_digit() || letter == '.');
            names_recipe |= !is_number && !RUN.contains(&word);
            request.recipe(word);
        }
    }
    if runner.has_default && !names_recipe {
        request.names.push(recipes::FIRST_TARGET.to_owned());
    }
    Some(request)
}

impl RecipeRunner {
    /// The options in a word, each with the value that is joined to it.
    fn options<'w>(&self, word: &'w str) -> Vec<(&'w str, Option<&'w str>)> {
        if word.starts_with("--") {
            return vec![match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word, None),
            }];
        }
        let lists = [self.files, self.folders, self.values, self.uncertain];
        let letters = word.char_indices().skip(1);
        let short = letters.filter_map(|(at, letter)| {
            let mut lists = lists.into_iter().flatten();
            let is_short = |option: &&&str| option.len() == 2 && option.ends_with(letter);
            let option = lists.find(is_short)?;
            let rest = &word[at + letter.len_utf8()..];
            let rest = rest.strip_prefix('=').unwrap_or(rest);
            Some((*option, (!rest.is_empty()).then_some(rest)))
        });
        short.collect()
    }

    /// Whether an option, which may be shortened, is one of these.
    fn is(&self, option: &str, known: &[&str]) -> bool {
        known.iter().any(|known| {
            let is_shortened = option.len() > 3 && option.starts_with("--");
            *known == option || (is_shortened && known.starts_with(option))
        })
    }
}

impl RecipeRequest {
    fn file(&mut self, file: &str) {
        const INPUTS: [&str; 5] = ["", "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
        self.is_uncertain |= INPUTS.contains(&file) || file.contains(UNKNOWNS);
        if let Some((folder, _)) = file.rsplit_once('/') {
            self.folder(folder);
        }
        self.files.push(file.to_owned());
    }

    fn folder(&mut self, folder: &str) {
        // `{}` stands for what is listed or found.
        self.is_uncertain |= folder.contains(UNKNOWNS) || folder.contains("{}");
        if !folder.is_empty() {
            self.folders.push(folder.to_owned());
        }
    }

    /// A recipe, which may be one of another folder or of a module.
    fn recipe(&mut self, word: &str) {
        if let Some((folder, name)) = word.rsplit_once('/') {
            self.folder(folder);
            self.names.push(name.to_owned());
        }
        if let Some((_, name)) = word.rsplit_once("::") {
            self.names.push(name.to_owned());
        }
        self.names.push(word.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, names: &[&str], files: &[&str], folders: &[&str]) {
        let mut words = line.split(' ').map(str::to_owned);
        let program = words.next().unwrap_or_default();
        let request = recipe_request(&program, &words.collect::<Vec<_>>());
        let expected = RecipeRequest {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
            is_uncertain: false,
        };
        assert_eq!(request, Some(expected), "{line}");
    }

    #[test]
    fn values_of_options_are_no_recipes() {
        check("make -f a -C b", &[""], &["a"], &["b"]);
        check("make -sfa -kCb c", &["c"], &["a"], &["b"]);
        check("make --fil=a --direc b", &[""], &["a"], &["b"]);
        check("make -j 4 -I x V=1", &["4", ""], &[], &[]);
        check("just --set a b -d c", &[""], &[], &["c"]);
        check("just a/", &["", "a/"], &[], &["a"]);
        check("just -f d/j x", &["x"], &["d/j"], &["d"]);
        check("npm --prefix=a run b", &["run", "b"], &[], &["a"]);
    }
}
