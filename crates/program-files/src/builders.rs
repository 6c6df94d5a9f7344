//! Programs that build or run the code of their folder, so that it is not known before what they run.

use crate::known_programs::{BUILDERS, without_version};

/// Whether a program builds or runs the code of its folder.
pub(crate) fn is_builder(name: &str, arguments: &[String]) -> bool {
    let name = without_version(name);
    let first = arguments.first().map(String::as_str).unwrap_or_default();
    let runs_tests = match name {
        "bun" | "npm" | "pnpm" | "yarn" if arguments.iter().any(|word| is_test(word)) => true,
        "bun" | "deno" => ["bench", "test"].contains(&first),
        "node" => arguments.iter().any(|option| option == "--test"),
        _ => false,
    };
    if runs_tests {
        return true;
    }
    let mut builders = BUILDERS.iter();
    builders.any(|(builder, harmless)| *builder == name && !harmless.contains(&first))
}

/// Whether a script of a package runs its tests, by its name.
fn is_test(script: &str) -> bool {
    ["t", "tst"].contains(&script) || script.split([':', '-']).any(|part| part == "test")
}
