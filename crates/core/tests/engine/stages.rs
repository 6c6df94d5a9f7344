//! A matrix of tests: things that can happen to a turn, at each stage of it.
//!
//! Afterwards the turn has ended once and in time, no process is left, the history for the model is well-formed and
//! complete, and the stored thread resumes with the same history.
//!
//! Two combinations do not exist: during a retry wait there is no request that could fail. Their tests let the
//! repeated request fail instead.

use std::time::{Duration, Instant};

use codex_model_client::{ModelError, ModelEvent};
use codex_protocol::*;

use crate::support::*;

macro_rules! at_every_stage {
    ($row:ident, $check:expr) => {
        mod $row {
            use super::*;

            #[tokio::test]
            async fn before_the_first_byte() {
                $check(StagedTurn::at_stage(Stage::FirstByte).await).await;
            }

            #[tokio::test]
            async fn in_a_text_delta() {
                $check(StagedTurn::at_stage(Stage::TextDelta).await).await;
            }

            #[tokio::test]
            async fn during_a_tool() {
                $check(StagedTurn::at_stage(Stage::Tool).await).await;
            }

            #[tokio::test]
            async fn during_an_approval() {
                $check(StagedTurn::at_stage(Stage::Approval).await).await;
            }

            #[tokio::test]
            async fn during_a_retry_wait() {
                $check(StagedTurn::at_stage(Stage::RetryWait).await).await;
            }
        }
    };
}

at_every_stage!(an_interrupt, StagedTurn::interrupt);
at_every_stage!(more_input, StagedTurn::steer);
at_every_stage!(an_error, StagedTurn::fail);
at_every_stage!(an_error_that_may_pass, StagedTurn::fail_for_now);

/// It takes milliseconds; the machine that runs the tests may be busy.
const STAGE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    FirstByte,
    TextDelta,
    Tool,
    Approval,
    RetryWait,
}

/// A turn that stays in a stage until the test continues it.
struct StagedTurn {
    driver: Driver,
    stage: Stage,
    turn: String,
    /// The stream of the current response.
    feed: Feed,
}

impl StagedTurn {
    async fn at_stage(stage: Stage) -> Self {
        let driver = Driver::with_config(|config| {
            if stage == Stage::Approval {
                config.options.settings.approval_policy = AskForApproval::UnlessTrusted;
            }
        })
        .await;
        if stage != Stage::Approval {
            driver.clock.hold();
        }
        let (feed, reply) = fed();
        driver.model.push(reply);
        let turn = driver.submit_text("hi").await;
        driver.model.wait_for_request(1).await;
        let mut scene = Self {
            driver,
            stage,
            turn,
            feed,
        };
        scene.reach().await;
        // The question did not wait for the end of the response, which has none yet.
        scene.driver.clock.hold();
        scene
    }

    async fn reach(&mut self) {
        let command = || vec![Ok(ModelEvent::ItemDone(script("held x", "c1")))];
        let (events, sign) = match self.stage {
            Stage::FirstByte => return,
            Stage::TextDelta => (starts("hello", &["hel"]), "agent_message_content_delta"),
            Stage::Tool => (command(), "exec_command_begin"),
            Stage::Approval => (command(), "exec_approval_request"),
            Stage::RetryWait => (vec![Err(broken())], "stream_error"),
        };
        self.feed(events);
        self.driver.until(|msg| name(msg) == sign).await;
    }

    fn feed(&self, events: Vec<Result<ModelEvent, ModelError>>) {
        for event in events {
            self.feed.send(event).unwrap();
        }
    }

    fn push_message(&self, text: &str) {
        self.driver
            .model
            .push(ModelReply::Events(message_events(text, &[])));
    }

    /// Lets the command or the wait end.
    async fn let_go(&self) {
        if self.stage == Stage::Approval {
            let decision = ReviewDecision::Approved;
            let (id, turn_id) = ("c1".to_owned(), None);
            let approval = Op::ExecApproval {
                id,
                turn_id,
                decision,
            };
            self.driver.submit(approval).await;
        }
        self.driver.processes.release();
        self.driver.clock.release();
    }

    /// The request that is open fails, or the repeat does if none is.
    async fn request_fails(&self, error: ModelError) {
        if self.stage == Stage::RetryWait {
            self.driver.model.push(ModelReply::Refused(error));
        } else {
            self.feed(vec![Err(error)]);
            // What it was has been seen once the turn lets go of the answer.
            self.feed.closed().await;
        }
    }

