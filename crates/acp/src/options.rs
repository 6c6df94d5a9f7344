//! The settings of a session as ACP modes and options, which are kept consistent. Pure.

use agent_client_protocol_schema::v1::{
    Error, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOption, SessionMode, SessionModeState,
};
use serde_json::{Value, json};

use crate::client_features::ClientFeatures;
use crate::errors;
use crate::models::{ModelChoice, ModelInfo, ModelState, OwnModel, model_id};
use crate::modes::{self, CONFIGURED_MODE, FULL_ACCESS, MODES, READ_ONLY, WORKSPACE};

const MODE: &str = "mode";
const COLLABORATION: &str = "collaboration_mode";
pub(crate) const MODEL: &str = "model";
pub(crate) const EFFORT: &str = "reasoning_effort";
const FAST_OPTION: &str = "fast-mode";
const ON_VALUE: &str = "on";
const OFF_VALUE: &str = "off";

/// The settings of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) model: String,
    pub(crate) effort: Option<String>,
    mode: Option<&'static str>,
    is_planning: bool,
    is_fast: bool,
    /// The sandbox policy of the mode that writes to the workspace.
    workspace: Value,
    models: Vec<ModelChoice>,
    /// Models that are not listed: those that the session has had, and the configured one of an own provider.
    own_models: Vec<OwnModel>,
}

impl Settings {
    /// Reads the reply that opened the thread. `workspace` are the settings of the workspace-write sandbox, `roots`
    /// the additional folders of the workspace.
    pub(crate) fn opened(
        reply: &Value,
        models: Vec<ModelChoice>,
        workspace: &Value,
        roots: &[Value],
    ) -> Self {
        let policy = modes::workspace_policy(workspace, roots);
        let mut settings = Self {
            workspace: policy,
            models,
            ..Self::default()
        };
        settings.take(&json!({
            "model": reply["model"],
            "effort": reply["reasoningEffort"],
            "approvalPolicy": reply["approvalPolicy"],
            "sandboxPolicy": reply["sandbox"],
            "serviceTier": reply["serviceTier"],
        }));
        settings
    }

    /// Updates the settings from what the engine reports.
    pub(crate) fn take(&mut self, reported: &Value) {
        if let Some(model) = reported["model"].as_str() {
            self.model = model.to_owned();
        }
        self.effort = reported["effort"].as_str().map(str::to_owned);
        self.keep_own_model(OwnModel {
            id: self.model.clone(),
            effort: self.effort.clone(),
        });
        self.mode = modes::mode_of(&reported["approvalPolicy"], &reported["sandboxPolicy"]);
        self.is_fast = matches!(reported["serviceTier"].as_str(), Some("fast" | "priority"));
        if let Some(mode) = reported["collaborationMode"]["mode"].as_str() {
            self.is_planning = mode == "plan";
        }
    }

    /// Offers the configured model, also if the session has another one.
    pub(crate) fn offer_configured_model(&mut self, config: &Value) {
        let text = |key: &str| config[key].as_str().map(str::to_owned);
        let Some(id) = text("model") else {
            return;
        };
        if self.own_models.iter().all(|known| known.id != id) {
            let effort = text("model_reasoning_effort");
            self.keep_own_model(OwnModel { id, effort });
        }
    }

    /// Remembers a model if it is not listed, so that it can be chosen again.
    fn keep_own_model(&mut self, own: OwnModel) {
        if own.id.is_empty() || self.models.iter().any(|listed| listed.id == own.id) {
            return;
        }
        self.own_models.retain(|known| known.id != own.id);
        self.own_models.insert(0, own);
    }

