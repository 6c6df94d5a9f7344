//! The modules of the engine read from the bottom up, and files do not import each other in circles.
//!
//! Imports are read as text: `use` statements, and paths that begin with `crate::`, `super::` or a module of the file.
//! What a module re-exports, or gives another name, counts as imported from the file that defines it; of several modules with
//! one name for several systems, the first counts. Tests inside of files are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::repository;

/// The modules of the crates of the engine, from the bottom to the top. Each uses only modules that stand before it.
const ENGINE: [(&str, &[&str]); 2] = [
    (
        "session-base",
        &[
            "config",
            "ports",
            "timeout_pauses",
            "input",
            "events",
            "history",
            "stored_thread",
            "turn_reviews",
            "turn_settings",
            "derived_sessions",
            "turn_rights",
            "context",
            "budget",
            "cells",
            "session_context",
            "machines",
            "startup_files",
            "hooks",
            "requests",
            "questions",
            "gate",
            "mcp",
            "thread",
            "agents",
        ],
    ),
    (
        "core",
        &[
            "git",
            "standalone",
            "thread_origin",
            "approval_review",
            "turn",
            "review",
            "session",
            "launch",
        ],
    ),
];

type ModulePath = Vec<String>;

/// The files of a crate, and what each imports.
struct Modules {
    sources: BTreeMap<ModulePath, String>,
    /// From the path of a re-exported name to the path that it stands for.
    exports: BTreeMap<ModulePath, ModulePath>,
}

impl Modules {
    fn read(name: &str) -> Self {
        let mut sources = BTreeMap::new();
        let folder = repository().join("crates").join(name).join("src");
        read_folder(&folder, &Vec::new(), &mut sources);
        let mut exports = BTreeMap::new();
        for (module, source) in &sources {
            for path in statements(source, true) {
                let target = absolute(module, &path);
                let name = target.last().cloned().unwrap_or_default();
                exports.insert([module.as_slice(), &[name]].concat(), target);
            }
            for (path, name) in renamed_modules(source) {
                let name = [module.as_slice(), &[name]].concat();
                exports.entry(name).or_insert(absolute(module, &path));
            }
        }
        Self { sources, exports }
    }

    /// The file that defines what a path names.
    fn file_of(&self, path: &[String]) -> ModulePath {
        let file = (0..=path.len())
            .rev()
            .map(|length| &path[..length])
            .find(|path| self.sources.contains_key(*path))
            .unwrap_or_default();
        let name = path
            .get(..=file.len())
            .and_then(|name| self.exports.get(name));
        match name {
            Some(target) if target != path => {
                let inside = path.get(file.len() + 1..).unwrap_or_default();
                self.file_of(&[target.as_slice(), inside].concat())
            }
            _ => file.to_vec(),
        }
    }

    /// The beginnings of paths that lead from a module to one inside it.
    fn children_of(&self, module: &[String]) -> Vec<String> {
        let inside = |path: &&ModulePath| path.split_last().is_some_and(|(_, of)| of == module);
        let children = self
            .sources
            .keys()
            .filter(inside)
            .filter_map(|path| path.last());
        children.map(|child| format!("{child}::")).collect()
    }

    fn imports(&self) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        let of = |(module, source): (&ModulePath, &String)| {
            let starts = ["crate::".to_owned(), "super::".to_owned()];
            let starts = starts.into_iter().chain(self.children_of(module));
            let inline = starts.flat_map(|start| inline_paths(source, &start));
            let paths = statements(source, false).into_iter().chain(inline);
            let files = paths.map(|path| self.file_of(&absolute(module, &path)));
            (
                module.clone(),
                files.filter(|file| file != module).collect(),
            )
        };
        self.sources.iter().map(of).collect()
    }
}

fn read_folder(folder: &Path, module: &ModulePath, sources: &mut BTreeMap<ModulePath, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let below = [module.as_slice(), std::slice::from_ref(&name)].concat();
        if path.is_dir() {
            read_folder(&path, &below, sources);
        } else if name != "tests" && path.extension().is_some_and(|kind| kind == "rs") {
            let is_root = ["lib", "main", "mod"].contains(&name.as_str());
            let module = if is_root { module.clone() } else { below };
            sources.insert(module, without_comments_and_tests(&path));
        }
    }
}

fn without_comments_and_tests(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().take_while(|line| *line != "mod tests {");
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// The paths of `use` statements, one for each name: of those that re-export, or of the others.
fn statements(source: &str, re_exports: bool) -> Vec<String> {
    let body = |statement: &'_ str| -> Option<String> {
        let (before, body) = statement.rsplit_once("use ")?;
        let line = before.lines().last().unwrap_or_default().trim();
        let is_export = line.starts_with("pub");
        let is_use = line.is_empty() || is_export || line.starts_with("#[") && line.ends_with(']');
        (is_use && is_export == re_exports).then(|| body.to_owned())
    };
    let bodies = source.split(';').filter_map(body);
    bodies.flat_map(|body| leaves(&body)).collect()
}

