//! The order of texts that only servers know, such as those of case-insensitive collations.
//!
//! It is that of the bytes of their sort keys, which the target computes: all that are compared are of one server, whatever
//! its version. A collation that pads texts with spaces compares the shorter of two as if sort keys of spaces followed.
//! Source: MySQL's manual, `WEIGHT_STRING()`.

use std::collections::HashMap;

use data_encoding::HEXUPPER;
use server::{Connection, Rows};

use crate::{
    Error, Server, Side,
    catalog::current_name,
    key::{Key, KeyColumn, KeyColumns},
    link,
};

/// Sort keys in a statement.
const AT_ONCE: usize = 200;
/// Sort keys that are kept from one event to the next.
const KEPT: usize = 20_000;
const SPACE: &[u8] = b" ";

/// A collation, and a text.
type CollatedText = (String, Vec<u8>);

/// Sets the order of keys.
pub(crate) struct Weights<'m> {
    server: &'m Server,
    /// Opened for the first key that needs it.
    target: Option<Connection>,
    known: HashMap<CollatedText, Vec<u8>>,
}

impl<'m> Weights<'m> {
    /// Asks this server, which is the target.
    pub(crate) fn new(server: &'m Server) -> Self {
        Self { server, target: None, known: HashMap::new() }
    }

    /// Sets the order of keys of a table. Keys that this program can compare stay as they are.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::SortKey`].
    pub(crate) fn set<'k>(
        &mut self,
        columns: &KeyColumns,
        keys: impl IntoIterator<Item = &'k mut Key>,
    ) -> Result<(), Error> {
        if !columns.have_sort_keys() {
            return Ok(());
        }
        let keys: Vec<&mut Key> = keys.into_iter().collect();
        self.learn(columns, &keys)?;
        let known = |column: &KeyColumn, text: &[u8]| self.known.get(&collated(column, text)).cloned();
        for key in keys {
            columns.sort(key, |column, text| {
                let padding = if column.pads() { known(column, SPACE) } else { None };
                (known(column, text).unwrap_or_default(), padding.unwrap_or_default())
            });
        }
        Ok(())
    }

    /// Forgets sort keys if there are many. Called before keys that belong together are learnt.
    pub(crate) fn limit(&mut self) {
        if self.known.len() > KEPT {
            self.known.clear();
        }
    }

    /// Asks for the sort keys that are not known yet.
    fn learn(&mut self, columns: &KeyColumns, keys: &[&mut Key]) -> Result<(), Error> {
        let mut wanted: HashMap<CollatedText, String> = HashMap::new();
        for (column, text) in keys.iter().flat_map(|key| columns.texts_to_sort(key)) {
            for text in [text, SPACE] {
                let collated = collated(column, text);
                if !self.known.contains_key(&collated) {
                    wanted.entry(collated).or_insert_with(|| expression(column, text));
                }
            }
        }
        let wanted: Vec<_> = wanted.into_iter().collect();
        for some in wanted.chunks(AT_ONCE) {
            let expressions: Vec<&str> = some.iter().map(|(_, expression)| expression.as_str()).collect();
            let rows = self.ask(&format!("SELECT {}", expressions.join(", ")))?;
            let values = rows.rows.first().map(Vec::as_slice).unwrap_or_default();
            for ((collated, _), value) in some.iter().zip(values) {
                let sort_key = value.as_ref().and_then(|value| HEXUPPER.decode(value.as_bytes()).ok());
                let damaged = || Error::SortKey { collation: collated.0.clone() };
                self.known.insert(collated.clone(), sort_key.ok_or_else(damaged)?);
            }
        }
        Ok(())
    }

    /// Asks the target. A connection that was not used for long may be lost; the next one has no state to restore.
    fn ask(&mut self, sql: &str) -> Result<Rows, Error> {
        if let Some(mut target) = self.target.take() {
            match target.query(sql).map_err(Error::at(Side::Target)) {
                Err(error) if error.is_transient() => {}
                asked => {
                    self.target = Some(target);
                    return asked;
                }
            }
        }
        let target = self.target.insert(link::target(self.server)?);
        target.query(sql).map_err(Error::at(Side::Target))
    }
}

fn collated(column: &KeyColumn, text: &[u8]) -> CollatedText {
    (column.collation().to_owned(), text.to_vec())
}

