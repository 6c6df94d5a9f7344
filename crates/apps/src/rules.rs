//! Which apps and tools the settings allow, and which calls need an approval.

use std::collections::{BTreeMap, BTreeSet};

use codex_protocol::Tool;

use crate::accessible::connector_of;

/// How calls of a tool are approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolApprovalRule {
    /// By the annotations of the tool.
    #[default]
    Auto,
    /// A person approves each call.
    Prompt,
    /// Calls need no approval.
    Approve,
}

/// What holds for apps without own settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppDefaults {
    pub enabled: bool,
    pub destructive_enabled: bool,
    pub open_world_enabled: bool,
}

impl Default for AppDefaults {
    fn default() -> Self {
        Self {
            enabled: true,
            destructive_enabled: true,
            open_world_enabled: true,
        }
    }
}

/// The settings of one app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppRule {
    pub enabled: bool,
    pub destructive_enabled: Option<bool>,
    pub open_world_enabled: Option<bool>,
    pub default_approval: Option<ToolApprovalRule>,
    pub default_enabled: Option<bool>,
    /// By name or title.
    pub tools: BTreeMap<String, AppToolRule>,
}

/// The settings of one tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppToolRule {
    pub enabled: Option<bool>,
    pub approval: Option<ToolApprovalRule>,
}

/// The settings of all apps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppRules {
    /// What holds for apps without own settings.
    pub default: AppDefaults,
    /// Settings by app.
    pub apps: BTreeMap<String, AppRule>,
    /// Apps that an administrator switches off.
    pub forbidden: BTreeSet<String>,
}

impl AppRules {
    /// Whether an app may be used.
    #[must_use]
    pub fn allows_app(&self, id: &str) -> bool {
        let own = self.apps.get(id).map(|app| app.enabled);
        !self.forbidden.contains(id) && own.unwrap_or(self.default.enabled)
    }

    /// Whether a tool may be used. Tools that are of no app may not.
    #[must_use]
    pub fn allows_tool(&self, tool: &Tool) -> bool {
        let Some((id, _)) = connector_of(tool) else {
            return false;
        };
        if !self.allows_app(id) {
            return false;
        }
        let app = self.apps.get(id);
        let own = self.tool_rule(id, tool).and_then(|rule| rule.enabled);
        if let Some(enabled) = own.or_else(|| app?.default_enabled) {
            return enabled;
        }
        let allowed = |own: Option<bool>, default: bool| own.unwrap_or(default);
        let destructive = allowed(
            app.and_then(|app| app.destructive_enabled),
            self.default.destructive_enabled,
        );
        let open_world = allowed(
            app.and_then(|app| app.open_world_enabled),
            self.default.open_world_enabled,
        );
        let hint = |name: &str| tool.annotations[name] == true;
        (destructive || !hint("destructiveHint")) && (open_world || !hint("openWorldHint"))
    }

    /// How calls of a tool are approved.
    #[must_use]
    pub fn approval(&self, tool: &Tool) -> ToolApprovalRule {
        let Some((id, _)) = connector_of(tool) else {
            return ToolApprovalRule::Auto;
        };
        let own = self.tool_rule(id, tool).and_then(|rule| rule.approval);
        let default = || self.apps.get(id)?.default_approval;
        own.or_else(default).unwrap_or_default()
    }

    fn tool_rule(&self, app: &str, tool: &Tool) -> Option<&AppToolRule> {
        let tools = &self.apps.get(app)?.tools;
        let by_title = || tools.get(tool.title.as_deref()?);
        tools.get(&tool.name).or_else(by_title)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tool(app: &str, name: &str, annotations: Value) -> Tool {
        serde_json::from_value(json!({
            "name": name, "title": format!("{name} title"), "inputSchema": {},
            "annotations": annotations, "_meta": { "connector_id": app },
        }))
        .unwrap()
    }

    fn rule() -> AppRule {
        AppRule {
            enabled: true,
            destructive_enabled: None,
            open_world_enabled: None,
            default_approval: None,
            default_enabled: None,
            tools: BTreeMap::new(),
        }
    }

    fn rules(app: AppRule) -> AppRules {
        AppRules {
            apps: BTreeMap::from([("a".to_owned(), app)]),
            ..AppRules::default()
        }
    }

    #[test]
    fn an_app_is_allowed_by_its_own_settings_first() {
        let mut all = rules(AppRule {
            enabled: false,
            ..rule()
        });
        assert!(!all.allows_app("a") && all.allows_app("b"));
        all.default.enabled = false;
        all.apps.insert("c".to_owned(), rule());
        assert!(all.allows_app("c") && !all.allows_app("b"));
        all.forbidden.insert("c".to_owned());
        assert!(!all.allows_app("c"));
        assert!(!all.allows_tool(&tool("c", "t", Value::Null)));
    }

    #[test]
    fn tool_hints_apply_without_a_rule() {
        let destructive = tool("a", "t", json!({ "destructiveHint": true }));
        let open = tool("a", "t", json!({ "openWorldHint": true }));
        let plain = tool("a", "t", Value::Null);
        let mut all = rules(AppRule {
            destructive_enabled: Some(false),
            ..rule()
        });
        all.default.open_world_enabled = false;
        assert!(!all.allows_tool(&destructive) && !all.allows_tool(&open));
        assert!(all.allows_tool(&plain));
        let app = all.apps.get_mut("a").unwrap();
        app.open_world_enabled = Some(true);
        assert!(all.allows_tool(&open));
        let app = all.apps.get_mut("a").unwrap();
        app.default_enabled = Some(true);
        assert!(all.allows_tool(&destructive));
        let off = AppToolRule {
            enabled: Some(false),
            approval: None,
        };
        let app = all.apps.get_mut("a").unwrap();
        app.tools.insert("t title".to_owned(), off);
        assert!(!all.allows_tool(&plain));
        assert!(!all.allows_tool(&tool("", "t", Value::Null)));
    }

    #[test]
    fn approvals_go_from_the_tool_to_the_app() {
        let mut app = rule();
        app.default_approval = Some(ToolApprovalRule::Approve);
        let prompt = AppToolRule {
            enabled: None,
            approval: Some(ToolApprovalRule::Prompt),
        };
        app.tools.insert("t".to_owned(), prompt);
        let all = rules(app);
        let approval = |app, name| all.approval(&tool(app, name, Value::Null));
        assert_eq!(approval("a", "t"), ToolApprovalRule::Prompt);
        assert_eq!(approval("a", "u"), ToolApprovalRule::Approve);
        assert_eq!(approval("b", "t"), ToolApprovalRule::Auto);
    }
}
