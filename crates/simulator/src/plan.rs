//! What happens in a simulation: clients, their actions, and kills. Everything follows from the seed, and all of it can be written
//! down, so that a part of it can be left out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::SeededRandom;

/// Milliseconds between the first and the last action of a phase.
const PHASE: u64 = 60_000;

/// A simulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Decides about the order of threads, random bytes, the model and programs.
    pub seed: u64,
    /// The clients.
    pub clients: Vec<PlannedClient>,
    /// What they do, in the order of phases and times.
    pub actions: Vec<Action>,
    /// When the process of each phase is killed. The last phase is not killed, and after it all that must be stored is looked at.
    pub kills: Vec<Kill>,
    /// When the disk has no room in the last phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_disk: Option<FullDisk>,
    /// Whether the kills are power cuts: what was not synchronised is in any state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cuts_power: bool,
    /// Whether two processes serve the home folder: each client uses one of them, and a kill ends one of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_two_engines: bool,
    /// Whether commands are run by the simpler tool, which waits for their end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_plain_shell: bool,
    /// Whether threads have MCP servers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_mcp_servers: bool,
    /// When the second of two processes begins, by phase: milliseconds after the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub second_begins: Vec<u64>,
}

/// The kill of a process: after so many effects on files, since its begin or since a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kill {
    pub after: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<KillMoment>,
}

/// What clients were told when something that must last has just been done, or is about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KillMoment {
    pub kind: MomentKind,
    /// The number of such moments before it, in the process.
    pub number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum MomentKind {
    TurnStarted,
    TurnCompleted,
    ItemCompleted,
    /// The end of an item that is a message of a user, which its file has.
    MessageStored,
    QueueChanged,
    QuestionSettled,
    Reply,
    /// A file was removed, which clients are not told.
    FileRemoved,
}

impl MomentKind {
    /// Those that clients are told.
    const ALL: [Self; 7] = [
        Self::TurnStarted,
        Self::TurnCompleted,
        Self::ItemCompleted,
        Self::MessageStored,
        Self::QueueChanged,
        Self::QuestionSettled,
        Self::Reply,
    ];

    /// Whether a message to a client is such a moment.
    #[must_use]
    pub(crate) fn is_shown_by(self, message: &Value) -> bool {
        let expected = match self {
            Self::TurnStarted => "turn/started",
            Self::TurnCompleted => "turn/completed",
            Self::MessageStored if message["params"]["item"]["type"] != "userMessage" => {
                return false;
            }
            Self::ItemCompleted | Self::MessageStored => "item/completed",
            Self::QueueChanged => "thread/queue/changed",
            Self::QuestionSettled => "serverRequest/resolved",
            Self::Reply => return !message["result"].is_null(),
            Self::FileRemoved => return false,
        };
        message["method"] == expected
    }
}

/// The effects on files that need room and find none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FullDisk {
    /// After so many effects on files.
    pub after: u64,
    /// The number of effects on files until there is room again.
    pub count: u64,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlannedClient {
    /// The release that it says to be written for; none if it is recognised.
    pub release: Option<String>,
    /// Whether it uses experimental methods.
    pub is_experimental: bool,
    /// Milliseconds between reads, 0 for a client that reads at once.
    pub read_delay: u64,
}

/// Something that a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Action {
    /// The process in whose time it happens.
    pub phase: usize,
    /// Milliseconds after the begin of the phase.
    pub at: u64,
    /// The client, by its position.
    pub client: usize,
    pub kind: ActionKind,
    /// Chooses among threads, turns and texts.
    pub number: u64,
}

/// What a client can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ActionKind {
    StartThread,
    ResumeThread,
    ForkThread,
    StartTurn,
    Steer,
    Interrupt,
    AddToQueue,
    ListQueue,
    StartQueue,
    SetGoal,
    GetGoal,
    SetName,
    Archive,
    Unarchive,
    ChangeSettings,
    List,
    Read,
    Unsubscribe,
    Compact,
    Rollback,
    WriteConfig,
    AnswerStrangers,
    Disconnect,
    Delete,
    ShellCommand,
    Nonsense,
    Revert,
    InjectItem,
    ReloadServers,
    ListServers,
}

