//! What AWS KMS answers if it does not decrypt.
//!
//! Source: AWS Key Management Service API Reference, "Decrypt" and "Common Errors".

use serde::Deserialize;

/// Prefix of the address in errors.
pub(crate) const NAME: &str = "AWS KMS";

/// Why AWS KMS does not decrypt a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KmsFault {
    /// The credentials lack the permission.
    #[error("KMS denies kms:Decrypt{}", said(.0))]
    Denied(String),
    /// The KMS key is disabled.
    #[error("its KMS key is disabled{}", said(.0))]
    Disabled(String),
    /// The KMS key will be deleted.
    #[error("its KMS key is pending deletion{}", said(.0))]
    PendingDeletion(String),
    /// The KMS key cannot be used in its state.
    #[error("its KMS key cannot be used now{}", said(.0))]
    KeyState(String),
    /// The region has no such KMS key.
    #[error("the region {region} has no KMS key for it, or these credentials may not use it{}", said(message))]
    NotInRegion {
        /// The region.
        region: String,
        /// What KMS says.
        message: String,
    },
    /// The signature is for another region than that of the endpoint.
    #[error("the endpoint is not one of the region {region}{}", said(message))]
    OtherRegion {
        /// The configured region.
        region: String,
        /// What KMS says.
        message: String,
    },
    /// The clock of this host is wrong.
    #[error("KMS refuses the time of this host{}", said(.0))]
    Clock(String),
    /// The credentials are not valid.
    #[error("KMS does not accept the credentials ({0})")]
    Rejected(String),
    /// The credentials have expired.
    #[error("the credentials have expired")]
    Expired,
    /// KMS limits the rate of requests, and did so until the time limit.
    #[error("KMS limits the rate of requests ({0})")]
    Throttled(String),
    /// KMS has a fault of its own, and had it until the time limit.
    #[error("KMS is not available ({0})")]
    NotAvailable(String),
    /// The text is not what KMS has encrypted.
    #[error("it is not what this KMS has encrypted, or it is damaged")]
    NotWrapped,
    /// Any other refusal.
    #[error("KMS refuses it: {code}{}", said(message))]
    Refused {
        /// The error code.
        code: String,
        /// What KMS says.
        message: String,
    },
}

/// An answer with an error.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    #[serde(rename = "__type")]
    code: String,
    #[serde(alias = "Message")]
    message: String,
}

impl KmsFault {
    /// The meaning of an answer whose status is not 200.
    pub(crate) fn of_answer(status: u16, body: &[u8], region: &str) -> Self {
        let Refusal { code, message } = serde_json::from_slice(body).unwrap_or_default();
        // The code may follow the name of a namespace.
        let code = code.rsplit('#').next().unwrap_or_default().to_owned();
        let says = |text: &str| message.to_ascii_lowercase().contains(text);
        let region = region.to_owned();
        match code.as_str() {
            "AccessDeniedException" if says("does not exist in this region") => Self::NotInRegion { region, message },
            "NotFoundException" => Self::NotInRegion { region, message },
            "AccessDeniedException" => Self::Denied(message),
            "DisabledException" => Self::Disabled(message),
            "KMSInvalidStateException" if says("pending deletion") => Self::PendingDeletion(message),
            "KMSInvalidStateException" => Self::KeyState(message),
            "InvalidSignatureException" | "SignatureDoesNotMatch" if says("region") => {
                Self::OtherRegion { region, message }
            }
            "InvalidSignatureException" | "SignatureDoesNotMatch"
                if says("signature expired") || says("not yet current") =>
            {
                Self::Clock(message)
            }
            "RequestExpired" | "RequestTimeTooSkewed" => Self::Clock(message),
            "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "SignatureDoesNotMatch"
            | "IncompleteSignature"
            | "IncompleteSignatureException"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException" => Self::Rejected(code),
            "ExpiredTokenException" | "ExpiredToken" => Self::Expired,
            "ThrottlingException" | "LimitExceededException" | "TooManyRequestsException" => Self::Throttled(code),
            "KMSInternalException"
            | "DependencyTimeoutException"
            | "KeyUnavailableException"
            | "ServiceUnavailableException"
            | "InternalFailure" => Self::NotAvailable(code),
            "InvalidCiphertextException" | "IncorrectKeyException" => Self::NotWrapped,
            "" if status == 429 => Self::Throttled(status.to_string()),
            "" if status >= 500 => Self::NotAvailable(status.to_string()),
            "" => Self::Refused { code: format!("status {status}"), message },
            // Codes that differ between services and versions, such as ServiceUnavailable.
            _ if status == 429 => Self::Throttled(code),
            _ if status >= 500 => Self::NotAvailable(code),
            _ => Self::Refused { code, message },
        }
    }