    /// The output of the command, if it was released.
    fn output(&self) -> Option<&'static str> {
        let runs = matches!(self.stage, Stage::Tool | Stage::Approval);
        runs.then_some("Exit code: 0\nWall time: 0 seconds\nOutput:\nx")
    }

    async fn completes(&mut self, last_message: Option<&str>) {
        let over = self.driver.turn_over().await;
        let EventMsg::TurnComplete(complete) = &over.msg else {
            panic!("{over:?}")
        };
        assert_eq!(over.id, self.turn);
        assert_eq!(complete.last_agent_message.as_deref(), last_message);
        self.driver.assert_ends();
    }

    async fn next_turn(&mut self) {
        self.push_message("after");
        self.driver.submit_text("go on").await;
        self.driver.turn_over().await;
    }

    /// The parts of the last request: messages of the user, messages of the model, outputs.
    async fn ends_with(
        mut self,
        people: &[&str],
        model: &[&str],
        output: impl IntoIterator<Item = &'static str>,
    ) {
        self.driver
            .model
            .inputs()
            .iter()
            .for_each(assert_well_formed);
        let last = self.driver.model.inputs().pop().unwrap();
        let marker = |text: &String| match text.strip_prefix("<turn_aborted>") {
            Some(_) => "(stopped)".to_owned(),
            None => text.clone(),
        };
        let said: Vec<_> = texts(&last, "user")[1..].iter().map(marker).collect();
        assert_eq!(said, people);
        assert_eq!(texts(&last, "assistant"), model);
        assert_eq!(outputs(&last), Vec::from_iter(output));
        assert_eq!(self.driver.processes.living(), 0);
        self.driver.assert_resumes().await;
        self.driver.assert_ends();
        let is_end = |event: &&Event| {
            event.id == self.turn
                && matches!(
                    event.msg,
                    EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_)
                )
        };
        assert_eq!(self.driver.seen.iter().filter(is_end).count(), 1);
    }

    async fn interrupt(mut self) {
        let asked = Instant::now();
        self.driver.submit(Op::Interrupt).await;
        let over = self.driver.turn_over().await;
        assert!(
            asked.elapsed() < STAGE_TIMEOUT,
            "took {:?}",
            asked.elapsed()
        );
        let EventMsg::TurnAborted(aborted) = &over.msg else {
            panic!("{over:?}")
        };
        assert_eq!(aborted.reason, TurnAbortReason::Interrupted);
        assert_eq!(self.driver.processes.living(), 0);
        self.driver.assert_ends();
        self.next_turn().await;
        let output = self.output();
        let output = output.map(|_| "Wall time: 0.1 seconds\naborted by user");
        self.ends_with(&["hi", "(stopped)", "go on"], &[], output)
            .await;
    }

    async fn steer(mut self) {
        let more = vec![text_input("also this")];
        let steered = self.driver.steer(Some(self.turn.clone()), more);
        assert_eq!(steered.await.as_ref(), Ok(&self.turn));
        let first = match self.stage {
            Stage::FirstByte | Stage::TextDelta => {
                self.feed(vec![Ok(ModelEvent::ItemDone(message("hello")))]);
                self.feed(vec![Ok(completed("r"))]);
                Some("hello")
            }
            Stage::Tool | Stage::Approval => {
                self.feed(vec![Ok(completed("r"))]);
                None
            }
            Stage::RetryWait => {
                self.push_message("hello");
                Some("hello")
            }
        };
        self.push_message("both");
        self.let_go().await;
        self.completes(Some("both")).await;
        let output = self.output();
        self.ends_with(&["hi", "also this"], first.as_slice(), output)
            .await;
    }

    async fn fail(mut self) {
        self.request_fails(fatal("no such model")).await;
        self.let_go().await;
        self.completes(None).await;
        assert_eq!(self.driver.count("error"), 1);
        self.next_turn().await;
        let output = self.output();
        self.ends_with(&["hi", "go on"], &[], output).await;
    }

    async fn fail_for_now(mut self) {
        self.request_fails(broken()).await;
        self.push_message("fine");
        self.let_go().await;
        self.completes(Some("fine")).await;
        assert_eq!(self.driver.count("error"), 0);
        let failures = 1 + usize::from(self.stage == Stage::RetryWait);
        assert_eq!(self.driver.count("stream_error"), failures);
        let waits = self.driver.clock.sleeps();
        for wait in [200, 400].map(Duration::from_millis).iter().take(failures) {
            assert!(waits.contains(wait), "{waits:?}");
        }
        let output = self.output();
        self.ends_with(&["hi"], &[], output).await;
    }
}
