//! One list of apps from several sources.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::app::App;
use crate::names::install_page;

/// Ids with this start are parts of the service itself.
const HIDDEN_PREFIX: &str = "connector_openai_";

/// Whether an app is never shown.
pub(crate) fn is_hidden(id: &str) -> bool {
    id.starts_with(HIDDEN_PREFIX)
}

/// Merges the directory, connected apps and the apps of plugins by id: connected ones first, then by name and id.
#[must_use]
pub fn merge(directory: &[App], accessible: &[App], of_plugins: &[&str]) -> Vec<App> {
    let mut merged: BTreeMap<String, App> = BTreeMap::new();
    for app in directory {
        merged
            .entry(app.id.clone())
            .or_insert_with(|| with_page(app.clone()));
    }
    for app in accessible {
        match merged.get_mut(&app.id) {
            Some(known) => complete(known, app),
            None => drop(merged.insert(app.id.clone(), with_page(app.clone()))),
        }
    }
    for id in of_plugins {
        merged
            .entry((*id).to_owned())
            .or_insert_with(|| with_page(App::unknown(id)));
    }
    let mut all: Vec<App> = merged
        .into_values()
        .filter(|app| !is_hidden(&app.id))
        .collect();
    all.sort_by(|a, b| {
        let key = |app: &App| (Reverse(app.is_accessible), app.name.clone(), app.id.clone());
        key(a).cmp(&key(b))
    });
    all
}

/// The app with its page, whose address has the name that the app has in its own source.
fn with_page(mut app: App) -> App {
    let page = || install_page(&app.name, &app.id);
    app.install_url.get_or_insert_with(page);
    app
}

/// Adds to an app of the directory what only the account knows.
fn complete(known: &mut App, app: &App) {
    known.is_accessible = true;
    if known.name.trim().is_empty() || known.name == known.id {
        known.name.clone_from(&app.name);
    }
    for (own, other) in [
        (&mut known.description, &app.description),
        (&mut known.logo_url, &app.logo_url),
        (&mut known.logo_url_dark, &app.logo_url_dark),
    ] {
        if own.is_none() {
            own.clone_from(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(id: &str, name: &str, description: Option<&str>) -> App {
        App {
            name: name.to_owned(),
            description: description.map(str::to_owned),
            ..App::unknown(id)
        }
    }

    #[test]
    fn sources_are_merged_by_id() {
        let directory = [
            app("d", "Zed", Some("directory")),
            app("both", "both", None),
            app("connector_openai_x", "X", None),
        ];
        let connected = |app: App| App {
            is_accessible: true,
            ..app
        };
        let accessible = [
            connected(app("both", "Both", Some("account"))),
            connected(app("mine", "Ah", None)),
        ];
        let all = merge(&directory, &accessible, &["both", "plugged"]);
        let shown: Vec<_> = all
            .iter()
            .map(|app| (app.id.as_str(), app.name.as_str(), app.is_accessible))
            .collect();
        let expected = [
            ("mine", "Ah", true),
            ("both", "Both", true),
            ("d", "Zed", false),
            ("plugged", "plugged", false),
        ];
        assert_eq!(shown, expected);
        assert_eq!(all[1].description.as_deref(), Some("account"));
        let page = all[2].install_url.as_deref().unwrap();
        assert_eq!(page, "https://chatgpt.com/apps/zed/d");
        // The account calls it otherwise.
        let mut renamed = app("d", "Zet", None);
        renamed.is_accessible = true;
        let unnamed = [app("d", "d", None)];
        let all = merge(&unnamed, &[renamed], &[]);
        assert_eq!(all[0].name, "Zet");
        let page = all[0].install_url.as_deref();
        assert_eq!(page, Some("https://chatgpt.com/apps/d/d"));
    }
}
