//! The service that has the keys of a MariaDB server, according to an option file.

use crate::{error::Error, kms_source, vault_source};

/// A service for MariaDB's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MariaDbService {
    /// `hashicorp_key_management`.
    Vault,
    /// `aws_key_management`.
    Kms,
}

/// The service whose variables are in these bytes; `None` if they are not such an option file.
///
/// # Errors
/// [`Error::TwoServices`].
pub(crate) fn mariadb_service(bytes: &[u8]) -> Result<Option<MariaDbService>, Error> {
    match (vault_source::is_mariadb_configuration(bytes), kms_source::is_mariadb_configuration(bytes)) {
        (true, true) => Err(Error::TwoServices),
        (true, false) => Ok(Some(MariaDbService::Vault)),
        (false, true) => Ok(Some(MariaDbService::Kms)),
        (false, false) => Ok(None),
    }
}

/// Whether the bytes are the configuration of a key service: where the keys are, and how to fetch them.
#[must_use]
pub fn names_service(bytes: &[u8]) -> bool {
    vault_source::is_mysql_service(bytes) || !matches!(mariadb_service(bytes), Ok(None))
}

/// Whether the bytes are an option file of a MariaDB whose keys are in a service that takes new versions of them from
/// Sealant: a Vault. AWS KMS does not have the keys; the server makes them. A file that names both counts: opening it is
/// the error that says so.
#[must_use]
pub fn takes_new_versions(bytes: &[u8]) -> bool {
    !matches!(mariadb_service(bytes), Ok(None | Some(MariaDbService::Kms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VAULT: &str = "[mariadb]\nhashicorp_key_management_vault_url = https://v:8200/v1/db/\n";
    const AWS: &str = "[mariadb]\naws_key_management_region = eu-west-1\ndatadir = /d\n";
    const LOGIN: &str = "[sealant]\nuser = audit\n";

    fn service(parts: &[&str]) -> Result<Option<MariaDbService>, Error> {
        mariadb_service(parts.concat().as_bytes())
    }

    #[test]
    fn a_group_for_logins_names_no_service() {
        assert_eq!(service(&[LOGIN]).unwrap(), None);
        assert!(!names_service(LOGIN.as_bytes()));
        assert_eq!(service(&[LOGIN, VAULT]).unwrap(), Some(MariaDbService::Vault));
        assert!(takes_new_versions([VAULT, LOGIN].concat().as_bytes()));
        assert_eq!(service(&[AWS, LOGIN]).unwrap(), Some(MariaDbService::Kms));
        assert!(!takes_new_versions(AWS.as_bytes()));
    }

    #[test]
    fn two_services_are_refused_before_either_is_asked() {
        let both = [VAULT, AWS].concat();
        assert!(names_service(both.as_bytes()));
        assert!(matches!(crate::MariaDbKeys::open(both.as_bytes(), None), Err(Error::TwoServices)));
        let keys = crate::MariaDbKeys::load(format!("1;{}\n", "5a".repeat(16)).as_bytes(), None).unwrap();
        assert!(matches!(keys.add_version(both.as_bytes(), 1), Err(Error::TwoServices)));
    }
}
