//! Crates depend on their own layer or a lower one, never on a higher one.
//!
//! A crate names its layer in the first line of its documentation, and what it depends on in its
//! manifest. Capabilities know each other only where a reason is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::repository;

/// From the top to the bottom.
const LAYERS: [&str; 6] = [
    "tests",
    "surface",
    "engine",
    "capability",
    "foundation",
    "vocabulary",
];

/// The capabilities that use another one, and why.
const BETWEEN_CAPABILITIES: [(&str, &str, &str); 13] = [
    (
        "checkpoints",
        "git",
        "git has what tracked files were, which need not be copied then",
    ),
    (
        "config",
        "sandbox",
        "limits of the network say whether the system can enforce them",
    ),
    (
        "environments",
        "exec",
        "a carrier is a process with one owner",
    ),
    (
        "environments",
        "sandbox",
        "the launch of a carrier says that it has no sandbox",
    ),
    ("exec", "sandbox", "a process starts inside of its sandbox"),
    (
        "external-agent",
        "config",
        "what is taken over is an edit of the configuration",
    ),
    (
        "login",
        "model-client",
        "the login is the source of credentials that requests to models take",
    ),
    (
        "mcp-client",
        "environments",
        "a server may be a process of another machine",
    ),
    ("mcp-client", "exec", "a server is a process with one owner"),
    (
        "mcp-client",
        "sandbox",
        "a server is a process that may have a sandbox",
    ),
    (
        "skills",
        "file-watch",
        "skills are read again when their files change",
    ),
    (
        "skills",
        "plugins",
        "the names of skills in a plugin begin with its name",
    ),
    (
        "thread-store",
        "rollout",
        "the index is made of the logs of all threads",
    ),
];

/// The vocabulary of the wire, which the surface alone speaks.
const WIRE: &str = "app-server-protocol";

struct Crate {
    layer: usize,
    dependencies: Vec<String>,
}

fn crates() -> BTreeMap<String, Crate> {
    fs::read_dir(repository().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                read_crate(&entry.path()),
            )
        })
        .collect()
}

fn read_crate(folder: &Path) -> Crate {
    let source = ["src/lib.rs", "src/main.rs"]
        .iter()
        .find_map(|file| fs::read_to_string(folder.join(file)).ok())
        .unwrap();
    let layer = source
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//! Layer: "))
        .and_then(|line| line.split('.').next())
        .unwrap_or_else(|| panic!("{} does not begin with its layer", folder.display()));
    let layer = LAYERS
        .iter()
        .position(|known| *known == layer)
        .unwrap_or_else(|| panic!("{}: no layer is called {layer}", folder.display()));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let dependencies = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.strip_prefix("codex-"))
        .map(|line| {
            line.split(['.', ' ', '='])
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    Crate {
        layer,
        dependencies,
    }
}

#[test]
fn arrows_point_down() {
    let crates = crates();
    for (name, found) in &crates {
        for dependency in &found.dependencies {
            let below = &crates[dependency];
            assert!(
                below.layer >= found.layer,
                "{name} ({}) depends on {dependency} ({}), which stands above it",
                LAYERS[found.layer],
                LAYERS[below.layer],
            );
        }
    }
    assert!(crates.len() >= 16);
}

#[test]
fn capability_dependencies_have_reasons() {
    let crates = crates();
    let capability = LAYERS.iter().position(|layer| *layer == "capability");
    let is_capability = |name: &str| Some(crates[name].layer) == capability;
    let used: BTreeSet<(&str, &str)> = crates
        .iter()
        .filter(|(name, _)| is_capability(name))
        .flat_map(|(name, found)| found.dependencies.iter().map(|used| (&**name, &**used)))
        .filter(|(_, used)| is_capability(used))
        .collect();
    let listed = BETWEEN_CAPABILITIES.map(|(name, used, _)| (name, used));
    assert_eq!(used, BTreeSet::from(listed));
}

#[test]
fn the_wire_is_known_to_the_surface_alone() {
    let crates = crates();
    let engine = LAYERS.iter().position(|layer| *layer == "engine").unwrap();
    for (name, found) in &crates {
        let uses = found.dependencies.iter().any(|used| used == WIRE);
        assert!(!uses || found.layer < engine, "{name} uses {WIRE}");
    }
}

/// Launches of tools have the plan that `TurnPolicy::plan` makes of a permit.
#[test]
fn tools_plan_no_launches_themselves() {
    let mut folders = vec![repository().join("crates/tools/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for planning in ["plan: LaunchPlan", "codex_sandbox::plan"] {
                assert!(
                    !text.contains(planning),
                    "{} has `{planning}`",
                    path.display()
                );
            }
        }
    }
}
