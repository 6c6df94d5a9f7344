//! The rows of a CSV text.

use std::collections::{HashMap, HashSet};

use crate::csv::each_record;

/// Rows with names for their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTable {
    /// The names of the columns, which differ.
    pub headers: Vec<String>,
    pub items: Vec<TaskRow>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Differs from those of the others.
    pub id: String,
    /// The value that the id was made from.
    pub source_id: Option<String>,
    /// The values, one for each column.
    pub row: Vec<String>,
}

/// What is wrong with an input.
#[derive(Debug, thiserror::Error)]
pub enum TableProblem {
    #[error("csv input must include a header row")]
    NoHeader,
    #[error("csv header {0} is duplicated")]
    DuplicateHeader(String),
    #[error("csv row {row} has {found} fields but header has {expected}")]
    Fields {
        row: usize,
        found: usize,
        expected: usize,
    },
    #[error("id_column {0} was not found in csv headers")]
    NoIdColumn(String),
    #[error("csv input has more than {0} rows; split it")]
    TooMany(usize),
}

impl TaskTable {
    /// Reads at most so many rows. Rows without any value are left out.
    ///
    /// # Errors
    /// The text is no such table.
    pub fn parse(text: &str, id_column: Option<&str>, most: usize) -> Result<Self, TableProblem> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut records = Records {
            id_column,
            column: None,
            headers: Vec::new(),
            ids: TaskIds::default(),
            items: Vec::new(),
            count: 0,
            most,
        };
        each_record(text, |record| records.take(record))?;
        if records.count == 0 {
            return Err(TableProblem::NoHeader);
        }
        Ok(Self {
            headers: records.headers,
            items: records.items,
        })
    }
}

/// The records so far.
struct Records<'a> {
    id_column: Option<&'a str>,
    /// The place of that column.
    column: Option<usize>,
    headers: Vec<String>,
    ids: TaskIds,
    items: Vec<TaskRow>,
    count: usize,
    most: usize,
}

impl Records<'_> {
    fn take(&mut self, record: Vec<String>) -> Result<(), TableProblem> {
        self.count += 1;
        if self.count == 1 {
            return self.take_headers(record);
        }
        if record.iter().all(String::is_empty) {
            return Ok(());
        }
        if record.len() != self.headers.len() {
            return Err(TableProblem::Fields {
                row: self.count,
                found: record.len(),
                expected: self.headers.len(),
            });
        }
        if self.items.len() == self.most {
            return Err(TableProblem::TooMany(self.most));
        }
        let value = self.column.and_then(|column| record.get(column)).cloned();
        let source_id = value.filter(|value| !value.is_empty());
        let usual = || format!("row-{}", self.items.len() + 1);
        let id = source_id.clone().unwrap_or_else(usual);
        self.items.push(TaskRow {
            id: self.ids.take(id),
            source_id,
            row: record,
        });
        Ok(())
    }

    fn take_headers(&mut self, headers: Vec<String>) -> Result<(), TableProblem> {
        let mut seen = HashSet::new();
        if let Some(twice) = headers.iter().find(|header| !seen.insert(*header)) {
            return Err(TableProblem::DuplicateHeader(twice.clone()));
        }
        if let Some(name) = self.id_column {
            let found = headers.iter().position(|header| header == name);
            let missing = || TableProblem::NoIdColumn(name.to_owned());
            self.column = Some(found.ok_or_else(missing)?);
        }
        self.headers = headers;
        Ok(())
    }
}

/// The ids that are taken.
#[derive(Debug, Default)]
pub struct TaskIds {
    taken: HashSet<String>,
    /// The last number that was added to an id.
    numbers: HashMap<String, usize>,
}

impl TaskIds {
    /// The id, with a number if it is taken.
    pub fn take(&mut self, id: String) -> String {
        if self.taken.insert(id.clone()) {
            return id;
        }
        let number = self.numbers.entry(id.clone()).or_insert(1);
        loop {
            *number += 1;
            let numbered = format!("{id}-{number}");
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str, id_column: Option<&str>) -> Result<Vec<String>, String> {
        let input = TaskTable::parse(text, id_column, 10).map_err(|problem| problem.to_string())?;
        Ok(input.items.into_iter().map(|item| item.id).collect())
    }

    #[test]
    fn rows_become_items() {
        let input = TaskTable::parse(
            "\u{feff}id,a b\r\n1,\"x, y\"\r\n\r\n,\r\n ,q\"\"z\r\n",
            None,
            10,
        );
        let input = input.unwrap();
        assert_eq!(input.headers, ["id", "a b"]);
        assert_eq!(input.items.len(), 2);
        assert_eq!(input.items[0].row, ["1", "x, y"]);
        assert_eq!(input.items[1].id, "row-2");
        assert_eq!(ids("a,b\n", None).unwrap(), [""; 0]);
    }

    #[test]
    fn ids_come_from_a_column_and_differ() {
        let text = "a,b\nb,1\nb-2,2\nb,3\n,4\nb,5\nrow-4,6\n";
        assert_eq!(
            ids(text, Some("a")).unwrap(),
            ["b", "b-2", "b-3", "row-4", "b-4", "row-4-2"]
        );
    }

    #[test]
    fn invalid_table_gives_the_reason() {
        for (text, id_column, problem) in [
            ("", None, "csv input must include a header row"),
            ("id,id\n1,2\n", None, "csv header id is duplicated"),
            ("a,b\n1\n", None, "csv row 2 has 1 fields but header has 2"),
            (
                "a,b\n1,2\n1,2,3\n",
                None,
                "csv row 3 has 3 fields but header has 2",
            ),
            (
                "a,b\n\"1,2\n",
                None,
                "csv row 2 has 1 fields but header has 2",
            ),
            (
                "a\n1\n",
                Some("b"),
                "id_column b was not found in csv headers",
            ),
        ] {
            assert_eq!(ids(text, id_column).unwrap_err(), problem);
        }
        let many = format!("a\n{}", "1\n".repeat(11));
        assert!(ids(&many, None).unwrap_err().contains("more than 10 rows"));
    }
}
