//! What MariaDB has in place of a collation or a type of MySQL.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::structure::current_name;

/// A collation of MySQL, MariaDB's in its place, and whether both compare all texts alike.
type Counterpart = (&'static str, &'static str, bool);

/// Those with `_0900_` follow version 9.0 of the Unicode Collation Algorithm, those with `_uca1400_` version 14.0: letters
/// that Unicode has got since then, and some that have moved, are compared otherwise. Spaces at the end count in all.
/// Source: the manuals of MySQL, "Unicode Character Sets", and MariaDB, "Supported Character Sets and Collations".
const COLLATIONS: [Counterpart; 4] = [
    ("utf8mb4_0900_ai_ci", "utf8mb4_uca1400_nopad_ai_ci", false),
    ("utf8mb4_0900_as_ci", "utf8mb4_uca1400_nopad_as_ci", false),
    ("utf8mb4_0900_as_cs", "utf8mb4_uca1400_nopad_as_cs", false),
    ("utf8mb4_0900_bin", "utf8mb4_nopad_bin", true),
];

/// What MariaDB makes of a column of the type JSON, except the CHECK.
const JSON: [(&str, &str); 4] =
    [("column_type", "longtext"), ("data_type", "longtext"), ("charset", "utf8mb4"), ("collation", "utf8mb4_bin")];

/// The name of a collation at a server that has those in `known`: its own, its present one, or that of another collation in
/// its place; `None` if the server has none of them.
pub(crate) fn collation_at<'k>(name: &str, known: &'k BTreeSet<String>) -> Option<&'k str> {
    let own = known.get(name).or_else(|| known.get(&current_name(name)));
    own.or_else(|| known.get(counterpart(name)?.1)).map(String::as_str)
}

/// Whether MariaDB's collation in place of this one compares all texts alike.
pub(crate) fn is_exact(name: &str) -> bool {
    counterpart(name).is_some_and(|(_, _, exact)| exact)
}

/// MariaDB's collation that compares some texts otherwise than MySQL's of this name. Newer versions of MariaDB have MySQL's
/// name for it, too.
pub(crate) fn inexact(name: &str) -> Option<&'static str> {
    counterpart(name).filter(|(_, _, exact)| !exact).map(|(_, there, _)| there)
}

/// Whether a collation of MariaDB is the one in place of MySQL's.
pub(super) fn is_counterpart(there: &str, name: &str) -> bool {
    counterpart(name).is_some_and(|(_, counterpart, _)| counterpart == there)
}

fn counterpart(name: &str) -> Option<Counterpart> {
    COLLATIONS.into_iter().find(|(here, _, _)| *here == name)
}

/// The attributes of a column of MySQL as MariaDB has them.
pub(super) fn column(attributes: &BTreeMap<String, String>) -> Cow<'_, BTreeMap<String, String>> {
    if attributes.get("data_type").is_none_or(|kind| kind != "json") {
        return Cow::Borrowed(attributes);
    }
    let mut there = attributes.clone();
    there.extend(JSON.map(|(name, value)| (name.to_owned(), value.to_owned())));
    Cow::Owned(there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collation_that_the_server_has_keeps_its_name() {
        let known = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let old = known(&["utf8mb4_bin", "utf8mb4_uca1400_nopad_ai_ci"]);
        let new = known(&["utf8mb4_0900_ai_ci", "utf8mb4_uca1400_nopad_ai_ci"]);
        assert_eq!(collation_at("utf8mb4_0900_ai_ci", &old), Some("utf8mb4_uca1400_nopad_ai_ci"));
        assert_eq!(collation_at("utf8mb4_0900_ai_ci", &new), Some("utf8mb4_0900_ai_ci"));
        assert_eq!(collation_at("utf8mb4_bin", &old), Some("utf8mb4_bin"));
        assert_eq!(collation_at("utf8mb4_0900_as_cs", &old), None);
        assert_eq!(collation_at("utf8_bin", &known(&["utf8mb3_bin"])), Some("utf8mb3_bin"));
        assert_eq!(collation_at("gb18030_chinese_ci", &old), None);
        assert!(is_exact("utf8mb4_0900_bin") && !is_exact("utf8mb4_0900_ai_ci") && !is_exact("utf8mb4_bin"));
    }
}
