//! The table of behaviours in docs/compatibility.md.

use std::path::Path;
use std::{env, fs};

use super::rows::ROWS;

const BEGIN_COMMENT: &str = "<!-- the rows of crates/projection/src/dialect/rows.rs -->\n";
const END_COMMENT: &str = "<!-- end of the rows -->\n";

/// The table: a row for each behaviour.
fn table() -> String {
    let mut table = "| behaviour | what | by release |\n|---|---|---|\n".to_owned();
    for row in ROWS {
        let values = row.values.iter().map(|(since, text)| match *since {
            "own" => format!("clients of this program: {text}"),
            since => format!("{since}: {text}"),
        });
        let values = values.collect::<Vec<_>>().join("<br>");
        let what = row.what.trim();
        table.push_str(&format!("| `{}` | {what} | {values} |\n", row.name));
    }
    table
}

/// With `CODEX_WRITE_DOCUMENTS` set, the table is written; otherwise it must be up to date.
#[test]
fn the_table_of_behaviours_is_that_of_the_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN_COMMENT).unwrap();
    let (found, after) = rest.split_once(END_COMMENT).unwrap();
    let made = table();
    if env::var_os("CODEX_WRITE_DOCUMENTS").is_some() {
        fs::write(
            &path,
            format!("{before}{BEGIN_COMMENT}{made}{END_COMMENT}{after}"),
        )
        .unwrap();
    } else {
        assert_eq!(
            found, made,
            "`just write-behaviours` writes the table again"
        );
    }
}
