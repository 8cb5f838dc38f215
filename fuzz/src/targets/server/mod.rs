pub(super) mod certificate;
pub(super) mod greeting;
pub(super) mod handshake;
pub(super) mod x_message;