    /// Whether the same request may succeed soon.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(self, Self::Throttled(_) | Self::NotAvailable(_))
    }

    pub(crate) const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Denied(_) => {
                "allow kms:Decrypt for the key in its policy, or in that of the credentials' owner; is it a key of this \
                 region?"
            }
            Self::Disabled(_) => "enable it (`aws kms enable-key`) and try again",
            Self::PendingDeletion(_) => {
                "cancel that at once (`aws kms cancel-key-deletion`, `aws kms enable-key`): with it, everything that \
                 it has encrypted is lost"
            }
            Self::NotInRegion { .. } => {
                "give the region of the key, and credentials of its account; a deleted KMS key cannot be restored"
            }
            Self::OtherRegion { .. } => "let region and endpoint name the same region",
            Self::Clock(_) => "set the clock; AWS accepts a difference of five minutes",
            Self::Rejected(_) => "check access key and secret, and that they are of this endpoint",
            Self::Expired => "get new ones; with credential_process in the file they are renewed by themselves",
            Self::Throttled(_) | Self::NotAvailable(_) => "try again later",
            Self::NotWrapped => "take another copy of the file with the wrapped key, and check region and account",
            Self::KeyState(_) | Self::Refused { .. } => return None,
        })
    }
}

/// What the service says, if anything.
fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {}", message.escape_debug()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fault for an answer with this code and message.
    fn fault(code: &str, message: &str) -> KmsFault {
        let body = format!(r#"{{"__type":"{code}","message":"{message}"}}"#);
        KmsFault::of_answer(400, body.as_bytes(), "eu-west-1")
    }

    #[test]
    fn every_refusal_has_a_sentence_of_its_own() {
        let not_there = "The ciphertext refers to a customer master key that does not exist, does not exist in this \
                         region, or you are not allowed to access.";
        for (code, message, says) in [
            ("AccessDeniedException", "User: x is not authorized", "KMS denies kms:Decrypt: User: x is not authorized"),
            ("AccessDeniedException", not_there, "the region eu-west-1 has no KMS key for it"),
            ("NotFoundException", "", "the region eu-west-1 has no KMS key for it"),
            ("DisabledException", "arn:x is disabled.", "its KMS key is disabled: arn:x is disabled."),
            ("KMSInvalidStateException", "arn:x is pending deletion.", "its KMS key is pending deletion"),
            ("KMSInvalidStateException", "arn:x is pending import.", "its KMS key cannot be used now"),
            ("InvalidSignatureException", "Credential should be scoped to a valid region.", "not one of the region"),
            ("InvalidSignatureException", "Signature expired: 20261128T080000Z is now", "the time of this host"),
            ("InvalidSignatureException", "Signature not yet current", "the time of this host"),
            ("InvalidSignatureException", "The request signature we calculated", "(InvalidSignatureException)"),
            ("UnrecognizedClientException", "The security token is invalid", "(UnrecognizedClientException)"),
            ("IncompleteSignature", "", "KMS does not accept the credentials (IncompleteSignature)"),
            ("MissingAuthenticationToken", "", "(MissingAuthenticationToken)"),
            ("ExpiredTokenException", "", "the credentials have expired"),
            ("com.amazonaws.kms#ThrottlingException", "Rate exceeded", "limits the rate of requests"),
            ("KMSInternalException", "", "KMS is not available (KMSInternalException)"),
            ("InvalidCiphertextException", "", "not what this KMS has encrypted"),
            ("ValidationException", "1 error", "KMS refuses it: ValidationException: 1 error"),
        ] {
            let said = fault(code, message).to_string();
            assert!(said.contains(says), "{code} {message}: {said}");
        }
        assert!(fault("ThrottlingException", "").may_pass() && !fault("DisabledException", "").may_pass());
    }

    #[test]
    fn an_answer_without_a_code_is_known_by_its_status() {
        let fault = |status| KmsFault::of_answer(status, b"<html>", "eu-west-1");
        assert!(fault(429).may_pass() && fault(502).may_pass() && !fault(403).may_pass());
        assert_eq!(fault(403).to_string(), "KMS refuses it: status 403");
        let coded = |status| KmsFault::of_answer(status, br#"{"__type":"ServiceUnavailable"}"#, "eu-west-1");
        assert_eq!(coded(503), KmsFault::NotAvailable("ServiceUnavailable".to_owned()));
        assert_eq!(coded(429), KmsFault::Throttled("ServiceUnavailable".to_owned()));
        assert!(!coded(400).may_pass());
    }
}
