pub(super) mod compare;
pub(super) mod header;
pub(super) mod metadata;
