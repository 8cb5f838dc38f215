//! Credentials for Azure and Google: from a file that nobody else may read, from the environment, or from the machine.

use std::{env, path::Path};

use object_store::{
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    gcp::GoogleCloudStorageBuilder,
};

use crate::s3::S3Fault;

/// What the environment, and the lines of a file, may have for Azure. Without any of them the machine's managed identity
/// is asked. Source: the variables of Azure's SDKs and tools.
const AZURE: [(&str, AzureConfigKey); 7] = [
    ("AZURE_STORAGE_KEY", AzureConfigKey::AccessKey),
    ("AZURE_STORAGE_SAS_TOKEN", AzureConfigKey::SasKey),
    ("AZURE_CLIENT_ID", AzureConfigKey::ClientId),
    ("AZURE_CLIENT_SECRET", AzureConfigKey::ClientSecret),
    ("AZURE_TENANT_ID", AzureConfigKey::AuthorityId),
    ("AZURE_AUTHORITY_HOST", AzureConfigKey::AuthorityHost),
    ("AZURE_FEDERATED_TOKEN_FILE", AzureConfigKey::FederatedTokenFile),
];
/// The file of a service account, for Google's libraries. Without it, the file of Google's tools is read, and then the
/// machine's metadata service is asked.
const GOOGLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Adds the credentials of a file with lines `NAME = VALUE`, or those of the environment.
pub(super) fn azure(mut builder: MicrosoftAzureBuilder, file: Option<&Path>) -> Result<MicrosoftAzureBuilder, S3Fault> {
    let Some(path) = file else {
        for (name, key) in AZURE {
            if let Some(value) = env::var(name).ok().filter(|value| !value.is_empty()) {
                builder = builder.with_config(key, value);
            }
        }
        return Ok(builder);
    };
    let text = read(path)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (number, line) in (1_u32..).zip(lines) {
        let known = line.split_once('=').and_then(|(name, value)| {
            let key = AZURE.iter().find(|(known, _)| *known == name.trim())?.1;
            Some((key, value.trim())).filter(|(_, value)| !value.is_empty())
        });
        let names: Vec<&str> = AZURE.iter().map(|(name, _)| *name).collect();
        let reason = || format!("entry {number} is not NAME = VALUE with one of {}", names.join(", "));
        let (key, value) = known.ok_or_else(|| unusable(path, reason()))?;
        builder = builder.with_config(key, value);
    }
    Ok(builder)
}

/// Adds the credentials of the JSON file of a service account, or the file that the environment names.
pub(super) fn google(
    builder: GoogleCloudStorageBuilder,
    file: Option<&Path>,
) -> Result<GoogleCloudStorageBuilder, S3Fault> {
    match (file, env::var(GOOGLE)) {
        (Some(path), _) => Ok(builder.with_service_account_key(read(path)?.as_str())),
        (None, Ok(path)) if !path.is_empty() => Ok(builder.with_application_credentials(path)),
        (None, _) => Ok(builder),
    }
}

/// The error of credentials that `object_store` does not take. Its own message may quote them.
pub(super) fn refused(file: Option<&Path>) -> S3Fault {
    let origin = file.map_or_else(|| "the environment".to_owned(), |path| path.display().to_string());
    S3Fault::UnusableCredentials { origin, reason: "they are incomplete or malformed".to_owned() }
}

fn read(path: &Path) -> Result<impl std::ops::Deref<Target = String>, S3Fault> {
    aws::read_secret(path).map_err(|error| unusable(path, error.to_string()))
}

fn unusable(path: &Path, reason: String) -> S3Fault {
    S3Fault::UnusableCredentials { origin: path.display().to_string(), reason }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_file_has_lines_of_known_names_and_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("credentials");
        let read = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            azure(MicrosoftAzureBuilder::new(), Some(&path))
        };
        let builder = read("# of the host\n\nAZURE_STORAGE_KEY = c2VjcmV0LW1hcmtlcg==\n", 0o600).unwrap();
        assert_eq!(builder.get_config_value(&AzureConfigKey::AccessKey).unwrap(), "c2VjcmV0LW1hcmtlcg==");
        for (text, mode, says) in [
            ("AZURE_STORAGE_KEY = secret-marker\n", 0o644, "chmod 600"),
            ("AZURE_STORAGE_ENDPOINT = http://secret-marker\n", 0o600, "entry 1"),
            ("AZURE_CLIENT_ID = a\nsecret-marker\n", 0o600, "entry 2"),
            ("AZURE_CLIENT_ID =\n", 0o600, "entry 1"),
        ] {
            let error = read(text, mode).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains("secret-marker"), "{error}");
        }
    }
}
