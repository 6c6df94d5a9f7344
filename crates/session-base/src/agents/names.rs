//! The names of agents.

use std::collections::HashSet;

/// Names for agents: rivers.
const POOL: &[&str] = &[
    "Aare",
    "Adda",
    "Adige",
    "Aisne",
    "Allier",
    "Alma",
    "Amazon",
    "Amur",
    "Arno",
    "Avon",
    "Barrow",
    "Benue",
    "Boyne",
    "Brenta",
    "Chari",
    "Clyde",
    "Congo",
    "Danube",
    "Darling",
    "Dee",
    "Don",
    "Dordogne",
    "Douro",
    "Drava",
    "Ebro",
    "Elbe",
    "Ems",
    "Enns",
    "Euphrates",
    "Forth",
    "Fraser",
    "Gambia",
    "Ganges",
    "Garonne",
    "Havel",
    "Hudson",
    "Indus",
    "Inn",
    "Isar",
    "Jordan",
    "Kama",
    "Kemi",
    "Kolyma",
    "Lahn",
    "Lech",
    "Lena",
    "Liffey",
    "Loire",
    "Lule",
    "Main",
    "Marne",
    "Mekong",
    "Mersey",
    "Meuse",
    "Mosel",
    "Mur",
    "Murray",
    "Neckar",
    "Neisse",
    "Niger",
    "Nile",
    "Ob",
    "Oder",
    "Ohio",
    "Oise",
    "Orinoco",
    "Paraná",
    "Peene",
    "Piave",
    "Po",
    "Rhine",
    "Rhone",
    "Ruhr",
    "Saale",
    "Saar",
    "Salween",
    "Sava",
    "Seine",
    "Senegal",
    "Severn",
    "Shannon",
    "Spey",
    "Spree",
    "Sutlej",
    "Tagus",
    "Tana",
    "Tay",
    "Tees",
    "Thames",
    "Tiber",
    "Ticino",
    "Tigris",
    "Trent",
    "Tyne",
    "Ural",
    "Vardar",
    "Vienne",
    "Vistula",
    "Vltava",
    "Volga",
    "Volta",
    "Warta",
    "Weser",
    "Wye",
    "Yangtze",
    "Yukon",
    "Zambezi",
];

/// The names that are used.
#[derive(Debug, Default)]
pub(super) struct AgentNames {
    used: HashSet<String>,
    /// How often all names of a pool were used.
    rounds: usize,
}

impl AgentNames {
    /// Chooses a free name from the candidates, or from our own if there are none. `random` is between 0 and
    /// 1. When all are used, they are used again with a number.
    pub(super) fn pick(&mut self, candidates: &[String], random: f64) -> String {
        let own = || POOL.iter().map(|name| (*name).to_owned()).collect();
        let pool: Vec<String> = match candidates {
            [] => own(),
            given => given.to_vec(),
        };
        loop {
            let called = |name: &String| numbered(name, self.rounds);
            let is_free = |name: &String| !self.used.contains(name);
            let free: Vec<String> = pool.iter().map(called).filter(is_free).collect();
            let Some(last) = free.len().checked_sub(1) else {
                self.rounds += 1;
                continue;
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "below the length"
            )]
            #[expect(clippy::cast_precision_loss, reason = "short lists")]
            let index = (random * free.len() as f64) as usize;
            let name = free[index.min(last)].clone();
            self.used.insert(name.clone());
            return name;
        }
    }

    /// Marks a name as used.
    pub(super) fn take(&mut self, name: &str) {
        self.used.insert(name.to_owned());
    }
}

fn numbered(name: &str, rounds: usize) -> String {
    let number = rounds + 1;
    let ending = match (number % 10, number % 100) {
        _ if number == 1 => return name.to_owned(),
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{name} the {number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_until_all_are_used() {
        let mut names = AgentNames::default();
        let given: HashSet<String> = (0..POOL.len()).map(|_| names.pick(&[], 0.5)).collect();
        assert_eq!(given.len(), POOL.len());
        assert!(names.pick(&[], 1.0).ends_with(" the 2nd"));
    }

    #[test]
    fn a_role_may_bring_its_own() {
        let mut names = AgentNames::default();
        let own = ["Ada".to_owned(), "Bo".to_owned()];
        names.take("Ada");
        assert_eq!(names.pick(&own, 0.0), "Bo");
        assert_eq!(names.pick(&own, 0.0), "Ada the 2nd");
        assert_eq!(numbered("Ada", 11), "Ada the 12th");
        assert_eq!(numbered("Ada", 20), "Ada the 21st");
        assert_eq!(numbered("Ada", 22), "Ada the 23rd");
    }
}