/// How often each action is chosen.
const WEIGHTS: [(ActionKind, u64); 30] = [
    (ActionKind::StartThread, 6),
    (ActionKind::ResumeThread, 8),
    (ActionKind::ForkThread, 3),
    (ActionKind::StartTurn, 24),
    (ActionKind::Steer, 6),
    (ActionKind::Interrupt, 6),
    (ActionKind::AddToQueue, 10),
    (ActionKind::ListQueue, 2),
    (ActionKind::StartQueue, 2),
    (ActionKind::SetGoal, 4),
    (ActionKind::GetGoal, 1),
    (ActionKind::SetName, 4),
    (ActionKind::Archive, 2),
    (ActionKind::Unarchive, 2),
    (ActionKind::ChangeSettings, 4),
    (ActionKind::List, 2),
    (ActionKind::Read, 4),
    (ActionKind::Unsubscribe, 2),
    (ActionKind::Compact, 2),
    (ActionKind::Rollback, 1),
    (ActionKind::WriteConfig, 2),
    (ActionKind::AnswerStrangers, 2),
    (ActionKind::Disconnect, 2),
    (ActionKind::Delete, 1),
    (ActionKind::ShellCommand, 2),
    (ActionKind::Nonsense, 1),
    (ActionKind::Revert, 1),
    (ActionKind::InjectItem, 2),
    (ActionKind::ReloadServers, 1),
    (ActionKind::ListServers, 1),
];

/// The releases that clients say.
const RELEASES: [&str; 4] = ["0.117", "0.140", "0.169", "0.171"];

/// What shows that a client is newer than it seemed.
const RELEASE_SIGNS: [ActionKind; 4] = [
    ActionKind::SetGoal,
    ActionKind::GetGoal,
    ActionKind::AddToQueue,
    ActionKind::ListQueue,
];

/// What two clients of different processes do with the same thread, and how often at most.
const SHARED_WORK: [(ActionKind, u64); 6] = [
    (ActionKind::ResumeThread, 1),
    (ActionKind::StartTurn, 2),
    (ActionKind::AddToQueue, 2),
    (ActionKind::StartQueue, 3),
    (ActionKind::ListQueue, 3),
    (ActionKind::Steer, 1),
];

impl Plan {
    /// The simulation of a seed.
    #[must_use]
    pub(crate) fn of_seed(seed: u64) -> Self {
        let mut random = SeededRandom::for_purpose(seed, 10);
        let count = if random.chance(1, 4) { 8 } else { 3 };
        let clients = (0..=random.below(count))
            .map(|_| client(&mut random))
            .collect::<Vec<_>>();
        let mut kills = Vec::new();
        for _ in 0..random.below(3) {
            kills.push(kill(&mut random));
        }
        let mut actions = Vec::new();
        for phase in 0..=kills.len() {
            let length = 2 + random.below(14);
            // Actions that are close to each other meet more often.
            let span = if random.chance(1, 2) { PHASE } else { 500 };
            if phase == 0 {
                actions.push(Action {
                    phase,
                    at: 0,
                    client: 0,
                    kind: ActionKind::StartThread,
                    number: random.next() >> 16,
                });
            }
            // What a kill has left is gone on with.
            let returns = if phase == 0 { 0 } else { random.below(3) };
            for _ in 0..returns {
                let (client, thread) = (random.below(clients.len() as u64), random.next() >> 16);
                for (until, kind) in [(1, ActionKind::ResumeThread), (3000, ActionKind::StartTurn)]
                {
                    actions.push(Action {
                        phase,
                        at: random.below(until),
                        client: client as usize,
                        kind,
                        number: thread,
                    });
                }
            }
            for _ in 0..length {
                actions.push(Action {
                    phase,
                    at: random.below(span),
                    client: random.below(clients.len() as u64) as usize,
                    kind: kind(&mut random),
                    number: random.next() >> 16,
                });
            }
        }
        show_releases(
            &mut SeededRandom::for_purpose(seed, 33),
            &clients,
            kills.len(),
            &mut actions,
        );
        actions.sort_by_key(|action| (action.phase, action.at));
        Self {
            seed,
            clients,
            actions,
            kills,
            full_disk: None,
            cuts_power: false,
            has_two_engines: false,
            has_plain_shell: SeededRandom::for_purpose(seed, 35).chance(1, 3),
            has_mcp_servers: SeededRandom::for_purpose(seed, 34).chance(1, 3),
            second_begins: Vec::new(),
        }
    }

