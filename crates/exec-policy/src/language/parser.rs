//! Tokens to statements.

use super::lexer::{Kind, Part, Token, tokens};
use super::{Mistake, Position};

/// Brackets and blocks may be nested this deep.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    Expression(Expression),
    Assign {
        name: String,
        value: Expression,
    },
    /// `name += value`
    Extend {
        name: String,
        position: Position,
        value: Expression,
    },
    For {
        name: String,
        list: Expression,
        body: Vec<Statement>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) position: Position,
    pub(super) kind: ExpressionKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpressionKind {
    None,
    Bool(bool),
    Number(i64),
    Text(Vec<Part>),
    Name(String),
    List(Vec<Expression>),
    /// `[item for name in list]`
    Each {
        item: Box<Expression>,
        name: String,
        list: Box<Expression>,
    },
    /// Two or more values, added from the left.
    Sum(Vec<Expression>),
    Call {
        function: String,
        arguments: Vec<Argument>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: Option<String>,
    pub(super) value: Expression,
}

/// Words of the full language that files may hope for.
const UNKNOWN_WORDS: [&str; 14] = [
    "and", "break", "continue", "def", "elif", "else", "if", "lambda", "load", "not", "or",
    "return", "while", "is",
];

pub(super) fn parse(source: &str) -> Result<Vec<Statement>, Mistake> {
    let mut parser = Parser {
        tokens: tokens(source)?,
        at: 0,
        depth: 0,
    };
    let mut statements = Vec::new();
    while parser.peek() != &Kind::End {
        parser.statement(&mut statements)?;
    }
    Ok(statements)
}

struct Parser {
    /// Ends with [`Kind::End`], which is never taken.
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Kind {
        self.tokens
            .get(self.at)
            .map_or(&Kind::End, |token| &token.kind)
    }

    fn peek_second(&self) -> &Kind {
        self.tokens
            .get(self.at + 1)
            .map_or(&Kind::End, |token| &token.kind)
    }

    fn position(&self) -> Position {
        let end = Position { line: 1, column: 1 };
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .map_or(end, |token| token.position)
    }

    fn take(&mut self, kind: &Kind) -> bool {
        let taken = self.peek() == kind && *kind != Kind::End;
        self.at += usize::from(taken);
        taken
    }

    fn take_sign(&mut self, sign: &'static str) -> bool {
        self.take(&Kind::Sign(sign))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let taken = matches!(self.peek(), Kind::Name(name) if name == word);
        self.at += usize::from(taken);
        taken
    }

    fn expect_sign(&mut self, sign: &'static str) -> Result<(), Mistake> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{sign}`")))
        }
    }

    fn unexpected(&self, wanted: &str) -> Mistake {
        let found = match self.peek() {
            Kind::Name(name) => format!("`{name}`"),
            Kind::Number(number) => number.to_string(),
            Kind::Text(_) => "a string".to_owned(),
            Kind::Sign(sign) => format!("`{sign}`"),
            Kind::Newline => "the end of the line".to_owned(),
            Kind::Indent => "deeper indentation".to_owned(),
            Kind::Dedent => "the end of the block".to_owned(),
            Kind::End => "the end of the file".to_owned(),
        };
        Mistake::new(self.position(), format!("expected {wanted}, found {found}"))
    }

    /// Runs `read` one level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        if self.depth == MAX_DEPTH {
            return Err(Mistake::new(self.position(), "nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// One line, which may hold several statements, or a loop.
    fn statement(&mut self, statements: &mut Vec<Statement>) -> Result<(), Mistake> {
        if self.take(&Kind::Newline) {
            return Ok(());
        }
        if self.take_word("for") {
            let statement = self.nested(Self::for_loop)?;
            statements.push(statement);
            return Ok(());
        }
        self.simple_line(statements)
    }

    fn simple_line(&mut self, statements: &mut Vec<Statement>) -> Result<(), Mistake> {
        loop {
            statements.extend(self.simple_statement()?);
            let more = self.take_sign(";");
            if self.take(&Kind::Newline) {
                return Ok(());
            }
            if !more {
                return Err(self.unexpected("the end of the line"));
            }
        }
    }

    fn simple_statement(&mut self) -> Result<Option<Statement>, Mistake> {
        if self.take_word("pass") {
            return Ok(None);
        }
        let position = self.position();
        if let Kind::Name(name) = self.peek().clone() {
            if self.peek_second() == &Kind::Sign("=") {
                let name = self.new_name(name)?;
                self.at += 1;
                let value = self.expression()?;
                return Ok(Some(Statement::Assign { name, value }));
            }
            if self.peek_second() == &Kind::Sign("+=") {
                self.at += 2;
                let value = self.expression()?;
                return Ok(Some(Statement::Extend {
                    name,
                    position,
                    value,
                }));
            }
        }
        self.expression().map(Statement::Expression).map(Some)
    }

    /// Takes the name that is next, if it may be given a value.
    fn new_name(&mut self, name: String) -> Result<String, Mistake> {
        if UNKNOWN_WORDS.contains(&name.as_str())
            || ["None", "True", "False", "for", "in", "pass"].contains(&name.as_str())
        {
            return Err(self.unexpected("a name"));
        }
        self.at += 1;
        Ok(name)
    }

    fn for_loop(&mut self) -> Result<Statement, Mistake> {
        let (name, list) = self.each()?;
        self.expect_sign(":")?;
        let mut body = Vec::new();
        if !self.take(&Kind::Newline) {
            self.simple_line(&mut body)?;
            return Ok(Statement::For { name, list, body });
        }
        while self.take(&Kind::Newline) {}
        if !self.take(&Kind::Indent) {
            return Err(self.unexpected("an indented block"));
        }
        while !self.take(&Kind::Dedent) {
            self.statement(&mut body)?;
        }
        Ok(Statement::For { name, list, body })
    }

    /// `name in list`
    fn each(&mut self) -> Result<(String, Expression), Mistake> {
        let name = match self.peek().clone() {
            Kind::Name(name) => self.new_name(name)?,
            _ => return Err(self.unexpected("a name")),
        };
        if !self.take_word("in") {
            return Err(self.unexpected("`in`"));
        }
        Ok((name, self.expression()?))
    }

    fn expression(&mut self) -> Result<Expression, Mistake> {
        let first = self.nested(Self::operand)?;
        if self.peek() != &Kind::Sign("+") {
            return Ok(first);
        }
        let position = first.position;
        let mut values = vec![first];
        while self.take_sign("+") {
            values.push(self.nested(Self::operand)?);
        }
        Ok(Expression {
            position,
            kind: ExpressionKind::Sum(values),
        })
    }

    fn operand(&mut self) -> Result<Expression, Mistake> {
        let position = self.position();
        let kind = match self.peek().clone() {
            Kind::Number(number) => {
                self.at += 1;
                ExpressionKind::Number(number)
            }
            Kind::Text(parts) => {
                self.at += 1;
                ExpressionKind::Text(parts)
            }
            Kind::Name(name) => self.named(name)?,
            Kind::Sign("[") => {
                self.at += 1;
                self.list()?
            }
            Kind::Sign("(") => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect_sign(")")?;
                inner.kind
            }
            Kind::Indent => return Err(Mistake::new(position, "unexpected indentation")),
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Expression { position, kind })
    }

    fn named(&mut self, name: String) -> Result<ExpressionKind, Mistake> {
        if UNKNOWN_WORDS.contains(&name.as_str()) {
            return Err(Mistake::new(
                self.position(),
                format!("`{name}` is not known in rule files"),
            ));
        }
        self.at += 1;
        Ok(match name.as_str() {
            "None" => ExpressionKind::None,
            "True" => ExpressionKind::Bool(true),
            "False" => ExpressionKind::Bool(false),
            "for" | "in" | "pass" => {
                self.at -= 1;
                return Err(self.unexpected("a value"));
            }
            _ if self.take_sign("(") => ExpressionKind::Call {
                function: name,
                arguments: self.arguments()?,
            },
            _ => ExpressionKind::Name(name),
        })
    }

    fn arguments(&mut self) -> Result<Vec<Argument>, Mistake> {
        let mut arguments = Vec::new();
        while !self.take_sign(")") {
            let name = match (self.peek().clone(), self.peek_second()) {
                (Kind::Name(name), Kind::Sign("=")) => {
                    self.at += 2;
                    Some(name)
                }
                _ => None,
            };
            let value = self.expression()?;
            arguments.push(Argument { name, value });
            if !self.take_sign(",") && self.peek() != &Kind::Sign(")") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(arguments)
    }

    fn list(&mut self) -> Result<ExpressionKind, Mistake> {
        let mut items = Vec::new();
        while !self.take_sign("]") {
            let item = self.expression()?;
            if items.is_empty() && self.take_word("for") {
                let (name, list) = self.each()?;
                self.expect_sign("]")?;
                let (item, list) = (Box::new(item), Box::new(list));
                return Ok(ExpressionKind::Each { item, name, list });
            }
            items.push(item);
            if !self.take_sign(",") && self.peek() != &Kind::Sign("]") {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
        Ok(ExpressionKind::List(items))
    }
}
