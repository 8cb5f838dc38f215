pub(super) mod gtid;
