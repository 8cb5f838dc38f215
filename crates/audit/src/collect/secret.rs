//! Command lines without secrets, so that facts never contain one.

use server::secret_name::{has_passwords, is_secret};

/// Whether a client has overwritten the password in its arguments with `x`.
fn is_wiped(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte == b'x')
}

/// Arguments without secrets, and whether there were any.
pub(crate) fn without_secrets(arguments: &[String]) -> (Vec<String>, bool) {
    let mut found = false;
    let mut clean = Vec::with_capacity(arguments.len());
    let mut value_follows = false;
    for argument in arguments {
        if std::mem::take(&mut value_follows) {
            clean.push("…".to_owned());
            found = true;
            continue;
        }
        match argument.split_once('=') {
            Some((key, value)) if key.starts_with('-') && is_secret(key, value) => {
                found |= !is_wiped(value);
                clean.push(format!("{key}=…"));
            }
            Some((key, value)) if key.starts_with('-') && has_passwords(value) => {
                found = true;
                clean.push(format!("{key}=…"));
            }
            None if short_password(argument).is_some() => {
                found |= short_password(argument).is_some_and(|value| !is_wiped(value));
                clean.push("-p…".to_owned());
            }
            // `--wsrep-sst-auth user:password` as two arguments; `--password` alone makes the client prompt for it.
            None if argument.starts_with("--") && is_secret(argument, "x") && !argument.ends_with("password") => {
                value_follows = true;
                clean.push(argument.clone());
            }
            _ => clean.push(argument.clone()),
        }
    }
    (clean, found)
}

/// The password in `-pPASSWORD`; `-p` alone makes the client prompt for it.
fn short_password(argument: &str) -> Option<&str> {
    argument.strip_prefix("-p").filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(arguments: &[&str]) -> (String, bool) {
        let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let (clean, found) = without_secrets(&owned);
        (clean.join(" "), found)
    }

    #[test]
    fn passwords_are_left_out() {
        assert_eq!(clean(&["mysql", "-uroot", "-phunter2"]), ("mysql -uroot -p…".to_owned(), true));
        assert_eq!(clean(&["mysql", "--password=hunter2"]), ("mysql --password=…".to_owned(), true));
        assert_eq!(clean(&["mysqld", "--wsrep-sst-auth=u:hunter2"]), ("mysqld --wsrep-sst-auth=…".to_owned(), true));
        assert_eq!(clean(&["mysqld", "--wsrep-sst-auth", "u:hunter2"]), ("mysqld --wsrep-sst-auth …".to_owned(), true));
        assert_eq!(
            clean(&["mysqld", "--loose-file-key-management-filekey=abc"]).0,
            "mysqld --loose-file-key-management-filekey=…"
        );
    }

    #[test]
    fn what_is_no_secret_stays() {
        let kept = [
            "mysqld",
            "--ssl-key=/k.pem",
            "--file-key-management-filekey=FILE:/x",
            "--validate-password.policy=1",
            "--wsrep-sst-auth=root:",
        ];
        assert_eq!(clean(&kept), (kept.join(" "), false));
        assert_eq!(clean(&["mysql", "--password", "-p"]), ("mysql --password -p".to_owned(), false));
    }

    #[test]
    fn a_wiped_password_is_no_find() {
        assert_eq!(clean(&["mysql", "-pxxxxxx"]), ("mysql -p…".to_owned(), false));
    }
}
