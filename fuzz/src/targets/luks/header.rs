//! Any bytes as a device.

pub(crate) fn run(bytes: &[u8]) {
    crate::luks::judge(bytes);
}
