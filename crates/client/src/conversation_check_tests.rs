use super::*;

const INITIALIZE: &str =
    r#"{"id":0,"method":"initialize","params":{"clientInfo":{"name":"c","version":"1"}}}"#;
const ASKED_LINE: &str = r#"{"id":5,"method":"item/fileChange/requestApproval","params":{}}"#;

/// The kinds of the mistakes after `initialize`. Lines of the server begin with `<`.
fn kinds(lines: &[&str]) -> Vec<MistakeKind> {
    let lines: Vec<_> = std::iter::once(&INITIALIZE)
        .chain(lines)
        .map(|line| match line.strip_prefix('<') {
            Some(line) => (LineSource::Server, line),
            None => (LineSource::Client, *line),
        })
        .map(|(from, line)| RecordedLine {
            from,
            line: line.to_owned(),
        })
        .collect();
    let mistakes = check_conversation(&lines, &APP_SERVER_SCHEMA);
    mistakes.into_iter().map(|mistake| mistake.kind).collect()
}

#[test]
fn a_correct_conversation_has_no_mistakes() {
    let asked = format!("<{ASKED_LINE}");
    let lines = [
        r#"<{"id":0,"result":{}}"#,
        r#"{"method":"initialized"}"#,
        r#"{"id":0,"method":"thread/start","params":{}}"#,
        r#"<{"id":0,"result":{}}"#,
        asked.as_str(),
        r#"{"id":5,"result":{"decision":"accept"}}"#,
    ];
    assert_eq!(kinds(&lines), []);
}

#[test]
fn each_mistake_is_named() {
    let asked = format!("<{ASKED_LINE}");
    let asked = asked.as_str();
    let resolved =
        r#"<{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":5}}"#;
    let late = r#"{"id":5,"result":{"decision":"accept"}}"#;
    for (lines, expected) in [
        (vec!["{"], vec![MistakeKind::InvalidJson]),
        (vec!["[]"], vec![MistakeKind::InvalidMessage]),
        (vec!["{}"], vec![MistakeKind::InvalidMessage]),
        (
            vec![r#"{"id":1,"method":"thread/begin","params":{}}"#],
            vec![MistakeKind::UnknownMethod],
        ),
        (
            vec![r#"{"id":1,"method":"turn/start","params":{"threadId":7}}"#],
            vec![MistakeKind::InvalidParams],
        ),
        (
            vec![r#"{"id":0,"method":"thread/start","params":{}}"#],
            vec![MistakeKind::DuplicateId],
        ),
        (vec![late], vec![MistakeKind::UnexpectedReply]),
        (
            vec![asked, r#"{"id":5,"result":{"decision":"perhaps"}}"#],
            vec![MistakeKind::InvalidResult],
        ),
        (vec![asked], vec![MistakeKind::Unanswered]),
        (vec![asked, resolved, late], vec![]),
    ] {
        assert_eq!(kinds(&lines), expected, "{lines:?}");
    }
}

#[test]
fn request_before_initialize_is_a_mistake() {
    let line = RecordedLine {
        from: LineSource::Client,
        line: r#"{"id":1,"method":"thread/start","params":{}}"#.to_owned(),
    };
    let mistakes = check_conversation(&[line], &APP_SERVER_SCHEMA);
    assert_eq!(mistakes[0].kind, MistakeKind::BeforeInitialize);
}
