//! The rule functions: convert the arguments of a call to a rule.

use crate::decision::Decision;
use crate::error::{CallError, RuleError};
use crate::host_executables::HostExecutables;
use crate::language::{CallArguments, Value, evaluate};
use crate::network::{NetworkDecision, NetworkProtocol, NetworkRule};
use crate::prefix::{PatternToken, PrefixRule, RuleProblem};

/// The rules of one file, in order.
#[derive(Debug, Default)]
pub(crate) struct RulesFile {
    pub(crate) prefix_rules: Vec<PrefixRule>,
    pub(crate) network_rules: Vec<NetworkRule>,
    pub(crate) host_executables: HostExecutables,
}

impl RulesFile {
    /// Reads a file. `name` is used in errors.
    pub(crate) fn read(name: &str, text: &str) -> Result<Self, RuleError> {
        let mut rules = Self::default();
        let mut call = |function: &str, arguments| {
            Some(match function {
                "prefix_rule" => rules.prefix_rule(arguments),
                "network_rule" => rules.network_rule(arguments),
                "host_executable" => rules.host_executable(arguments),
                _ => return None,
            })
        };
        evaluate(text, &mut call).map_err(|error| RuleError {
            file: name.to_owned(),
            line: error.position.line,
            column: error.position.column,
            message: error.message,
        })?;
        Ok(rules)
    }

    fn prefix_rule(&mut self, arguments: CallArguments) -> Result<(), CallError> {
        let names = ["pattern", "decision", "match", "not_match", "justification"];
        let [pattern, decision, matching, not_matching, justification] =
            BoundParameters::bind("prefix_rule", names, arguments)?.values;
        let pattern = required("prefix_rule", "pattern", pattern)?;
        let pattern = list("pattern", pattern)?
            .into_iter()
            .map(pattern_token)
            .collect::<Result<_, _>>()?;
        let decision = match decision {
            None => Decision::Allow,
            Some(value) => {
                let word = text("decision", value)?;
                Decision::parse(&word).ok_or(RuleProblem::Decision(word))?
            }
        };
        let rule = PrefixRule::new(
            pattern,
            decision,
            optional_text("justification", justification)?,
        )?;
        let wrong = |example: &[String], text: &str| {
            let text = format!("`{}` {text}", example.join(" "));
            Err(RuleProblem::Example(text).into())
        };
        for example in examples("match", matching)? {
            if !self.matches_example(&rule, &example) {
                return wrong(&example, "should match the rule, but does not");
            }
        }
        for example in examples("not_match", not_matching)? {
            if self.matches_example(&rule, &example) {
                return wrong(&example, "should not match the rule, but does");
            }
        }
        self.prefix_rules.push(rule);
        Ok(())
    }

    /// Whether the rule matches the example, either as written or by the name of its program.
    fn matches_example(&self, rule: &PrefixRule, example: &[String]) -> bool {
        let by_name = || {
            let [program, arguments @ ..] = example else {
                return false;
            };
            let name = self.host_executables.name_of(program);
            name.is_some_and(|name| {
                let words: Vec<&str> = [name]
                    .into_iter()
                    .chain(arguments.iter().map(String::as_str))
                    .collect();
                rule.matches(&words)
            })
        };
        rule.matches(example) || by_name()
    }

    fn network_rule(&mut self, arguments: CallArguments) -> Result<(), CallError> {
        const NAME: &str = "network_rule";
        let names = ["host", "protocol", "decision", "justification"];
        let [host, protocol, decision, justification] =
            BoundParameters::bind(NAME, names, arguments)?.values;
        let host = text("host", required(NAME, "host", host)?)?;
        let protocol = text("protocol", required(NAME, "protocol", protocol)?)?;
        let decision = text("decision", required(NAME, "decision", decision)?)?;
        let rule = NetworkRule::new(
            &host,
            NetworkProtocol::parse(&protocol)?,
            NetworkDecision::parse(&decision)?,
            optional_text("justification", justification)?,
        );
        self.network_rules.push(rule?);
        Ok(())
    }

