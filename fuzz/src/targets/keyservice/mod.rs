pub(super) mod answer;
pub(super) mod kmip;
pub(super) mod kms;
