//! The table of all checks. A new check is one new file and one line in its area's `mod.rs`.

/// The checks of an area, in the order of the reference. Each line has the module and its entry in the table.
///
/// `CHECK` is `pub(crate)`. It is `pub`, and re-exported below under a name, only if another crate refers to the check.
///
/// `rustfmt` does not find modules declared by a macro: `make lint` names their files.
macro_rules! checks {
    ($table:ident: $($name:ident,)+) => {
        $(
            #[allow(missing_docs, reason = "a public CHECK is described by its title")]
            pub(super) mod $name;
        )+

        pub(super) const $table: &[crate::check::Check] = &[$($name::CHECK),+];
    };
}

mod advice;
mod aud;
mod auth;
mod bak;
mod clone;
mod ev;
mod exp;
mod galera;
mod gr;
mod host;
mod key;
pub(crate) mod order;
mod proof;
mod repl;
mod rest;
mod separation;
mod setting;
mod tls;
mod wire;

#[cfg(test)]
pub(crate) use tls::made as probes;

// Checks that other code refers to by name.
pub use ev::mismatch::CHECK as MISMATCH;
pub use ev::not_persistent::CHECK as NOT_PERSISTENT;
pub use ev::waiver_expired::CHECK as WAIVER_EXPIRED;
pub use key::cannot_open::CHECK as CANNOT_OPEN;
pub use rest::aria_plaintext::CHECK as ARIA_PLAINTEXT;
pub use rest::binlog_plaintext::CHECK as BINLOG_PLAINTEXT;
pub use rest::default_off::CHECK as DEFAULT_OFF;
pub use rest::doublewrite_plaintext::CHECK as DOUBLEWRITE_PLAINTEXT;
pub use rest::fts_plaintext::CHECK as FTS_PLAINTEXT;
pub use rest::general_plaintext::CHECK as GENERAL_PLAINTEXT;
pub use rest::mysql_ibd_plaintext::CHECK as MYSQL_IBD_PLAINTEXT;
pub use rest::page_plaintext::CHECK as PAGE_PLAINTEXT;
pub use rest::redo_plaintext::CHECK as REDO_PLAINTEXT;
pub use rest::relaylog_plaintext::CHECK as RELAYLOG_PLAINTEXT;
pub use rest::schema_default_no::CHECK as SCHEMA_DEFAULT_NO;
pub use rest::undo_plaintext::CHECK as UNDO_PLAINTEXT;

use crate::check::Check;
use crate::exposure::{Attacker, Exposes};

/// An area, and its checks.
#[derive(Debug)]
pub struct Area {
    /// Prefix of its checks' ids.
    pub name: &'static str,
    /// Human-readable title.
    pub title: &'static str,
    /// Checks of facts.
    pub checks: &'static [Check],
    /// Checks of the other checks' findings; they run last.
    pub closing_checks: &'static [Check],
    /// What an unknown check of another release is assumed to expose: rather too much than too little.
    pub exposes: Exposes,
}

impl Area {
    /// Whether its checks summarise those of other areas.
    #[must_use]
    pub const fn is_summary(&self) -> bool {
        !self.closing_checks.is_empty()
    }
}

const fn area(name: &'static str, title: &'static str, checks: &'static [Check]) -> Area {
    Area { name, title, checks, closing_checks: &[], exposes: Exposes::Nothing }
}

const fn data_at_rest(area: Area) -> Area {
    Area { exposes: Exposes::Data(Attacker::StolenDisk, ""), ..area }
}

const fn data_in_flight(area: Area) -> Area {
    Area { exposes: Exposes::Help(Attacker::Sniffer, ""), ..area }
}

/// All areas, in the order of the reference.
pub static AREAS: &[Area] = &[
    data_at_rest(area("rest", "data at rest: InnoDB and server files", rest::CHECKS)),
    area("host", "host and disk layer", host::CHECKS),
    area("key", "keys", key::CHECKS),
    data_in_flight(area("tls", "in flight: server TLS", tls::CHECKS)),
    area("repl", "replication", repl::CHECKS),
    data_in_flight(area("gr", "group replication", gr::CHECKS)),
    data_in_flight(area("galera", "Galera", galera::CHECKS)),
    data_in_flight(area("clone", "clone", clone::CHECKS)),
    data_in_flight(area("wire", "in flight: packets that were seen", wire::CHECKS)),
    data_at_rest(area("bak", "backups", bak::CHECKS)),
    area("auth", "accounts", auth::CHECKS),
    area("aud", "audit log", aud::CHECKS),
    area("exp", "exposure", exp::CHECKS),
    Area { closing_checks: ev::CLOSING_CHECKS, ..area("ev", "evidence and drift", ev::CHECKS) },
];

/// Checks of facts, in the order of the reference.
pub fn judging() -> impl Iterator<Item = &'static Check> {
    AREAS.iter().flat_map(|area| area.checks)
}

/// Checks of the other checks' findings; they run last.
pub fn closing() -> impl Iterator<Item = &'static Check> {
    AREAS.iter().flat_map(|area| area.closing_checks)
}

/// All checks.
pub fn all() -> impl Iterator<Item = &'static Check> {
    judging().chain(closing())
}

/// The area of a check's id, including ids of other releases.
#[must_use]
pub fn area_of(id: &str) -> Option<&'static Area> {
    let name = id.split('-').next()?;
    AREAS.iter().find(|area| area.name == name)
}

/// The check with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Check> {
    all().find(|check| check.id == id)
}

#[cfg(test)]
mod registration {
    //! Adding a check takes one file and one line: `registration/example.rs` is the file, and the line is this one.
    checks! {
        CHECKS:
        example,
    }

    use crate::finding::Status;
    use crate::testing::mysql;

    #[test]
    fn a_file_and_a_line_make_a_check() {
        let made = mysql().variable("example", "OFF");
        let found: Vec<_> = CHECKS.iter().flat_map(|check| made.judge(check)).collect();
        assert_eq!(
            found.iter().map(|f| (f.id.as_str(), f.status)).collect::<Vec<_>>(),
            [("exp-example", Status::Fail)]
        );
        assert_eq!(found[0].remediation.as_deref(), Some("SET PERSIST example = ON"));
        assert_eq!(found[0].remedies[0].server.as_deref(), Some("MySQL 9.7.4"));
    }

    /// The text of a check may refer to another check.
    #[test]
    fn every_check_that_a_text_names_exists() {
        /// An option of client programs.
        const OPTION: &str = "tls-version";
        let mut named = 0;
        for check in super::all() {
            for text in [check.title, check.explanation, check.applies, check.fix, check.cost] {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
                for word in words.filter(|word| word.contains('-') && super::area_of(word).is_some()) {
                    assert!(word == OPTION || super::find(word).is_some(), "{}: {word}", check.id);
                    named += usize::from(word != OPTION);
                }
            }
        }
        assert!(named > 0, "no text names a check");
    }

    #[test]
    fn every_area_s_ids_begin_with_its_name() {
        for area in super::AREAS {
            for check in area.checks.iter().chain(area.closing_checks) {
                assert_eq!(check.id.split('-').next(), Some(area.name), "{}", check.id);
            }
        }
    }
}
