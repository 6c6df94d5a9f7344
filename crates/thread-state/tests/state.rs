//! Values can be read back, also by another process that has the database open.

#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

use codex_thread_state::{
    AddedAttachment, GoalChange, GoalError, GoalStatus, NewProject, PINNED_SECTION, ProjectChange,
    QueueError, ReadStateError, SectionError, ThreadState, UnreadStart,
};

fn home() -> (tempfile::TempDir, ThreadState) {
    let home = tempfile::tempdir().unwrap();
    let state = ThreadState::of_home(home.path(), |_| None);
    (home, state)
}

#[test]
fn reading_makes_no_file() {
    let (home, state) = home();
    assert_eq!(state.goal("t").unwrap(), None);
    assert_eq!(state.read_state("t").unwrap().revision, "initial:t");
    assert!(state.queue("t").unwrap().is_empty());
    assert_eq!(state.sections().unwrap()[0].id, PINNED_SECTION);
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
    let other = ThreadState::of_home(home.path(), |_| None);
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
    state
        .move_to_section("one", Some(PINNED_SECTION), None)
        .unwrap();
    assert_eq!(state.section_of("one").unwrap().unwrap().0.name, "Pinned");
    let elsewhere = state.move_to_section("two", Some(&work.id), Some("one"));
    assert!(matches!(elsewhere, Err(SectionError::NotInSection { .. })));
    let nowhere = state.move_to_section("two", Some("zz"), None);
    assert!(matches!(nowhere, Err(SectionError::NoTarget(_))));
    assert!(matches!(
        state.delete_section(PINNED_SECTION),
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

/// The tables of 0.169, as far as they are read.
fn other_release(home: &std::path::Path) {
    let make = |file: &str, sql: &str| {
        let made = rusqlite::Connection::open(home.join(file)).unwrap();
        made.execute_batch(sql).unwrap();
    };
    make(
        "goals_1.sqlite",
        "CREATE TABLE thread_goals (thread_id, goal_id, objective, status, token_budget, tokens_used, \
           time_used_seconds, created_at_ms, updated_at_ms);
         INSERT INTO thread_goals VALUES ('t', 'g', 'Ship it', 'budget_limited', 500, 7, 2, 1000, 2000);",
    );
    make(
        "queue_1.sqlite",
        "CREATE TABLE queued_items (id, thread_id, payload_json, queue_order, created_at_ms, updated_at_ms);
         INSERT INTO queued_items VALUES ('2', 't', 'second', 1, 0, 0), ('1', 't', 'first', 0, 0, 0), \
           ('3', 't', 'odd', 2, 0, 0);",
    );
    make(
        "state_5.sqlite",
        "CREATE TABLE threads (id, thread_section_id, section_position, section_entered_at_ms, project_id, \
           daybreak_enabled);
         INSERT INTO threads VALUES ('t', 's', 0, 9000, 'p', 1), ('u', 's', 1, 9000, NULL, NULL);
         CREATE TABLE thread_sections (id TEXT PRIMARY KEY, name, appearance);
         INSERT INTO thread_sections VALUES ('01984de2-8f74-7c91-a3b2-5c5e937cf318', 'Pinned', NULL), \
           ('s', 'Work', '{\"icon\":\"star\"}');
         CREATE TABLE projects (id, name, metadata, position, created_at_ms, updated_at_ms);
         INSERT INTO projects VALUES ('p', 'P', '{\"a\":\"b\"}', 0, 1000, 1000);
         CREATE TABLE project_roots (project_id, position, path);
         INSERT INTO project_roots VALUES ('p', 1, '/b'), ('p', 0, '/a');
         CREATE TABLE project_idempotency_keys (key, project_id, created_at_ms);
         INSERT INTO project_idempotency_keys VALUES ('k', 'p', 0);
         CREATE TABLE thread_attachments (id, thread_id, attachment_type, identity_key, payload, created_at);
         INSERT INTO thread_attachments VALUES ('a', 't', 'pr', 'k1', '{}', 5);
         CREATE TABLE thread_read_receipts (thread_id, first_unread_turn, revision);
         INSERT INTO thread_read_receipts VALUES ('t', 'turn', 'r1'), ('u', '', 'r2'), ('v', NULL, 'r3');",
    );
}

#[test]
fn state_of_another_release_is_imported_once() {
    let home = tempfile::tempdir().unwrap();
    other_release(home.path());
    let open = || {
        ThreadState::of_home(home.path(), |message| {
            (message != "odd").then(|| format!("own {message}"))
        })
    };
    let state = open();
    let goal = state.goal("t").unwrap().unwrap();
    assert_eq!(goal.objective, "Ship it");
    assert_eq!(goal.status, GoalStatus::BudgetLimited);
    assert_eq!((goal.token_budget, goal.tokens_used), (Some(500), 7));
    let queue = state.queue("t").unwrap();
    let queue: Vec<_> = queue.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(queue, ["own first", "own second"]);
    let sections = state.sections().unwrap();
    assert_eq!(sections.len(), 2);
    assert_eq!(
        (sections[1].id.as_str(), sections[1].name.as_str()),
        ("s", "Work")
    );
    let (section, entered_at) = state.section_of("t").unwrap().unwrap();
    assert_eq!((section.id.as_str(), entered_at), ("s", 9));
    let projects = state.projects().unwrap();
    assert_eq!(projects[0].roots, ["/a", "/b"]);
    assert_eq!(projects[0].metadata["a"], "b");
    assert_eq!(state.project_of("t").unwrap().as_deref(), Some("p"));
    assert_eq!(state.daybreak_of("t").unwrap(), Some(true));
    assert_eq!(state.attachments("t").unwrap()[0].payload, "{}");
    let first_unread = |thread| state.read_state(thread).unwrap().first_unread;
    assert_eq!(
        first_unread("t"),
        Some(UnreadStart::Turn("turn".to_owned()))
    );
    assert_eq!(first_unread("u"), Some(UnreadStart::ThreadStart));
    assert_eq!(first_unread("v"), None);
    assert!(state.clear_goal("t").unwrap());
    drop(state);
    assert_eq!(open().goal("t").unwrap(), None);
}

#[test]
fn a_broken_database_of_another_release_harms_nothing() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("goals_1.sqlite"), "no database").unwrap();
    let state = ThreadState::of_home(home.path(), |_| None);
    assert_eq!(state.goal("t").unwrap(), None);
}
