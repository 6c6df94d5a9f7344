//! Where code gives a value to a name by more than a statement `name = value`: parameters, loops, imports, patterns.
//!
//! What looks like one of them counts as one: the name is not known then.

use std::ops::Range;

use super::places::is_part_of_name;
use super::scan::{Bracket, Brackets, assigns, before_assignment, beginning, has_comma};
use crate::interpreters::Language;

/// A statement is looked at up to here, before and behind a name.
const MAX_STATEMENT: usize = 1000;
/// How many brackets around a name are looked at.
const MAX_LEVELS: usize = 8;
const QUOTES: [&str; 3] = ["\"", "'", "`"];

/// Words that give values to the names behind them, and what ends these names.
const WORDS: [(&str, &[&str]); 14] = [
    ("as", &["(", ":", "{"]),
    ("case", &[":"]),
    ("def", FUNCTION_ENDS),
    ("fn", FUNCTION_ENDS),
    ("for", LOOP_ENDS),
    ("foreach", LOOP_ENDS),
    ("func", FUNCTION_ENDS),
    ("function", FUNCTION_ENDS),
    ("global", &[]),
    ("import", &["(", "="]),
    ("in", &[" then "]),
    ("lambda", &[":"]),
    ("nonlocal", &[]),
    ("sub", FUNCTION_ENDS),
];
const FUNCTION_ENDS: &[&str] = &["(", "{", "=", ";", ":"];
const LOOP_ENDS: &[&str] = &[" in ", " of ", "=", ";"];
/// Words before patterns.
const DECLARATIONS: [&str; 6] = ["const", "let", "local", "my", "our", "var"];
/// Words before brackets with a condition, and a block behind them.
const CONDITIONS: [&str; 9] = [
    "elseif", "elsif", "for", "foreach", "if", "switch", "unless", "until", "while",
];

/// Whether a name at a place gets a value there, other than by `name = value`.
pub(super) fn is_bound(
    text: &str,
    brackets: &Brackets,
    name: Range<usize>,
    language: Language,
) -> bool {
    let before = text[..name.start].trim_end_matches(['$', '@', '%', '*', '&']);
    let before = before.strip_suffix("...").unwrap_or(before);
    let mut item = before.len()..name.end;
    let mut inner = None;
    for _ in 0..MAX_LEVELS {
        let around = brackets.around(item.start);
        let Some(begin) = statement_begin(text, around, item.start) else {
            return true;
        };
        let place = PlaceAmongOthers {
            language,
            around: around.map(|bracket| bracket.kind),
            head: &text[begin..item.start],
            inner: inner.map(|_: Bracket| &text[item.start..name.start]),
            tail: &text[item.end..],
        };
        if place.is_in_quotes() {
            return false;
        }
        if place.is_bound() {
            return true;
        }
        let Some(bracket) = around.filter(|bracket| may_be_pattern(text, *bracket)) else {
            return false;
        };
        item = bracket.open..text.len().min(bracket.close + 1);
        inner = Some(bracket);
    }
    true
}

/// Where the statement, or the list in brackets, begins that a place is in. None if it is too long.
fn statement_begin(text: &str, around: Option<Bracket>, at: usize) -> Option<usize> {
    let inside = around.map_or(0, |bracket| bracket.open + 1);
    let is_list = around.is_some_and(|bracket| bracket.kind != '{');
    let is_short = at - inside <= MAX_STATEMENT;
    if is_list && is_short {
        return Some(inside);
    }
    let from = inside.max(text.ceil_char_boundary(at.saturating_sub(MAX_STATEMENT)));
    let ends = text[from..at].rmatch_indices(['\n', ';']);
    let mut ends = ends.filter(|(end, mark)| {
        let line = text[from..from + end].trim_end_matches([' ', '\t', '\r']);
        *mark == ";" || !line.ends_with([',', '\\'])
    });
    let end = ends.next().map(|(end, _)| from + end + 1);
    end.or(is_short.then_some(inside))
}

