//! Where two runs part.

use codex_trace_view::diff_traces;

use crate::support::{Bundle, NAMES};

#[test]
fn a_run_does_not_part_from_itself() {
    for name in NAMES {
        let trace = Bundle::unpack(name).reduce().trace;
        assert_eq!(diff_traces(&trace, &trace), None, "{name}");
    }
}

#[test]
fn other_ids_are_no_difference() {
    for name in NAMES {
        let (left, right) = (Bundle::unpack(name), Bundle::unpack(name));
        right.replace("00000000-0000-7000-8000", "00000000-0000-7000-9000");
        assert_eq!(
            diff_traces(&left.reduce().trace, &right.reduce().trace),
            None,
            "{name}"
        );
    }
}

#[test]
fn changed_and_cut_runs_part_where_they_were_changed() {
    let model = |bundle: &Bundle| bundle.set_model("other-model");
    let cut = |bundle: &Bundle| {
        let log = bundle.path().join("trace.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        let (before, _) = text.split_once("\"type\":\"inference_completed\"").unwrap();
        let whole = &before[..=before.rfind('\n').unwrap()];
        std::fs::write(&log, whole).unwrap();
    };
    type Change<'c> = &'c dyn Fn(&Bundle);
    let cases: [(&str, Change<'_>, usize, &str); 2] = [
        ("one_turn", &model, 1, "request"),
        ("one_turn", &cut, 1, "response"),
    ];
    for (name, change, turn, what) in cases {
        let (left, right) = (Bundle::unpack(name), Bundle::unpack(name));
        change(&right);
        let divergence = diff_traces(&left.reduce().trace, &right.reduce().trace).unwrap();
        assert_eq!(divergence.agent, "/root");
        let place = divergence.left.as_ref().unwrap();
        assert_eq!(place.turn, turn, "{divergence}");
        assert!(place.what.starts_with(what), "{divergence}");
        assert!(place.seq > 0);
        let back = diff_traces(&right.reduce().trace, &left.reduce().trace).unwrap();
        assert_eq!((back.left, back.right), (divergence.right, divergence.left));
    }
}
