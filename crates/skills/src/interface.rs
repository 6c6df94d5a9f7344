//! Reads `agents/openai.yaml` beside a `SKILL.md`: display, dependencies and usage policy of the skill. All fields are
//! optional, and invalid ones are ignored.

use std::path::{Component, Path, PathBuf};

use codex_protocol::{SkillDependencies, SkillInterface, SkillToolDependency};
use yaml_rust2::Yaml;

use crate::yaml;

/// A longer file is ignored.
const FILE_LIMIT: u64 = 1024 * 1024;
const MAX_NAME_CHARS: usize = 64;
const MAX_TEXT_CHARS: usize = 1024;
/// The name of this product in the file.
const PRODUCT: &str = "codex";

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkillInterfaceFile {
    pub(crate) interface: Option<SkillInterface>,
    pub(crate) dependencies: Option<SkillDependencies>,
    /// Whether the model may use the skill without an explicit request.
    pub(crate) is_implicit: bool,
    /// Whether the skill is meant for this product.
    pub(crate) is_for_this_product: bool,
}

impl Default for SkillInterfaceFile {
    fn default() -> Self {
        Self {
            interface: None,
            dependencies: None,
            is_implicit: true,
            is_for_this_product: true,
        }
    }
}

/// Reads the file of the skill in `folder`.
pub(crate) fn read(folder: &Path) -> SkillInterfaceFile {
    let file = folder.join("agents/openai.yaml");
    let Ok(text) = codex_regular_file::read_text(&file, FILE_LIMIT) else {
        return SkillInterfaceFile::default();
    };
    match yaml::parse(&text) {
        Ok(yaml) => extras(&yaml, folder),
        Err(error) => {
            tracing::warn!("{} is left out: {error}", file.display());
            SkillInterfaceFile::default()
        }
    }
}

fn extras(yaml: &Yaml, folder: &Path) -> SkillInterfaceFile {
    let policy = &yaml["policy"];
    SkillInterfaceFile {
        interface: interface(&yaml["interface"], folder),
        dependencies: dependencies(&yaml["dependencies"]["tools"]),
        is_implicit: policy["allow_implicit_invocation"]
            .as_bool()
            .unwrap_or(true),
        is_for_this_product: is_for_this_product(&policy["products"]),
    }
}

fn interface(yaml: &Yaml, folder: &Path) -> Option<SkillInterface> {
    let interface = SkillInterface {
        display_name: short_enough(&yaml["display_name"], MAX_NAME_CHARS),
        short_description: short_enough(&yaml["short_description"], MAX_TEXT_CHARS),
        icon_small: icon(&yaml["icon_small"], folder),
        icon_large: icon(&yaml["icon_large"], folder),
        brand_color: yaml::text(&yaml["brand_color"]).filter(|color| is_color(color)),
        default_prompt: short_enough(&yaml["default_prompt"], MAX_TEXT_CHARS),
    };
    (interface != SkillInterface::default()).then_some(interface)
}

fn short_enough(yaml: &Yaml, most: usize) -> Option<String> {
    yaml::text(yaml).filter(|text| text.chars().count() <= most)
}

/// A file below the skill's `assets`.
fn icon(yaml: &Yaml, folder: &Path) -> Option<String> {
    let path = PathBuf::from(yaml::text(yaml)?);
    let mut parts = path.components().filter(|part| *part != Component::CurDir);
    let plain = |part: Component| matches!(part, Component::Normal(_));
    let in_assets = parts.next() == Some(Component::Normal("assets".as_ref()));
    if !in_assets || !parts.all(plain) {
        return None;
    }
    let plain: PathBuf = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    Some(folder.join(plain).display().to_string())
}

fn is_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or_default();
    digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn dependencies(yaml: &Yaml) -> Option<SkillDependencies> {
    let tools: Vec<_> = yaml.as_vec()?.iter().filter_map(tool).collect();
    (!tools.is_empty()).then_some(SkillDependencies { tools })
}

fn tool(yaml: &Yaml) -> Option<SkillToolDependency> {
    Some(SkillToolDependency {
        r#type: short_enough(&yaml["type"], MAX_NAME_CHARS)?,
        value: short_enough(&yaml["value"], MAX_TEXT_CHARS)?,
        description: short_enough(&yaml["description"], MAX_TEXT_CHARS),
        transport: short_enough(&yaml["transport"], MAX_NAME_CHARS),
        command: short_enough(&yaml["command"], MAX_TEXT_CHARS),
        url: short_enough(&yaml["url"], MAX_TEXT_CHARS),
    })
}

fn is_for_this_product(yaml: &Yaml) -> bool {
    let products = yaml.as_vec().filter(|products| !products.is_empty());
    let is_us = |product: &Yaml| {
        let name = product.as_str().unwrap_or_default();
        name.eq_ignore_ascii_case(PRODUCT)
    };
    products.is_none_or(|products| products.iter().any(is_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> SkillInterfaceFile {
        extras(&yaml::parse(text).unwrap(), Path::new("/s"))
    }

    #[test]
    fn invalid_interface_values_are_left_out() {
        let long = "x".repeat(65);
        let read = check(&format!(
            "interface:\n  display_name: {long}\n  short_description: \" a  b \"\n  \
             icon_small: ./assets/a.png\n  icon_large: assets/../b.png\n  brand_color: '#12345g'\n"
        ));
        let interface = read.interface.unwrap();
        assert_eq!(interface.display_name, None);
        assert_eq!(interface.short_description.as_deref(), Some("a b"));
        assert_eq!(interface.icon_small.as_deref(), Some("/s/assets/a.png"));
        assert_eq!((interface.icon_large, interface.brand_color), (None, None));
        assert_eq!(
            check("interface: []\nother: 1"),
            SkillInterfaceFile::default()
        );
    }

    #[test]
    fn needs_and_policy_are_read() {
        let read = check(
            "dependencies:\n  tools:\n    - type: mcp\n      value: docs\n      url: https://x\n    \
             - type: mcp\npolicy:\n  allow_implicit_invocation: false\n  products: [atlas]\n",
        );
        let tools = read.dependencies.unwrap().tools;
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].url.as_deref(), Some("https://x"));
        assert!(!read.is_implicit && !read.is_for_this_product);
        assert!(check("policy:\n  products: [CODEX]").is_for_this_product);
        assert!(check("policy:\n  products: []").is_for_this_product);
    }
}
