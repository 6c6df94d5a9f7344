//! Crates depend on their own layer or a lower one, never on a higher one.
//!
//! A crate names its layer in the first line of its documentation, and what it depends on in its
//! manifest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::repository;

/// From the top to the bottom.
const LAYERS: [&str; 5] = ["tests", "surface", "engine", "capability", "vocabulary"];

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