    /// The same with a disk that is full for a while.
    #[must_use]
    pub(crate) fn with_full_disk(mut self) -> Self {
        let mut random = SeededRandom::for_purpose(self.seed, 30);
        let (after, count) = (random.below(11), random.below(11));
        self.full_disk = Some(FullDisk {
            after: random.below(1 << after),
            count: 1 + random.below(1 << count),
        });
        self
    }

    /// The same with power cuts in place of kills, at least one.
    #[must_use]
    pub(crate) fn with_power_cuts(mut self) -> Self {
        let mut random = SeededRandom::for_purpose(self.seed, 31);
        if self.kills.is_empty() {
            self.kills.push(kill(&mut random));
        }
        if random.chance(1, 3) {
            self.kill_at_removal(&mut random);
        }
        self.cuts_power = true;
        self
    }

    /// Has the first process killed when it has removed a file, such as the copy of input that waited for a while.
    fn kill_at_removal(&mut self, random: &mut SeededRandom) {
        self.kills[0] = Kill {
            after: random.below(3),
            since: Some(KillMoment {
                kind: MomentKind::FileRemoved,
                number: random.below(4),
            }),
        };
        let begins = |action: &&Action| action.phase == 0 && action.kind == ActionKind::StartTurn;
        let turns: Vec<Action> = self.actions.iter().filter(begins).copied().collect();
        for turn in turns {
            let at = turn.at + random.below(4000);
            // Messages are told apart by their numbers.
            let other = random.below(256);
            let other = other ^ u64::from(other == turn.number & 0xff);
            self.actions.push(Action {
                at,
                kind: ActionKind::Steer,
                number: (turn.number & !0xff) | other,
                ..turn
            });
        }
        self.actions.sort_by_key(|action| (action.phase, action.at));
    }

    /// The same with two processes, each with at least one client.
    #[must_use]
    pub(crate) fn with_two_engines(mut self) -> Self {
        let mut random = SeededRandom::for_purpose(self.seed, 32);
        while self.clients.len() < 2 {
            self.clients.push(client(&mut random));
        }
        for phase in 0..self.phases() {
            // The same thread at the same time: numbers name it with their upper bits.
            let begin = random.below(PHASE / 2);
            let thread = (random.next() >> 16) & !0xff;
            // It may find the other one in the middle of its work.
            let is_late = random.chance(1, 2);
            let second = if is_late {
                begin + random.below(3000)
            } else {
                0
            };
            self.second_begins.push(second);
            for (kind, count) in SHARED_WORK {
                for _ in 0..random.below(count + 1) {
                    for client in 0..2 {
                        // Both do something at few times, so that they meet in the middle of it.
                        let later = 500 * random.below(6);
                        let is_first = kind == ActionKind::ResumeThread;
                        let at = if is_first { begin } else { begin + later };
                        self.actions.push(Action {
                            phase,
                            at,
                            client,
                            kind,
                            number: thread | (self.actions.len() as u64 & 0xff),
                        });
                    }
                }
            }
        }
        self.actions.sort_by_key(|action| (action.phase, action.at));
        self.has_two_engines = true;
        self
    }

