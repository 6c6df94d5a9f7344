//! Writes the tables of methods that stand in the documentation.

use std::fmt::Write;

use codex_protocol::Release;

use super::request::GeneratedFile;
use crate::method_table::{Direction, Method, TypeReference};
use crate::methods::methods;

const HEADER: &str = "\
# Methods

Generated from the method table by `just write-app-server-schema`. Do not edit.

An asterisk marks an experimental method: it needs `capabilities.experimentalApi` in `initialize`. Since: the release
that brought the method, where 0.117 does not have it; 0.169 also stands for releases between 0.140 and it; `own` marks
methods of this program alone. Until: the last release that has the method; it is still served.
";

pub(super) fn file() -> GeneratedFile {
    let mut text = HEADER.to_owned();
    for (direction, title) in [
        (Direction::ClientRequest, "Requests of the client"),
        (Direction::ServerRequest, "Requests of the server"),
        (Direction::ServerNotification, "Notifications of the server"),
        (Direction::ClientNotification, "Notifications of the client"),
    ] {
        let rows: Vec<Method> = methods()
            .into_iter()
            .filter(|method| method.direction == direction)
            .collect();
        push_table(&mut text, title, &rows);
    }
    GeneratedFile {
        path: "methods.md".into(),
        text,
    }
}

fn push_table(text: &mut String, title: &str, rows: &[Method]) {
    let answered = rows.iter().any(|method| method.response.is_some());
    let (heading, rule) = if answered {
        (" Response |", "---|")
    } else {
        ("", "")
    };
    let _ = write!(
        text,
        "\n## {title}\n\n| Method | Since | Until | What it does | Params |{heading}\n|---|---|---|---|---|{rule}\n"
    );
    for method in rows {
        let star = if method.experimental { " \\*" } else { "" };
        let _ = write!(
            text,
            "| `{}`{star} | {} | {} | {} | {} |",
            method.name,
            since(method),
            until(method),
            method.description,
            type_name(method.params),
        );
        if answered {
            let _ = write!(text, " {} |", type_name(method.response));
        }
        text.push('\n');
    }
}

fn since(method: &Method) -> String {
    match method.releases.since {
        Release::FIRST => String::new(),
        since => since.to_string(),
    }
}

fn until(method: &Method) -> String {
    let until = method.releases.until;
    until.map(|until| until.to_string()).unwrap_or_default()
}

fn type_name(ty: Option<TypeReference>) -> String {
    ty.map_or_else(|| "none".to_owned(), |ty| format!("`{}`", (ty.name)()))
}
