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
    // Old servers call it `utf8`, and newer ones know its collations by the new name alone.
    let collation = match column.collation().strip_prefix("utf8_") {
        Some(rest) => format!("utf8mb3_{rest}"),
        None => column.collation().to_owned(),
    };
    format!("HEX(WEIGHT_STRING({} COLLATE {collation}))", column.text_literal(text))
}
