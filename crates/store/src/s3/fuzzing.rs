//! Entry points of the fuzz targets: they parse answers of a store.

use super::xml;

/// Parses any bytes as a listing, and as an error document.
///
/// # Panics
/// If a listing has more objects than the document has elements.
pub fn answer(bytes: &[u8]) {
    if let Some(page) = xml::page(bytes) {
        assert!(page.objects.len() <= bytes.iter().filter(|byte| **byte == b'<').count());
    }
    let refusal = xml::refusal(bytes);
    assert!(refusal.code.len() <= bytes.len() && refusal.message.len() <= bytes.len());
}