    /// The processes of a phase. The one that looks at what is stored is alone.
    #[must_use]
    pub(crate) fn engines(&self, phase: usize) -> usize {
        if self.has_two_engines && phase < self.phases() {
            2
        } else {
            1
        }
    }

    /// When a process of a phase is killed, if it is the one.
    #[must_use]
    pub(crate) fn kill(&self, phase: usize, engine: usize) -> Option<Kill> {
        let mut random = SeededRandom::for_purpose(self.seed, 60 + phase as u64);
        let killed = random.below(self.engines(phase) as u64) as usize;
        self.kills.get(phase).copied().filter(|_| killed == engine)
    }

    /// Whether a process of a phase ends as if it was killed: it is, or the power goes for both.
    #[must_use]
    pub(crate) fn is_killed(&self, phase: usize, engine: usize) -> bool {
        let is_cut = self.cuts_power && phase < self.kills.len();
        is_cut || self.kill(phase, engine).is_some()
    }

    /// Whether a person is asked before each command.
    #[must_use]
    pub(crate) const fn asks(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    /// The number of processes that run one after the other.
    #[must_use]
    pub(crate) fn phases(&self) -> usize {
        self.kills.len() + 1
    }
}

/// Has clients that say no release show it in the middle of a turn.
fn show_releases(
    random: &mut SeededRandom,
    clients: &[PlannedClient],
    last_phase: usize,
    actions: &mut Vec<Action>,
) {
    for (client, _) in clients
        .iter()
        .enumerate()
        .filter(|(_, client)| client.release.is_none())
    {
        let (phase, thread) = (
            random.below(last_phase as u64 + 1) as usize,
            random.next() >> 16,
        );
        let at = random.below(200);
        let sign = RELEASE_SIGNS[random.below(RELEASE_SIGNS.len() as u64) as usize];
        let shown = at + 20 + random.below(2000);
        // What it did before would have shown it.
        let is_before = |action: &Action| {
            (action.phase, action.client) == (phase, client) && action.at <= shown
        };
        actions.retain(|action| !is_before(action) || action.kind == ActionKind::StartThread);
        // A thread without a turn cannot be resumed, and one that is not loaded begins none.
        let shows = [
            (at, ActionKind::ResumeThread),
            (at + 10, ActionKind::StartTurn),
            (at + 15, ActionKind::ResumeThread),
            (shown, sign),
        ];
        let mut numbers = Vec::new();
        for (at, kind) in shows {
            // Messages are told apart by their numbers.
            let mut number = (thread & !0xff) | random.below(256);
            while numbers.contains(&number) {
                number = (thread & !0xff) | ((number + 1) & 0xff);
            }
            numbers.push(number);
            actions.push(Action {
                phase,
                at,
                client,
                kind,
                number,
            });
        }
    }
}

fn kill(random: &mut SeededRandom) -> Kill {
    if random.chance(1, 2) {
        let scale = random.below(11);
        return Kill {
            after: 1 + random.below(1 << scale),
            since: None,
        };
    }
    let (after, number) = (random.below(5), random.below(5));
    Kill {
        after: random.below(1 << after),
        since: Some(KillMoment {
            kind: MomentKind::ALL[random.below(7) as usize],
            number: random.below(1 << number),
        }),
    }
}

fn client(random: &mut SeededRandom) -> PlannedClient {
    let release = RELEASES[random.below(4) as usize];
    let is_slow = random.chance(1, 6);
    PlannedClient {
        release: random.chance(3, 4).then(|| release.to_owned()),
        is_experimental: random.chance(7, 8),
        read_delay: if is_slow { 1 + random.below(2000) } else { 0 },
    }
}

fn kind(random: &mut SeededRandom) -> ActionKind {
    let all: u64 = WEIGHTS.iter().map(|(_, weight)| weight).sum();
    let mut chosen = random.below(all);
    for (kind, weight) in WEIGHTS {
        match chosen.checked_sub(weight) {
            Some(rest) => chosen = rest,
            None => return kind,
        }
    }
    ActionKind::StartTurn
}
