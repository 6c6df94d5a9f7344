//! Converts tokens to statements.

use super::lexer::{TextPart, Token, TokenKind, tokens};
use super::{ScriptError, SourcePosition};

/// Limit on the nesting of brackets and blocks.
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
        position: SourcePosition,
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
    pub(super) position: SourcePosition,
    pub(super) kind: ExpressionKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpressionKind {
    None,
    Bool(bool),
    Number(i64),
    Text(Vec<TextPart>),
    Name(String),
    List(Vec<Expression>),
    /// `[item for name in list]`
    Comprehension {
        item: Box<Expression>,
        name: String,
        list: Box<Expression>,
    },
    /// Two or more values, added from the left.
    Sum(Vec<Expression>),
    Call {
        function: String,
        arguments: Vec<ArgumentExpression>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArgumentExpression {
    pub(super) name: Option<String>,
    pub(super) value: Expression,
}

/// Keywords of full Starlark that rules files may not use.
const UNSUPPORTED_KEYWORDS: [&str; 14] = [
    "and", "break", "continue", "def", "elif", "else", "if", "lambda", "load", "not", "or",
    "return", "while", "is",
];

pub(super) fn parse(source: &str) -> Result<Vec<Statement>, ScriptError> {
    let mut parser = Parser {
        tokens: tokens(source)?,
        at: 0,
        depth: 0,
    };
    let mut statements = Vec::new();
    while parser.peek() != &TokenKind::End {
        parser.statement(&mut statements)?;
    }
    Ok(statements)
}

struct Parser {
    /// Ends with [`TokenKind::End`], which is never consumed.
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &TokenKind {
        self.tokens
            .get(self.at)
            .map_or(&TokenKind::End, |token| &token.kind)
    }

    fn peek_second(&self) -> &TokenKind {
        self.tokens
            .get(self.at + 1)
            .map_or(&TokenKind::End, |token| &token.kind)
    }

    fn position(&self) -> SourcePosition {
        let end = SourcePosition { line: 1, column: 1 };
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .map_or(end, |token| token.position)
    }

    fn take(&mut self, kind: &TokenKind) -> bool {
        let taken = self.peek() == kind && *kind != TokenKind::End;
        self.at += usize::from(taken);
        taken
    }

    fn take_sign(&mut self, sign: &'static str) -> bool {
        self.take(&TokenKind::Sign(sign))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let taken = matches!(self.peek(), TokenKind::Name(name) if name == word);
        self.at += usize::from(taken);
        taken
    }

    fn expect_sign(&mut self, sign: &'static str) -> Result<(), ScriptError> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{sign}`")))
        }
    }

    fn unexpected(&self, wanted: &str) -> ScriptError {
        let found = match self.peek() {
            TokenKind::Name(name) => format!("`{name}`"),
            TokenKind::Number(number) => number.to_string(),
            TokenKind::Text(_) => "a string".to_owned(),
            TokenKind::Sign(sign) => format!("`{sign}`"),
            TokenKind::Newline => "the end of the line".to_owned(),
            TokenKind::Indent => "deeper indentation".to_owned(),
            TokenKind::Dedent => "the end of the block".to_owned(),
            TokenKind::End => "the end of the file".to_owned(),
        };
        ScriptError::new(self.position(), format!("expected {wanted}, found {found}"))
    }

    /// Calls `read` one nesting level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        if self.depth == MAX_DEPTH {
            return Err(ScriptError::new(self.position(), "nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads one line, which may contain several statements, or a loop.
    fn statement(&mut self, statements: &mut Vec<Statement>) -> Result<(), ScriptError> {
        if self.take(&TokenKind::Newline) {
            return Ok(());
        }
        if self.take_word("for") {
            let statement = self.nested(Self::for_loop)?;
            statements.push(statement);
            return Ok(());
        }
        self.simple_line(statements)
    }

    fn simple_line(&mut self, statements: &mut Vec<Statement>) -> Result<(), ScriptError> {
        loop {
            statements.extend(self.simple_statement()?);
            let more = self.take_sign(";");
            if self.take(&TokenKind::Newline) {
                return Ok(());
            }
            if !more {
                return Err(self.unexpected("the end of the line"));
            }
        }
    }

    fn simple_statement(&mut self) -> Result<Option<Statement>, ScriptError> {
        if self.take_word("pass") {
            return Ok(None);
        }
        let position = self.position();
        if let TokenKind::Name(name) = self.peek().clone() {
            if self.peek_second() == &TokenKind::Sign("=") {
                let name = self.new_name(name)?;
                self.at += 1;
                let value = self.expression()?;
                return Ok(Some(Statement::Assign { name, value }));
            }
            if self.peek_second() == &TokenKind::Sign("+=") {
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

    /// Consumes `name`, the next token, if it may be assigned.
    fn new_name(&mut self, name: String) -> Result<String, ScriptError> {
        if UNSUPPORTED_KEYWORDS.contains(&name.as_str())
            || ["None", "True", "False", "for", "in", "pass"].contains(&name.as_str())
        {
            return Err(self.unexpected("a name"));
        }
        self.at += 1;
        Ok(name)
    }

    fn for_loop(&mut self) -> Result<Statement, ScriptError> {
        let (name, list) = self.loop_head()?;
        self.expect_sign(":")?;
        let mut body = Vec::new();
        if !self.take(&TokenKind::Newline) {
            self.simple_line(&mut body)?;
            return Ok(Statement::For { name, list, body });
        }
        while self.take(&TokenKind::Newline) {}
        if !self.take(&TokenKind::Indent) {
            return Err(self.unexpected("an indented block"));
        }
        while !self.take(&TokenKind::Dedent) {
            self.statement(&mut body)?;
        }
        Ok(Statement::For { name, list, body })
    }

    /// `name in list`
    fn loop_head(&mut self) -> Result<(String, Expression), ScriptError> {
        let name = match self.peek().clone() {
            TokenKind::Name(name) => self.new_name(name)?,
            _ => return Err(self.unexpected("a name")),
        };
        if !self.take_word("in") {
            return Err(self.unexpected("`in`"));
        }
        Ok((name, self.expression()?))
    }

    fn expression(&mut self) -> Result<Expression, ScriptError> {
        let first = self.nested(Self::operand)?;
        if self.peek() != &TokenKind::Sign("+") {
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

    fn operand(&mut self) -> Result<Expression, ScriptError> {
        let position = self.position();
        let kind = match self.peek().clone() {
            TokenKind::Number(number) => {
                self.at += 1;
                ExpressionKind::Number(number)
            }
            TokenKind::Text(parts) => {
                self.at += 1;
                ExpressionKind::Text(parts)
            }
            TokenKind::Name(name) => self.name_or_call(name)?,
            TokenKind::Sign("[") => {
                self.at += 1;
                self.list()?
            }
            TokenKind::Sign("(") => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect_sign(")")?;
                inner.kind
            }
            TokenKind::Indent => return Err(ScriptError::new(position, "unexpected indentation")),
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Expression { position, kind })
    }

    /// A name, a constant or a call.
    fn name_or_call(&mut self, name: String) -> Result<ExpressionKind, ScriptError> {
        if UNSUPPORTED_KEYWORDS.contains(&name.as_str()) {
            return Err(ScriptError::new(
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

    fn arguments(&mut self) -> Result<Vec<ArgumentExpression>, ScriptError> {
        let mut arguments = Vec::new();
        while !self.take_sign(")") {
            let name = match (self.peek().clone(), self.peek_second()) {
                (TokenKind::Name(name), TokenKind::Sign("=")) => {
                    self.at += 2;
                    Some(name)
                }
                _ => None,
            };
            let value = self.expression()?;
            arguments.push(ArgumentExpression { name, value });
            if !self.take_sign(",") && self.peek() != &TokenKind::Sign(")") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(arguments)
    }

    fn list(&mut self) -> Result<ExpressionKind, ScriptError> {
        let mut items = Vec::new();
        while !self.take_sign("]") {
            let item = self.expression()?;
            if items.is_empty() && self.take_word("for") {
                let (name, list) = self.loop_head()?;
                self.expect_sign("]")?;
                let (item, list) = (Box::new(item), Box::new(list));
                return Ok(ExpressionKind::Comprehension { item, name, list });
            }
            items.push(item);
            if !self.take_sign(",") && self.peek() != &TokenKind::Sign("]") {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
        Ok(ExpressionKind::List(items))
    }
}
