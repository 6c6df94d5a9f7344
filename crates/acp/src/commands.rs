//! Slash commands: prompts that begin with `/` and a known name. Every other prompt goes to the model unchanged.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, Error,
    SessionConfigOptionValue, SessionUpdate, UnstructuredCommandInput,
};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::messages::message_chunk;
use crate::session::AcpSession;
use crate::{command_texts, errors, rewind, saved_prompts, settings, undo};

/// Name, description, and a hint for the argument.
const COMMANDS: [(&str, &str, Option<&str>); 13] = [
    (
        "compact",
        "Replace the older part of the conversation by a summary",
        None,
    ),
    (
        "review",
        "Have what is not committed reviewed, or what the instructions say",
        Some("instructions"),
    ),
    (
        "review-branch",
        "Have what this branch changed against another one reviewed",
        Some("branch"),
    ),
    (
        "review-commit",
        "Have what a commit changed reviewed",
        Some("commit"),
    ),
    ("diff", "Show what is not committed", None),
    (
        "undo",
        "Take back the last turn, with the files that it changed",
        None,
    ),
    (
        "rewind",
        "Bring files and conversation back to before an earlier turn",
        Some("number, files, conversation, preview"),
    ),
    (
        "plan",
        "Plan before anything is changed",
        Some("what to plan"),
    ),
    (
        "status",
        "Show what this session is set to, and what it used",
        None,
    ),
    (
        "context",
        "Show what fills the context of the model, in tokens",
        None,
    ),
    ("mcp", "Show the MCP servers and their tools", None),
    ("skills", "Show the skills that can be used", None),
    ("logout", "Forget the login", None),
];

/// The prefix of prompts from the home folder.
const PROMPT_PREFIX: &str = "prompts:";

/// A command and the text after its name.
#[derive(Debug, PartialEq)]
pub(crate) struct CommandInvocation {
    name: String,
    rest: String,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) enum CommandOutcome {
    /// A turn starts.
    Turn,
    /// The command is complete.
    Done,
    /// Sends this text to the model as the prompt.
    Prompt(String),
}

pub(crate) fn parse(text: &str) -> Option<CommandInvocation> {
    let line = text.strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_known = COMMANDS.iter().any(|(known, ..)| *known == name)
        || name.starts_with('$')
        || name.starts_with(PROMPT_PREFIX);
    is_known.then(|| CommandInvocation {
        name: name.to_owned(),
        rest: rest.trim().to_owned(),
    })
}

pub(crate) async fn run(
    agent: &Arc<Agent>,
    session: &Arc<AcpSession>,
    invocation: CommandInvocation,
) -> Result<CommandOutcome, Error> {
    let CommandInvocation { name, rest } = invocation;
    let thread = json!({ "threadId": session.thread_id() });
    let text = match name.as_str() {
        "compact" => {
            agent.call("thread/compact/start", &thread).await?;
            return Ok(CommandOutcome::Turn);
        }
        "review" | "review-branch" | "review-commit" => {
            let params =
                json!({ "threadId": session.thread_id(), "target": review_target(&name, &rest)? });
            agent.call("review/start", &params).await?;
            return Ok(CommandOutcome::Turn);
        }
        "plan" => return plan(agent, session, rest).await,
        "diff" => command_texts::diff(agent, session).await?,
        "status" => command_texts::status(agent, session).await?,
        "context" => {
            let read = agent.call("thread/context/read", &thread).await?;
            codex_client::context_text(&read)
        }
        "mcp" => command_texts::servers(agent, session).await?,
        "skills" => command_texts::skills(&skills(agent, session).await?),
        "undo" => undo::last_turn(agent, session).await?,
        "rewind" => rewind::command(agent, session, &rest).await?,
        "logout" => {
            agent.call("account/logout", &Value::Null).await?;
            "Logged out.".to_owned()
        }
        name => match name.strip_prefix(PROMPT_PREFIX) {
            Some(saved) => {
                return saved_prompts::text(agent.home.as_deref(), saved, &rest)
                    .map(CommandOutcome::Prompt);
            }
            // A skill.
            None => {
                return Ok(CommandOutcome::Prompt(
                    format!("{name} {rest}").trim_end().to_owned(),
                ));
            }
        },
    };
    agent.update(&session.id, message_chunk(&text, None)).await;
    Ok(CommandOutcome::Done)
}

