//! The definition of an account: how it logs in, and what is required of it.

use std::collections::BTreeMap;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use server::{
    Account, Flavor, auth_plugin,
    dialect::accounts::unusable_credential,
    quote,
    sql::{Syntax, Token, TokenKind, tokens},
};
use zeroize::Zeroizing;

use super::grant::{account, quoted};

/// What `SHOW CREATE USER` shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Definition {
    /// All of these on MySQL, any of these on MariaDB.
    pub(super) authentication: Vec<Authentication>,
    /// What the connection must have, such as `SSL`; `NONE` for nothing.
    pub(super) require: String,
    /// Limits such as `MAX_QUERIES_PER_HOUR`, and their values.
    pub(super) limits: BTreeMap<String, String>,
    /// Rules for passwords and the like, such as `PASSWORD EXPIRE`, and their values.
    pub(super) options: BTreeMap<String, String>,
    pub(super) locked: bool,
    pub(super) default_roles: Vec<Account>,
}

/// A way to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Authentication {
    pub(super) plugin: String,
    credential: Credential,
}

/// A hash of a password, or what else a plug-in needs. It is wiped, and not printed.
#[derive(Clone, PartialEq, Eq)]
struct Credential(Zeroizing<Vec<u8>>);

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credential(..)")
    }
}

/// Clauses that MySQL wants last.
const LAST: [&str; 2] = ["ATTRIBUTE", "COMMENT"];
/// The first words of clauses after those of authentication.
const CLAUSES: [&str; 9] = [
    "REQUIRE",
    "WITH",
    "PASSWORD",
    "ACCOUNT",
    "DEFAULT",
    "FAILED_LOGIN_ATTEMPTS",
    "PASSWORD_LOCK_TIME",
    "ATTRIBUTE",
    "COMMENT",
];
/// Values that mean that the server's own setting counts, or that there is no limit.
const DEFAULTS: [&str; 2] = ["DEFAULT", "0"];

impl Authentication {
    fn new(plugin: &str, credential: impl Into<Vec<u8>>) -> Self {
        Self { plugin: plugin.to_owned(), credential: Credential(Zeroizing::new(credential.into())) }
    }
}

impl Definition {
    /// Parses the statement that a server shows.
    ///
    /// # Errors
    /// The word at which a clause begins that is not known.
    pub(super) fn parse(statement: &str) -> Result<Self, String> {
        let all: Result<Vec<_>, _> = tokens(statement, Syntax::default()).collect();
        let all = all.map_err(|_| "a quote that does not end".to_owned())?;
        // `CREATE USER name @ host`.
        let mut clauses = Clauses { left: all.get(5..).unwrap_or_default() };
        let mut found = Self { require: "NONE".to_owned(), ..Self::default() };
        while let Some(word) = clauses.word() {
            clauses.take();
            match word.as_str() {
                "IDENTIFIED" => found.authentication.extend(clauses.authentication()?),
                "REQUIRE" => found.require = clauses.value(),
                "WITH" => found.limits.extend(clauses.limits()),
                "PASSWORD" => {
                    let (name, value) = clauses.password();
                    found.options.insert(name, value);
                }
                "ACCOUNT" => found.locked = clauses.value() == "LOCK",
                "DEFAULT" => found.default_roles = clauses.roles(),
                name if CLAUSES.contains(&name) => {
                    found.options.insert(word, clauses.value());
                }
                _ => return Err(word),
            }
        }
        match clauses.left.first() {
            None => Ok(found),
            Some(token) => Err(token.text.to_owned()),
        }
    }

    /// The definition as another server can have it, why nobody can log in to the account there, and what is left out.
    pub(super) fn for_server(
        &self,
        from: Flavor,
        to: Flavor,
        has_plugin: impl Fn(&str) -> bool,
    ) -> (Self, Option<String>, Vec<String>) {
        let mut here = self.clone();
        let mut omitted = Vec::new();
        if from != to {
            here.limits.retain(|name, value| {
                let known = name != "MAX_STATEMENT_TIME";
                if !known {
                    omitted.push(format!("{name} {value}"));
                }
                known
            });
            if here.authentication.is_empty() {
                here.authentication.push(Authentication::new(auth_plugin::CACHING_SHA2_PASSWORD, ""));
            }
        }
        let unknown = self.authentication.iter().find(|it| !has_plugin(&it.plugin));
        let why = match unknown {
            Some(it) => Some(format!("the target has no plug-in {}", it.plugin)),
            None if from != to && self.authentication.len() > 1 => {
                Some("the target does not know alternatives for a log-in".to_owned())
            }
            None => None,
        };
        if why.is_some() {
            let (plugin, credential) = unusable_credential(to);
            here.authentication = vec![Authentication::new(plugin, credential)];
            here.locked = true;
        }
        (here, why, omitted)
    }

