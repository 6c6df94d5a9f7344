//! Two runs side by side, as one HTML page without scripts.

use std::io::{self, Write};

use super::{AgentComparison, RunComparison, RunStep, StepPair};

const STYLE: &str = include_str!("page.css");

/// This many equal steps around a difference are not folded away.
const CONTEXT_STEPS: usize = 2;

/// Writes the page. `names` are those of the runs.
///
/// # Errors
/// It cannot be written.
pub fn write_diff_page(
    comparison: &RunComparison,
    names: [&str; 2],
    out: &mut impl Write,
) -> io::Result<()> {
    let count = comparison.differences().len();
    let [left, right] = names.map(escaped);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Two runs</title><style>{STYLE}</style></head><body>\n\
         <header><h1>Two runs</h1><p>{count} differences</p></header>\n"
    )?;
    let differences = comparison
        .agents
        .iter()
        .filter(|agent| has_differences(agent));
    let links = differences.map(|agent| escaped(&agent.agent));
    let links = links.map(|name| format!("<a href=\"#{name}\">{name}</a>"));
    writeln!(out, "<nav>{}</nav>", links.collect::<Vec<_>>().join(" "))?;
    let mut number = 0;
    for agent in &comparison.agents {
        let name = escaped(&agent.agent);
        writeln!(out, "<section id=\"{name}\"><h2>{name}</h2>")?;
        writeln!(
            out,
            "<div class=\"names\"><div>A: {left}</div><div>B: {right}</div></div>"
        )?;
        for rows in sections(&agent.rows) {
            if rows.iter().all(|row| row.is_same) && rows.len() > CONTEXT_STEPS {
                write!(
                    out,
                    "<details><summary>{} equal steps</summary>",
                    rows.len()
                )?;
                rows.iter().try_for_each(|row| write_row(row, None, out))?;
                writeln!(out, "</details>")?;
                continue;
            }
            for row in rows {
                if !row.is_same {
                    number += 1;
                }
                write_row(row, (!row.is_same).then_some(number), out)?;
            }
        }
        writeln!(out, "</section>")?;
    }
    writeln!(out, "</body></html>")
}

fn has_differences(agent: &AgentComparison) -> bool {
    agent.rows.iter().any(|row| !row.is_same)
}

/// The rows in sections: near differences, and far from them.
fn sections(rows: &[StepPair]) -> impl Iterator<Item = &[StepPair]> {
    let is_near: Vec<bool> = (0..rows.len())
        .map(|at| {
            let around = at.saturating_sub(CONTEXT_STEPS)..rows.len().min(at + CONTEXT_STEPS + 1);
            rows[around].iter().any(|row| !row.is_same)
        })
        .collect();
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = *is_near.get(start)?;
        let length = is_near[start..]
            .iter()
            .take_while(|near| **near == first)
            .count();
        let section = &rows[start..start + length];
        start += length;
        Some(section)
    })
}

fn write_row(row: &StepPair, number: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let [left, right] = [&row.left, &row.right].map(Option::as_ref);
    let text = |step: Option<&RunStep>| step.map_or("", |step| step.text.as_str()).to_owned();
    let (left_text, right_text) = (text(left), text(right));
    let common = match (left, right) {
        (Some(_), Some(_)) if !row.is_same => common_ends(&left_text, &right_text),
        _ => (0, 0),
    };
    match number {
        Some(number) => write!(out, "<div class=\"row differs\" id=\"{number}\">")?,
        None => write!(out, "<div class=\"row\">")?,
    }
    for (step, side) in [(left, "left"), (right, "right")] {
        let Some(step) = step else {
            write!(out, "<div class=\"step none\"></div>")?;
            continue;
        };
        let (before, after) = common;
        let end = step.text.len() - after;
        let (head, middle, tail) = (
            &step.text[..before],
            &step.text[before..end],
            &step.text[end..],
        );
        let marked = match number {
            Some(_) => format!(
                "{}<mark>{}</mark>{}",
                escaped(head),
                escaped(middle),
                escaped(tail)
            ),
            None => escaped(&step.text),
        };
        write!(
            out,
            "<div class=\"step {side}\"><header>turn {}, event {}, {}</header><pre>{marked}</pre></div>",
            step.turn,
            step.seq,
            escaped(&step.what)
        )?;
    }
    writeln!(out, "</div>")
}

/// The lengths of what two texts share at their beginnings and ends.
fn common_ends(left: &str, right: &str) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let start: usize = left
        .chars()
        .zip(right.chars())
        .take_while(same)
        .map(|(char, _)| char.len_utf8())
        .sum();
    let (left, right) = (&left[start..], &right[start..]);
    let end: usize = left
        .chars()
        .rev()
        .zip(right.chars().rev())
        .take_while(same)
        .map(|(char, _)| char.len_utf8())
        .sum();
    (start, end)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_no_element() {
        assert_eq!(escaped("<a b=\"&\">"), "&lt;a b=&quot;&amp;&quot;&gt;");
    }

    #[test]
    fn diff_marks_exclude_common_ends() {
        assert_eq!(common_ends("one two three", "one 2 three"), (4, 6));
        assert_eq!(common_ends("aa", "aaa"), (2, 0));
        assert_eq!(common_ends("é", "è"), (0, 0));
    }
}