/// Whether names in brackets may get values from what is around them. In a block or an index they do not.
fn may_be_pattern(text: &str, bracket: Bracket) -> bool {
    let before = &text[..bracket.open];
    let word = last_word(before.trim_end());
    let is_declared =
        DECLARATIONS.contains(&word) || WORDS.iter().any(|(it, _)| *it == word) || word == "export";
    match bracket.kind {
        '[' => is_declared || !before.ends_with(|c| is_part_of_name(c) || ")]}\"'".contains(c)),
        '{' => is_declared || before.trim_end().ends_with(['(', ',', '=', ':', '[']),
        _ => true,
    }
}

/// A name, or brackets with it, among what is beside it.
struct PlaceAmongOthers<'t> {
    language: Language,
    /// What the brackets around it are.
    around: Option<char>,
    /// The statement before it, or what is before it in the brackets.
    head: &'t str,
    /// The beginning of the brackets, up to the name. None if it is the name itself.
    inner: Option<&'t str>,
    tail: &'t str,
}

impl PlaceAmongOthers<'_> {
    fn is_bound(&self) -> bool {
        let follows_word = WORDS.iter().any(|(word, ends)| self.follows(word, ends));
        follows_word
            || self.is_in_list_of_targets()
            || self.is_parameter_of_block()
            || match self.inner {
                Some(inner) => self.is_pattern(inner),
                None => self.is_bound_itself(),
            }
    }

    /// Whether the name stands in a literal, where it can be read only.
    fn is_in_quotes(&self) -> bool {
        ['"', '`']
            .iter()
            .any(|quote| self.head.matches(*quote).count() % 2 == 1)
    }

    /// Whether it is among the names behind a word.
    fn follows(&self, word: &str, ends: &[&str]) -> bool {
        let is_read = match word {
            "case" => {
                self.language != Language::Python || !self.head.trim_start().starts_with(word)
            }
            "in" => self.language != Language::Ruby || !self.head.trim_start().starts_with("in "),
            "import" => {
                self.head.ends_with(word) && self.inner.is_some_and(|it| it.starts_with('('))
            }
            _ => false,
        };
        let mut found = self.head.rmatch_indices(word);
        let found = found.find(|(at, _)| {
            let (before, after) = (&self.head[..*at], &self.head[at + word.len()..]);
            let is_other = before.ends_with(|c| is_part_of_name(c) || ".-$@".contains(c));
            !is_other && !after.starts_with(|c| is_part_of_name(c) || c == '.')
        });
        let Some((at, _)) = found.filter(|_| !is_read) else {
            return false;
        };
        let between = &self.head[at + word.len()..];
        let inner = self.inner.unwrap_or_default();
        let is_loop = ends == LOOP_ENDS;
        let is_over = |end: &&str| between.contains(*end) || (is_loop && inner.contains(*end));
        let is_list_of_loop = is_loop && self.language == Language::Perl && inner.starts_with('(');
        !ends.iter().any(is_over)
            && !QUOTES.iter().any(|quote| between.contains(quote))
            && !is_list_of_loop
    }

    /// Whether it is one of several that are set, as in `a, b = …`.
    fn is_in_list_of_targets(&self) -> bool {
        let has_lists = !matches!(
            self.language,
            Language::JavaScript | Language::Perl | Language::Php
        );
        let is_statement = matches!(self.around, None | Some('{'));
        let tail = beginning(self.tail, MAX_STATEMENT);
        has_lists
            && is_statement
            && tail.trim_start_matches([' ', '\t']).starts_with([',', '='])
            && before_assignment(tail, self.language).is_some_and(|between| {
                has_comma(between, self.language) || has_comma(self.head, self.language)
            })
    }

    /// Whether it stands between the lines before a block of Ruby, or behind the arrow of one.
    fn is_parameter_of_block(&self) -> bool {
        let begins = self.head.rsplit_once('|').is_some_and(|(before, _)| {
            let before = before.trim_end();
            before.ends_with('{') || before.is_empty() || last_word(before) == "do"
        });
        let is_lambda = self
            .head
            .rsplit_once("->")
            .is_some_and(|(_, between)| !between.contains(['{', '(']));
        self.language == Language::Ruby && (begins || is_lambda)
    }

    /// Whether brackets get values, or are the parameters of a function.
    fn is_pattern(&self, inner: &str) -> bool {
        let tail = self.tail.trim_start_matches([' ', '\t']);
        let behind = tail.trim_start();
        let word = last_word(self.head.trim_end());
        // Elsewhere, a word stands before the parameters.
        let has_methods = matches!(self.language, Language::JavaScript | Language::Code);
        let has_body = has_methods && behind.starts_with('{') && !CONDITIONS.contains(&word);
        let has_type = self.language == Language::JavaScript && {
            let line = tail.split('\n').next().unwrap_or_default();
            self.tail.starts_with(':') && beginning(line, MAX_STATEMENT).contains(['{', '>'])
        };
        assigns(tail)
            || DECLARATIONS.contains(&word)
            || (inner.starts_with('(') && (behind.starts_with("=>") || has_body || has_type))
    }

    /// Whether a name gets a value by what is directly beside it.
    fn is_bound_itself(&self) -> bool {
        let tail = self.tail.trim_start_matches([' ', '\t']);
        let word = last_word(self.head.trim_end());
        let has_type = tail.starts_with(':') && !tail.starts_with("::");
        let is_declared = DECLARATIONS.contains(&word);
        let is_in_list = matches!(self.around, Some('(' | '['));
        let is_annotated = || {
            let is_statement = self.head.trim().is_empty() && self.around.is_none();
            let value = before_assignment(beginning(tail, MAX_STATEMENT), self.language);
            has_type && is_statement && value.is_some()
        };
        let is_by_language = match self.language {
            Language::JavaScript => tail.starts_with("=>") || (has_type && is_declared),
            Language::Python => is_annotated(),
            Language::Perl => substitutes(tail) || (is_in_list && is_declared),
            _ => false,
        };
        is_by_language || tail.starts_with(":=") || (is_in_list && assigns(tail))
    }
}

