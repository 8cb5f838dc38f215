pub(super) mod code;
pub(super) mod control;
pub(super) mod data;
pub(super) mod manifest;
pub(super) mod pages;
pub(super) mod xbstream;
