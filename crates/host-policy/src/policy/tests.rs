use super::*;
use crate::list::HostEntry;
use crate::pattern::HostPattern;

/// A list, written as `owner: +allowed ?asked -denied`. Owners: `admin`, `only` (an administrator who has reserved the
/// decision), `other` (a second administrator), `permissions`, `feature`, `rules`.
fn list(text: &str) -> HostList {
    let (owner, entries) = text.split_once(':').unwrap();
    let administrator = |only| ListOwner::Administrator {
        source: owner.to_owned(),
        only,
    };
    let owner = match owner {
        "admin" | "other" => administrator(false),
        "only" => administrator(true),
        "permissions" => ListOwner::Permissions,
        "feature" => ListOwner::Feature,
        "rules" => ListOwner::Rules,
        unknown => panic!("{unknown}"),
    };
    let entry = |text: &str| {
        let (decision, pattern) = text.split_at(1);
        HostEntry {
            pattern: HostPattern::parse(pattern).unwrap(),
            decision: match decision {
                "+" => HostDecision::Allow,
                "?" => HostDecision::Ask,
                _ => HostDecision::Deny,
            },
        }
    };
    HostList::new(owner, entries.split_whitespace().map(entry).collect())
}

fn verdict(lists: &[&str], host: &str, port: u16) -> Verdict {
    let policy = HostPolicy::new(lists.iter().map(|text| list(text)).collect());
    policy.verdict(&Host::parse(host).unwrap(), port)
}

const ALLOW: Verdict = Verdict::Allow;
const ASK_VERDICT: Verdict = Verdict::Ask(AskReason::NotListed);
const WANTED_VERDICT: Verdict = Verdict::Ask(AskReason::Wanted);
const DENIED_VERDICT: Verdict = Verdict::Refuse(RefusalReason::Denied);
const LOCAL: Verdict = Verdict::Refuse(RefusalReason::LocalAddress);
const RESERVED_VERDICT: Verdict = Verdict::Refuse(RefusalReason::NotOfAdministrator);

#[test]
fn the_decision_is_that_of_the_table() {
    #[rustfmt::skip]
    let table: &[(&[&str], &str, u16, Verdict)] = &[
        (&[], "a.test", 80, DENIED_VERDICT),
        // One list.
        (&["feature:"], "a.test", 80, ASK_VERDICT),
        (&["feature: +a.test"], "a.test", 80, ALLOW),
        (&["feature: +a.test"], "b.test", 80, ASK_VERDICT),
        (&["feature: +*.a.test"], "a.test", 80, ASK_VERDICT),
        (&["feature: +*.a.test -b.a.test"], "b.a.test", 80, DENIED_VERDICT),
        (&["feature: +a.test -*"], "a.test", 80, DENIED_VERDICT),
        (&["feature: +a.test:443"], "a.test", 80, ASK_VERDICT),
        // Several lists of one owner are one.
        (&["permissions: +a.test", "permissions: +b.test"], "a.test", 80, ALLOW),
        (&["permissions: +a.test", "permissions: -a.test"], "a.test", 80, DENIED_VERDICT),
        // Lists of several owners must all allow.
        (&["permissions: +a.test", "feature: +b.test"], "a.test", 80, ASK_VERDICT),
        (&["permissions: +a.test", "feature: +a.test"], "a.test", 80, ALLOW),
        (&["permissions: +a.test", "feature: -a.test"], "a.test", 80, DENIED_VERDICT),
        // The feature that is only switched on has no list of its own.
        (&["permissions: +a.test", "feature:"], "a.test", 80, ALLOW),
        (&["permissions: +a.test", "feature:"], "b.test", 80, ASK_VERDICT),
        (&["permissions: +a.test", "feature:", "admin: +b.test"], "a.test", 80, ALLOW),
        // An administrator.
        (&["admin: +a.test"], "a.test", 80, ALLOW),
        (&["admin: +a.test"], "b.test", 80, ASK_VERDICT),
        (&["admin: -a.test", "feature: +a.test", "rules: +a.test"], "a.test", 80, DENIED_VERDICT),
        (&["admin: +a.test", "feature: +b.test"], "b.test", 80, ALLOW),
        (&["admin: +a.test", "feature: +b.test"], "a.test", 80, ASK_VERDICT),
        (&["admin: ?a.test", "feature: +a.test"], "a.test", 80, WANTED_VERDICT),
        (&["admin: ?a.test", "rules: +a.test"], "a.test", 80, WANTED_VERDICT),
        (&["only: +a.test", "feature: +b.test"], "b.test", 80, RESERVED_VERDICT),
        (&["only: +a.test", "rules: +b.test"], "b.test", 80, RESERVED_VERDICT),
        (&["only: +a.test", "rules: ?b.test"], "b.test", 80, RESERVED_VERDICT),
        (&["only: +a.test"], "a.test", 80, ALLOW),
        (&["only: +a.test ?b.test"], "b.test", 80, WANTED_VERDICT),
        (&["admin: +a.test", "other: +b.test"], "a.test", 80, ASK_VERDICT),
        (&["admin: +a.test", "other: +a.test"], "a.test", 80, ALLOW),
        (&["admin: +a.test", "only: +b.test"], "a.test", 80, RESERVED_VERDICT),
        // Rules.
        (&["rules: -a.test"], "a.test", 80, DENIED_VERDICT),
        (&["rules: -a.test"], "b.test", 80, ALLOW),
        (&["rules: -a.test"], "1.2.3.4", 80, ASK_VERDICT),
        (&["rules: -a.test +1.2.3.4"], "1.2.3.4", 80, ALLOW),
        (&["rules: ?a.test"], "a.test", 80, WANTED_VERDICT),
        (&["rules: +a.test:80", "admin:"], "a.test", 80, ALLOW),
        (&["rules: +a.test:80", "admin:"], "a.test", 81, ASK_VERDICT),
        (&["rules: +a.test", "feature:", "permissions:"], "a.test", 80, ALLOW),
        (&["rules: -a.test", "feature: +a.test"], "a.test", 80, DENIED_VERDICT),
        (&["rules: -a.test", "feature:"], "b.test", 80, ASK_VERDICT),
        // Addresses.
        (&["feature: +*"], "93.184.216.40", 80, ASK_VERDICT),
        (&["feature: +a.test"], "93.184.216.40", 80, ASK_VERDICT),
        (&["feature: +93.184.216.40"], "93.184.216.40", 80, ALLOW),
        (&["feature: -*"], "93.184.216.40", 80, DENIED_VERDICT),
        (&["feature: +*"], "127.0.0.1", 80, LOCAL),
        (&["feature: +*"], "169.254.169.254", 80, LOCAL),
        (&["feature: +*"], "10.0.0.1", 80, LOCAL),
        (&["feature: +*"], "::1", 80, LOCAL),
        (&["rules: -a.test"], "10.0.0.1", 80, LOCAL),
        (&["feature: +10.0.0.1"], "10.0.0.1", 80, ALLOW),
        (&["feature: +10.0.0.1"], "10.0.0.2", 80, LOCAL),
        (&["feature: +localhost"], "127.0.0.1", 80, ALLOW),
        (&["feature: +localhost:80"], "127.0.0.1", 81, LOCAL),
        (&["feature: +localhost -127.0.0.1"], "127.0.0.1", 80, DENIED_VERDICT),
        (&["feature: +10.0.0.1", "permissions: +*"], "10.0.0.1", 80, ASK_VERDICT),
        (&["admin: ?10.0.0.1"], "10.0.0.1", 80, WANTED_VERDICT),
    ];
    for (lists, host, port, expected) in table {
        assert_eq!(
            verdict(lists, host, *port),
            *expected,
            "{lists:?} {host}:{port}"
        );
    }
}