/// Whether what follows a variable of Perl replaces parts of it.
fn substitutes(tail: &str) -> bool {
    let pattern = tail.strip_prefix("=~").map(str::trim_start);
    ["s", "tr", "y"].iter().any(|operator| {
        let rest = pattern.and_then(|pattern| pattern.strip_prefix(operator));
        rest.is_some_and(|rest| !rest.starts_with(is_part_of_name))
    })
}

fn last_word(text: &str) -> &str {
    text.rsplit(|c| !is_part_of_name(c))
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_calls::variables::Variables;

    fn value(language: Language, text: &str) -> Option<&str> {
        let found = Variables::default().find(text, "d", language);
        found.map(|(value, _)| value.trim())
    }

    #[test]
    fn variables_set_in_other_forms_are_unknown() {
        use Language::{JavaScript, Lua, Perl, Php, Python, Ruby};
        for (language, set, form) in [
            (Python, "d = 'a'\n", "d, e = f()"),
            (Python, "d = 'a'\n", "e, d = f()"),
            (Python, "d = 'a'\n", "e, *d = f()"),
            (Python, "d = 'a'\n", "e, \\\n  d = f()"),
            (Python, "d = 'a'\n", "d, \\\n  e = f()"),
            (Python, "d = 'a'\n", "(d, e) = f()"),
            (Python, "d = 'a'\n", "(e, (g, d)) = f()"),
            (Python, "d = 'a'\n", "(g, d), e = f()"),
            (Python, "d = 'a'\n", "[d] = f()"),
            (Python, "d = 'a'\n", "if x: d, e = f()"),
            (Python, "d = 'a'\n", "if (d := f()): pass"),
            (Python, "d = 'a'\n", "d: str = f()"),
            (Python, "d = 'a'\n", "match x:\n  case [_, d]: pass"),
            (Python, "d = 'a'\n", "match x:\n  case {'k': d}: pass"),
            (Python, "d = 'a'\n", "from conf import d"),
            (Python, "d = 'a'\n", "from conf import e, d"),
            (Python, "d = 'a'\n", "from conf import (\n  e,\n  d,\n)"),
            (Python, "d = 'a'\n", "from conf import x as d"),
            (Python, "d = 'a'\n", "from conf import *"),
            (Python, "d = 'a'\n", "for d in x: pass"),
            (Python, "d = 'a'\n", "for e, d in x: pass"),
            (Python, "d = 'a'\n", "for (e, d) in x: pass"),
            (Python, "d = 'a'\n", "y = [d for e, d in x]"),
            (Python, "d = 'a'\n", "with f() as d: pass"),
            (Python, "d = 'a'\n", "with f() as (e, d): pass"),
            (Python, "d = 'a'\n", "def f():\n  global e, d"),
            (Python, "d = 'a'\n", "def f(e, d): pass"),
            (Python, "d = 'a'\n", "def f(e=(1, 2), *, d='b'): pass"),
            (Python, "d = 'a'\n", "x = 1; y = lambda e, d: 1"),
            (Python, "d = 'a'\n", "async def f(\n  e,\n  d\n): pass"),
            (JavaScript, "let d = 'a';\n", "class R { run(d) { } }"),
            (
                JavaScript,
                "let d = 'a';\n",
                "class R {\n  async run(e, d)\n  {\n  }\n}",
            ),
            (JavaScript, "let d = 'a';\n", "x(); function f(d) { }"),
            (JavaScript, "let d = 'a';\n", "x(function (d) { })"),
            (JavaScript, "let d = 'a';\n", "function f(e = g(), d) { }"),
            (
                JavaScript,
                "let d = 'a';\n",
                "function f(e: string, d: string): void { }",
            ),
            (JavaScript, "let d = 'a';\n", "const f = d => 1"),
            (JavaScript, "let d = 'a';\n", "const f = (e,\n  d) =>\n  1"),
            (JavaScript, "let d = 'a';\n", "const f = ({ e, d }) => 1"),
            (JavaScript, "let d = 'a';\n", "const f = ([d] = []) => 1"),
            (JavaScript, "let d = 'a';\n", "const f = (...d) => 1"),
            (JavaScript, "let d = 'a';\n", "[d] = f()"),
            (JavaScript, "let d = 'a';\n", "[e, [d]] = f()"),
            (JavaScript, "let d = 'a';\n", "({d} = f())"),
            (JavaScript, "let d = 'a';\n", "({ x: d } = f())"),
            (JavaScript, "let d = 'a';\n", "for (d of f()) { }"),
            (
                JavaScript,
                "let d = 'a';\n",
                "for (const [e, d] of f()) { }",
            ),
            (JavaScript, "let d = 'a';\n", "for (const { d } of f()) { }"),
            (
                JavaScript,
                "let d = 'a';\n",
                "for await (const d of f()) { }",
            ),
            (JavaScript, "let d = 'a';\n", "try { } catch (d) { }"),
            (JavaScript, "let d = 'a';\n", "if ((d = f())) { }"),
            (JavaScript, "let d = 'a';\n", "d ??= f()"),
            (JavaScript, "", "import { d } from './conf.js'; d = 'a';"),
            (JavaScript, "let d: string = f();\n", "d = 'a'"),
            (Perl, "my $d = 'a';\n", "sub f { my ($d) = @_; 1 }"),
            (Perl, "my $d = 'a';\n", "1; sub f { my ($e, $d)=@_; 1 }"),
            (Perl, "my $d = 'a';\n", "sub f ($d) { 1 }"),
            (Perl, "my $d = 'a';\n", "($e, $d) = f();"),
            (Perl, "my $d = 'a';\n", "for my $d (@x) { }"),
            (Perl, "my $d = 'a';\n", "$d =~ s/a/b/;"),
            (Ruby, "d = 'a'\n", "d, e = f"),
            (Ruby, "d = 'a'\n", "e, d = f"),
            (Ruby, "d = 'a'\n", "x.each { |d| 1 }"),
            (Ruby, "d = 'a'\n", "x.each do |e, d|\nend"),
            (Ruby, "d = 'a'\n", "f = ->(d) { 1 }"),
            (Ruby, "d = 'a'\n", "f = -> d { 1 }"),
            (Ruby, "d = 'a'\n", "def f(d:) = 1"),
            (Ruby, "d = 'a'\n", "def f d\nend"),
            (Ruby, "d = 'a'\n", "case x\nin [_, d] then 1\nend"),
            (Php, "$d = 'a';\n", "foreach ($x as $k => $d) { }"),
            (Php, "$d = 'a';\n", "list($e, $d) = f();"),
            (Php, "$d = 'a';\n", "x(fn($d) => 1);"),
            (Lua, "local d = 'a'\n", "e, d = f()"),
        ] {
            assert_eq!(value(language, &format!("{set}{form}\n")), None, "{form}");
        }
    }

    #[test]
    fn variables_that_are_only_read_are_known() {
        use Language::{JavaScript, Perl, Python, Ruby};
        for (language, set, read) in [
            (Python, "d = 'a'\n", "x, y = d, 1"),
            (Python, "d = 'a'\n", "x = f(e, d)[0]; y = d == 1, d"),
            (Python, "d = 'a'\n", "env[d] = 1; x = {'k': d, d: 1}"),
            (Python, "d = 'a'\n", "for x in f(d): g(d, e)"),
            (Python, "d = 'a'\n", "def f(x): run(x, cwd=d)"),
            (Python, "d = 'a'\n", "def f():\n  if d:\n    x = 1"),
            (Python, "d = 'a'\n", "print('nothing for', d, f\"for {d}\")"),
            (Python, "d = 'a'\n", "with open(d) as x: pass"),
            (
                Python,
                "import os, sys\nx = 1\nd = 'a'\n",
                "m = import_module(d)",
            ),
            (JavaScript, "const e = 1, d = 'a';\n", "x(d, { cwd: d });"),
            (
                JavaScript,
                "const d = 'a';\n",
                "if (f(d)) { g(d) } else if (d) { }",
            ),
            (
                JavaScript,
                "const d = 'a';\n",
                "for (const x of f(d)) { g(`for ${d}`) }",
            ),
            (
                JavaScript,
                "const d = 'a';\n",
                "await import(d); const x = c ? f(d) : y;",
            ),
            (
                JavaScript,
                "const d = 'a';\n",
                "if (/[\"']/.test(x)) {\n}\nconst y = d;",
            ),
            (
                JavaScript,
                "if (/[\"']/.test(x)) {\n}\nconst d = 'a';\n",
                "y(d)",
            ),
            (
                JavaScript,
                "const d = 'a';\n",
                "function f() { g(d) }\nx(() => { g(d) });",
            ),
            (
                Perl,
                "my $d = 'a';\n",
                "sub f { my ($x) = @_; chdir $d; $h{$d} = 1 }",
            ),
            (
                Perl,
                "my $d = 'a';\n",
                "die \"nothing for $d\" if (!-d $d);",
            ),
            (Perl, "my $d = 'a';\n", "foreach my $x (f($d)) { g($d) }"),
            (Ruby, "d = 'a'\n", "Dir.chdir(d) { system('make', d) }"),
            (Ruby, "d = 'a'\n", "system 'make', chdir: d"),
            (Ruby, "d = 'a'\n", "x.each { |y| f(y, d) }"),
        ] {
            assert_eq!(
                value(language, &format!("{set}{read}\n")),
                Some("'a'"),
                "{read}"
            );
        }
    }
}