/// The sort key of a text, in hexadecimal digits.
fn expression(column: &KeyColumn, text: &[u8]) -> String {
    // Newer servers know the collations of utf8mb3 by their present names alone.
    let collation = current_name(column.collation());
    format!("HEX(WEIGHT_STRING({} COLLATE {collation}))", column.text_literal(text))
}

#[cfg(test)]
mod tests {
    use harness::Kind;
    use server::{Endpoint, Options, Target, tls::TlsVersion};

    use super::*;
    use crate::{Accept, Column, Table, catalog::Identity, preflight::testing};

    /// Asserts that keys of texts have the order in which the server's own index has them.
    fn are_in_the_order_of(kind: Kind, collations: &[&str]) {
        if harness::require(kind).is_none() {
            return;
        }
        let running = harness::Server::builder(kind).start().unwrap();
        running.sql("CREATE DATABASE d").unwrap();
        let target = Target { endpoint: Endpoint::Socket(running.socket().to_owned()), user: "root".to_owned() };
        let accept = Accept { any_name: false, unverified: false, min_tls: TlsVersion::Tls13 };
        let at = Server::new(Side::Target, target, Options::default(), accept).unwrap();
        for collation in collations {
            let charset = collation.split('_').next().unwrap();
            let made = format!("w VARCHAR(20) CHARACTER SET {charset} COLLATE {collation} NOT NULL, PRIMARY KEY (w)");
            let letters = [" ", "\\t", "a", "A", "ä", "e", "é", "b", "ss", "ß", "0", "-"];
            let letter = |digit: u32| format!("ELT(1 + i DIV {} % 12, '{}')", 12_u32.pow(digit), letters.join("','"));
            let words = format!("CONCAT({}, {}, {})", letter(0), letter(1), letter(2));
            let numbers: Vec<String> = (0..1728).map(|number| format!("({number})")).collect();
            let filled = format!(
                "SET NAMES utf8mb4; USE d; DROP TABLE IF EXISTS t; CREATE TABLE t ({made}); CREATE TEMPORARY TABLE n (i INT); \
                 INSERT INTO n VALUES {}; INSERT IGNORE INTO t SELECT {words} FROM n; INSERT IGNORE INTO t SELECT LEFT(w, 2) FROM t",
                numbers.join(",")
            );
            running.sql(&filled).unwrap();
            let hex = running.sql("SELECT HEX(w) FROM d.t ORDER BY w").unwrap();
            let texts: Vec<Vec<u8>> = hex.lines().map(|line| HEXUPPER.decode(line.as_bytes()).unwrap()).collect();
            let column = Column {
                name: "w".to_owned(),
                column_type: "varchar(20)".to_owned(),
                data_type: "varchar".to_owned(),
                charset: Some(charset.to_owned()),
                collation: Some((*collation).to_owned()),
                nullable: false,
                generated: false,
                persistent: true,
                invisible: false,
            };
            let identity = Some(Identity { index: "PRIMARY".to_owned(), columns: vec![0], comparable: true });
            let table = Table { columns: vec![column], identity, ..testing::table("t") };
            let columns = KeyColumns::from_table(&table);
            let mut keys: Vec<Key> = texts.iter().map(|text| columns.parse([text.as_slice()]).unwrap()).collect();
            assert!(keys.len() > 200, "{collation}: {}", keys.len());
            Weights::new(&at).set(&columns, &mut keys).unwrap();
            let wrong = keys.windows(2).zip(texts.windows(2)).find(|(keys, _)| keys[0] >= keys[1]);
            assert_eq!(wrong.map(|(_, texts)| texts), None, "{collation}");
        }
    }

    #[test]
    fn texts_have_the_order_of_mysql() {
        are_in_the_order_of(
            Kind::MySql97,
            &[
                "utf8mb4_0900_ai_ci",
                "utf8mb4_0900_as_cs",
                "utf8mb4_unicode_ci",
                "utf8mb4_general_ci",
                "latin1_swedish_ci",
                "latin1_german2_ci",
                "utf8mb4_bin",
                "utf8mb4_0900_bin",
            ],
        );
    }

    #[test]
    fn texts_have_the_order_of_mariadb() {
        are_in_the_order_of(
            Kind::MariaDb1011,
            &[
                "utf8mb4_general_ci",
                "utf8mb4_unicode_ci",
                "utf8mb4_unicode_nopad_ci",
                "utf8mb4_uca1400_ai_ci",
                "latin1_swedish_ci",
                "utf8mb4_bin",
            ],
        );
    }
}
