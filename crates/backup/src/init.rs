//! Creates a repository and a host's signing key.

use std::{
    fs,
    path::{Path, PathBuf},
};

use archive::sshsig::SigningKey;
use files::{WriteOptions, write_atomic};
use store::Directory;

use crate::{BackupError, Config, Repository, recipients::Challenge, state::State};

/// Result of [`init`].
#[derive(Debug)]
pub struct Init {
    /// The opened repository.
    pub repository: Repository,
    /// Whether the repository was created.
    pub made_repository: bool,
    /// Whether the signing key was created.
    pub made_key: bool,
    /// Recipients whose identity nobody has proven to have, with what they have to decrypt.
    pub challenges: Vec<Challenge>,
    /// The line to add to an allowed signers file.
    pub signer: String,
}

/// Creates the repository and the signing key, unless they exist, and takes the words that recipients have decrypted.
///
/// # Errors
/// [`BackupError`].
pub fn init(config: &Config, answers: &[String]) -> Result<Init, BackupError> {
    let made_key = make_key(config)?;
    let key = config.signing_key()?;
    let store = Directory::make(&config.repository)?;
    let (repository, made_repository) = Repository::init(Box::new(store))?;
    let mut recipients = State::open(&config.state, &repository.id, &config.host)?.recipients()?;
    answers.iter().try_for_each(|answer| recipients.answer(answer))?;
    let challenges = recipients.challenges(&recipients.unproven(&config.all_recipients()))?;
    let signer = format!("{} namespaces=\"{}\" {}", config.host, archive::receipt::NAMESPACE, key.public());
    Ok(Init { repository, made_repository, made_key, challenges, signer })
}

/// Opens the repository of a configuration.
///
/// # Errors
/// [`BackupError`].
pub fn open(config: &Config) -> Result<Repository, BackupError> {
    open_directory(&config.repository)
}

/// Opens the repository in a directory.
///
/// # Errors
/// [`BackupError`].
pub fn open_directory(path: &Path) -> Result<Repository, BackupError> {
    Repository::open(Box::new(Directory::open(path)?))
}

fn make_key(config: &Config) -> Result<bool, BackupError> {
    let path = &config.signing_key;
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    let failed = |source| BackupError::Key { path: path.clone(), source };
    let key = SigningKey::generate().map_err(failed)?;
    let comment = format!("backups of {}", config.host);
    let text = key.to_secret_text(&comment).map_err(failed)?;
    let mut public = path.clone().into_os_string();
    public.push(".pub");
    let public = PathBuf::from(public);
    let line = format!("{} {comment}\n", key.public());
    let written = write_atomic(&public, line.as_bytes(), WriteOptions::PUBLIC.replacing(true));
    written.map_err(BackupError::io(&public, "cannot be written"))?;
    write_atomic(path, text.as_bytes(), WriteOptions::SECRET).map_err(BackupError::io(path, "cannot be written"))?;
    Ok(true)
}