fn review_target(name: &str, rest: &str) -> Result<Value, Error> {
    Ok(match (name, rest) {
        ("review", "") => json!({ "type": "uncommittedChanges" }),
        ("review", _) => json!({ "type": "custom", "instructions": rest }),
        (_, "") => {
            return Err(errors::invalid(format!(
                "`/{name}` needs an argument, for example `/{name} main`"
            )));
        }
        ("review-branch", _) => json!({ "type": "baseBranch", "branch": rest }),
        _ => json!({ "type": "commit", "sha": rest, "title": null }),
    })
}

async fn plan(
    agent: &Arc<Agent>,
    session: &AcpSession,
    rest: String,
) -> Result<CommandOutcome, Error> {
    let value = SessionConfigOptionValue::ValueId {
        value: "plan".into(),
    };
    let change = session
        .state()
        .settings
        .change("collaboration_mode", &value)?;
    settings::apply(agent, session, change).await?;
    if !rest.is_empty() {
        return Ok(CommandOutcome::Prompt(rest));
    }
    let text = "Planning: what follows is explored and planned, nothing is changed.";
    agent.update(&session.id, message_chunk(text, None)).await;
    Ok(CommandOutcome::Done)
}

/// The skills of the session's folder that are on.
async fn skills(agent: &Agent, session: &AcpSession) -> Result<Vec<Value>, Error> {
    let list = agent
        .call("skills/list", &json!({ "cwds": [session.cwd()] }))
        .await?;
    let all = list["data"].as_array().into_iter().flatten();
    let all = all.flat_map(|of_folder| of_folder["skills"].as_array().into_iter().flatten());
    Ok(all
        .filter(|skill| skill["enabled"] == true)
        .cloned()
        .collect())
}

/// The list of available commands, for the client.
pub(crate) async fn available(agent: &Agent, session: &AcpSession) -> SessionUpdate {
    let commands = COMMANDS
        .iter()
        .map(|(name, what, hint)| command(*name, *what, hint.map(str::to_owned)));
    let mut commands: Vec<_> = commands.collect();
    let saved = saved_prompts::list(agent.home.as_deref()).into_iter();
    commands.extend(saved.map(|saved| {
        command(
            format!("{PROMPT_PREFIX}{}", saved.name),
            saved.description,
            Some(saved.hint),
        )
    }));
    for skill in skills(agent, session).await.unwrap_or_default() {
        let (Some(name), Some(what)) = (skill["name"].as_str(), skill["description"].as_str())
        else {
            continue;
        };
        commands.push(command(
            format!("${name}"),
            what,
            Some("what to do with it".to_owned()),
        ));
    }
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
}

fn command(
    name: impl Into<String>,
    what: impl Into<String>,
    hint: Option<String>,
) -> AvailableCommand {
    let input =
        hint.map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
    AvailableCommand::new(name, what).input(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_commands() {
        let invocation = parse("/review  the parser ").unwrap();
        assert_eq!(
            (invocation.name.as_str(), invocation.rest.as_str()),
            ("review", "the parser")
        );
        assert_eq!(parse("/compact").unwrap().rest, "");
        assert_eq!(parse("/$notes write").unwrap().name, "$notes");
        for text in ["/unknown", "/", "review", " /review", "/usr/bin is what?"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn review_command_names_its_target() {
        let kind = |name: &str, rest: &str| review_target(name, rest).unwrap()["type"].clone();
        assert_eq!(kind("review", ""), "uncommittedChanges");
        assert_eq!(kind("review", "x"), "custom");
        assert_eq!(kind("review-branch", "main"), "baseBranch");
        assert_eq!(kind("review-commit", "abc"), "commit");
        assert!(review_target("review-branch", "").is_err());
    }
}