    fn host_executable(&mut self, arguments: CallArguments) -> Result<(), CallError> {
        const NAME: &str = "host_executable";
        let [name, paths] = BoundParameters::bind(NAME, ["name", "paths"], arguments)?.values;
        let name = text("name", required(NAME, "name", name)?)?;
        let paths = list("paths", required(NAME, "paths", paths)?)?;
        let not_text =
            |kind| RuleProblem::Rule(format!("{NAME} paths must be strings (got {kind})"));
        let paths = texts(paths, not_text)?;
        Ok(self.host_executables.insert(&name, paths)?)
    }
}

/// The arguments of a call in the order of the parameters.
struct BoundParameters<const N: usize> {
    values: [Option<Value>; N],
}

impl<const N: usize> BoundParameters<N> {
    fn bind(function: &str, names: [&str; N], arguments: CallArguments) -> Result<Self, CallError> {
        let mut values = [const { None }; N];
        if arguments.positional.len() > N {
            return Err(CallError::TooManyArguments {
                function: function.to_owned(),
                limit: N,
            });
        }
        for (slot, value) in values.iter_mut().zip(arguments.positional) {
            *slot = Some(value);
        }
        for (name, value) in arguments.named {
            let index = names.iter().position(|known| *known == name);
            let slot = index
                .and_then(|index| values.get_mut(index))
                .ok_or_else(|| CallError::UnknownParameter {
                    function: function.to_owned(),
                    name: name.clone(),
                })?;
            if slot.replace(value).is_some() {
                return Err(CallError::DuplicateParameter {
                    function: function.to_owned(),
                    name,
                });
            }
        }
        Ok(Self { values })
    }
}

fn required(function: &str, name: &str, value: Option<Value>) -> Result<Value, CallError> {
    value.ok_or_else(|| CallError::MissingParameter {
        function: function.to_owned(),
        name: name.to_owned(),
    })
}

fn wrong_type(name: &str, wanted: &'static str, value: &Value) -> CallError {
    CallError::Type {
        name: name.to_owned(),
        wanted,
        found: value.kind(),
    }
}

fn text(name: &str, value: Value) -> Result<String, CallError> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(wrong_type(name, "string", &other)),
    }
}

fn optional_text(name: &str, value: Option<Value>) -> Result<Option<String>, CallError> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => text(name, value).map(Some),
    }
}

fn list(name: &str, value: Value) -> Result<Vec<Value>, CallError> {
    match value {
        Value::List(items) => Ok(items),
        other => Err(wrong_type(name, "list", &other)),
    }
}

fn pattern_token(value: Value) -> Result<PatternToken, RuleProblem> {
    let problem = RuleProblem::Pattern;
    match value {
        Value::Text(word) => Ok(PatternToken::Word(word)),
        Value::List(words) => {
            let not_text = |kind| problem(format!("an alternative is a string (found {kind})"));
            texts(words, not_text).map(PatternToken::AnyOf)
        }
        other => Err(problem(format!(
            "an element is a string or a list of strings (found {})",
            other.kind()
        ))),
    }
}

/// Converts a list of strings; `not_text` creates the error for a value of another type.
fn texts<E>(values: Vec<Value>, not_text: impl Fn(&'static str) -> E) -> Result<Vec<String>, E> {
    values
        .into_iter()
        .map(|value| match value {
            Value::Text(text) => Ok(text),
            other => Err(not_text(other.kind())),
        })
        .collect()
}

/// Reads example commands. Each is a shell line or a list of words.
fn examples(name: &str, value: Option<Value>) -> Result<Vec<Vec<String>>, CallError> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    list(name, value)?
        .into_iter()
        .map(|example| Ok(example_words(example)?))
        .collect()
}

fn example_words(value: Value) -> Result<Vec<String>, RuleProblem> {
    let problem = |text: &str| RuleProblem::Example(text.to_owned());
    match value {
        Value::Text(line) => match shlex::split(&line) {
            None => Err(problem("the example is not a shell line")),
            Some(words) if words.is_empty() => Err(problem("an example holds at least one word")),
            Some(words) => Ok(words),
        },
        Value::List(words) if words.is_empty() => {
            Err(problem("an example holds at least one word"))
        }
        Value::List(words) => texts(words, |_| problem("example words must be strings")),
        _ => Err(problem("example must be a string or a list of strings")),
    }
}
