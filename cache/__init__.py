"""The DuckDB file and what goes in: records, hashes, migrations, importers."""