    /// The same definition of a locked account.
    pub(super) fn locked(&self) -> Self {
        Self { locked: true, ..self.clone() }
    }

    /// What differs from this definition, whose account was created as the other one; never a credential.
    pub(super) fn difference(&self, found: &Self) -> Option<&'static str> {
        let plugins = |of: &Self| of.authentication.iter().map(|it| it.plugin.clone()).collect::<Vec<_>>();
        let set = |of: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            let counts = |value: &String| !DEFAULTS.contains(&value.as_str());
            of.iter().filter(|(_, value)| counts(value)).map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        if plugins(self) != plugins(found) {
            Some("authentication plug-in")
        } else if self.authentication != found.authentication {
            Some("credential")
        } else if self.require != found.require {
            Some("REQUIRE")
        } else if set(&self.limits) != set(&found.limits) {
            Some("limits")
        } else if set(&self.options) != set(&found.options) {
            Some("rules for its password")
        } else if self.locked != found.locked {
            Some("lock")
        } else {
            None
        }
    }

    /// The statement that creates the account, locked.
    pub(super) fn create(&self, name: &Account, flavor: Flavor) -> Zeroizing<String> {
        let mut sql = Zeroizing::new(format!("CREATE USER {}", quoted(name)));
        // Room for credentials: a text that grows leaves copies of itself in memory.
        sql.reserve(4096);
        for (position, it) in self.authentication.iter().enumerate() {
            let (first, next, uses) = match flavor {
                Flavor::MariaDb => (" IDENTIFIED VIA ", " OR ", " USING "),
                Flavor::MySql | Flavor::Percona => (" IDENTIFIED WITH ", " AND IDENTIFIED WITH ", " AS "),
            };
            sql.push_str(if position == 0 { first } else { next });
            sql.push_str(&quote::identifier(&it.plugin));
            if !it.credential.0.is_empty() {
                sql.push_str(uses);
                push_literal(&mut sql, &it.credential.0);
            }
        }
        sql.push_str(" REQUIRE ");
        sql.push_str(&self.require);
        if !self.limits.is_empty() {
            sql.push_str(" WITH");
            self.limits.iter().for_each(|(name, value)| push_words(&mut sql, [name, value]));
        }
        let is_last = |name: &&String| LAST.contains(&name.as_str());
        self.options.iter().filter(|(name, _)| !is_last(name)).for_each(|(name, value)| {
            push_words(&mut sql, [name, value]);
        });
        sql.push_str(" ACCOUNT LOCK");
        self.options.iter().filter(|(name, _)| is_last(name)).for_each(|(name, value)| {
            push_words(&mut sql, [name, value]);
        });
        sql
    }
}

fn push_words(sql: &mut String, words: [&String; 2]) {
    words.into_iter().filter(|word| !word.is_empty()).for_each(|word| {
        sql.push(' ');
        sql.push_str(word);
    });
}

/// Writes a credential: as a text if it is one, else in hexadecimal, which servers since MySQL 8.0.17 accept.
fn push_literal(sql: &mut String, credential: &[u8]) {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'\\');
    match std::str::from_utf8(credential) {
        Ok(text) if credential.iter().all(is_plain) => {
            sql.push('\'');
            sql.push_str(text);
            sql.push('\'');
        }
        _ => {
            sql.push_str("0x");
            sql.push_str(&Zeroizing::new(HEXLOWER.encode(credential)));
        }
    }
}

/// The clauses of a definition that are not read yet.
struct Clauses<'t> {
    left: &'t [Token<'t>],
}

impl<'t> Clauses<'t> {
    fn take(&mut self) -> Option<&'t Token<'t>> {
        let (first, rest) = self.left.split_first()?;
        self.left = rest;
        Some(first)
    }

    /// The next word in upper case, which stays.
    fn word(&self) -> Option<String> {
        self.left.first().filter(|token| token.kind == TokenKind::Word).map(|token| token.text.to_ascii_uppercase())
    }

    fn is_next(&self, word: &str) -> bool {
        self.left.first().is_some_and(|token| token.is_word(word))
    }

