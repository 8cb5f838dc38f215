//! Which tables of a server are migrated.

use glob::Pattern;

/// Selects tables by schema and by patterns of `schema.table`.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Schemas; if empty, every user schema.
    pub schemas: Vec<String>,
    /// Tables that are left out: patterns such as `shop.log_*` over `schema.table`.
    pub exclude: Vec<Pattern>,
}

impl Filter {
    /// Whether the schema is selected.
    #[must_use]
    pub fn schema(&self, schema: &str) -> bool {
        schema != crate::STATE_SCHEMA && (self.schemas.is_empty() || self.schemas.iter().any(|name| name == schema))
    }

    /// Whether the table is selected.
    #[must_use]
    pub fn table(&self, schema: &str, table: &str) -> bool {
        let name = format!("{schema}.{table}");
        self.schema(schema) && !self.exclude.iter().any(|pattern| pattern.matches(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_named_and_tables_left_out() {
        let filter =
            Filter { schemas: vec!["shop".into()], exclude: vec![Pattern::new("shop.log_*").expect("a pattern")] };
        assert!(filter.table("shop", "orders"));
        assert!(!filter.table("shop", "log_2026"));
        assert!(!filter.table("other", "orders"));
        assert!(Filter::default().table("other", "orders"));
        assert!(!Filter::default().table(crate::STATE_SCHEMA, "run"));
    }
}
