//! Values can be read back, also by another process that has the database open.

#![allow(clippy::unwrap_used)]

use codex_thread_state::{
    AddedAttachment, GoalChange, GoalError, GoalStatus, NewProject, PINNED, ProjectChange,
    QueueError, ReadStateError, SectionError, ThreadState, UnreadStart,
};

fn home() -> (tempfile::TempDir, ThreadState) {
    let home = tempfile::tempdir().unwrap();
    let state = ThreadState::of_home(home.path());
    (home, state)
}

#[test]
fn reading_makes_no_file() {
    let (home, state) = home();
    assert_eq!(state.goal("t").unwrap(), None);
    assert_eq!(state.read_state("t").unwrap().revision, "initial:t");
    assert!(state.queue("t").unwrap().is_empty());
    assert_eq!(state.sections().unwrap()[0].id, PINNED);
    assert!(state.projects().unwrap().is_empty());
    state.forget_thread("t").unwrap();
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn goals_are_limited_charged_and_read_back() {
    let (home, state) = home();
    let set = |objective: Option<&str>, status, budget| {
        let objective = objective.map(str::to_owned);
        let change = GoalChange {
            objective,
            status,
            token_budget: budget,
        };
        state.change_goal("t", change)
    };
    assert!(matches!(
        set(None, Some(GoalStatus::Paused), None),
        Err(GoalError::NoGoal(_))
    ));
    assert!(matches!(
        set(Some("  "), None, None),
        Err(GoalError::EmptyObjective)
    ));
    assert!(matches!(
        set(Some(&"x".repeat(4001)), None, None),
        Err(GoalError::LongObjective)
    ));
    assert!(matches!(
        set(Some("x"), None, Some(Some(0))),
        Err(GoalError::Budget)
    ));
    let goal = set(Some(" Ship it "), None, Some(Some(100))).unwrap();
    assert_eq!(
        (goal.objective.as_str(), goal.status),
        ("Ship it", GoalStatus::Active)
    );
    let charged = state.charge_goal("t", 60, 1500, None).unwrap().unwrap();
    assert_eq!(
        (charged.tokens_used, charged.status),
        (60, GoalStatus::Active)
    );
    let charged = state.charge_goal("t", 60, 1500, None).unwrap().unwrap();
    assert_eq!(charged.status, GoalStatus::BudgetLimited);
    let paused = set(None, Some(GoalStatus::Paused), None).unwrap();
    assert_eq!(paused.status, GoalStatus::BudgetLimited);
    let other = ThreadState::of_home(home.path());
    assert_eq!(other.goal("t").unwrap().unwrap().milliseconds_used, 3000);
    assert!(other.clear_goal("t").unwrap());
    assert!(!state.clear_goal("t").unwrap());
}

#[test]
fn a_queue_keeps_its_order() {
    let (_home, state) = home();
    let ids: Vec<_> = ["a", "b", "c"]
        .map(|text| state.enqueue("t", text).unwrap())
        .into();
    assert!(matches!(
        state.reorder_queue("t", &ids[1..]),
        Err(QueueError::Order)
    ));
    let order = [ids[2].clone(), ids[0].clone(), ids[1].clone()];
    state.reorder_queue("t", &order).unwrap();
    state
        .change_queued("t", &ids[0], |text| Ok(format!("{text}2")))
        .unwrap();
    let missing = state.change_queued("t", "zz", |text| Ok(text.to_owned()));
    assert!(matches!(missing, Err(QueueError::NotFound(_))));
    assert_eq!(
        state.dequeue("t", Some(&ids[1])).unwrap().unwrap().message,
        "b"
    );
    assert_eq!(state.dequeue("t", Some(&ids[1])).unwrap(), None);
    assert_eq!(state.dequeue("t", None).unwrap().unwrap().message, "c");
    assert_eq!(state.dequeue("t", None).unwrap().unwrap().message, "a2");
    assert_eq!(state.dequeue("t", None).unwrap(), None);
}

#[test]
fn the_read_state_changes_with_its_revision() {
    let (_home, state) = home();
    let first = state.mark_turn_unread("t", "1").unwrap();
    let second = state.mark_turn_unread("t", "2").unwrap();
    assert_eq!(second.first_unread, Some(UnreadStart::Turn("1".to_owned())));
    assert_ne!(first.revision, second.revision);
    let stale = state.set_read_state("t", None, &first.revision);
    assert!(matches!(stale, Err(ReadStateError::Conflict(current)) if current == second));
    let read = state.set_read_state("t", None, &second.revision).unwrap();
    assert_eq!(read.first_unread, None);
    state.mark_turn_unread("t", "3").unwrap();
    let reverted = state.forget_unread_turns("t", &["3".to_owned()]).unwrap();
    assert_eq!(reverted.map(|state| state.first_unread), Some(None));
    let unchanged = state.forget_unread_turns("t", &["4".to_owned()]);
    assert_eq!(unchanged.unwrap(), None);
}

#[test]
fn sections_hold_threads_in_an_order() {
    let (_home, state) = home();
    assert!(matches!(
        state.create_section(" ", None),
        Err(SectionError::EmptyName)
    ));
    let work = state.create_section(" Work ", None).unwrap();
    assert_eq!(work.name, "Work");
    state.move_to_section("one", Some(&work.id), None).unwrap();
    state
        .move_to_section("two", Some(&work.id), Some("one"))
        .unwrap();
    assert_eq!(state.threads_of_section(&work.id).unwrap(), ["two", "one"]);
    state.move_to_section("one", Some(PINNED), None).unwrap();
    assert_eq!(state.section_of("one").unwrap().unwrap().0.name, "Pinned");
    let elsewhere = state.move_to_section("two", Some(&work.id), Some("one"));
    assert!(matches!(elsewhere, Err(SectionError::NotInSection { .. })));
    let nowhere = state.move_to_section("two", Some("zz"), None);
    assert!(matches!(nowhere, Err(SectionError::NoTarget(_))));
    assert!(matches!(
        state.delete_section(PINNED),
        Err(SectionError::BuiltIn("deleted"))
    ));
    state.delete_section(&work.id).unwrap();
    assert_eq!(state.section_of("two").unwrap(), None);
    assert!(matches!(
        state.delete_section(&work.id),
        Err(SectionError::NotFound(_))
    ));
}

#[test]
fn projects_are_made_once_for_a_key_and_moved() {
    let (_home, state) = home();
    let new = |name: &str, key: &str| NewProject {
        name: name.to_owned(),
        roots: vec!["/w".to_owned()],
        metadata: [("a".to_owned(), "b".to_owned())].into(),
        idempotency_key: key.to_owned(),
    };
    let (first, is_new) = state.create_project(new("P", "k")).unwrap();
    assert!(is_new);
    assert_eq!(
        state.create_project(new("Q", "k")).unwrap(),
        (first.clone(), false)
    );
    let (second, _) = state.create_project(new("R", "l")).unwrap();
    state.move_project(&second.id, Some(&first.id)).unwrap();
    let order: Vec<_> = state
        .projects()
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(order, ["R", "P"]);
    let change = ProjectChange {
        name: Some("P9".to_owned()),
        ..ProjectChange::default()
    };
    assert_eq!(
        state.update_project(&first.id, change).unwrap().roots,
        ["/w"]
    );
    assert!(state.assign_project("t", Some(&first.id)).unwrap());
    assert!(!state.assign_project("t", Some(&first.id)).unwrap());
    assert!(state.assign_project("t", Some("zz")).is_err());
    state.delete_project(&first.id).unwrap();
    assert_eq!(state.project_of("t").unwrap(), None);
}

#[test]
fn attachments_are_added_once_and_forgotten_with_their_thread() {
    let (_home, state) = home();
    let AddedAttachment::New(first) = state.add_attachment("t", "pr", "1", "{}").unwrap() else {
        panic!("it is new")
    };
    let again = state.add_attachment("t", "pr", "1", "[]").unwrap();
    assert_eq!(again, AddedAttachment::Existing(first));
    assert_eq!(state.owners_of_attachment("pr", "1").unwrap(), ["t"]);
    state.forget_thread("t").unwrap();
    assert!(state.attachments("t").unwrap().is_empty());
    assert_eq!(state.remove_attachment("t", "pr", "1").unwrap(), None);
}
