//! `auto.cnf`, where a MySQL server stores its UUID.

/// Name of the file. It identifies a server instance, not its data: a server on a copy creates its own.
pub const NAME: &str = "auto.cnf";

/// The UUID in the text of the file; `None` if the text has no valid UUID.
#[must_use]
pub fn server_uuid(text: &str) -> Option<&str> {
    const LENGTH: usize = 36;
    let (_, uuid) =
        text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == "server-uuid")?;
    let is_uuid =
        |uuid: &&str| uuid.len() == LENGTH && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    Some(uuid.trim()).filter(is_uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uuid_is_found_with_and_without_spaces() {
        const UUID: &str = "b6a7c1de-e4cd-11f1-8c02-02fc00000001";
        for line in [format!("server-uuid={UUID}"), format!(" server-uuid = {UUID} ")] {
            assert_eq!(server_uuid(&format!("[auto]\n{line}\n")), Some(UUID));
        }
        assert_eq!(server_uuid("[auto]\nserver-uuid=short\n"), None);
        assert_eq!(server_uuid(&format!("[auto]\nserver-uuid={}\n", "x".repeat(36))), None);
        assert_eq!(server_uuid("[auto]\nother-uuid=1\n"), None);
    }
}