    /// Takes a word, if it is the next one.
    fn skip(&mut self, word: &str) -> bool {
        let is = self.is_next(word);
        if is {
            self.take();
        }
        is
    }

    /// The tokens before the next clause.
    fn value(&mut self) -> String {
        let mut words = Vec::new();
        while let Some(token) = self.left.first() {
            // `PASSWORD EXPIRE DEFAULT` is not followed by roles.
            let begins = self.word().is_some_and(|word| CLAUSES.contains(&word.as_str()) && word != "DEFAULT");
            let begins = begins || (token.is_word("DEFAULT") && self.left.get(1).is_some_and(|it| it.is_word("ROLE")));
            if begins {
                break;
            }
            self.take();
            // MariaDB shows no `AND` between the conditions of `REQUIRE`.
            if !token.is_word("AND") {
                words.push(text_of(token));
            }
        }
        words.join(" ")
    }

    /// The rest of a clause that begins with `PASSWORD`.
    fn password(&mut self) -> (String, String) {
        const LONG: [[&str; 2]; 2] = [["REUSE", "INTERVAL"], ["REQUIRE", "CURRENT"]];
        for [first, second] in LONG {
            if self.skip(first) {
                self.skip(second);
                return (format!("PASSWORD {first} {second}"), self.value());
            }
        }
        let name = self.word().unwrap_or_default();
        self.take();
        (format!("PASSWORD {name}"), self.value())
    }

    fn limits(&mut self) -> Vec<(String, String)> {
        let mut limits = Vec::new();
        while let Some(name) = self.word().filter(|word| word.starts_with("MAX_")) {
            self.take();
            let mut value = self.take().map(|token| token.text.to_owned()).unwrap_or_default();
            // A fraction: `MAX_STATEMENT_TIME 5.000000`.
            while self.left.first().is_some_and(|token| token.is_symbol(".")) {
                self.take();
                value = format!("{value}.{}", self.take().map_or("", |token| token.text));
            }
            limits.push((name, value));
        }
        limits
    }

    fn roles(&mut self) -> Vec<Account> {
        self.skip("ROLE");
        let mut roles = Vec::new();
        while let Some((role, rest)) = account(self.left) {
            roles.push(role);
            self.left = rest;
            match self.left.split_first() {
                Some((comma, rest)) if comma.is_symbol(",") => self.left = rest,
                _ => break,
            }
        }
        roles
    }

    /// The ways to log in, after `IDENTIFIED`.
    fn authentication(&mut self) -> Result<Vec<Authentication>, String> {
        if self.skip("BY") {
            self.skip("PASSWORD");
            let hash = self.take().map(|token| bytes_of(token)).unwrap_or_default();
            return Ok(vec![Authentication::new(auth_plugin::NATIVE_PASSWORD, hash)]);
        }
        let mut ways = Vec::new();
        loop {
            if !(self.skip("WITH") || self.skip("VIA")) && ways.is_empty() {
                return Err("IDENTIFIED".to_owned());
            }
            let plugin = self.take().map(Token::unquoted).unwrap_or_default();
            let has = self.skip("AS") || self.skip("USING");
            let credential =
                if has { self.take().map(|token| bytes_of(token)).unwrap_or_default() } else { Vec::new() };
            ways.push(Authentication::new(&plugin, credential));
            if self.skip("OR") {
                continue;
            }
            if self.is_next("AND") {
                self.take();
                self.skip("IDENTIFIED");
                continue;
            }
            return Ok(ways);
        }
    }
}

/// A token as it can be written again: words in upper case, texts in quotes that every server reads.
fn text_of(token: &Token<'_>) -> String {
    match token.kind {
        TokenKind::Text => quote::text(&String::from_utf8_lossy(&bytes_of(token))),
        _ => token.text.to_ascii_uppercase(),
    }
}

