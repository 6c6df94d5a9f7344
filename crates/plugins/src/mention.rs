//! Finds the plugins that a user mentions: by an input item or a link. A bare name is no mention.

use crate::installed::InstalledPlugin;

/// What the addresses of plugins begin with.
const SCHEME: &str = "plugin://";

/// A part of the input.
#[derive(Clone, Copy, Debug)]
pub enum PluginMention<'a> {
    /// An input item that names something by its address.
    Item { path: &'a str },
    /// Text, which may have links `[@name](plugin://<id>)`.
    Text(&'a str),
}

/// The plugins that an input mentions, each once; those of input items come first.
#[must_use]
pub fn mentioned<'a>(
    plugins: &'a [InstalledPlugin],
    input: &[PluginMention<'_>],
) -> Vec<&'a InstalledPlugin> {
    let items = input.iter().filter_map(|part| match part {
        PluginMention::Item { path } => path.strip_prefix(SCHEME),
        PluginMention::Text(_) => None,
    });
    let links = input.iter().flat_map(|part| match part {
        PluginMention::Text(text) => linked_ids(text),
        PluginMention::Item { .. } => Vec::new(),
    });
    let mut found: Vec<&InstalledPlugin> = Vec::new();
    for id in items.chain(links) {
        let plugin = plugins.iter().find(|plugin| plugin.id.to_string() == id);
        if let Some(plugin) = plugin
            && !found.iter().any(|known| known.id == plugin.id)
        {
            found.push(plugin);
        }
    }
    found
}

/// The ids in links of a text.
fn linked_ids(text: &str) -> Vec<&str> {
    let mut ids = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("[@") {
        rest = &rest[at + 2..];
        let Some((name, behind)) = rest.split_once(']') else {
            break;
        };
        let target = behind.trim_start().strip_prefix('(');
        let target = target.and_then(|inner| inner.split_once(')'));
        let id = target.and_then(|(target, _)| target.trim().strip_prefix(SCHEME));
        if !name.contains(['[', '\n']) {
            ids.extend(id);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::PluginId;

    fn plugin(id: &str) -> InstalledPlugin {
        let id = PluginId::parse(id).unwrap();
        InstalledPlugin {
            name: id.plugin().to_owned(),
            display_name: id.plugin().to_owned(),
            description: None,
            skill_roots: Vec::new(),
            mcp_servers: Vec::new(),
            apps: Vec::new(),
            hooks: None,
            id,
        }
    }

    fn check(input: &[PluginMention<'_>], expected: &[&str]) {
        let plugins = ["one@team", "two@team"].map(plugin);
        let found = mentioned(&plugins, input).into_iter();
        let names: Vec<_> = found.map(|plugin| plugin.name.as_str()).collect();
        assert_eq!(names, expected, "{input:?}");
    }

    #[test]
    fn items_and_links_mention_loaded_plugins() {
        let item = |path| PluginMention::Item { path };
        let text = PluginMention::Text;
        check(&[item("plugin://one@team")], &["one"]);
        check(&[item("app://one@team"), item("plugin://three@team")], &[]);
        check(
            &[text(
                "[@One](plugin://one@team) and [@x] ( plugin://two@team )",
            )],
            &["one", "two"],
        );
        let both = [text("[@One](plugin://one@team)"), item("plugin://two@team")];
        check(&both, &["two", "one"]);
        check(
            &[text("[@a](plugin://one@team) [@b](plugin://one@team)")],
            &["one"],
        );
    }

    #[test]
    fn other_texts_mention_nothing() {
        for text in [
            "@one @one@team plugin://one@team",
            "[$one](plugin://one@team)",
            "[@one](app://one@team)",
            "[@one](plugin://one@team",
            "[@one",
            "[@a\n](plugin://one@team)",
        ] {
            check(&[PluginMention::Text(text)], &[]);
        }
    }
}