#[test]
fn host_denied_by_one_list_is_never_allowed() {
    let parts = [
        "admin: +a.test",
        "admin: ?a.test",
        "only: +a.test",
        "other:",
        "permissions: +*",
        "permissions:",
        "feature: +a.test",
        "rules: +a.test",
        "rules: ?a.test",
    ];
    let denials = [
        "admin: -a.test",
        "only: -*.test",
        "permissions: -*",
        "feature: -a.test:80",
        "rules: -a.test",
    ];
    for chosen in 0..1_u32 << parts.len() {
        let mut lists: Vec<&str> = (0..parts.len())
            .filter(|index| chosen & (1 << index) != 0)
            .map(|index| parts[index])
            .collect();
        for denial in denials {
            lists.push(denial);
            assert_eq!(verdict(&lists, "a.test", 80), DENIED_VERDICT, "{lists:?}");
            lists.pop();
        }
    }
}

#[test]
fn further_host_list_never_allows_more_except_permissions() {
    let closing = [
        "admin: +b.test",
        "only: +b.test",
        "permissions: +b.test",
        "feature:",
        "rules: ?a.test",
    ];
    for first in closing {
        for second in closing {
            assert_ne!(
                verdict(&[first, second], "a.test", 80),
                ALLOW,
                "{first} {second}"
            );
        }
    }
}

#[test]
fn local_address_must_be_listed_itself() {
    let policy = |text| HostPolicy::new(vec![list(text)]);
    let to = |text, address: &str| policy(text).allows_address(address.parse().unwrap(), 80);
    assert!(to("feature: +a.test", "93.184.216.40"));
    assert!(!to("feature: +a.test", "10.0.0.1"));
    assert!(!to("feature: +*", "127.0.0.1"));
    assert!(!to("feature: +*", "::ffff:127.0.0.1"));
    assert!(to("feature: +a.test +127.0.0.1", "127.0.0.1"));
    assert!(!to("feature: +a.test +10.0.0.1 -10.0.0.1", "10.0.0.1"));
    assert!(!to("feature: +a.test -93.184.216.40", "93.184.216.40"));
}

#[test]
fn local_address_needs_consent_of_every_list_owner() {
    let to = |lists: &[&str], address: &str| {
        let policy = HostPolicy::new(lists.iter().map(|text| list(text)).collect());
        policy.allows_address(address.parse().unwrap(), 80)
    };
    assert!(!to(&["only: +a.test", "feature: +10.0.0.1"], "10.0.0.1"));
    assert!(!to(
        &["permissions: +a.test", "feature: +10.0.0.1"],
        "10.0.0.1"
    ));
    assert!(!to(&["admin: ?10.0.0.1", "feature: +10.0.0.1"], "10.0.0.1"));
    assert!(to(&["only: +a.test +10.0.0.1"], "10.0.0.1"));
    assert!(to(
        &["rules: +10.0.0.1", "permissions: +a.test"],
        "10.0.0.1"
    ));
    // Addresses of the internet need no entry of their own.
    assert!(to(&["only: +a.test", "feature: +b.test"], "93.184.216.40"));
}

#[test]
fn proxy_needs_allow_list() {
    let allows = |lists: &[(&str, bool)]| {
        let lists = lists.iter().map(|(text, upstream_proxy)| HostList {
            upstream_proxy: *upstream_proxy,
            ..list(text)
        });
        HostPolicy::new(lists.collect()).allows_upstream_proxy()
    };
    assert!(!allows(&[]));
    assert!(!allows(&[("feature:", false)]));
    assert!(allows(&[("feature:", false), ("permissions:", true)]));
    assert!(!allows(&[("admin:", false), ("permissions:", true)]));
    assert!(allows(&[("admin:", true), ("feature:", false)]));
}
