//! Evaluates statements. Their only possible effect is a call of a rule function, which the caller executes.

use std::collections::HashMap;

use super::lexer::TextPart;
use super::parser::{ArgumentExpression, Expression, ExpressionKind, Statement, parse};
use super::{ScriptError, SourcePosition};
use crate::error::CallError;

/// Limit on evaluation steps per file, because nested loops multiply. Using a value costs as many steps as it has parts,
/// so values cannot grow without limit either.
const MAX_STEPS: usize = 200_000;

/// How many bytes of a string count as one part.
const BYTES_OF_A_PART: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Number(i64),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Number(_) => "int",
            Self::Text(_) => "string",
            Self::List(_) => "list",
        }
    }

    fn parts(&self) -> usize {
        match self {
            Self::None | Self::Bool(_) | Self::Number(_) => 1,
            Self::Text(text) => 1 + text.len() / BYTES_OF_A_PART,
            Self::List(items) => 1 + items.iter().map(Self::parts).sum::<usize>(),
        }
    }
}

/// The arguments of a call, by position and by name.
#[derive(Debug, Default)]
pub(crate) struct CallArguments {
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(String, Value)>,
}

/// Executes a rule function by name. `None` if there is no such function.
pub(crate) type CallHandler<'a> =
    &'a mut dyn FnMut(&str, CallArguments) -> Option<Result<(), CallError>>;

/// Evaluates a whole file.
pub(crate) fn evaluate(source: &str, call: CallHandler<'_>) -> Result<(), ScriptError> {
    let statements = parse(source)?;
    let mut evaluator = Evaluator {
        names: HashMap::new(),
        call,
        steps: 0,
    };
    evaluator.block(&statements)
}

struct Evaluator<'a> {
    names: HashMap<String, Value>,
    call: CallHandler<'a>,
    steps: usize,
}

impl Evaluator<'_> {
    fn block(&mut self, statements: &[Statement]) -> Result<(), ScriptError> {
        for statement in statements {
            match statement {
                Statement::Expression(expression) => drop(self.value(expression)?),
                Statement::Assign { name, value } => {
                    let value = self.value(value)?;
                    self.names.insert(name.clone(), value);
                }
                Statement::Extend {
                    name,
                    position,
                    value,
                } => {
                    let right = self.value(value)?;
                    let sum = add(self.look_up(name, *position)?, right, *position)?;
                    self.names.insert(name.clone(), sum);
                }
                Statement::For { name, list, body } => {
                    for item in self.items(list)? {
                        self.names.insert(name.clone(), item);
                        self.block(body)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn spend(&mut self, steps: usize, position: SourcePosition) -> Result<(), ScriptError> {
        self.steps += steps;
        if self.steps > MAX_STEPS {
            return Err(ScriptError::new(position, "too much work for a rule file"));
        }
        Ok(())
    }

    fn look_up(&mut self, name: &str, position: SourcePosition) -> Result<Value, ScriptError> {
        let unknown = || ScriptError::new(position, format!("`{name}` is not defined"));
        let parts = self.names.get(name).ok_or_else(unknown)?.parts();
        self.spend(parts, position)?;
        self.names.get(name).cloned().ok_or_else(unknown)
    }

    fn items(&mut self, list: &Expression) -> Result<Vec<Value>, ScriptError> {
        match self.value(list)? {
            Value::List(items) => Ok(items),
            other => {
                let message = format!("cannot go through a value of type {}", other.kind());
                Err(ScriptError::new(list.position, message))
            }
        }
    }

    fn value(&mut self, expression: &Expression) -> Result<Value, ScriptError> {
        let position = expression.position;
        self.spend(1, position)?;
        Ok(match &expression.kind {
            ExpressionKind::None => Value::None,
            ExpressionKind::Bool(value) => Value::Bool(*value),
            ExpressionKind::Number(value) => Value::Number(*value),
            ExpressionKind::Text(parts) => Value::Text(self.text(parts)?),
            ExpressionKind::Name(name) => self.look_up(name, position)?,
            ExpressionKind::List(items) => Value::List(
                items
                    .iter()
                    .map(|item| self.value(item))
                    .collect::<Result<_, _>>()?,
            ),
            ExpressionKind::Comprehension { item, name, list } => {
                self.comprehension(item, name, list)?
            }
            ExpressionKind::Sum(values) => {
                let mut sum = None;
                for value in values {
                    let value = self.value(value)?;
                    sum = Some(match sum {
                        None => value,
                        Some(sum) => add(sum, value, position)?,
                    });
                }
                sum.unwrap_or(Value::None)
            }
            ExpressionKind::Call {
                function,
                arguments,
            } => {
                let arguments = self.arguments(arguments)?;
                match (self.call)(function, arguments) {
                    Some(Ok(())) => Value::None,
                    Some(Err(error)) => return Err(ScriptError::new(position, error.to_string())),
                    None => {
                        return Err(ScriptError::new(
                            position,
                            format!("there is no function `{function}`"),
                        ));
                    }
                }
            }
        })
    }

    fn text(&mut self, parts: &[TextPart]) -> Result<String, ScriptError> {
        let mut text = String::new();
        for part in parts {
            match part {
                TextPart::Text(part) => text.push_str(part),
                TextPart::Name(name, position) => match self.look_up(name, *position)? {
                    Value::Text(value) => text.push_str(&value),
                    Value::Number(value) => text.push_str(&value.to_string()),
                    other => {
                        let message = format!(
                            "a value of type {} cannot be put into a string",
                            other.kind()
                        );
                        return Err(ScriptError::new(*position, message));
                    }
                },
            }
        }
        Ok(text)
    }

    /// Evaluates a list comprehension. Its variable is visible only inside it.
    fn comprehension(
        &mut self,
        item: &Expression,
        name: &str,
        list: &Expression,
    ) -> Result<Value, ScriptError> {
        let hidden = self.names.remove(name);
        let mut values = Vec::new();
        for comprehension in self.items(list)? {
            self.names.insert(name.to_owned(), comprehension);
            values.push(self.value(item)?);
        }
        self.names.remove(name);
        if let Some(hidden) = hidden {
            self.names.insert(name.to_owned(), hidden);
        }
        Ok(Value::List(values))
    }

    fn arguments(
        &mut self,
        arguments: &[ArgumentExpression],
    ) -> Result<CallArguments, ScriptError> {
        let mut read = CallArguments::default();
        for argument in arguments {
            let value = self.value(&argument.value)?;
            match &argument.name {
                Some(name) => read.named.push((name.clone(), value)),
                None if read.named.is_empty() => read.positional.push(value),
                None => {
                    let message = "an argument without a name must stand before those with one";
                    return Err(ScriptError::new(argument.value.position, message));
                }
            }
        }
        Ok(read)
    }
}

fn add(left: Value, right: Value, position: SourcePosition) -> Result<Value, ScriptError> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(Value::Text(left + &right)),
        (Value::List(mut left), Value::List(right)) => {
            left.extend(right);
            Ok(Value::List(left))
        }
        (left, right) => {
            let message = format!("cannot add {} and {}", left.kind(), right.kind());
            Err(ScriptError::new(position, message))
        }
    }
}