/// What `use path as name` gives another name.
fn renamed_modules(source: &str) -> impl Iterator<Item = (String, String)> {
    source.split(';').filter_map(|statement| {
        let (_, body) = statement.rsplit_once("use ")?;
        let (path, name) = body.split_once(" as ")?;
        (!body.contains('{')).then(|| (path.to_owned(), name.to_owned()))
    })
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((prefix, names)) = tree.trim().split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or_default();
        return vec![name.trim().to_owned()];
    };
    let names = names.strip_suffix('}').unwrap_or(names);
    let mut depth = 0;
    let parts = names.split(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    let parts = parts
        .filter(|part| !part.trim().is_empty())
        .flat_map(leaves);
    parts.map(|part| format!("{prefix}{part}")).collect()
}

/// Paths with this beginning that stand in code, such as `crate::a::b(…)`.
fn inline_paths(source: &str, start: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let is_start = |at: &usize| {
        let before = &source[..*at];
        !before.ends_with(is_part) && !before.ends_with("use ")
    };
    let places = source.match_indices(start).map(|(at, _)| at);
    places
        .filter(is_start)
        .map(|at| source[at..].split(|letter| !is_part(letter)).next())
        .map(|path| path.unwrap_or_default().trim_end_matches(':').to_owned())
        .collect()
}

/// The path from the root of the crate.
fn absolute(module: &[String], path: &str) -> ModulePath {
    let mut parts: Vec<&str> = path.split("::").map(str::trim).collect();
    parts.retain(|part| !["self", "*", ""].contains(part));
    let above = parts.iter().take_while(|part| **part == "super").count();
    let base = match parts.first() {
        Some(&"crate") => &[],
        _ => &module[..module.len() - above],
    };
    let own = parts
        .into_iter()
        .filter(|part| !["super", "crate"].contains(part));
    base.iter().cloned().chain(own.map(str::to_owned)).collect()
}

fn crate_names() -> impl Iterator<Item = String> {
    let crates = fs::read_dir(repository().join("crates")).unwrap();
    crates.map(|entry| entry.unwrap().file_name().into_string().unwrap())
}

#[test]
fn engine_modules_use_only_lower_modules() {
    for (name, order) in ENGINE {
        let place = |module: &str| order.iter().position(|known| *known == module);
        let mut found = BTreeSet::new();
        for (file, imported) in &Modules::read(name).imports() {
            let Some(module) = file.first() else { continue };
            found.insert(module.clone());
            for used in imported.iter().filter_map(|path| path.first()) {
                let is_allowed = used == module || place(used) < place(module);
                assert!(is_allowed, "{name}: {} uses `{used}`", file.join("::"));
            }
        }
        let listed = order.iter().map(|module| (*module).to_owned()).collect();
        assert_eq!(found, listed, "the modules of {name}");
    }
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    for name in crate_names() {
        let imports = Modules::read(&name).imports();
        for file in imports.keys() {
            let reached = reachable(&imports, file);
            let circle: Vec<String> = reached
                .iter()
                .filter(|other| reachable(&imports, other).contains(file))
                .map(|other| other.join("::"))
                .collect();
            assert!(circle.len() <= 2, "{name}: {circle:?} import each other");
        }
    }
}

fn reachable(
    imports: &BTreeMap<ModulePath, BTreeSet<ModulePath>>,
    from: &ModulePath,
) -> BTreeSet<ModulePath> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from.clone()];
    while let Some(file) = next.pop() {
        for imported in imports.get(&file).into_iter().flatten() {
            if reached.insert(imported.clone()) {
                next.push(imported.clone());
            }
        }
    }
    reached
}

#[test]
fn modules_do_not_use_each_other_in_circles() {
    for name in crate_names() {
        let mut uses: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for (file, imported) in Modules::read(&name).imports() {
            let Some(module) = file.first() else { continue };
            let used = imported
                .iter()
                .filter_map(|path| path.first())
                .filter(|used| *used != module)
                .map(|used| vec![used.clone()]);
            uses.entry(vec![module.clone()]).or_default().extend(used);
        }
        for module in uses.keys() {
            let reached = reachable(&uses, module);
            let circle: Vec<String> = reached
                .iter()
                .filter(|other| reachable(&uses, other).contains(module))
                .map(|other| other.join("::"))
                .collect();
            assert!(circle.len() <= 2, "{name}: {circle:?} use each other");
        }
    }
}
