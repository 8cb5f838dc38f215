//! Which options and variables have a secret as value. Sources: MySQL manual, "Server Option and Variable Reference";
//! MariaDB documentation, "Full List of MariaDB Options, System and Status Variables"; Galera documentation, "Galera
//! Parameters".

use crate::option_name;

/// Text in place of an omitted secret.
pub const LEFT_OUT: &str = "(left out)";

/// Parts of names whose values are secret.
const SECRETS: [&str; 6] = ["password", "passwd", "passphrase", "secret", "token", "sst_auth"];
/// Endings of names whose values are secret.
const SECRET_ENDINGS: [&str; 3] = ["_pwd", "encrypt_key", "_master_key"];
/// Beginnings of names that contain such a part, but whose values are rules for passwords and plug-ins.
const RULES: [&str; 10] = [
    "validate_password",
    "password_",
    "default_password",
    "disconnect_on",
    "old_passwords",
    "simple_password_check",
    "cracklib_password_check",
    "strict_password_validation",
    "caching_sha2_password_",
    "sha256_password_",
];
/// Endings of names whose values are locations or conditions of a secret.
const LOCATIONS: [&str; 5] = ["_file", "_path", "_config", "_require_current", "_plugins"];

/// Whether the option or variable `name`, in any spelling, has a secret as `value`.
#[must_use]
pub fn is_secret(name: &str, value: &str) -> bool {
    let name = option_name::with_underscores(name.trim_start_matches('-'));
    let name = option_name::without_loose(&name);
    // A key, or the path of a file with it.
    if name.ends_with("filekey") {
        return !value.is_empty() && !value.starts_with("FILE:");
    }
    // `USER:PASSWORD`, in which the password may be empty.
    if name.ends_with("sst_auth") && value.split_once(':').is_some_and(|(_, password)| password.is_empty()) {
        return false;
    }
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let is_named = SECRETS.iter().any(|part| name.contains(part)) || ends(&SECRET_ENDINGS);
    !value.is_empty() && is_named && !begins(&RULES) && !ends(&LOCATIONS)
}

/// Whether a secret of this name is the password of an account, not a key.
#[must_use]
pub fn is_account_password(name: &str) -> bool {
    let name = option_name::with_underscores(name);
    name.contains("passw") || name.ends_with("sst_auth") || name.ends_with("_pwd")
}

/// Whether a list of settings, as in `wsrep_provider_options`, has a password.
#[must_use]
pub fn has_passwords(list: &str) -> bool {
    list.split(';').any(is_password)
}

/// The list without its passwords.
#[must_use]
pub fn without_passwords(list: &str) -> String {
    let kept = |part: &str| match part.split_once('=') {
        Some((name, _)) if is_password(part) => format!("{name}= {LEFT_OUT}"),
        _ => part.to_owned(),
    };
    list.split(';').map(kept).collect::<Vec<_>>().join(";")
}

fn is_password(part: &str) -> bool {
    part.split_once('=').is_some_and(|(name, value)| is_secret(name.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_keys_are_secret_in_every_spelling() {
        let secrets = [
            "password",
            "loose-master-info-password",
            "report_password",
            "WSREP-SST-AUTH",
            "authentication_ldap_simple_bind_root_pwd",
            "encrypt-key",
            "hashicorp_key_management_token",
            "ssl_passphrase",
            "file-key-management-filekey",
        ];
        for name in secrets {
            assert!(is_secret(name, "u:x") && !is_secret(name, ""), "{name}");
        }
        assert!(!is_secret("file_key_management_filekey", "FILE:/keys") && !is_secret("wsrep_sst_auth", "root:"));
    }

    #[test]
    fn rules_and_locations_are_not() {
        let rules = [
            "validate_password.policy",
            "loose-validate-password-length",
            "password_history",
            "default_password_lifetime",
            "old_passwords",
            "simple_password_check_digits",
            "caching_sha2_password_auto_generate_rsa_keys",
            "secure_auth",
            "replica_password_file",
            "component_keyring_vault_config",
        ];
        for name in rules {
            assert!(!is_secret(name, "ON"), "{name}");
        }
    }

    #[test]
    fn a_list_keeps_everything_but_its_passwords() {
        let list = "gcache.size=1G; socket.ssl_password = x; socket.ssl_password_file=/p; socket.ssl=yes";
        let kept = "gcache.size=1G; socket.ssl_password = (left out); socket.ssl_password_file=/p; socket.ssl=yes";
        assert!(has_passwords(list));
        assert_eq!(without_passwords(list), kept);
        assert!(!has_passwords("socket.ssl_password_file=/p;socket.ssl_password="));
    }
}
