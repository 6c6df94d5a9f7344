//! The functions of rule files: from the values they are called with to rules.

use crate::decision::Decision;
use crate::error::RuleError;
use crate::host_executables::HostExecutables;
use crate::language::{Arguments, Value, evaluate};
use crate::network::{NetworkDecision, NetworkProtocol, NetworkRule};
use crate::prefix::{PatternToken, PrefixRule, RuleProblem};

/// The rules of one file, in order.
#[derive(Debug, Default)]
pub(crate) struct FileRules {
    pub(crate) prefix_rules: Vec<PrefixRule>,
    pub(crate) network_rules: Vec<NetworkRule>,
    pub(crate) host_executables: HostExecutables,
}

impl FileRules {
    /// Reads a file. `name` is for errors.
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
        evaluate(text, &mut call).map_err(|mistake| RuleError {
            file: name.to_owned(),
            line: mistake.position.line,
            column: mistake.position.column,
            message: mistake.message,
        })?;
        Ok(rules)
    }

    fn prefix_rule(&mut self, arguments: Arguments) -> Result<(), String> {
        let names = ["pattern", "decision", "match", "not_match", "justification"];
        let [pattern, decision, matching, not_matching, justification] =
            Parameters::bind("prefix_rule", names, arguments)?.values;
        let pattern = required("prefix_rule", "pattern", pattern)?;
        let pattern = list("pattern", pattern)?
            .into_iter()
            .map(pattern_token)
            .collect::<Result<_, _>>()?;
        let decision = match decision {
            None => Decision::Allow,
            Some(value) => {
                let word = text("decision", value)?;
                Decision::parse(&word).ok_or_else(|| RuleProblem::Decision(word).to_string())?
            }
        };
        let rule = PrefixRule::new(
            pattern,
            decision,
            optional_text("justification", justification)?,
        )
        .map_err(said)?;
        let wrong = |example: &[String], text: &str| {
            Err(said(RuleProblem::Example(format!(
                "`{}` {text}",
                example.join(" ")
            ))))
        };
        for example in examples("match", matching)? {
            if !self.speaks_about(&rule, &example) {
                return wrong(&example, "should match the rule, but does not");
            }
        }
        for example in examples("not_match", not_matching)? {
            if self.speaks_about(&rule, &example) {
                return wrong(&example, "should not match the rule, but does");
            }
        }
        self.prefix_rules.push(rule);
        Ok(())
    }

    /// Whether the rule matches the example, by the name of its program too.
    fn speaks_about(&self, rule: &PrefixRule, example: &[String]) -> bool {
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

    fn network_rule(&mut self, arguments: Arguments) -> Result<(), String> {
        const NAME: &str = "network_rule";
        let names = ["host", "protocol", "decision", "justification"];
        let [host, protocol, decision, justification] =
            Parameters::bind(NAME, names, arguments)?.values;
        let host = text("host", required(NAME, "host", host)?)?;
        let protocol = text("protocol", required(NAME, "protocol", protocol)?)?;
        let decision = text("decision", required(NAME, "decision", decision)?)?;
        let rule = NetworkRule::new(
            &host,
            NetworkProtocol::parse(&protocol).map_err(said)?,
            NetworkDecision::parse(&decision).map_err(said)?,
            optional_text("justification", justification)?,
        );
        self.network_rules.push(rule.map_err(said)?);
        Ok(())
    }

    fn host_executable(&mut self, arguments: Arguments) -> Result<(), String> {
        const NAME: &str = "host_executable";
        let [name, paths] = Parameters::bind(NAME, ["name", "paths"], arguments)?.values;
        let name = text("name", required(NAME, "name", name)?)?;
        let paths = list("paths", required(NAME, "paths", paths)?)?;
        let not_text = |kind| {
            said(RuleProblem::Rule(format!(
                "{NAME} paths must be strings (got {kind})"
            )))
        };
        let paths = texts(paths, not_text)?;
        self.host_executables.insert(&name, paths).map_err(said)
    }
}

/// The values of a function's parameters, in their order.
struct Parameters<const N: usize> {
    values: [Option<Value>; N],
}

impl<const N: usize> Parameters<N> {
    fn bind(function: &str, names: [&str; N], arguments: Arguments) -> Result<Self, String> {
        let mut values = [const { None }; N];
        if arguments.positional.len() > N {
            return Err(format!("`{function}` takes at most {N} arguments"));
        }
        for (slot, value) in values.iter_mut().zip(arguments.positional) {
            *slot = Some(value);
        }
        for (name, value) in arguments.named {
            let index = names.iter().position(|known| *known == name);
            let slot = index
                .and_then(|index| values.get_mut(index))
                .ok_or_else(|| format!("`{function}` has no parameter `{name}`"))?;
            if slot.replace(value).is_some() {
                return Err(format!("parameter `{name}` of `{function}` is given twice"));
            }
        }
        Ok(Self { values })
    }
}

fn said(problem: RuleProblem) -> String {
    problem.to_string()
}

fn required(function: &str, name: &str, value: Option<Value>) -> Result<Value, String> {
    value.ok_or_else(|| format!("missing parameter `{name}` of `{function}`"))
}

fn wrong_type(name: &str, wanted: &str, value: &Value) -> String {
    format!(
        "parameter `{name}` must be of type {wanted}, not {}",
        value.kind()
    )
}

fn text(name: &str, value: Value) -> Result<String, String> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(wrong_type(name, "string", &other)),
    }
}

fn optional_text(name: &str, value: Option<Value>) -> Result<Option<String>, String> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => text(name, value).map(Some),
    }
}

fn list(name: &str, value: Value) -> Result<Vec<Value>, String> {
    match value {
        Value::List(items) => Ok(items),
        other => Err(wrong_type(name, "list", &other)),
    }
}

fn pattern_token(value: Value) -> Result<PatternToken, String> {
    let problem = |text: String| said(RuleProblem::Pattern(text));
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

/// The strings of a list; `not_text` says what is wrong with a value of another type.
fn texts<E>(values: Vec<Value>, not_text: impl Fn(&'static str) -> E) -> Result<Vec<String>, E> {
    values
        .into_iter()
        .map(|value| match value {
            Value::Text(text) => Ok(text),
            other => Err(not_text(other.kind())),
        })
        .collect()
}

/// Example commands, each a line or a list of words.
fn examples(name: &str, value: Option<Value>) -> Result<Vec<Vec<String>>, String> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    list(name, value)?
        .into_iter()
        .map(|example| example_words(example).map_err(said))
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
