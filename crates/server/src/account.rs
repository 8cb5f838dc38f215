//! Names of accounts.

use std::{convert::Infallible, str::FromStr};

use crate::quote;

/// An account or role, by user and host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account {
    /// May be empty, and may contain any character.
    pub user: String,
    /// A pattern, such as `%`.
    pub host: String,
}

impl Account {
    /// `` `user`@`host` ``, for statements in any SQL mode.
    #[must_use]
    pub fn quoted(&self) -> String {
        format!("{}@{}", quote::identifier(&self.user), quote::identifier(&self.host))
    }

    /// `'user'@'host'`, as people write it; for statements of sessions in which backslashes escape.
    #[must_use]
    pub fn quoted_as_text(&self) -> String {
        format!("{}@{}", quote::text(&self.user), quote::text(&self.host))
    }
}

/// Parses `user@host` without quotes, as `CURRENT_USER()` returns it. The user may contain `@`, the host cannot. A
/// missing host means `%`, as in statements.
impl FromStr for Account {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (user, host) = text.rsplit_once('@').unwrap_or((text, "%"));
        Ok(Self { user: user.to_owned(), host: host.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(text: &str) -> Account {
        let Ok(account) = text.parse();
        account
    }

    #[test]
    fn the_last_at_sign_begins_the_host() {
        assert_eq!(account("a@b@10.0.0.%").quoted(), "`a@b`@`10.0.0.%`");
        assert_eq!(account("mig").quoted(), "`mig`@`%`");
        assert_eq!(account("@localhost").quoted(), "``@`localhost`");
        assert_eq!(account("o'n`e@%").quoted(), "`o'n``e`@`%`");
        assert_eq!(account("o'ne@%").quoted_as_text(), "'o''ne'@'%'");
    }
}
