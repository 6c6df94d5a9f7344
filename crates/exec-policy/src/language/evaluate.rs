//! Running statements. The only effect that they can have is a call of a rule function, which the caller carries out.

use std::collections::HashMap;

use super::lexer::Part;
use super::parser::{Argument, Expression, ExpressionKind, Statement, parse};
use super::{Mistake, Position};

/// One file may take this many steps; loops within loops would otherwise multiply. Using a value takes as many steps as
/// it has parts, so that values cannot grow without end either.
const MAX_STEPS: usize = 200_000;

/// Bytes of a string that count as one part.
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

/// The values given to a function: by position, then by name.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(String, Value)>,
}

/// A rule function: its name and arguments in, a message out if they make no rule. `None` if there is no such function.
pub(crate) type Call<'a> = &'a mut dyn FnMut(&str, Arguments) -> Option<Result<(), String>>;

/// Runs a whole file.
pub(crate) fn evaluate(source: &str, call: Call<'_>) -> Result<(), Mistake> {
    let statements = parse(source)?;
    let mut run = Run {
        names: HashMap::new(),
        call,
        steps: 0,
    };
    run.block(&statements)
}

struct Run<'a> {
    names: HashMap<String, Value>,
    call: Call<'a>,
    steps: usize,
}

impl Run<'_> {
    fn block(&mut self, statements: &[Statement]) -> Result<(), Mistake> {
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

    fn spend(&mut self, steps: usize, position: Position) -> Result<(), Mistake> {
        self.steps += steps;
        if self.steps > MAX_STEPS {
            return Err(Mistake::new(position, "too much work for a rule file"));
        }
        Ok(())
    }

    fn look_up(&mut self, name: &str, position: Position) -> Result<Value, Mistake> {
        let unknown = || Mistake::new(position, format!("`{name}` is not defined"));
        let parts = self.names.get(name).ok_or_else(unknown)?.parts();
        self.spend(parts, position)?;
        self.names.get(name).cloned().ok_or_else(unknown)
    }

    fn items(&mut self, list: &Expression) -> Result<Vec<Value>, Mistake> {
        match self.value(list)? {
            Value::List(items) => Ok(items),
            other => {
                let message = format!("cannot go through a value of type {}", other.kind());
                Err(Mistake::new(list.position, message))
            }
        }
    }

    fn value(&mut self, expression: &Expression) -> Result<Value, Mistake> {
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
            ExpressionKind::Each { item, name, list } => self.each(item, name, list)?,
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
                    Some(Err(message)) => return Err(Mistake::new(position, message)),
                    None => {
                        return Err(Mistake::new(
                            position,
                            format!("there is no function `{function}`"),
                        ));
                    }
                }
            }
        })
    }

    fn text(&mut self, parts: &[Part]) -> Result<String, Mistake> {
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Name(name, position) => match self.look_up(name, *position)? {
                    Value::Text(value) => text.push_str(&value),
                    Value::Number(value) => text.push_str(&value.to_string()),
                    other => {
                        let message = format!(
                            "a value of type {} cannot be put into a string",
                            other.kind()
                        );
                        return Err(Mistake::new(*position, message));
                    }
                },
            }
        }
        Ok(text)
    }

    /// A list comprehension. Its name is known only inside of it.
    fn each(&mut self, item: &Expression, name: &str, list: &Expression) -> Result<Value, Mistake> {
        let hidden = self.names.remove(name);
        let mut values = Vec::new();
        for each in self.items(list)? {
            self.names.insert(name.to_owned(), each);
            values.push(self.value(item)?);
        }
        self.names.remove(name);
        if let Some(hidden) = hidden {
            self.names.insert(name.to_owned(), hidden);
        }
        Ok(Value::List(values))
    }

    fn arguments(&mut self, arguments: &[Argument]) -> Result<Arguments, Mistake> {
        let mut read = Arguments::default();
        for argument in arguments {
            let value = self.value(&argument.value)?;
            match &argument.name {
                Some(name) => read.named.push((name.clone(), value)),
                None if read.named.is_empty() => read.positional.push(value),
                None => {
                    let message = "an argument without a name must stand before those with one";
                    return Err(Mistake::new(argument.value.position, message));
                }
            }
        }
        Ok(read)
    }
}

fn add(left: Value, right: Value, position: Position) -> Result<Value, Mistake> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(Value::Text(left + &right)),
        (Value::List(mut left), Value::List(right)) => {
            left.extend(right);
            Ok(Value::List(left))
        }
        (left, right) => {
            let message = format!("cannot add {} and {}", left.kind(), right.kind());
            Err(Mistake::new(position, message))
        }
    }
}