    fn mode_id(&self) -> &'static str {
        self.mode.unwrap_or(CONFIGURED_MODE.0)
    }

    fn modes(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        let configured = self.mode.is_none().then_some(CONFIGURED_MODE);
        MODES.into_iter().chain(configured).collect()
    }

    pub(crate) fn mode_state(&self) -> SessionModeState {
        let modes = self.modes().into_iter().map(|(id, name, description)| {
            SessionMode::new(id, name).description(description.to_owned())
        });
        SessionModeState::new(self.mode_id(), modes.collect())
    }

    fn chosen_model(&self) -> Option<&ModelChoice> {
        self.models.iter().find(|model| model.id == self.model)
    }

    /// All options, the most important first.
    pub(crate) fn options(&self, client_features: ClientFeatures) -> Vec<SessionConfigOption> {
        use SessionConfigOptionCategory as Category;
        let described = |(id, name, description): (&'static str, &'static str, &'static str)| {
            choice(id, name).description(description.to_owned())
        };
        let modes: Vec<_> = self.modes().into_iter().map(described).collect();
        let plans = [
            ("default", "Work", "Does what is asked."),
            (
                "plan",
                "Plan",
                "Explores and asks, then proposes a plan; changes nothing.",
            ),
        ];
        let plan = if self.is_planning { "plan" } else { "default" };
        let mut options = vec![
            SessionConfigOption::select(MODE, "Mode", self.mode_id(), modes)
                .description("What runs without asking".to_owned())
                .category(Category::Mode),
            SessionConfigOption::select(
                COLLABORATION,
                "Collaboration",
                plan,
                plans.map(described).to_vec(),
            )
            .description("Whether to work or to plan".to_owned())
            .category(Category::Other("_collaboration".to_owned())),
            self.model_option(),
        ];
        options.extend(self.effort_option());
        let fast = if client_features.boolean_options {
            SessionConfigOption::boolean(FAST_OPTION, "Fast", self.is_fast)
        } else {
            let current = if self.is_fast { ON_VALUE } else { OFF_VALUE };
            let speeds = vec![choice(OFF_VALUE, "Off"), choice(ON_VALUE, "On")];
            SessionConfigOption::select(FAST_OPTION, "Fast", current, speeds)
        };
        let fast = fast
            .description("Faster answers at a higher price".to_owned())
            .category(Category::ModelConfig);
        options.push(fast);
        options
    }

    fn model_option(&self) -> SessionConfigOption {
        let listed = self.models.iter().map(|model| {
            choice(model.id.clone(), model.name.clone()).description(model.description.clone())
        });
        let own = self.own_models.iter();
        let own = own.map(|model| choice(model.id.clone(), model.id.clone()));
        let models: Vec<_> = own.chain(listed).collect();
        SessionConfigOption::select(MODEL, "Model", self.model.clone(), models)
            .category(SessionConfigOptionCategory::Model)
    }

    /// The effort of the current model: its own if none is set.
    fn current_effort(&self) -> Option<String> {
        let of_model = || self.chosen_model()?.default_effort.clone();
        self.effort.clone().or_else(of_model)
    }

    fn effort_option(&self) -> Option<SessionConfigOption> {
        let model = self.chosen_model()?;
        let current = self.current_effort()?;
        let known = model.has_effort(&current);
        let mut efforts: Vec<_> = model
            .efforts
            .iter()
            .map(|(effort, description)| {
                choice(effort.clone(), effort.clone()).description(description.clone())
            })
            .collect();
        if !known {
            efforts.insert(0, choice(current.clone(), current.clone()));
        }
        let option = SessionConfigOption::select(EFFORT, "Reasoning effort", current, efforts)
            .category(SessionConfigOptionCategory::ThoughtLevel);
        Some(option)
    }

    /// The models, each with each of its efforts, for clients from before there were options.
    pub(crate) fn model_state(&self) -> ModelState {
        let own = self.own_models.iter().map(|model| ModelInfo {
            model_id: model_id(&model.id, model.effort.as_deref()),
            name: model.id.clone(),
            description: None,
        });
        let current_effort = self.current_effort();
        let listed = self.models.iter().flat_map(|model| {
            let mut efforts: Vec<_> = model.efforts.iter().map(|(effort, _)| effort).collect();
            let current = current_effort.as_ref().filter(|_| model.id == self.model);
            efforts.extend(current.filter(|current| !model.has_effort(current)));
            let without = efforts.is_empty().then_some(None);
            let efforts = efforts.into_iter().map(|effort| Some(effort.as_str()));
            let infos = efforts.chain(without).map(|effort| ModelInfo {
                model_id: model_id(&model.id, effort),
                name: match effort {
                    Some(effort) => format!("{} ({effort})", model.name),
                    None => model.name.clone(),
                },
                description: Some(model.description.clone()),
            });
            infos.collect::<Vec<_>>()
        });
        ModelState {
            current_model_id: model_id(&self.model, current_effort.as_deref()),
            available_models: own.chain(listed).collect(),
        }
    }

    /// The change of thread settings for a mode. The name of the fast option is taken, too, as adapters do.
    pub(crate) fn change_mode(&self, mode: &str) -> Result<Value, Error> {
        let (policy, sandbox) = match modes::by_alias(mode) {
            FAST_OPTION => return Ok(tier(true)),
            READ_ONLY => ("on-request", json!({ "type": "readOnly" })),
            WORKSPACE => ("on-request", self.workspace.clone()),
            FULL_ACCESS => ("never", json!({ "type": "dangerFullAccess" })),
            _ if mode == self.mode_id() => return Ok(json!({})),
            _ => return Err(errors::invalid(format!("there is no mode `{mode}`"))),
        };
        Ok(json!({ "approvalPolicy": policy, "sandboxPolicy": sandbox }))
    }

    /// The change of thread settings for an option.
    pub(crate) fn change(
        &self,
        option: &str,
        value: &SessionConfigOptionValue,
    ) -> Result<Value, Error> {
        match (option, value) {
            (FAST_OPTION, SessionConfigOptionValue::Boolean { value }) => Ok(tier(*value)),
            (_, SessionConfigOptionValue::ValueId { value }) => self.select(option, &value.0),
            _ => Err(errors::invalid(format!(
                "there is no option `{option}` with such a value"
            ))),
        }
    }

    fn select(&self, option: &str, value: &str) -> Result<Value, Error> {
        let unknown = || errors::invalid(format!("`{option}` cannot be `{value}`"));
        match option {
            MODE => self.change_mode(value),
            COLLABORATION => match value {
                "plan" | "default" => Ok(self.thinking(value, &self.model, self.effort.as_deref())),
                _ => Err(unknown()),
            },
            FAST_OPTION if value == ON_VALUE || value == OFF_VALUE => Ok(tier(value == ON_VALUE)),
            MODEL if value == self.model => Ok(json!({})),
            MODEL => {
                if let Some(own) = self.own_models.iter().find(|own| own.id == value) {
                    return Ok(self.thinking(self.collaboration(), value, own.effort.as_deref()));
                }
                let model = self.models.iter().find(|model| model.id == value);
                let model = model.ok_or_else(unknown)?;
                let kept = self.effort.as_ref();
                let kept = kept.filter(|kept| model.has_effort(kept));
                let effort = kept.or(model.default_effort.as_ref());
                Ok(self.thinking(self.collaboration(), value, effort.map(String::as_str)))
            }
            EFFORT => {
                let is_known = match self.chosen_model() {
                    Some(model) => model.has_effort(value),
                    None => self.effort.as_deref() == Some(value),
                };
                if is_known {
                    Ok(self.thinking(self.collaboration(), &self.model, Some(value)))
                } else {
                    Err(unknown())
                }
            }
            _ => Err(errors::invalid(format!("there is no option `{option}`"))),
        }
    }

    fn collaboration(&self) -> &'static str {
        if self.is_planning { "plan" } else { "default" }
    }

    /// Model and effort are repeated in the collaboration mode, because its values take precedence.
    fn thinking(&self, mode: &str, model: &str, effort: Option<&str>) -> Value {
        json!({ "collaborationMode": { "mode": mode, "settings": {
            "model": model, "reasoning_effort": effort, "developer_instructions": null } } })
    }

    /// Applies a change that the engine accepted, until its notification arrives.
    pub(crate) fn assume(&mut self, change: &Value) {
        if let Some(sandbox) = change.get("sandboxPolicy") {
            self.mode = modes::mode_of(&change["approvalPolicy"], sandbox);
        }
        if let Some(tier) = change.get("serviceTier") {
            self.is_fast = !tier.is_null();
        }
        if let Some(mode) = change.get("collaborationMode") {
            self.is_planning = mode["mode"] == "plan";
            if let Some(model) = mode["settings"]["model"].as_str() {
                self.model = model.to_owned();
            }
            self.effort = mode["settings"]["reasoning_effort"]
                .as_str()
                .map(str::to_owned);
            self.keep_own_model(OwnModel {
                id: self.model.clone(),
                effort: self.effort.clone(),
            });
        }
    }
}

fn tier(is_fast: bool) -> Value {
    json!({ "serviceTier": if is_fast { json!("fast") } else { Value::Null } })
}

fn choice(value: impl Into<String>, name: impl Into<String>) -> SessionConfigSelectOption {
    SessionConfigSelectOption::new(value.into(), name)
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
