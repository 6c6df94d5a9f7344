//! A person at a terminal: sees the transcript of turns and answers questions.

use std::io::Write;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::TokenUsageBreakdown;
use codex_client::{ClientError, ServerQuestion, Style, Transcript, TurnObserver, UserDecision};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

/// How text is shown.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub style: Style,
    /// In columns.
    pub width: usize,
}

/// Where answers come from.
#[derive(Debug)]
pub(crate) enum AnswerSource {
    /// The user, on standard input.
    Asked(Box<Lines<BufReader<Stdin>>>),
    /// These in order, then always the last one.
    Given(std::vec::IntoIter<UserDecision>, UserDecision),
}

impl AnswerSource {
    pub(crate) fn of_person() -> Self {
        Self::Asked(Box::new(BufReader::new(tokio::io::stdin()).lines()))
    }

    pub(crate) fn always(decision: UserDecision) -> Self {
        Self::Given(Vec::new().into_iter(), decision)
    }
}

/// Prints a transcript for the user and passes questions on.
#[derive(Debug)]
pub(crate) struct InteractiveUser<W> {
    pub(crate) transcript: Transcript<W>,
    pub(crate) answers: AnswerSource,
    pub(crate) usage: Option<TokenUsageBreakdown>,
}

impl<W: Write> InteractiveUser<W> {
    pub(crate) fn new(transcript: Transcript<W>, answers: AnswerSource) -> Self {
        Self {
            transcript,
            answers,
            usage: None,
        }
    }
}

impl<W: Write> TurnObserver for InteractiveUser<W> {
    fn on_notification(&mut self, notification: &ServerNotification) -> Result<(), ClientError> {
        if let ServerNotification::ThreadTokenUsageUpdated(it) = notification {
            self.usage = Some(it.token_usage.total.clone());
        }
        Ok(self.transcript.on_notification(notification)?)
    }

    async fn decide(&mut self, question: ServerQuestion<'_>) -> Result<UserDecision, ClientError> {
        self.transcript.ask(question)?;
        let lines = match &mut self.answers {
            AnswerSource::Asked(lines) => lines,
            AnswerSource::Given(decisions, last) => {
                let decision = decisions.next().unwrap_or(*last);
                self.transcript.answered(decision)?;
                return Ok(decision);
            }
        };
        loop {
            let Some(line) = lines.next_line().await? else {
                // Without a user there is no consent.
                self.transcript.answered(UserDecision::Decline)?;
                return Ok(UserDecision::Decline);
            };
            if let Some(decision) = decision_of(&line) {
                return Ok(decision);
            }
            self.transcript.ask(question)?;
        }
    }
}

fn decision_of(line: &str) -> Option<UserDecision> {
    Some(match line.trim().to_lowercase().as_str() {
        "y" | "yes" => UserDecision::Accept,
        "a" | "always" => UserDecision::AcceptForSession,
        "n" | "no" => UserDecision::Decline,
        "c" | "cancel" => UserDecision::Cancel,
        _ => return None,
    })
}

/// Formats token usage.
pub(crate) fn usage_line(usage: &TokenUsageBreakdown) -> String {
    format!(
        "{} tokens in, {} of them cached; {} out, {} of them reasoning",
        grouped(usage.input_tokens),
        grouped(usage.cached_input_tokens),
        grouped(usage.output_tokens),
        grouped(usage.reasoning_output_tokens),
    )
}

fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1234567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }
}
