//! Order of remedies: some would stop a server or lock clients out unless another remedy comes first.

use findings::Remedy;
use server::Flavor;
use server::dialect::encryption::all_switches;
use server::dialect::encryption::{MYSQL_ENCRYPTED, table_option};
use server::dialect::variable;

use super::key::not_loaded;
use super::tls;
use crate::channel::client::offers_tls;
use crate::facts::Facts;

/// Adds to a remedy the check whose remedy must come first, if there is one. `id` is the remedy's own check.
pub(crate) fn in_order(facts: &Facts, id: &str, remedy: Remedy) -> Remedy {
    let first =
        [(not_loaded::CHECK.id, needs_keys(facts, &remedy)), (tls::disabled::CHECK.id, needs_tls(facts, &remedy))];
    match first.into_iter().find(|(before, needed)| *needed && *before != id) {
        Some((before, _)) => remedy.after(before),
        None => remedy,
    }
}

/// Without keys, MariaDB does not start with an encryption variable in its option file, nor MySQL with that of the
/// binary log; statements fail. Seen on MariaDB 10.11 and MySQL 9.7.
fn needs_keys(facts: &Facts, remedy: &Remedy) -> bool {
    let asks = remedy.asks_for(&[MYSQL_ENCRYPTED, table_option(Flavor::MariaDb, true)])
        || remedy.asks_for(&all_switches().collect::<Vec<_>>());
    asks && facts.sql.as_ref().is_some_and(not_loaded::is_missing)
}

/// Clients that must use TLS cannot log in if it is not offered.
fn needs_tls(facts: &Facts, remedy: &Remedy) -> bool {
    let asks = remedy.asks_for(&["REQUIRE SSL", "REQUIRE X509", variable::REQUIRE_SECURE_TRANSPORT]);
    asks && offers_tls(facts).is_ok_and(|offer| !offer.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::probes::probed;
    use crate::testing::{FactsBuilder, mariadb};

    fn plugins(made: FactsBuilder, kind: &str) -> FactsBuilder {
        made.answer("plugins", &["name", "status", "type"], &[&["one", "ACTIVE", kind]])
    }

    #[test]
    fn encryption_waits_for_keys() {
        let fix = || Remedy::option_file("mariadb", ["encrypt_binlog = ON"]).then_restart();
        let without = plugins(mariadb(), "STORAGE ENGINE");
        assert!(
            in_order(&without.0, "rest-binlog-plaintext", fix())
                .to_string()
                .starts_with("after the fix of key-not-loaded: ")
        );
        let with = plugins(mariadb(), "ENCRYPTION");
        assert_eq!(in_order(&with.0, "rest-binlog-plaintext", fix()), fix());
        assert_eq!(
            in_order(&without.0, "exp-local-infile", Remedy::statement("SET GLOBAL local_infile = OFF")),
            Remedy::statement("SET GLOBAL local_infile = OFF")
        );
    }

    #[test]
    fn nobody_has_to_use_what_is_not_offered() {
        let fix = || Remedy::statement("ALTER USER 'a'@'%' REQUIRE SSL");
        let made = probed(mariadb(), None);
        assert!(
            in_order(&made.0, "tls-user-not-required", fix())
                .to_string()
                .starts_with("after the fix of tls-disabled: ")
        );
    }
}
