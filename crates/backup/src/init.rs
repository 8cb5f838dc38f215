//! Creates a repository and a host's signing key.

use std::{fs, path::PathBuf};

use archive::{names, sshsig::SigningKey};
use files::{WriteOptions, write_atomic};
use store::{Put, S3, Store, s3::Settings};

pub use store::s3::Observed;

use crate::{
    Config, Error, Location, Repository,
    recipients::Challenge,
    repository::{is_denied, name},
    repository_record,
    state::State,
};

/// Result of [`init`].
#[derive(Debug)]
pub struct Init {
    /// The opened repository.
    pub repository: Repository,
    /// Whether the repository was created.
    pub made_repository: bool,
    /// Whether the signing key was created.
    pub made_key: bool,
    /// Open challenges of the recipients for whom nobody has proven possession of the identity.
    pub challenges: Vec<Challenge>,
    /// The line to add to an allowed signers file.
    pub signer: String,
    /// Observed behaviour of the store, if it is a bucket.
    pub observed: Option<Observed>,
    /// Errors that prevented further observations.
    pub unobserved: Vec<store::Error>,
}

/// Creates the repository and the signing key, unless they exist, and checks the words that recipients have decrypted.
///
/// # Errors
/// [`Error`].
pub fn init(config: &Config, answers: &[String]) -> Result<Init, Error> {
    let made_key = make_key(config)?;
    let key = config.signing_key()?;
    let (repository, made_repository, observed) = make_repository(config)?;
    let (observed, unobserved) = observed.map_or_else(Default::default, |(observed, faults)| (Some(observed), faults));
    let mut recipients = State::open(&config.state, &repository.id, &config.host)?.recipients()?;
    answers.iter().try_for_each(|answer| recipients.answer(answer))?;
    let challenges = recipients.challenges(&recipients.unproven(&config.all_recipients()))?;
    let signer = format!("{} namespaces=\"{}\" {}", config.host, archive::receipt::NAMESPACE, key.public());
    Ok(Init { repository, made_repository, made_key, challenges, signer, observed, unobserved })
}

/// Opens the repository of a configuration.
///
/// # Errors
/// [`Error`].
pub fn open(config: &Config) -> Result<Repository, Error> {
    let store = config.repository.open()?;
    let (known, id) = (repository_record::read(config), config.repository_id.clone());
    if let Some(known) = known.as_ref().filter(|known| !known.may_read) {
        return Ok(Repository::unread(store, known.id.clone()));
    }
    match (Repository::open(store), known.map(|known| known.id).or(id)) {
        // The id is known from an earlier `init` or from the configuration.
        (Err(error), Some(id)) if is_denied(&error) => Ok(Repository::unread(config.repository.open()?, id)),
        (opened, _) => opened,
    }
}

/// Opens the repository for a run that can start without the store. If the store cannot be reached, the id that `init`
/// has recorded is used.
///
/// # Errors
/// [`Error`].
pub fn open_for_follower(config: &Config) -> Result<Repository, Error> {
    match (open(config), repository_record::read(config)) {
        (Err(Error::Store(error)), Some(known)) if error.is_unreachable() => {
            Ok(Repository::assumed(config.repository.open()?, known.id, known.may_read))
        }
        (opened, _) => opened,
    }
}

/// Opens the repository at a location, to read it.
///
/// # Errors
/// [`Error`].
pub fn open_location(location: &Location) -> Result<Repository, Error> {
    Repository::open(location.open()?)
}

/// The observed behaviour of a store, and the errors that prevented further observations.
type Observation = (Observed, Vec<store::Error>);

/// Creates the repository unless it exists, and determines whether this host may read it.
fn make_repository(config: &Config) -> Result<(Repository, bool, Option<Observation>), Error> {
    let (put, id) = Repository::create(&*config.repository.make()?)?;
    let (repository, may_read) = match Repository::open(config.repository.open()?) {
        Err(error) if is_denied(&error) => {
            let known = || repository_record::read(config).map(|known| known.id);
            let id = if put == Put::New { Some(id) } else { config.repository_id.clone().or_else(known) };
            let id = id.ok_or_else(|| Error::UnknownRepository { location: config.repository.to_string() })?;
            (Repository::unread(config.repository.open()?, id), false)
        }
        opened => {
            let repository = opened?;
            let may_list = may_list(repository.store(), &config.host)?;
            (repository, may_list)
        }
    };
    let settings = match &config.repository {
        Location::Bucket(settings) => settings,
        Location::Directory(_) => return Ok((repository, put == Put::New, None)),
        #[cfg(feature = "clouds")]
        Location::Cloud(_) => {
            // A run that starts while the store cannot be reached needs the id.
            repository_record::write(config, false, &repository.id, may_read, None)?;
            return Ok((repository, put == Put::New, None));
        }
    };
    let (mut observed, faults) = observe(settings, &config.host, put)?;
    let known = repository_record::read(config).filter(|known| known.id == repository.id);
    if let Some(earlier) = known.and_then(|known| known.observed) {
        observed = observed.or_earlier(&earlier);
    }
    repository_record::write(config, settings.lock.is_some(), &repository.id, may_read, Some(observed.clone()))?;
    // Without a lock in the configuration, none has to work.
    observed.locks = observed.locks.filter(|_| settings.lock.is_some());
    Ok((repository, put == Put::New, Some((observed, faults))))
}

/// Observes the behaviour of the store.
fn observe(settings: &Settings, host: &str, put: Put) -> Result<Observation, Error> {
    let mut random = [0; 8];
    aws_lc_rs::rand::fill(&mut random).map_err(|_| Error::Randomness)?;
    let absent = format!("{}probe-{:016x}", names::of_host(host), u64::from_le_bytes(random));
    Ok(S3::open(settings)?.observe(&name(names::REPOSITORY)?, put, &name(&absent)?))
}

fn may_list(store: &dyn Store, host: &str) -> Result<bool, Error> {
    match store.list(&names::receipts(host)) {
        Err(error) if error.is_denied() => Ok(false),
        listed => Ok(listed.map(|_| true)?),
    }
}

fn make_key(config: &Config) -> Result<bool, Error> {
    let path = &config.signing_key;
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    let failed = |source| Error::Key { path: path.clone(), source };
    let key = SigningKey::generate().map_err(failed)?;
    let comment = format!("backups of {}", config.host);
    let text = key.to_secret_text(&comment).map_err(failed)?;
    let mut public = path.clone().into_os_string();
    public.push(".pub");
    let public = PathBuf::from(public);
    let line = format!("{} {comment}\n", key.public());
    let written = write_atomic(&public, line.as_bytes(), WriteOptions::PUBLIC.replacing(true));
    written.map_err(Error::io(&public, "cannot be written"))?;
    write_atomic(path, text.as_bytes(), WriteOptions::SECRET).map_err(Error::io(path, "cannot be written"))?;
    Ok(true)
}
