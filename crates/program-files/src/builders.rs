//! Programs that build or run the code of their folder, so that it is not known before what they run.

use crate::known_programs::{BUILDERS, PACKAGE_MANAGERS, without_version};
use crate::recipe_runners::recipe_request;

/// Whether a program builds or runs the code of its folder.
pub(crate) fn is_builder(name: &str, arguments: &[String]) -> bool {
    let name = without_version(name);
    let first = arguments.first().map(String::as_str).unwrap_or_default();
    let runs_code = match name {
        name if PACKAGE_MANAGERS.contains(&name)
            && (arguments.iter().any(|word| is_test(word)) || installs(name, arguments)) =>
        {
            true
        }
        "bun" | "deno" => ["bench", "test"].contains(&first),
        // Such settings say what its commands are.
        "cargo" => arguments.iter().any(|word| word.starts_with("--config")),
        "node" => arguments.iter().any(|option| option == "--test"),
        _ => false,
    };
    if runs_code {
        return true;
    }
    let mut builders = BUILDERS.iter();
    builders.any(|(builder, harmless)| *builder == name && !harmless.contains(&first))
}

/// Whether a program builds, or runs recipes.
pub(crate) fn builds_or_runs_recipes(program: &str) -> bool {
    BUILDERS.iter().any(|(builder, _)| *builder == program)
        || recipe_request(program, &[]).is_some()
}

/// Whether a script of a package runs its tests, by its name.
fn is_test(script: &str) -> bool {
    ["t", "tst"].contains(&script) || script.split([':', '-']).any(|part| part == "test")
}

/// Whether a package manager installs or packs packages, whose scripts it runs then.
fn installs(name: &str, arguments: &[String]) -> bool {
    const COMMANDS: [&str; 19] = [
        "add",
        "ci",
        "clean-install",
        "dedupe",
        "i",
        "in",
        "install",
        "link",
        "pack",
        "publish",
        "rb",
        "rebuild",
        "restart",
        "start",
        "stop",
        "up",
        "update",
        "upgrade",
        "version",
    ];
    let mut operands = arguments.iter().filter(|word| !word.starts_with('-'));
    let options = ["--help", "--version", "-h", "-v"];
    match operands.next() {
        Some(first) => COMMANDS.contains(&first.as_str()),
        // It installs without a command.
        None => {
            name == "yarn"
                && !arguments
                    .iter()
                    .any(|word| options.contains(&word.as_str()))
        }
    }
}
