pub(super) mod events;