/// The bytes of a text in quotes, or of a number in hexadecimal.
fn bytes_of(token: &Token<'_>) -> Vec<u8> {
    if token.kind == TokenKind::Word {
        let digits = token.text.strip_prefix("0x").unwrap_or_default();
        return HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).unwrap_or_default();
    }
    let inner = token.text.get(1..token.text.len().saturating_sub(1)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(inner.len());
    let mut left = inner.bytes().peekable();
    while let Some(byte) = left.next() {
        bytes.push(match (byte, left.peek()) {
            (b'\\', Some(_)) => match left.next().unwrap_or_default() {
                b'0' => 0,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 8,
                b'Z' => 26,
                other => other,
            },
            (b'\'', Some(b'\'')) => left.next().unwrap_or_default(),
            _ => byte,
        });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: &str = "CREATE USER `u1`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 0x2441 DEFAULT ROLE \
        `r1`@`%`,`r2`@`%` REQUIRE SUBJECT '/CN=b' ISSUER '/CN=it\\'s' WITH MAX_QUERIES_PER_HOUR 5 PASSWORD EXPIRE INTERVAL 90 DAY \
        ACCOUNT LOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL 3 DAY PASSWORD REQUIRE CURRENT DEFAULT \
        FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME UNBOUNDED ATTRIBUTE '{\"comment\": \"it\\'s\"}'";
    const MARIADB: &str = "CREATE USER `ä``q`@`10.%` IDENTIFIED VIA ed25519 USING 'aB+/' OR mysql_native_password USING '*03' \
        REQUIRE ISSUER '/CN=it''s' SUBJECT '/CN=b' WITH MAX_USER_CONNECTIONS 2 MAX_STATEMENT_TIME 5.000000 ACCOUNT LOCK PASSWORD EXPIRE NEVER";

    fn name() -> Account {
        Account { user: "u".to_owned(), host: "%".to_owned() }
    }

    #[test]
    fn what_mysql_shows_is_written_again() {
        let found = Definition::parse(MYSQL).unwrap();
        assert_eq!(found.default_roles.len(), 2);
        assert!(found.locked);
        let sql = found.create(&name(), Flavor::MySql);
        let expected = "CREATE USER `u`@`%` IDENTIFIED WITH `caching_sha2_password` AS '$A' REQUIRE SUBJECT '/CN=b' ISSUER '/CN=it''s' \
            WITH MAX_QUERIES_PER_HOUR 5 FAILED_LOGIN_ATTEMPTS 3 PASSWORD EXPIRE INTERVAL 90 DAY PASSWORD HISTORY DEFAULT \
            PASSWORD REQUIRE CURRENT DEFAULT PASSWORD REUSE INTERVAL 3 DAY PASSWORD_LOCK_TIME UNBOUNDED ACCOUNT LOCK \
            ATTRIBUTE '{\"comment\": \"it''s\"}'";
        assert_eq!(sql.as_str(), expected);
        assert_eq!(Definition::parse(&sql).unwrap(), Definition { default_roles: Vec::new(), ..found });
    }

    #[test]
    fn what_mariadb_shows_is_written_again() {
        let found = Definition::parse(MARIADB).unwrap();
        let sql = found.create(&name(), Flavor::MariaDb);
        assert_eq!(Definition::parse(&sql).unwrap(), found);
        let native = Definition::parse("CREATE USER `u`@`%` IDENTIFIED BY PASSWORD '*03' REQUIRE SSL").unwrap();
        assert!(
            native.create(&name(), Flavor::MariaDb).contains("VIA `mysql_native_password` USING '*03' REQUIRE SSL")
        );
    }

    #[test]
    fn a_log_in_that_the_target_lacks_is_not_possible_there() {
        let found = Definition::parse(MARIADB).unwrap();
        let (here, why, omitted) =
            found.for_server(Flavor::MariaDb, Flavor::MySql, |name| name == "caching_sha2_password");
        assert_eq!(why.as_deref(), Some("the target has no plug-in ed25519"));
        assert_eq!(omitted, ["MAX_STATEMENT_TIME 5.000000"]);
        assert!(here.locked && here.create(&name(), Flavor::MySql).contains("MUSTNEVERBRBEUSED"));
        assert_eq!(here.require, found.require);
    }

    #[test]
    fn an_unknown_clause_is_named() {
        for (statement, word) in [
            ("CREATE USER `u`@`%` IDENTIFIED WITH 'a' INITIAL AUTHENTICATION", "INITIAL"),
            ("CREATE USER `u`@`%` IDENTIFIED TODAY", "IDENTIFIED"),
            ("CREATE USER `u`@`%` ; DROP", ";"),
        ] {
            assert_eq!(Definition::parse(statement).unwrap_err(), word);
        }
    }

    #[test]
    fn no_credential_is_printed() {
        let shown = format!("{:?}", Definition::parse(MARIADB).unwrap());
        assert!(!shown.contains("*03") && !shown.contains("aB+/"), "{shown}");
    }
}
