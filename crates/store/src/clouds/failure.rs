//! Why a request failed, on its way through `object_store`, whose own errors are texts.

use std::{
    error::Error as StdError,
    fmt,
    sync::{Mutex, PoisonError},
};

use object_store::client::{HttpError, HttpErrorKind};

use crate::s3::S3Fault;

/// The result of a request that `object_store` does not see as an answer.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The store or the network failed.
    Fault(S3Fault),
    /// The object exists, and may be the one to be put: the answer to an earlier attempt was lost.
    Unclear,
    /// The range begins after the end of the object.
    Beyond,
}

/// An outcome in the chain of causes of an error.
#[derive(Debug)]
pub(super) struct Failure(Mutex<Option<Outcome>>);

impl Failure {
    /// An error that is not retried, since this outcome is the last.
    pub(super) fn error(outcome: Outcome) -> HttpError {
        HttpError::new(HttpErrorKind::Unknown, Self(Mutex::new(Some(outcome))))
    }

    /// Takes the outcome out of an error; `None` if another one caused it.
    pub(super) fn take(error: &object_store::Error) -> Option<Outcome> {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(failure) = error.downcast_ref::<Self>() {
                return failure.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
            cause = error.source();
        }
        None
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(Outcome::Fault(fault)) => fault.fmt(f),
            _ => f.write_str("the request failed"),
        }
    }
}

impl StdError for Failure {}
