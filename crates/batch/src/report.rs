//! The page with the results of a batch: what failed comes first.

use std::fmt::Write;

use crate::folder::{BatchFolder, RowResult, RowStatus};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a;\
background:#fff}table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;\
border-bottom:1px solid #ccc}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;max-height:20rem;overflow:auto}\
.passed{color:#186a2e}.failed,.checkFailed{color:#a1120b}.overLimit{color:#8a5300}\
@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}th,td{border-color:#444}.passed{color:#6fcf8a}\
.failed,.checkFailed{color:#ff8a80}.overLimit{color:#ffb74d}}";

/// The page, which needs no other file.
pub(crate) fn page(folder: &BatchFolder, results: &[RowResult]) -> String {
    let mut sorted: Vec<&RowResult> = results.iter().collect();
    sorted.sort_by_key(|result| (result.status, result.index));
    let name = folder.path().file_name().unwrap_or_default();
    let name = escaped(&name.to_string_lossy());
    let count = |status| results.iter().filter(|one| one.status == status).count();
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{name}</title><style>{STYLE}</style><h1>{name}</h1><p>{} of {} rows have a result: {} passed, {} failed, \
         {} with a failed check, {} over a limit.</p><table><thead><tr><th scope=\"col\">Row</th><th scope=\"col\">Result</th>\
         <th scope=\"col\">What it says</th><th scope=\"col\">Tokens</th><th scope=\"col\">Seconds</th></tr></thead><tbody>",
        results.len(),
        folder.rows.len(),
        count(RowStatus::Passed),
        count(RowStatus::Failed),
        count(RowStatus::CheckFailed),
        count(RowStatus::OverLimit),
    );
    for result in sorted {
        push_row(&mut page, folder, result);
    }
    page.push_str("</tbody></table></html>\n");
    page
}

fn push_row(page: &mut String, folder: &BatchFolder, result: &RowResult) {
    let status = result.status.name();
    let _ = write!(
        page,
        "<tr><th scope=\"row\">{} <small>{}</small></th><td class=\"{status}\">{status}</td><td>",
        escaped(&result.id),
        result.index,
    );
    if let Some(error) = &result.error {
        let _ = write!(page, "<pre class=\"failed\">{}</pre>", escaped(error));
    }
    for check in &result.checks {
        if check.exit_code != Some(0) {
            let ended = match check.exit_code {
                Some(code) => format!("exit code {code}"),
                None => "not run".to_owned(),
            };
            let (command, output) = (escaped(&check.command), escaped(&check.output));
            let _ = write!(
                page,
                "<pre class=\"failed\">$ {command}\n{output}\n{ended}</pre>"
            );
        }
    }
    if let Some(message) = &result.message {
        let _ = write!(page, "<pre>{}</pre>", escaped(message));
    }
    if let Some(row) = folder.rows.get(result.index) {
        let prompt = escaped(&row.prompt);
        let _ = write!(
            page,
            "<details><summary>Prompt</summary><pre>{prompt}</pre></details>"
        );
    }
    let _ = write!(
        page,
        "</td><td>{}</td><td>{:.1}</td></tr>",
        result.usage.tokens(),
        result.seconds
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
